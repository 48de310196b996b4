"""Shares: create, open, expire, revoke; their effect on pages, API and exports; groups."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.accounts import access, share_links
from kubesched_ui.accounts.access import OWN, SEE, START, Viewer, can_view
from kubesched_ui.accounts.models import Group, Share
from kubesched_ui.models import Run, Scenario, current_viewer
from kubesched_ui.runs import fork_create
from kubesched_ui.scenarios.samples import load_samples
from tests.examples import examples
from tests.kubesched_ui.accounts.conftest import World, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def made_link(client: Client, thing: Any, **fields: str) -> str:
    kind = "scenarios" if isinstance(thing, Scenario) else "runs"
    page = client.post(f"/{kind}/{thing.pk}/shares/", {"name": "", "days": "", **fields}).content.decode()
    return re.findall(r"http://localhost(/shared/[\w-]+/)", page)[0]


def statuses(client: Client, run: Run) -> list[int]:
    """Return the status codes of the page, the API and the export of a run."""
    paths = (f"/runs/{run.pk}/", f"/api/runs/{run.pk}", f"/api/runs/{run.pk}/export", f"/api/runs/{run.pk}/events")
    return [client.get(path).status_code for path in paths]


def test_a_link_shows_a_run_until_it_is_revoked(world: World) -> None:
    owner, holder = client_of(world.ada), client_of()
    link = made_link(owner, world.run)
    share = Share.objects.get()
    assert share.digest
    assert share.digest not in link
    assert statuses(holder, world.run) == [302, 401, 401, 401]
    assert holder.get(link).headers["Location"] == f"/runs/{world.run.pk}/"
    assert statuses(holder, world.run) == [200] * 4
    assert statuses(holder, world.other) == [302, 401, 401, 401]
    assert link not in owner.get(f"/runs/{world.run.pk}/shares/").content.decode()
    owner.post(f"/runs/{world.run.pk}/shares/{share.pk}/revoke/")
    assert statuses(holder, world.run) == [302, 401, 401, 401]
    assert holder.get(link).status_code == 404


def test_a_link_expires(world: World) -> None:
    holder = client_of(world.eve)
    holder.get(made_link(client_of(world.ada), world.scenario, days="7"))
    assert statuses(holder, world.run) == [200] * 4
    Share.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert statuses(holder, world.run) == [404] * 4


def test_logs_do_not_contain_the_secret_of_a_link(world: World, caplog: pytest.LogCaptureFixture) -> None:
    link = made_link(client_of(world.ada), world.run)
    with caplog.at_level(logging.INFO, "kubesched_ui.requests"):
        client_of().get(link)
    assert "GET /shared/.../ 302" in caplog.text
    assert link not in caplog.text


def test_only_the_owner_shares(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    for client, status in ((client_of(world.bob), 403), (client_of(world.eve), 404), (client_of(), 302)):
        for method in ("get", "post"):
            assert getattr(client, method)(f"/runs/{world.run.pk}/shares/").status_code == status
    assert Share.objects.count() == 1


def test_a_group_share_ends_with_the_share_or_the_membership(world: World) -> None:
    owner, member = client_of(world.ada), client_of(world.bob)
    owner.post(f"/scenarios/{world.scenario.pk}/shares/", {"group": world.group.pk, "days": ""})
    assert "shared by ada" in member.get("/runs/").content.decode()
    assert statuses(member, world.run) == [200] * 4
    owner.post(f"/account/groups/{world.group.pk}/remove/{world.bob.pk}/")
    assert statuses(member, world.run) == [404] * 4
    owner.post(f"/account/groups/{world.group.pk}/add/", {"name": "bob"})
    assert statuses(member, world.run) == [200] * 4
    owner.post(f"/account/groups/{world.group.pk}/delete/")
    assert statuses(member, world.run) == [404] * 4


def test_users_share_only_with_their_own_groups(world: World) -> None:
    foreign = Group.objects.create(name="foreign", owner=world.eve)
    answer = client_of(world.ada).post(f"/runs/{world.run.pk}/shares/", {"group": foreign.pk, "days": ""})
    assert answer.status_code == 404
    assert not Share.objects.exists()


def test_a_shared_fork_does_not_reveal_its_parent(world: World) -> None:
    with current_viewer.as_viewer(world.as_ada()):
        fork = fork_create.create_fork(world.run, 1, None, [], {}, "the fork")
    Run.objects.filter(pk=fork.pk).update(state="done")
    holder = world.holder(fork)
    page = holder.get(f"/runs/{fork.pk}/").content.decode()
    assert "the fork" in page
    assert "undercover run" not in page
    assert f"/runs/{world.run.pk}/" not in page
    assert holder.get(f"/api/runs/{fork.pk}").json()["parent"] is None
    assert client_of(world.ada).get(f"/api/runs/{fork.pk}").json()["parent"] == world.run.pk


def test_signed_in_users_see_samples_and_administrators_see_ownerless_objects(world: World) -> None:
    load_samples()
    sample = Scenario.objects.filter(origin="sample").earliest("pk")
    orphan = Scenario.objects.create(name="orphan")
    eve, anonymous, root = (access.viewer_of(world.eve), Viewer(), access.viewer_of(world.root))
    assert [can_view(who, Scenario, sample.pk) for who in (eve, anonymous, root)] == [True, False, True]
    assert [can_view(who, Scenario, orphan.pk) for who in (eve, anonymous, root)] == [False, False, True]
    permitted = [(eve, START), (eve, OWN), (root, OWN)]
    assert [who.has_permission(action, sample) for who, action in permitted] == [True, False, True]


def test_objects_of_others_are_not_counted(world: World) -> None:
    share_links.share_with(world.scenario, world.ada, world.group)
    with current_viewer.as_viewer(access.viewer_of(world.bob)):
        Run.objects.create(scenario=world.scenario, name="bob's own")
    for user, number in ((world.bob, 3), (world.ada, 2)):
        listed = client_of(user).get("/scenarios/").context["lines"]
        assert [row.run_count for row, _ in listed if row.pk == world.scenario.pk] == [number]
    assert "bob's own" not in client_of(world.ada).get("/runs/?q=bob").content.decode().replace("&#x27;", "'")


@pytest.mark.django_db
@settings(max_examples=examples(40))
@given(
    share=st.sampled_from(["none", "scenario", "run", "other"]),
    to=st.sampled_from(["link", "group"]),
    over=st.booleans(),
    who=st.sampled_from(["ada", "bob", "eve", "root", "nobody"]),
    holds=st.booleans(),
    writes=st.booleans(),
)
def test_permissions_follow_the_documented_rules(
    world: World, share: str, to: str, over: bool, who: str, holds: bool, writes: bool
) -> None:
    """Compare all combinations with the rules of docs/accounts.md, written down again here."""
    Share.objects.all().delete()
    things: dict[str, Any] = {"scenario": world.scenario, "run": world.run, "other": world.other}
    opened: tuple[int, ...] = ()
    if share != "none":
        made = (
            share_links.share_by_link(things[share], world.ada)[0]
            if to == "link"
            else share_links.share_with(things[share], world.ada, world.group)
        )
        opened = (made.pk,) if holds else ()
        if over:
            Share.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    viewer = Viewer(links=opened) if who == "nobody" else access.viewer_of(getattr(world, who), opened, writes)
    live = share != "none" and not over
    by_link, by_group = live and to == "link" and holds, live and to == "group" and who == "bob"
    for name, thing in things.items():
        shows = {
            "scenario": share in things,
            "run": share in ("scenario", "run"),
            "other": share in ("scenario", "other"),
        }
        owns = who in ("ada", "root")
        seen = owns or (shows[name] and (by_link or by_group))
        acts = (writes or who == "nobody") and who != "nobody"
        assert viewer.has_permission(SEE, thing) == seen
        assert viewer.has_permission(START, thing) == (acts and (owns or (shows[name] and by_group)))
        assert viewer.has_permission(OWN, thing) == (acts and owns)
