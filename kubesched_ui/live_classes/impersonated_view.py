"""Renders a run's page as students see it: calls the ordinary view with the permissions of the class's share link."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.urls import resolve

from kubesched_ui import current_viewer
from kubesched_ui.accounts import access
from kubesched_ui.accounts.access import Viewer
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Room
from kubesched_ui.models import Run


class Onlooker(current_viewer.By):
    """Read-only viewer for installations without accounts: sees everything and may change nothing."""

    def may(self, action: str, thing: Any) -> bool:
        return False


def class_of(room: Room) -> current_viewer.Viewer:
    """Return a viewer that has only the share link of the live class.

    Raises Refused if the teacher cannot see the run.
    """
    if not settings.ACCOUNTS:
        return Onlooker(None)
    teacher = access.viewer_of(room.owner or AnonymousUser())
    if room.share_id is None or not access.sees(teacher, Run, room.run_id or 0):
        raise Refused("The teacher of this class can no longer view the run.", 410)
    return Viewer(links=(room.share_id,))


def page(address: str, who: current_viewer.Viewer) -> str:
    """Return the full HTML of a page as this viewer sees it. Raises Refused."""
    request = request_for(address)
    match = request.resolver_match
    assert match is not None
    try:
        with current_viewer.looking(who):
            answer = match.func(request, *match.args, **match.kwargs)
    except (Http404, PermissionDenied) as problem:
        raise Refused(str(problem) or "The run has no such page any more.", 404) from None
    return str(answer.content.decode())


def request_for(address: str) -> HttpRequest:
    """Build an anonymous GET request for an internal URL."""
    parts = urlsplit(address)
    request: Any = HttpRequest()
    request.method, request.path, request.path_info = "GET", parts.path, parts.path
    request.META = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "QUERY_STRING": parts.query}
    request.GET = QueryDict(parts.query)
    request.user, request.session = AnonymousUser(), {}
    request.resolver_match = resolve(parts.path)
    return request
