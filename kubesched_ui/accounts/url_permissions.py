"""A rule for every URL: who may read, who may write, and the name of the write in the audit log.

middleware.py enforces the rules. A URL without a rule is denied to everyone, and a test reports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubesched_ui.accounts.access import OWN, SEE, START
from kubesched_ui.models import Run, Scenario, Upgrade

# Levels of access. SEE, START and OWN apply to the objects that the URL names.
OPEN, VISITORS, PEOPLE, ADMINS, CLOSED = "open", "visitors", "people", "admins", "closed"
# For requests with a body that change nothing; the audit log omits them.
ASKS = "ask"


@dataclass(frozen=True)
class Rule:
    """`read` applies to GET and HEAD, `write` to all other methods.

    OPEN: everyone. VISITORS: signed-in users, and holders of a link. PEOPLE: signed-in users. ADMINS: administrators.
    CLOSED: no one; the URL does not exist.
    """

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
    # Lessons have no owner; the browser stores the progress.
    "learn/": Rule(OPEN),
    "learn/<slug:name>/": Rule(OPEN, OPEN),
    "learn/<slug:name>/<int:step>/": Rule(OPEN, OPEN),
    "learn/<slug:name>/<int:step>/open/": Rule(PEOPLE, PEOPLE, "open lesson"),
    # Access to a live class needs its key, or its code and the cookie that joining sets.
    "learn/<slug:name>/<int:step>/room/": Rule(PEOPLE, PEOPLE, "open room"),
    **{f"rooms/<str:key>/{part}": Rule(OPEN, OPEN) for part in ("", "move/", "results/", "answers.csv")},
    "rooms/made/<str:token>/": Rule(OPEN),  # called by another process of this server with a signed token
    **{f"join/{part}": Rule(OPEN, OPEN) for part in ("", "<str:code>/", "<str:code>/part/", "<str:code>/answer/")},
    # The editor stores nothing until its text is run or saved.
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
    # The runs are in the query; `find` checks access to each.
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
    # Group pages look up the group among those of the user (views/user_groups.py).
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

# Model of each URL parameter.
NAMED: dict[str, type[Any]] = {"run_id": Run, "scenario_id": Scenario, "a": Run, "b": Run}
NUMBERED = {"upgrades/<int:number>/": Upgrade, "api/upgrades/<int:number>": Upgrade}


def rule_of(route: str) -> Rule:
    """Return the rule for a Django route; the rule NOTHING if there is none."""
    if route.startswith(ADMIN):
        return Rule(ADMINS, ADMINS, "administer")
    return RULES.get(route, NOTHING)


def things_of(route: str, kwargs: dict[str, Any]) -> list[tuple[type[Any], int]]:
    """Return (model, ID) of each owned object that the URL names."""
    found = [(model, int(kwargs[name])) for name, model in NAMED.items() if name in kwargs]
    found += [(model, int(kwargs["number"])) for start, model in NUMBERED.items() if route.startswith(start)]
    return found
