"""Every URL of the application, with one example of each for the objects of these tests."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from kubesched_ui.accounts.permissions import Permission
from tests.kubesched_ui.accounts.conftest import World

ADMIN = "admin/"


@dataclass(frozen=True)
class Address:
    route: str
    path: str
    permission: Permission
    query: str = ""

    @property
    def of_accounts(self) -> bool:
        """Tell whether the URL exists only with accounts."""
        return self.route.startswith(("account/", "shared/")) or "/shares/" in self.route

    @property
    def whole(self) -> str:
        return f"/{self.path}{self.query}"


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield (route, pattern) of all URL patterns, including nested ones."""
    for one in (resolver or get_resolver()).url_patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from routes(one, route)
        else:
            yield route, one


def permissions() -> dict[str, Permission]:
    """Return the permission of each route, except the admin's, which has a single one."""
    found = {route: getattr(pattern.callback, "permission", Permission()) for route, pattern in routes()}
    return {route: required for route, required in found.items() if not route.startswith(ADMIN)}


def values(world: World, gone: bool = False) -> dict[str, Any]:
    """Return the arguments of the example URLs. `gone`: primary keys that do not exist."""
    there = (world.scenario.pk, world.run.pk, world.other.pk, world.upgrade.pk, world.lesson.pk, world.cluster.pk)
    experiment = 9007 if gone else world.experiment.pk
    scenario, run, other, upgrade, lesson, cluster = (9001, 9002, 9003, 9004, 9005, 9006) if gone else there
    thing = world.scenario.cluster_objects.get(name="p1").pk
    return {
        "<int:scenario_id>": scenario, "<int:run_id>": run, "<int:a>": run, "<int:b>": other,
        "<int:upgrade_id>": upgrade, "<int:lesson_id>": lesson, "<int:cluster_id>": cluster,
        "<int:decision_id>": 1, "<int:experiment_id>": experiment, "<slug:question>": "compare",
        "<int:object_id>": thing, "<str:kind>": "Pod", "<str:namespace>": "default", "<namespace>": "default",
        "<str:name>": "p1", "<name>": "p1", "<int:number>": 1, "<int:place>": 0, "<str:token>": "0" * 32,
        "<int:user_id>": 1, "<int:step>": 1, "<slug:name>": "first-steps", "<str:provider_id>": "oidc",
        "<slug:key>": "gaps", "<slug:kind>": "csv", "<str:key>": "k" * 43, "<str:code>": "BCDFGHJK",
    }  # fmt: skip


QUERIES = {
    "clusters/<int:cluster_id>/history/map/": "?at=1040",
    "clusters/<int:cluster_id>/pods/<str:namespace>/<str:name>/why/": "?node=n0",
    "scenarios/<int:scenario_id>/object/Pod/<str:namespace>/<str:name>/why/": "?node=n1",
    "api/compare": "?a={run}&b={other}", "api/compare/partners": "?a={run}&b={other}",
    "api/compare/cause": "?a={run}&b={other}&pod=default/p1", "compare/": "?run={run}&run={other}",
    "api/runs/<int:run_id>/object": "?kind=Pod&name=default/p1&cycle=1",
    "api/runs/<int:run_id>/map/tape": "?after=0", "api/runs/<int:run_id>/find": "?where=feasible>0",
    "api/runs/<int:run_id>/pods/<namespace>/<name>/provenance": "?point=total&cycle=1",
    "runs/<int:run_id>/object/": "?kind=Pod&namespace=default&name=p1",
    "runs/<int:run_id>/what-if/": "?kind=Pod&namespace=default&name=p1",
}  # fmt: skip


OBJECT = "scenarios/<int:scenario_id>/object/<str:kind>/<str:name>/"
NODE = "runs/<int:run_id>/nodes/<str:name>/"
CLUSTER = "clusters/<int:cluster_id>/"
OTHERWISE = {
    (OBJECT, "<str:kind>"): "Node", (OBJECT, "<str:name>"): "n1", (NODE, "<str:name>"): "n1",
    ("api/" + CLUSTER + "pods/<namespace>/<name>/why", "<name>"): "waiting-0",
    ("api/" + CLUSTER + "pods/<namespace>/<name>/ladder", "<name>"): "waiting-0",
    (CLUSTER + "pods/<str:namespace>/<str:name>/why/", "<str:name>"): "waiting-0",
    (CLUSTER + "nodes/<str:name>/", "<str:name>"): "n1",
    ("scenarios/<int:scenario_id>/nodes/<str:name>/", "<str:name>"): "n1",
    (CLUSTER + "pods/<str:namespace>/<str:name>/", "<str:name>"): "waiting-0",
    (CLUSTER + "report/<slug:key>/", "<slug:key>"): "bindings",
}  # fmt: skip


def addresses(world: World, gone: bool = False) -> list[Address]:
    """Return one example of each URL, except the admin's."""
    there = values(world, gone)
    numbers = {"run": there["<int:run_id>"], "other": there["<int:b>"]}
    found = []
    for route, required in permissions().items():
        path = route
        for name, value in there.items():
            path = path.replace(name, OTHERWISE.get((route, name), str(value)))
        found.append(Address(route, path, required, QUERIES.get(route, "").format(**numbers)))
    return found
