"""Context processor: the values that the base template needs on every page."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from kubesched_ui.accounts import invitations
from kubesched_ui.documentation import markdown_pages
from kubesched_ui.housekeeping import disk_space

# First segment of the path -> section of the navigation.
SECTIONS = {
    "": "home",
    "start": "home",
    "upload": "home",
    "message": "home",
    "scenarios": "scenarios",
    "clusters": "clusters",
    "runs": "runs",
    "compare": "runs",
    "compose": "scenarios",
    "upgrades": "scenarios",
    "experiments": "experiments",
    "learn": "learn",
    "classes": "learn",
    "join": "learn",
    "account": "account",
    "docs": "docs",
    "search": "search",
    "wall": "learn",
    "lessons": "learn",
    "embed": "learn",
}


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the values for the base template.

    `section`: the part of the navigation, or "" for an unknown path. `here`: URL name. `version`: of KubeSched.
    `accounts`: whether accounts are enabled. `space_problem`: why nothing new can be started (low disk space), or "".
    `layout`: the base template. `read_only`: whether the page is for a live class, without controls and scripts. `doc`:
    the documentation about this page. `page_path`: the beginning of links to other queries.
    """
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    section = SECTIONS.get(request.path.split("/")[1], "") if here else ""
    context: dict[str, Any] = {"section": section, "here": here, "version": settings.VERSION}
    context |= {"accounts": settings.ACCOUNTS, "space_problem": disk_space.recent_problem()}
    layout = getattr(request, "layout", "base.html")
    read_only = layout != "base.html"
    context |= {"layout": layout, "read_only": read_only, "page_path": request.path if read_only else ""}
    context["doc"] = markdown_pages.about(here)
    if here == "account_signup":
        invitation = invitations.opened(request.session)
        context["invited"] = invitation.kind if invitation else ""
    return context
