"""Permission of a URL: who may read, who may write, the name of the write in the audit log, and what reading costs.

Every URL declares its permission: pages with `path`, operations of the API with `permission`. middleware.py enforces
it. A URL without a permission is denied to everyone.
"""

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, Literal, NamedTuple, TypeVar

from django import urls
from django.urls import ResolverMatch, URLPattern

from kubesched_ui.accounts.access import OWN as OWN
from kubesched_ui.accounts.access import SEE as SEE
from kubesched_ui.accounts.access import START as START
from kubesched_ui.models import Run, Scenario, Upgrade, WrittenLesson

# Levels of access. SEE, START and OWN apply to the objects that the URL names.
OPEN, VISITORS, USERS, ADMINS, CLOSED = "open", "visitors", "users", "admins", "closed"
LEVELS_OF_OBJECTS = (SEE, START, OWN)
READING = ("GET", "HEAD", "OPTIONS")

# Model of each URL parameter that names an owned object.
MODELS: dict[str, type[Any]] = {
    "run_id": Run,
    "scenario_id": Scenario,
    "upgrade_id": Upgrade,
    "lesson_id": WrittenLesson,
    "a": Run,
    "b": Run,
}


# What reading costs, and where the response is therefore computed (offload/middleware.py). A "page" shows a placeholder
# while it is computed.
# always: searches, replays and what decodes a whole recording.
# large: grows with the size of the run, scenario or cluster that the URL names. virtual time: so only of those runs,
# since only their recording contains the pods that were created during the run.
# stream: exports. lesson: users write it; workers of their own pool simulate it and compute its expressions.
Cost = Literal["", "always", "always page", "large", "large page", "virtual time page", "stream", "lesson"]

View = TypeVar("View", bound=Callable[..., Any])


class Permission(NamedTuple):
    """`read` applies to GET and HEAD, `write` to all other methods. `action`: the write in the audit log, "" if it
    changes nothing.

    OPEN: everyone. VISITORS: signed-in users, and holders of a link. USERS: signed-in users. ADMINS: administrators.
    CLOSED: no one; the URL does not exist.
    """

    read: str = CLOSED
    write: str = CLOSED
    action: str = ""
    cost: Cost = ""


SHOW = Permission(SEE)
ANYONE = Permission(OPEN, OPEN)
ADMINISTRATION = Permission(ADMINS, ADMINS, "administer")
by_users, by_owners, by_admins = (partial(Permission, level, level) for level in (USERS, OWN, ADMINS))
starts, owns = partial(Permission, SEE, START), partial(Permission, SEE, OWN)  # pages that viewers may read


def path(route: str, view: Callable[..., Any], required: Permission, name: str, cost: Cost = "") -> URLPattern:
    """Return a URL pattern of a page that requires this permission."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        return view(*args, **kwargs)

    return urls.path(route, permission(*required[:3], cost)(guarded), name=name)


def below(prefix: str) -> Callable[..., URLPattern]:
    """Return `path` for addresses that begin with `prefix`."""
    return lambda route, *args, **cost: path(prefix + route, *args, **cost)


def permission(read: str = CLOSED, write: str = CLOSED, action: str = "", cost: Cost = "") -> Callable[[View], View]:
    """Decorate a view, or an operation of the API, with its permission."""

    def decorate(view: View) -> View:
        view.permission = Permission(read, write, action, cost)  # type: ignore[attr-defined]
        return view

    return decorate


def of_operations(operations: Iterable[tuple[Iterable[str], Callable[..., Any]]]) -> Permission:
    """Return the permission of an API URL from its operations as (methods, function). Reading requires SEE of the
    objects in the URL unless the operation declares something else. A write must declare its permission."""
    read, write, action, cost = SEE, CLOSED, "", Permission().cost
    for methods, function in operations:
        declared = getattr(function, "permission", Permission())
        if not set(methods).isdisjoint(READING):
            read, cost = SEE if declared.read == CLOSED else declared.read, declared.cost
        else:
            write, action = declared.write, declared.action or action
            read = declared.read if declared.read != CLOSED else read  # of a URL that names no object
    return Permission(read, write, action, cost)


def permission_of(match: ResolverMatch) -> Permission:
    """Return the permission of a resolved URL."""
    if "admin" in match.namespaces:
        return ADMINISTRATION
    declared: Permission = getattr(match.func, "permission", Permission())
    return declared


def objects_of(kwargs: dict[str, Any]) -> list[tuple[type[Any], int]]:
    """Return (model, ID) of each owned object that the URL names."""
    return [(model, int(kwargs[name])) for name, model in MODELS.items() if name in kwargs]
