"""Every kind of user opens every URL. A URL without a permission fails here."""

import itertools
import re
from typing import Any

import pytest
from django.conf import settings as in_force
from django.test import Client
from django.urls import resolve

from kubesched_ui.accounts import share_links
from kubesched_ui.accounts.access import OWN, SEE
from kubesched_ui.accounts.permissions import ADMINS, CLOSED, LEVELS_OF_OBJECTS, OPEN, USERS, Permission, objects_of
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Breakpoint, Run, Scenario, Upgrade
from tests.examples import selection
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.accounts.url_examples import Address, addresses, permissions
from tests.kubesched_ui.experiments.documents import document
from tests.kubesched_ui.http_api import body

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


API_ROOT = "api/"  # the closed registration


def test_every_url_has_a_permission() -> None:
    assert [route for route, required in permissions().items() if required == Permission()] == [API_ROOT]


CHANGES_NOTHING = ("compose/", "compose/read/", "compose/change/", "message/", "api/messages")


def test_every_permission_finds_its_objects_and_every_write_has_a_name() -> None:
    for route, required in permissions().items():
        if required.read in LEVELS_OF_OBJECTS or required.write in LEVELS_OF_OBJECTS:
            assert objects_of(kwargs_of(route)), route
        changes_nothing = required.write in (CLOSED, OPEN) or route in CHANGES_NOTHING
        assert bool(required.action) != changes_nothing, route


def kwargs_of(route: str) -> dict[str, Any]:
    """Return the keyword arguments that Django would find in a URL of this route."""
    return dict.fromkeys(re.findall(r"<(?:\w+:)?(\w+)>", route), "1")


def comparable(answer: Any) -> tuple[int, str]:
    """Return the status and the text of a response without numbers."""
    response = answer.headers.get("Location", "") + re.sub(rb'nonce="[^"]*"', b"", body(answer)).decode(
        "utf-8", "replace"
    )
    response = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response)
    return answer.status_code, re.sub(r"\d+", "N", response)


def assert_no_access(client: Client, world: World) -> None:
    """All URLs of objects respond as for objects that never existed, and no response contains a name."""
    of_nothing: dict[Any, tuple[int, str]] = {}
    for there, gone in zip(addresses(world), addresses(world, gone=True), strict=True):
        if there.path.startswith("account/"):
            continue  # the user's own pages; and one would sign out
        named = [model for model, _ in objects_of(kwargs_of(there.route))]
        for method in ("get", "delete" if there.path.startswith("api/") else "post"):
            response = comparable(getattr(client, method)(there.whole))
            assert "undercover" not in response[1], (method, there)
            if there.permission.read in LEVELS_OF_OBJECTS or "compare" in there.route:
                key = (there.path[:4], method, *named) if "compare" not in there.route else (there, method)
                if key not in of_nothing:
                    of_nothing[key] = comparable(getattr(client, method)(gone.whole))
                assert without_next(response) == without_next(of_nothing[key]), (method, there)
                assert response[0] in (302, 401, 404, 405), (method, there, response)


def without_next(response: tuple[int, str]) -> tuple[int, str]:
    """Remove the page to return to after signing in, which repeats the request."""
    return response[0], re.sub(r"next=\S+", "", response[1])


def test_a_user_without_shares_sees_nothing(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    world.link(world.run)
    assert_no_access(client_of(world.eve), world)


def test_an_anonymous_user_sees_nothing(world: World) -> None:
    client = client_of()
    assert_no_access(client, world)
    for address in addresses(world):
        answer = client.get(address.whole)
        if address.permission.read not in (OPEN, CLOSED):
            assert answer.status_code == (401 if address.path.startswith("api/") else 302), address
            assert address.path.startswith("api/") or answer.headers["Location"].startswith("/account/login/"), address


def reads(client: Client, world: World, never: bytes = b"no such words") -> dict[str, int]:
    """Return the status of reading each route. `never`: text that no response contains."""
    found = {}
    for address in addresses(world):
        if address.permission.read not in (OPEN, CLOSED) and (in_force.ACCOUNTS or not address.of_accounts):
            answer = client.get(address.whole)
            assert never not in body(answer), address
            found[address.route] = answer.status_code
    return found


# Routes that a single-pass run lacks, routes of pod groups, and routes that only accept writes.
ELSEWHERE = re.compile(r"lanes|moment|history|groups/|/claims|trials|charts")


def sees_all(found: dict[str, int], but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    wrong = {
        route: status
        for route, status in found.items()
        if status not in (200, 302, 405, 409) and not ELSEWHERE.search(route) and route not in but
    }
    assert wrong == {}


def of_clusters() -> set[str]:
    """Return the routes of live clusters, which no link shows."""
    return {route for route in permissions() if "<int:cluster_id>" in route}


def readable_by(*levels: str) -> set[str]:
    return {route for route, required in permissions().items() if required.read in levels}


def test_the_owner_sees_all(world: World) -> None:
    sees_all(reads(client_of(world.ada), world), but=readable_by(ADMINS))


@pytest.mark.long
def test_an_administrator_sees_all(world: World) -> None:
    client = client_of(world.root)
    sees_all(reads(client, world))
    assert client.get("/admin/").status_code == 200
    assert client_of(world.eve).get("/admin/").status_code == 404
    assert client_of().get("/admin/login/").headers["Location"] == "/account/login/"


@pytest.mark.long
def test_a_group_member_sees_what_is_shared_with_the_group(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    sees_all(reads(client_of(world.bob), world), but=readable_by(OWN, ADMINS))


@pytest.mark.long
def test_a_link_to_a_scenario_shows_it_and_its_runs(world: World) -> None:
    sees_all(reads(world.holder(world.scenario), world), but=readable_by(USERS, OWN, ADMINS) | of_clusters())


def test_a_link_to_a_run_shows_only_that_run(world: World) -> None:
    client = world.holder(world.run)
    with_other = {route for route in permissions() if re.search("compare|upgrades/|experiment_id", route)}
    found = reads(client, world, b"undercover other run")
    sees_all(found, but=readable_by(USERS, OWN, ADMINS) | of_clusters() | with_other)
    assert found["compare/<int:a>/<int:b>/"] == 302
    assert found["api/compare"] == 404
    assert found["api/upgrades/<int:upgrade_id>"] == 401
    number = world.other.pk
    assert client.get(f"/api/runs/{number}").json() == {
        "error": "Authentication required. Sign in, or send a token: Authorization: Bearer ..."
    }
    assert client.get("/api/runs").json()[0]["name"] == "undercover run"
    assert len(client.get("/api/runs").json()) == 1
    assert client.get(f"/api/scenarios/{world.scenario.pk}").json()["runs"] == [world.run.pk]


def writes(client: Client, world: World) -> list[tuple[Address, str, Any]]:
    """Send every write, with forms that change nothing even where the write is permitted."""
    writable = [address for address in addresses(world) if address.permission.write in LEVELS_OF_OBJECTS]
    pairs = itertools.product(writable, ("post", "patch", "delete", "put"))
    return [(address, method, getattr(client, method)(address.whole)) for address, method in pairs]


def kept(world: World) -> tuple[Any, ...]:
    rows = tuple(list(m.objects.order_by("pk").values_list("pk", flat=True)) for m in (Run, Scenario, Upgrade))
    return rows, Breakpoint.objects.count(), Run.objects.get(pk=world.run.pk).name


@pytest.mark.parametrize("signed_in", selection([False, True], 2))
def test_a_link_gives_read_access_only(world: World, signed_in: bool) -> None:
    client, before = world.holder(world.scenario, world.eve if signed_in else None), kept(world)
    for address, method, answer in writes(client, world):
        if address.route in of_clusters():
            assert answer.status_code in (302, 401, 404, 405), (method, address, answer.status_code)
            continue
        assert answer.status_code in (403, 405), (method, address, answer.status_code)
        assert answer.status_code == 405 or re.search("link|owner", answer.content.decode()), (method, address)
    assert kept(world) == before


@pytest.mark.long
def test_a_group_member_starts_runs_but_does_not_change_them(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    client = client_of(world.bob)
    for address, method, answer in writes(client, world):
        if address.permission.write == OWN:
            assert answer.status_code in (403, 405), (method, address, answer.status_code)
    address = f"/api/scenarios/{world.scenario.pk}/runs"
    started = client.post(address, "{}", content_type="application/json")
    assert started.status_code == 202
    assert client_of(world.ada).get(f"/api/runs/{started.json()['id']}").status_code == 404
    assert client.get(f"/api/runs/{started.json()['id']}").status_code == 200


def test_a_url_without_a_permission_is_denied(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, required in ((f"/runs/{world.run.pk}/", Permission()), ("/scenarios/", Permission(SEE))):
        monkeypatch.setattr(resolve(path).func, "permission", required)
        assert client_of(world.ada).get(path).status_code == 404


@pytest.mark.long
def test_without_accounts_every_page_is_open(world: World, settings: Any) -> None:
    settings.ACCOUNTS = False
    sees_all(reads(client_of(), world))


def test_an_experiment_names_only_scenarios_that_its_user_sees(world: World) -> None:
    wanted = document(world.scenario.pk)
    hidden = client_of(world.eve).post("/api/experiments", wanted, content_type="application/json")
    assert (hidden.status_code, "no scenario" in hidden.json()["error"]) == (400, True)
    share_links.share_with(world.scenario, world.ada, world.group)
    made = client_of(world.bob).post("/api/experiments", wanted, content_type="application/json")
    assert made.status_code == 202, made.content
    assert client_of(world.ada).get(made.json()["url"]).status_code == 404, "it belongs to Bob"


def test_an_experiment_of_several_scenarios_is_not_shared_with_one_of_them(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    address = f"/experiments/{world.experiment.pk}/"
    assert client_of(world.bob).get(address).status_code == 200
    Experiment.everything.update(scenarios_total=2)
    assert client_of(world.bob).get(address).status_code == 404
