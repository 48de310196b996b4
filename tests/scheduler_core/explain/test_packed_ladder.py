"""A ladder in a byte for each node: nothing of it is lost, and it is bounded."""

import random

from scheduler_core.explain import packed_ladder
from scheduler_core.explain.answer import Rung
from scheduler_core.explain.packed_ladder import MOST_RUNGS, pack, unpack

LADDER = [
    Rung(0, 1, ["n2"], "1 node takes the pod now", "takes the pod now"),
    Rung(1, 2, ["n10", "n1"], "2 nodes are cordoned", "is cordoned"),
    Rung(None, 1, ["n3"], "1 node has no nvidia.com/gpu", "has no nvidia.com/gpu"),
]
NODES = ["n1", "n2", "n3", "n10"]


def test_a_ladder_is_unpacked_as_it_was_with_its_nodes_by_name() -> None:
    found = unpack(pack(LADDER), NODES)
    assert found is not None
    assert [one.nodes for one in found] == [["n2"], ["n1", "n10"], ["n3"]]
    assert [(one.changes, one.count, one.text, one.each) for one in found] == [
        (one.changes, one.count, one.text, one.each) for one in LADDER
    ]


def test_a_ladder_of_other_nodes_is_not_shown() -> None:
    packed = pack(LADDER)
    assert unpack(packed, [*NODES, "n4"]) is None
    assert unpack(packed, NODES[1:]) is None
    assert unpack(packed, ["n1", "n2", "n3", "n11"]) is None
    assert pack([]) == b""
    assert unpack(b"", NODES) is None


def test_a_node_takes_at_most_a_byte() -> None:
    names = [f"pool-{i % 7}-{i * 7919 % 10_000:05}" for i in range(10_000)]
    ladder = [Rung(n, len(names) // 4, names[n::4], "some", "one") for n in range(4)]
    assert len(pack(ladder)) < len(names)


def test_the_last_rung_stands_for_all_further_ones() -> None:
    many = [Rung(1, 1, [f"n{i}"], f"text {i}", f"each {i}") for i in range(MOST_RUNGS + 5)]
    found = unpack(pack(many), [f"n{i}" for i in range(MOST_RUNGS + 5)])
    assert found is not None
    assert len(found) == MOST_RUNGS
    assert found[MOST_RUNGS - 2].each == f"each {MOST_RUNGS - 2}"
    assert (found[-1].count, found[-1].text, found[-1].changes) == (6, "6 nodes are further", 1)


def test_a_ladder_with_texts_without_bound_is_not_kept() -> None:
    text = random.Random(1).randbytes(packed_ladder.MOST_BYTES).hex()
    assert pack([Rung(1, 1, ["n1"], text, text)]) == b""
