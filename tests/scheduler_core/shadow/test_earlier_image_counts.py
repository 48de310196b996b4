"""Numbers of nodes with an image that the scheduler took before the cluster was followed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduler_core.api.objects import Object, decode
from scheduler_core.live import recorded_folder
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.ordering import in_order
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Bookmark, Gap, Item, Listed, WatchEvent
from scheduler_core.releases import get_release
from scheduler_core.shadow.earlier_image_counts import EarlierImageCounts
from scheduler_core.shadow.judge import Judge
from tests.recordings import LIVE_A

RELEASE = get_release("1.36")
START, END = 1040, 1100  # resourceVersions: c5-132 was created at 923


def node(name: str, created: str) -> Object:
    images = [{"names": ["app:1"], "sizeBytes": 500_000_000}]
    status = {"allocatable": {"cpu": "4", "pods": "10"}, "images": images}
    return typed({"kind": "Node", "metadata": {"name": name, "creationTimestamp": created}, "status": status})


def pod(name: str, on: str, created: str) -> Object:
    metadata = {"name": name, "namespace": "a", "creationTimestamp": created}
    return typed({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": on, "containers": [{"name": "c"}]}})


def typed(raw: dict[str, object]) -> Object:
    obj = decode({"apiVersion": "v1", **raw})
    assert obj is not None
    return obj


def counts_of(*pods: Object) -> EarlierImageCounts:
    """Return the numbers for old and quiet, which are there from the beginning, and late, created at 12:00."""
    mirror = ClusterMirror(RELEASE)
    found = EarlierImageCounts(mirror)
    nodes = (node("old", "2026-01-01T10:00:00Z"), node("quiet", "2026-01-01T10:00:00Z"))
    mirror.apply(Listed("Node", 5, (*nodes, node("late", "2026-01-01T12:00:00Z")), 1.0))
    mirror.apply(Listed("Pod", 6, pods, 1.0))
    mirror.cluster.nodes.refresh()
    found.begin()
    return found


def least(counts: EarlierImageCounts, chosen: str) -> dict[str, int]:
    """Return the numbers of all nodes in the state that differs, and check that it is left again."""
    table = counts._mirror.cluster.nodes
    inside = {}
    for state in counts.states(chosen):
        with state.enter():
            inside = {name: table.image_counts(name)["app:1"] for name in table.rows}
    assert {name: table.image_counts(name)["app:1"] for name in table.rows} == dict.fromkeys(table.rows, 3)
    return inside


def test_nodes_that_were_copied_before_a_node_was_created_do_not_count_it() -> None:
    counts = counts_of(pod("first", "old", "2026-01-01T11:00:00Z"), pod("last", "late", "2026-01-01T13:00:00Z"))
    assert least(counts, "late") == {"old": 2, "quiet": 2, "late": 3}
    assert least(counts, "old") == {"old": 3, "quiet": 2, "late": 3}
    counts.forget("quiet")
    assert least(counts, "late") == {"old": 2, "quiet": 3, "late": 3}
    assert least(counts, "old") == {}


@pytest.mark.parametrize(
    "pods",
    [
        (),  # no cycle yet: the first one copies all nodes
        (pod("last", "late", "2026-01-01T13:00:00Z"),),  # the first cycle was after the node's creation
    ],
)
def test_nodes_without_a_cycle_before_have_the_present_numbers(pods: tuple[Object, ...]) -> None:
    assert least(counts_of(*pods), "late") == {}


def from_the_middle() -> Iterator[Item]:
    """Yield the recording as a follower sees it that begins at START."""
    items = list(recorded_folder.read(str(LIVE_A)))
    kinds = sorted({item.kind for item in items})
    for kind in kinds:
        store = Store()
        for item in items:
            if item.kind == kind and not isinstance(item, Gap) and item.resource_version <= START:
                store.apply(item)
        yield Listed(kind, START, tuple(store.objects(kind)), 0.0)
    for item in items:
        if isinstance(item, WatchEvent) and START < item.resource_version <= END:
            yield item
    yield from (Bookmark(kind, END, 1e12) for kind in kinds)


def test_decisions_after_a_start_in_the_middle_of_a_recording_are_explained() -> None:
    items = list(from_the_middle())
    judge = Judge(RELEASE)
    judgements = [one for item in in_order(iter(items), {item.kind for item in items}) for one in judge.feed(item)]
    judgements += judge.finish()
    assert [one for one in judgements if not one.explained] == []
    (found,) = (one for one in judgements if "image_counts" in one.details)
    assert (found.pod, found.node, found.outcome) == ("dev/app13-0110", "r5-011", "earlier")
