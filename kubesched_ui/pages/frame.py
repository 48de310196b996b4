"""What the frame of every page shows: the section one is in, the version. A context processor."""

from django.conf import settings
from django.http import HttpRequest

# Name of an address (pages/urls.py) -> the section of the navigation that it belongs to.
SECTIONS = {"home": "home", "upload": "home"}
SECTIONS |= dict.fromkeys(
    ["run", "run-heat", "runs", "cancel", "run-delete", "run-rename", "pod", "why", "node"], "runs"
)
SECTIONS |= dict.fromkeys(
    [
        "scenarios", "scenario", "scenario-nodes", "scenario-pods", "scenario-objects", "scenario-delete",
        "scenario-rename", "object", "object-named", "start",
    ],
    "scenarios",
)  # fmt: skip


def frame(request: HttpRequest) -> dict[str, str]:
    """`section`: home, scenarios, runs or "" (an error page); `here`: the address's name; `version`."""
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    return {"section": SECTIONS.get(here, ""), "here": here, "version": settings.VERSION}
