"""Renders a run's page as students see it.

It calls the ordinary view with the permissions of the class's share link and another base template, so the page has
neither frame nor controls.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.urls import resolve
from django.utils.safestring import SafeString, mark_safe

from kubesched_ui.accounts import access
from kubesched_ui.accounts.access import Viewer
from kubesched_ui.live_classes.models import LiveClass, Rejected
from kubesched_ui.models import Run, current_viewer


class ReadOnlyViewer(current_viewer.OwnerViewer):
    """Read-only viewer for installations without accounts: sees everything and may change nothing."""

    def has_permission(self, action: str, thing: Any) -> bool:
        return False


def class_of(live_class: LiveClass) -> current_viewer.ViewerProtocol:
    """Return a viewer that has only the share link of the live class. Raises Rejected if the teacher cannot see the
    run."""
    if not settings.ACCOUNTS:
        return ReadOnlyViewer(None)
    teacher = access.viewer_of(live_class.owner or AnonymousUser())
    if live_class.share_id is None or not access.can_view(teacher, Run, live_class.run_id or 0):
        raise Rejected("The teacher of this class can no longer view the run.", 410)
    return Viewer(links=(live_class.share_id,))


class PageSection(NamedTuple):
    """A section of a page that is rendered separately. `name`: why, together, or map. `address`: the page that has it,
    "" for the map."""

    name: str
    address: str


class Page(NamedTuple):
    """A read-only page. `html` has an empty element for each of `sections`."""

    html: SafeString
    sections: tuple[PageSection, ...] = ()

    def filled(self, sections: Mapping[str, str]) -> SafeString:
        """Return the page with the HTML of its sections inserted."""
        html: str = self.html
        for name, content in sections.items():
            start = f'data-section="{name}">'
            html = html.replace(start, start + content, 1)
        return mark_safe(html)


def page(address: str, who: current_viewer.ViewerProtocol) -> Page:
    """Return the content of a page as this viewer sees it. Raises Rejected."""
    return _rendered(address, who, "live_class_page.html")


def section(address: str, who: current_viewer.ViewerProtocol) -> str:
    """Return the content of a section that has a page of its own, "" if that is an error page. Raises Rejected."""
    return _rendered(address, who, "live_class_part.html").html


def _rendered(address: str, who: current_viewer.ViewerProtocol, layout: str) -> Page:
    request = request_for(address)
    request.layout = layout
    match = request.resolver_match
    try:
        with current_viewer.as_viewer(who):
            answer = match.func(request, *match.args, **match.kwargs)
    except (Http404, PermissionDenied) as problem:
        raise Rejected(str(problem) or "This page of the run no longer exists.", 404) from None
    return Page(mark_safe(answer.content.decode()), tuple(map(PageSection._make, request.sections)))


def request_for(address: str) -> Any:
    """Build an anonymous GET request for an internal URL."""
    parts = urlsplit(address)
    request: Any = HttpRequest()
    request.method, request.path, request.path_info = "GET", parts.path, parts.path
    request.META = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "QUERY_STRING": parts.query}
    request.GET = QueryDict(parts.query)
    request.user, request.session = AnonymousUser(), {}
    request.resolver_match = resolve(parts.path)
    request.sections = []
    return request
