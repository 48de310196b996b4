import random
from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.live import recorded_folder
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.ordering import in_order
from scheduler_core.live.watch_events import Listed, WatchEvent
from scheduler_core.releases import get_release
from tests.recordings import LIVE_A
from tests.scheduler_core.build import node, pod

RELEASE = get_release("1.36")


def state(mirror: ClusterMirror) -> Any:
    """The columns and the objects of a mirror."""
    mirror.cluster.nodes.refresh()
    nodes = mirror.cluster.nodes
    columns = {name: column.tolist() for name, column in (*nodes.requested.items(), *nodes.allocatable.items())}
    objects = {kind: dict(mirror.store.by_key(kind)) for kind in ("Node", "Pod", "Service", "Namespace")}
    on_nodes = {name: sorted(entry.pods) for name, entry in nodes.entries.items()}
    placed = {key: info.node for key, info in mirror.cluster.pods.items()}
    return (
        *(list(nodes.names), columns, nodes.pod_count.tolist(), nodes.unschedulable.tolist(), on_nodes),
        *(placed, sorted(mirror.pending), sorted(mirror.cluster.nominator.nominations().items()), objects),
    )


def changed(raw: dict[str, Any], version: int) -> Any:
    obj = decode(raw | {"metadata": raw["metadata"] | {"resourceVersion": str(version)}})
    assert obj is not None
    return obj


def random_items(seed: int, count: int) -> list[WatchEvent]:
    """Changes of nodes and pods: additions, removals, moves between zones, bindings, ends, nominations, labels."""
    rng = random.Random(seed)
    known: dict[tuple[str, str], Any] = {}
    items = []
    for version in range(1, count + 1):
        name = f"n{rng.randrange(12)}"
        raw = node(name, zone=f"z{rng.randrange(3)}", cpu=str(rng.randrange(1, 9)), unschedulable=rng.random() < 0.2)
        if rng.random() < 0.7:
            name = f"p{rng.randrange(30)}"
            status = {"phase": rng.choice(["Pending", "Running", "Running", "Succeeded"])}
            if rng.random() < 0.2:
                status["nominatedNodeName"] = "n1"
            on, labels = rng.choice(["", f"n{rng.randrange(12)}"]), {"app": rng.choice("ab")}
            raw = pod(name, on=on, requests={"cpu": rng.choice(["1", "250m"])}, labels=labels, status=status)
        obj = changed(raw, version)
        place = (raw["kind"], obj.key)
        kind = "MODIFIED" if place in known else "ADDED"
        if place in known and rng.random() < 0.25:
            kind, obj = "DELETED", known[place]
        known[place] = obj
        if kind == "DELETED":
            del known[place]
        items.append(WatchEvent(raw["kind"], kind, obj.key, version, obj, float(version)))  # type: ignore[arg-type]
    return items


@pytest.mark.parametrize("seed", range(4))
def test_undoing_changes_gives_the_earlier_states_and_redoing_the_later_ones(seed):
    mirror = ClusterMirror(RELEASE, undoable=1000)
    mirror.cluster.nodes.refresh()
    states = [state(mirror)]
    for item in random_items(seed, 120):
        mirror.apply(item)
        states.append(state(mirror))
    undone = []
    for earlier in reversed(states[:-1]):
        undone.append(mirror.undo())
        assert state(mirror) == earlier
    assert mirror.undo() is None
    for later in states[1:]:
        mirror.redo(undone.pop())
        assert state(mirror) == later


def test_a_second_list_replaces_the_first():
    mirror = ClusterMirror(RELEASE, undoable=10)
    nodes = tuple(changed(node(f"n{i}"), 1) for i in range(3))
    mirror.apply(Listed("Node", 1, nodes, 0.0))
    mirror.apply(Listed("Pod", 1, (changed(pod("a", on="n0"), 1), changed(pod("b"), 1)), 0.0))
    mirror.apply(Listed("Node", 5, nodes[1:], 1.0))
    mirror.apply(Listed("Pod", 5, (changed(pod("a", on="n1"), 4), changed(pod("c"), 5)), 1.0))
    mirror.cluster.nodes.refresh()
    assert mirror.cluster.nodes.names == ["n1", "n2"]
    assert (mirror.cluster.pods["default/a"].node, list(mirror.pending)) == ("n1", ["default/c"])
    assert mirror.undo() is None


def test_a_heartbeat_leaves_the_columns_as_they_are():
    mirror = ClusterMirror(RELEASE)
    mirror.apply(WatchEvent("Node", "ADDED", "n", 1, changed(node("n"), 1), 0.0))
    before = mirror.cluster.nodes.version
    change = mirror.apply(WatchEvent("Node", "MODIFIED", "n", 2, changed(node("n"), 2), 0.0))
    assert change is not None
    assert (mirror.cluster.nodes.version, change.matters) == (before, False)


def test_the_mirror_of_a_recording_equals_a_cluster_loaded_from_its_last_objects():
    items = list(recorded_folder.read(LIVE_A))
    mirror = ClusterMirror(RELEASE, undoable=500)
    for item in in_order(iter(items), {item.kind for item in items}):
        mirror.apply(item)
    fresh = ClusterMirror(RELEASE)
    for kind in ("Node", "Pod", "PersistentVolume", "Service", "Namespace"):
        fresh.apply(Listed(kind, 1, tuple(mirror.store.objects(kind)), 0.0))
    ours, other = state(mirror), state(fresh)
    order = [ours[0].index(name) for name in other[0]]
    assert sorted(ours[0]) == sorted(other[0])
    assert [ours[2][row] for row in order] == other[2]
    assert {name: [column[row] for row in order] for name, column in ours[1].items() if any(column)} == {
        name: column for name, column in other[1].items() if any(column)
    }
    assert (ours[5], ours[6]) == (other[5], other[6])
    before = state(mirror)
    with mirror.without(500) as undone:
        assert len(undone) == 500
    assert state(mirror) == before
