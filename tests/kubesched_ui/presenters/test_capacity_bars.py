"""Capacity bars of nodes: heights on one scale, labels, selected resource."""

from kubesched_ui.presenters.capacity_bars import DRAWN, bar_row, short_of
from kubesched_ui.scenarios.cluster_overview import ZONES, NodeLine, PodLine

GIB = 2**30


def a_node(name: str, cpu: int, *pods: int, zone: str = "", memory: int = 8, **more: int) -> NodeLine:
    on = [PodLine(f"default/p{i}", requests={"cpu": asks, "memory": GIB}) for i, asks in enumerate(pods)]
    return NodeLine(name, {"cpu": cpu, "memory": memory * GIB, **more}, {ZONES[0]: zone}, pods=on)


def test_heights_have_one_scale() -> None:
    drawn = bar_row([a_node("n1", 4000, 1000, 2000), a_node("n2", 2000)], {"cpu": 8000})
    assert drawn.tall == 100
    first, second = drawn.bars
    assert (first.tall, second.tall) == (50, 25)
    assert [block.height for block in first.blocks] == [25, 50]
    assert (first.comes, second.comes) == (200, 400)
    assert (first.free, drawn.asks, drawn.resource) == ("1 of 4 free", "8", "CPU")


def test_the_resource_that_the_pod_lacks_is_drawn() -> None:
    nodes = [a_node("n1", 4000, 1000, **{"example.com/gpu": 4})]
    assert bar_row(nodes, {"cpu": 500, "memory": 4 * GIB}).resource == "memory"
    assert bar_row(nodes, {"cpu": 500, "memory": GIB // 8}).resource == "CPU"
    assert bar_row(nodes, {"cpu": 500, "example.com/gpu": 2}).bars[0].free == "4 of 4 free"
    assert bar_row(nodes, {}).asks == "nothing"
    assert bar_row([], {"cpu": 1}).bars == []


def test_nominated_pods_are_marked() -> None:
    promised = a_node("n1", 4000, 1000)
    promised.nominated.append(PodLine("default/high", requests={"cpu": 2000}))
    bar = bar_row([promised]).bars[0]
    assert [(block.pod, block.height, block.nominated) for block in bar.blocks] == [
        ("default/p0", 25, False),
        ("default/high", 50, True),
    ]
    assert bar.free == "3 of 4 free, 2 nominated"


def test_missing_quantities() -> None:
    nodes = [a_node("n1", 4000, 3000), a_node("n2", 4000), a_node("full", 2000, 3000)]
    assert short_of(nodes, {"cpu": 2500}) == {"n1": "1.5", "full": "3.5"}
    assert bar_row(nodes).bars[2].free == "0 of 2 free"


def test_marks_zones_and_many_nodes() -> None:
    drawn = bar_row([a_node("n1", 1, zone="a"), a_node("n2", 1, zone="b"), a_node("n3", 1, zone="a")])
    assert [(zone, [v.name for v in bars]) for zone, bars in drawn.zones] == [("a", ["n1", "n3"]), ("b", ["n2"])]
    marked = drawn.marked({"n2": ("refused", "no room")})
    assert [bar.mark for bar in marked.bars] == ["", "refused", ""]
    many = bar_row([a_node(f"n{i}", 1) for i in range(DRAWN + 3)])
    assert (len(many.bars), many.more, many.named) == (DRAWN, 3, False)
