from scheduler_core.api.objects import Node, convert
from scheduler_core.shadow.start_index import ListedNodes
from tests.scheduler_core.build import ZONE, node


def in_zone(name: str, zone: str) -> Node:
    return convert(node(name, labels={ZONE: zone}), Node, name)


def test_a_node_that_changes_its_zone_keeps_its_place_until_a_node_comes_or_goes() -> None:
    tree = ListedNodes([in_zone("n1", "a"), in_zone("n2", "a"), in_zone("n3", "b")], stable_labels=True)
    assert tree.names() == ["n1", "n3", "n2"]
    tree.put("n1", in_zone("n1", "b"))
    assert tree.names() == ["n1", "n3", "n2"]
    tree.put("n2", None)
    tree.put("n2", in_zone("n2", "a"))  # before the next cycle
    assert tree.names() == ["n1", "n3", "n2"]
    tree.put("n4", in_zone("n4", "c"))
    assert tree.names() == ["n3", "n2", "n4", "n1"]
    tree.put("n3", None)
    assert tree.names() == ["n1", "n2", "n4"]
