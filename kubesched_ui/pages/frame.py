"""What the frame of every page shows: the section one is in, the version. A context processor."""

from django.conf import settings
from django.http import HttpRequest

from kubesched_ui.keeping import disk

# First part of an address -> the section of the navigation that it belongs to.
SECTIONS = {
    "": "home",
    "upload": "home",
    "scenarios": "scenarios",
    "runs": "runs",
    "compare": "runs",
    "upgrades": "scenarios",
    "learn": "learn",
}


def frame(request: HttpRequest) -> dict[str, str]:
    """`section`: home, scenarios, runs, learn or "" (an address of nothing); `here`: the address's name; `version`;
    `room`: why nothing new is begun, "" if there is room."""
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    section = SECTIONS.get(request.path.split("/")[1], "") if here else ""
    return {"section": section, "here": here, "version": settings.VERSION, "room": disk.short_lately()}
