"""Shares: made, opened, over, revoked; the pages, the API, exports. Groups. What stays private."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui import current_viewer
from kubesched_ui.accounts import access, share_links
from kubesched_ui.accounts.access import OWN, SEE, START, Viewer, can_view
from kubesched_ui.accounts.models import Group, Share
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import fork_create
from kubesched_ui.scenarios.samples import load_samples
from tests.examples import examples
from tests.kubesched_ui.accounts.conftest import World, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def made_link(client: Client, thing: Any, **fields: str) -> str:
    kind = "scenarios" if isinstance(thing, Scenario) else "runs"
    said = client.post(f"/{kind}/{thing.pk}/shares/", {"name": "", "days": "", **fields}).content.decode()
    return re.findall(r"http://localhost(/shared/[\w-]+/)", said)[0]


def asked(client: Client, run: Run) -> list[int]:
    """What page, API and export of a run answer."""
    paths = (f"/runs/{run.pk}/", f"/api/runs/{run.pk}", f"/api/runs/{run.pk}/export", f"/api/runs/{run.pk}/events")
    return [client.get(path).status_code for path in paths]


def test_a_link_shows_a_run_until_it_is_revoked(world: World) -> None:
    owner, holder = client_of(world.ada), client_of()
    link = made_link(owner, world.run)
    share = Share.objects.get()
    assert share.digest
    assert share.digest not in link
    assert asked(holder, world.run) == [302, 401, 401, 401]
    assert holder.get(link).headers["Location"] == f"/runs/{world.run.pk}/"
    assert asked(holder, world.run) == [200] * 4
    assert asked(holder, world.other) == [302, 401, 401, 401]
    assert link not in owner.get(f"/runs/{world.run.pk}/shares/").content.decode()
    owner.post(f"/runs/{world.run.pk}/shares/{share.pk}/revoke/")
    assert asked(holder, world.run) == [302, 401, 401, 401]
    assert holder.get(link).status_code == 404


def test_a_link_is_over_after_its_time(world: World) -> None:
    holder = client_of(world.eve)
    holder.get(made_link(client_of(world.ada), world.scenario, days="7"))
    assert asked(holder, world.run) == [200] * 4
    Share.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert asked(holder, world.run) == [404] * 4


def test_logs_do_not_tell_the_secret_of_a_link(world: World, caplog: pytest.LogCaptureFixture) -> None:
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


def test_a_groups_share_ends_with_it_and_with_membership(world: World) -> None:
    owner, member = client_of(world.ada), client_of(world.bob)
    owner.post(f"/scenarios/{world.scenario.pk}/shares/", {"group": world.group.pk, "days": ""})
    assert "shared by ada" in member.get("/runs/").content.decode()
    assert asked(member, world.run) == [200] * 4
    owner.post(f"/account/groups/{world.group.pk}/remove/{world.bob.pk}/")
    assert asked(member, world.run) == [404] * 4
    owner.post(f"/account/groups/{world.group.pk}/add/", {"name": "bob"})
    assert asked(member, world.run) == [200] * 4
    owner.post(f"/account/groups/{world.group.pk}/delete/")
    assert asked(member, world.run) == [404] * 4


def test_nobody_shares_with_a_group_that_he_is_not_in(world: World) -> None:
    foreign = Group.objects.create(name="foreign", owner=world.eve)
    answer = client_of(world.ada).post(f"/runs/{world.run.pk}/shares/", {"group": foreign.pk, "days": ""})
    assert answer.status_code == 404
    assert not Share.objects.exists()


def test_a_fork_that_is_shared_says_nothing_of_its_parent(world: World) -> None:
    with current_viewer.as_viewer(world.as_ada()):
        fork = fork_create.create_fork(world.run, 1, None, [], {}, "the fork")
    Run.objects.filter(pk=fork.pk).update(state="done")
    holder = world.holder(fork)
    said = holder.get(f"/runs/{fork.pk}/").content.decode()
    assert "the fork" in said
    assert "undercover run" not in said
    assert f"/runs/{world.run.pk}/" not in said
    assert holder.get(f"/api/runs/{fork.pk}").json()["parent"] is None
    assert client_of(world.ada).get(f"/api/runs/{fork.pk}").json()["parent"] == world.run.pk


def test_samples_are_everybodys_who_is_signed_in_and_what_has_no_owner_is_the_administrators(world: World) -> None:
    load_samples()
    sample = Scenario.objects.filter(origin="sample").earliest("pk")
    orphan = Scenario.objects.create(name="orphan")
    eve, nobody, root = (access.viewer_of(world.eve), Viewer(), access.viewer_of(world.root))
    assert [can_view(who, Scenario, sample.pk) for who in (eve, nobody, root)] == [True, False, True]
    assert [can_view(who, Scenario, orphan.pk) for who in (eve, nobody, root)] == [False, False, True]
    permitted = [(eve, START), (eve, OWN), (root, OWN)]
    assert [who.has_permission(action, sample) for who, action in permitted] == [True, False, True]


def test_what_others_do_is_not_counted(world: World) -> None:
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
def test_who_may_do_what(world: World, share: str, to: str, over: bool, who: str, holds: bool, writes: bool) -> None:
    """All combinations against the rules of docs/accounts.md, told a second time."""
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
