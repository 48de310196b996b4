import pytest

from scheduler_core.api.objects import Node, decode
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import info, node, pod

SIZE = 500_000_000
IMAGE = {"app:1": SIZE}
MIB = 1 << 20


def added(simulation: Simulation, name: str) -> None:
    raw = decode(node(name, images=IMAGE))
    assert isinstance(raw, Node)
    simulation.cluster.apply_nodes([raw])


def score(having: int, nodes: int) -> int:
    return 100 * (int(SIZE * (having / nodes)) - 23 * MIB) // (977 * MIB)


@pytest.mark.parametrize(
    ("release", "having"),
    [
        # n1 was copied when two nodes had the image; a pod was bound to n0 since then, and n2 is new.
        ("1.36", {"n0": 3, "n1": 2, "n2": 3}),
        ("1.29", {"n0": 3, "n1": 2, "n2": 3}),
        # counted once, when the node was added
        ("1.28", {"n0": 1, "n1": 2, "n2": 3}),
    ],
)
def test_the_nodes_with_an_image_are_counted_when_a_node_changes(release, having):
    simulation = Simulation([node("n0", images=IMAGE), node("n1", images=IMAGE)], release=release)
    first, second = (info(pod(name, image="app:1"), release) for name in ("first", "second"))
    simulation.scheduler.places["default/first"] = "n0"
    simulation.scheduler.schedule_one(first)
    added(simulation, "n2")
    trace = simulation.scheduler.schedule_one(second)
    found = dict(zip(simulation.nodes, trace.scores["ImageLocality"].raw.tolist(), strict=True))
    assert found == {name: score(count, 3) for name, count in having.items()}


@pytest.mark.parametrize(("release", "share"), [("1.36", 977), ("1.37", 1977)])
def test_image_volumes_raise_the_threshold_from_1_37_on(release: str, share: int) -> None:
    """Two images of 500 MB on n0, one of them a volume: the upper threshold is 1000 MiB, or 2000 MiB."""
    image = {"name": "data", "image": {"reference": "data:1"}}
    nodes = [node("n0", images={"app:1": SIZE, "data:1": SIZE}), node("n1")]
    trace = next(Simulation([*nodes, pod("p", image="app:1", volumes=[image])], release=release).run())
    expected = 100 * (2 * (SIZE // 2) - 23 * MIB) // (share * MIB)
    assert trace.scores["ImageLocality"].raw.tolist() == [expected, 0]
