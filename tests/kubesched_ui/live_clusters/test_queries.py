"""Queries about live clusters."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from kubesched_ui.clusters import fork, queries
from kubesched_ui.clusters.models import Cluster, Decision
from kubesched_ui.models import Run, Scenario
from scheduler_core.api.patches import difference, merge_patch
from scheduler_core.errors import InputError
from tests.kubesched_ui.live_clusters.factory import FIRST, GAP, LAST, live_cluster

pytestmark = pytest.mark.django_db


def test_the_state_at_a_version_has_the_changes_up_to_it() -> None:
    cluster = live_cluster()

    def unschedulable(version: int) -> bool:
        objects = queries.state_at(cluster, version)
        return next(one.spec.unschedulable for one in objects if one.metadata.name == "n0")

    assert [unschedulable(version) for version in (FIRST, FIRST + 20, FIRST + 39, FIRST + 40)] == [
        *[False, True, True, False]
    ]


@pytest.mark.parametrize("version", [FIRST - 1, LAST + 1])
def test_a_version_outside_of_the_history_is_refused(version: int) -> None:
    with pytest.raises(InputError, match=f"must be from {FIRST} to {LAST}"):
        queries.state_at(live_cluster(), version)


def test_a_version_inside_of_a_gap_is_marked() -> None:
    cluster = live_cluster()
    assert queries.gap_at(cluster, GAP[0] + 1)
    assert queries.gap_at(cluster, FIRST + 1) is None


def test_the_history_has_bounds_and_positions() -> None:
    history = queries.history(live_cluster(), most=5)
    assert (history.first, history.last, len(history.positions)) == (FIRST, LAST, 5)
    assert history.positions[-1][0] == LAST
    assert sum(changes for _, _, changes in history.positions) == history.changes


def test_the_report_card_counts_outcomes() -> None:
    card = queries.report_card(live_cluster())
    assert (card.decisions, card.explained, card.outcomes["unexplained"]) == (24, 22, 2)
    assert sum(sum(hour.outcomes.values()) for hour in card.hours) == 24
    assert card.messages == {"equal": 5, "differs": 1}


def with_stale(cluster: Cluster, *kinds: str) -> datetime:
    since = timezone.now() - timedelta(minutes=7)
    for kind in kinds:
        cluster.health[kind] = {"state": "retrying", "message": "m", "event_at": 1.0, "stale_since": since.timestamp()}
    cluster.save()
    return since


def test_a_cluster_with_unknown_changes_is_not_up_to_date() -> None:
    cluster = live_cluster(message="nodes: the API server refuses to list them (403).")
    at = f"{timezone.localtime(with_stale(cluster, 'Pod', 'Node', 'Service', 'Job', 'LimitRange')):%Y-%m-%d %H:%M:%S}"
    expected = (
        f"Not up to date: changes of nodes, pods, services and 2 more kinds since {at} are unknown. "
        "nodes: the API server refuses to list them (403)."
    )
    assert queries.follower(cluster).sentence == expected
    assert queries.limits(cluster) == [expected]
    node = next(one for one in queries.kinds(cluster) if one.kind == "Node")
    assert node.consequence == f"Changes since {at} are unknown."


def test_a_cluster_without_refused_kinds_is_up_to_date() -> None:
    cluster = live_cluster(health={"Node": {"state": "watching", "event_at": 5.0}})
    assert queries.follower(cluster).sentence == "Up to date."
    assert queries.limits(cluster) == []
    cluster.health["Pod"] = {"state": "refused", "consequence": "No pod is shown."}
    assert queries.follower(cluster).sentence == "Up to date, without pods, which cannot be read."


@pytest.mark.parametrize(
    ("ago", "expected"),
    [
        (15, "Its follower has not reported since "),
        (45, "Starting to follow this cluster. What you see is the state of "),
    ],
)
def test_the_message_of_a_killed_follower_is_not_shown(ago: int, expected: str) -> None:
    cluster = live_cluster(message="the old one", heartbeat_at=timezone.now() - timedelta(seconds=ago))
    state = queries.follower(cluster)
    assert state.state == "connecting"
    assert state.sentence.startswith(expected)
    assert "old one" not in state.sentence
    assert queries.limits(cluster) == [state.sentence]


def test_a_follower_that_ended_on_its_own_leaves_its_message() -> None:
    cluster = live_cluster(message="There is no context prod.", heartbeat_at=None, state="failed")
    assert queries.follower(cluster).sentence == "There is no context prod."


def test_a_kind_with_a_consequence_comes_first() -> None:
    assert [one.kind for one in queries.kinds(live_cluster())] == ["ResourceQuota", "Node", "Pod"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": [1]}),
        ({"a": [1]}, {"a": {"b": {}}}),
        ({}, {"a": {}}),
        ({"a": {}}, {"a": {"b": {"c": {}}}}),
        ({"a": 1}, {}),
    ],
)
def test_a_merge_patch_of_two_objects_leads_from_one_to_the_other(old: dict, new: dict) -> None:
    assert repr(merge_patch(old, difference(old, new))) == repr(new)


def test_a_fork_is_a_scenario_of_the_state() -> None:
    scenario = queries.fork(live_cluster(), FIRST + 20)
    assert (scenario.origin, scenario.kubernetes, scenario.pending) == ("live", "v1.36.2", 3)
    assert scenario.counts == {"Node": 4, "Pod": 7}
    node = next(scenario.objects_of(["Node"]))
    assert (node["apiVersion"], node["spec"]) == ("v1", {"unschedulable": True})


def test_an_opened_decision_is_one_run_of_its_pod_alone() -> None:
    cluster = live_cluster()
    decision = Decision.objects.create(
        cluster=cluster, pod="default/waiting-1", resource_version=LAST, at=timezone.now()
    )
    run = queries.open_decision(decision)
    assert run
    assert (run.pods, run.release) == (["default/waiting-1"], "1.36")
    assert queries.open_decision(decision) == run
    assert queries.save_decision(decision) == run.scenario
    run.scenario.refresh_from_db()
    assert run.scenario.pinned


def test_the_oldest_opened_decisions_are_deleted_unless_they_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "OPENED", 1)
    cluster = live_cluster()
    runs = []
    for number in range(3):
        columns = {"pod": f"default/waiting-{number}", "resource_version": LAST - 1, "at": timezone.now(), "node": "n9"}
        decision = Decision.objects.create(cluster=cluster, **columns)
        runs.append(queries.open_decision(decision))
        if number == 0:
            queries.save_decision(decision)
        Run.objects.update(state="done", finished_at=timezone.now())
    assert set(Run.objects.values_list("pk", flat=True)) == {runs[0].pk, runs[2].pk}


def test_a_decision_about_an_unknown_pod_has_no_run() -> None:
    decision = queries.decisions(live_cluster()).last()
    assert queries.open_decision(decision) is None
    assert not Scenario.objects.exists()


def test_a_release_is_chosen_and_returned_to_the_found_one() -> None:
    cluster = live_cluster()
    queries.choose(cluster, "v1.33.4", "")
    cluster.refresh_from_db()
    assert (cluster.used_release, cluster.version) == ("1.33.4", 2)
    with pytest.raises(InputError):
        queries.choose(cluster, "", "kind: Unknown")
    queries.choose(cluster, "", "")
    cluster.refresh_from_db()
    assert cluster.used_release == "1.36"
