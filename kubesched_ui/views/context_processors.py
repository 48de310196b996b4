"""What the frame of every page shows: the section one is in, the version. A context processor."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from kubesched_ui.accounts import invitations
from kubesched_ui.housekeeping import disk_space

# First part of an address -> the section of the navigation that it belongs to.
SECTIONS = {
    "": "home",
    "start": "home",
    "upload": "home",
    "scenarios": "scenarios",
    "runs": "runs",
    "compare": "runs",
    "compose": "scenarios",
    "upgrades": "scenarios",
    "learn": "learn",
    "rooms": "learn",
    "join": "learn",
    "account": "account",
}


def frame(request: HttpRequest) -> dict[str, Any]:
    """`section`: home, scenarios, runs, learn, account or "" (an address of nothing); `here`: the address's name;
    `version`; `accounts`: whether there are any; `room`: why nothing new is begun, "" if there is room."""
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    section = SECTIONS.get(request.path.split("/")[1], "") if here else ""
    told: dict[str, Any] = {"section": section, "here": here, "version": settings.VERSION}
    told |= {"accounts": settings.ACCOUNTS, "room": disk_space.short_lately()}
    return told | {"invited": invited(request)} if here == "account_signup" else told


def invited(request: HttpRequest) -> str:
    """The kind of invitation that was opened in this session, "" without one."""
    found = invitations.of(request.session)
    return found.kind if found else ""
