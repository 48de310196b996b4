"""A rule for every address there is: who may read it, who may write, and what the writing is called in the audit log.

doors.py holds them; an address without one is nobody's, and a test finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubesched_ui.accounts.access import OWN, SEE, START
from kubesched_ui.models import Run, Scenario, Upgrade

# Who may come in at all. SEE, START and OWN ask for the things that the address names.
OPEN, VISITORS, PEOPLE, ADMINS, CLOSED = "open", "visitors", "people", "admins", "closed"
# What changes nothing, though something is sent to it: the audit log says nothing of it.
ASKS = "ask"


@dataclass(frozen=True)
class Rule:
    """`read`: for GET and HEAD; `write`: for all else. OPEN: anybody; VISITORS: who is signed in or holds a link;
    PEOPLE: who is signed in; ADMINS; CLOSED: nobody, there is nothing at the address."""

    read: str
    write: str = CLOSED
    does: str = ""


SHOWS = Rule(SEE)
SCENARIO, SCENARIOS = "scenarios/<int:scenario_id>/", "api/scenarios/<int:scenario_id>"
RUN, RUNS = "runs/<int:run_id>/", "api/runs/<int:run_id>"
POD, PODS = "pods/<str:namespace>/<str:name>/", "/pods/<namespace>/<name>"

PAGES = {
    "": Rule(PEOPLE),
    "start/": Rule(PEOPLE, PEOPLE, "start"),
    "upload/": Rule(PEOPLE, PEOPLE, "upload"),
    "upload/<str:token>/": Rule(PEOPLE),
    "scenarios/": Rule(VISITORS),
    SCENARIO: SHOWS,
    f"{SCENARIO}nodes/": SHOWS,
    f"{SCENARIO}pods/": SHOWS,
    f"{SCENARIO}objects/": SHOWS,
    f"{SCENARIO}objects/<int:object_id>/": Rule(SEE, START, "edit"),
    f"{SCENARIO}object/<str:kind>/<str:name>/": SHOWS,
    f"{SCENARIO}object/<str:kind>/<str:namespace>/<str:name>/": SHOWS,
    f"{SCENARIO}run/": Rule(SEE, START, "start"),
    f"{SCENARIO}pair/": Rule(SEE, START, "start pair"),
    f"{SCENARIO}upgrade/": Rule(SEE, START, "start upgrade preview"),
    f"{SCENARIO}rename/": Rule(SEE, OWN, "rename"),
    f"{SCENARIO}delete/": Rule(SEE, OWN, "delete"),
    f"{SCENARIO}pin/": Rule(SEE, OWN, "pin"),
    "runs/": Rule(VISITORS),
    RUN: SHOWS,
    f"{RUN}fork/": Rule(SEE, START, "fork"),
    f"{RUN}room/": Rule(SEE, START, "open room"),
    f"{RUN}cancel/": Rule(SEE, OWN, "cancel"),
    f"{RUN}rename/": Rule(SEE, OWN, "rename"),
    f"{RUN}delete/": Rule(SEE, OWN, "delete"),
    f"{RUN}pin/": Rule(SEE, OWN, "pin"),
    f"{RUN}yield/": Rule(SEE, OWN, "change priority"),
    **{f"{RUN}{part}/": SHOWS for part in ("together", "heat", "export", "object", "present")},
    **{f"{RUN}{POD}{part}": SHOWS for part in ("", "why/", "trials/", "claims/")},
    f"{RUN}groups/<str:namespace>/<str:name>/": SHOWS,
    f"{RUN}cycles/<int:number>/": SHOWS,
    f"{RUN}nodes/<str:name>/": SHOWS,
    # Lessons are nobody's: what is done in them is kept in the browser.
    "learn/": Rule(OPEN),
    "learn/<slug:name>/": Rule(OPEN, OPEN),
    "learn/<slug:name>/<int:step>/": Rule(OPEN, OPEN),
    "learn/<slug:name>/<int:step>/open/": Rule(PEOPLE, PEOPLE, "open lesson"),
    # A room's right is its key, or its code and what joining gave.
    "learn/<slug:name>/<int:step>/room/": Rule(PEOPLE, PEOPLE, "open room"),
    **{f"rooms/<str:key>/{part}": Rule(OPEN, OPEN) for part in ("", "move/", "results/", "answers.csv")},
    "rooms/made/<str:token>/": Rule(OPEN),  # a process of ours asks another, by what it signed
    **{f"join/{part}": Rule(OPEN, OPEN) for part in ("", "<str:code>/", "<str:code>/part/", "<str:code>/answer/")},
    # What is being composed is stored nowhere until it is run or saved.
    "compose/": Rule(PEOPLE, PEOPLE, ASKS),
    "compose/read/": Rule(CLOSED, PEOPLE, ASKS),
    "compose/change/": Rule(CLOSED, PEOPLE, ASKS),
    "compose/fields.json": Rule(PEOPLE),
    "compose/run/": Rule(CLOSED, PEOPLE, "start"),
    "compose/save/": Rule(CLOSED, PEOPLE, "upload"),
    "compare/": Rule(VISITORS),
    "compare/<int:a>/<int:b>/": SHOWS,
    "upgrades/<int:number>/": SHOWS,
    "upgrades/<int:number>/cancel/": Rule(SEE, OWN, "cancel"),
    "upgrades/<int:number>/delete/": Rule(SEE, OWN, "delete"),
}
API = {
    "api/": Rule(CLOSED),
    "api/docs": Rule(VISITORS),
    "api/openapi.json": Rule(VISITORS),
    "api/scenarios": Rule(VISITORS, PEOPLE, "upload"),
    SCENARIOS: Rule(SEE, OWN, "change"),
    f"{SCENARIOS}/runs": Rule(SEE, START, "start"),
    f"{SCENARIOS}/upgrades": Rule(SEE, START, "start upgrade preview"),
    f"{SCENARIOS}/export": SHOWS,
    f"{SCENARIOS}/estimate": SHOWS,
    "api/runs": Rule(VISITORS),
    RUNS: Rule(SEE, OWN, "change"),
    f"{RUNS}/fork": Rule(SEE, START, "fork"),
    f"{RUNS}/cancel": Rule(SEE, OWN, "cancel"),
    f"{RUNS}/breakpoints": Rule(SEE, OWN, "set breakpoint"),
    f"{RUNS}/breakpoints/<int:number>": Rule(SEE, OWN, "drop breakpoint"),
    **{f"{RUNS}/{part}": SHOWS for part in ("export", "events", "pods", "state", "map", "map/tape", "object", "find")},
    **{
        f"{RUNS}/{part}": SHOWS for part in ("lanes", "lanes/overview", "lanes/stretch", "moment", "groups", "remedies")
    },
    **{f"{RUNS}{PODS}{part}": SHOWS for part in ("", "/history", "/provenance", "/remedies", "/claims", "/trials")},
    f"{RUNS}/groups/<namespace>/<name>": SHOWS,
    f"{RUNS}/cycles/<int:number>": SHOWS,
    # The runs are named in the query, where `find` asks for each.
    "api/compare": Rule(VISITORS),
    "api/compare/partners": Rule(VISITORS),
    "api/compare/cause": Rule(VISITORS),
    "api/upgrades/<int:number>": Rule(SEE, OWN, "delete"),
    "api/upgrades/<int:number>/cancel": Rule(SEE, OWN, "cancel"),
}
ACCOUNT = {
    **{f"account/{part}/": Rule(OPEN, OPEN) for part in ("login", "logout", "signup", "inactive")},
    **{f"account/oidc/{part}/": Rule(OPEN, OPEN) for part in ("cancelled", "error", "signup")},
    **{f"account/<str:provider_id>/login/{part}": Rule(OPEN, OPEN) for part in ("", "callback/")},
    "account/password/": Rule(PEOPLE, PEOPLE, "change password"),
    "account/password/set/": Rule(PEOPLE, PEOPLE, "change password"),
    "account/": Rule(PEOPLE),
    "account/name/": Rule(PEOPLE, PEOPLE, "change name"),
    "account/tokens/": Rule(PEOPLE, PEOPLE, "make token"),
    "account/tokens/<int:number>/revoke/": Rule(PEOPLE, PEOPLE, "revoke token"),
    "account/sign-out-everywhere/": Rule(PEOPLE, PEOPLE, "sign out everywhere"),
    "account/log/": Rule(PEOPLE),
    "account/invitations/": Rule(ADMINS),
    "account/invitations/make/": Rule(ADMINS, ADMINS, "invite"),
    "account/invitations/<int:number>/revoke/": Rule(ADMINS, ADMINS, "take back invitation"),
    "account/invitation/<str:token>/": Rule(OPEN, OPEN),
    # A group's pages look for it among those of who asks (views/user_groups.py).
    "account/groups/": Rule(PEOPLE, PEOPLE, "make group"),
    "account/groups/<int:number>/": Rule(PEOPLE),
    "account/groups/<int:number>/add/": Rule(PEOPLE, PEOPLE, "add to group"),
    "account/groups/<int:number>/invite/": Rule(PEOPLE, PEOPLE, "invite to group"),
    "account/groups/<int:number>/remove/<int:user_id>/": Rule(PEOPLE, PEOPLE, "remove from group"),
    "account/groups/<int:number>/delete/": Rule(PEOPLE, PEOPLE, "delete group"),
    "shared/<str:token>/": Rule(OPEN),
    f"{SCENARIO}shares/": Rule(OWN, OWN, "share"),
    f"{SCENARIO}shares/<int:number>/revoke/": Rule(OWN, OWN, "revoke share"),
    f"{RUN}shares/": Rule(OWN, OWN, "share"),
    f"{RUN}shares/<int:number>/revoke/": Rule(OWN, OWN, "revoke share"),
}
ADMIN = "admin/"
RULES: dict[str, Rule] = PAGES | API | ACCOUNT
NOTHING = Rule(CLOSED)

# What an address names by which part of it.
NAMED: dict[str, type[Any]] = {"run_id": Run, "scenario_id": Scenario, "a": Run, "b": Run}
NUMBERED = {"upgrades/<int:number>/": Upgrade, "api/upgrades/<int:number>": Upgrade}


def rule_of(route: str) -> Rule:
    """The rule of an address, by Django's route of it; that of nothing where there is none."""
    if route.startswith(ADMIN):
        return Rule(ADMINS, ADMINS, "administer")
    return RULES.get(route, NOTHING)


def things_of(route: str, kwargs: dict[str, Any]) -> list[tuple[type[Any], int]]:
    """(model, number) of each thing that an address names and that somebody owns."""
    found = [(model, int(kwargs[name])) for name, model in NAMED.items() if name in kwargs]
    found += [(model, int(kwargs["number"])) for start, model in NUMBERED.items() if route.startswith(start)]
    return found
