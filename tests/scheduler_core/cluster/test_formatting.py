"""Formatted quantities: cpu in cores, free memory in the unit of the request."""

import pytest

from scheduler_core.cluster.formatting import agree, amount, balance, count, free_amount

MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("number", "text"), [(1, "0.001"), (250, "0.25"), (1500, "1.5"), (1234, "1.24"), (64_000, "64"), (0, "0")]
)
def test_cpu_is_in_cores(number: int, text: str) -> None:
    assert amount("cpu", number) == text


def test_plurals() -> None:
    assert (count(1), count(1200), count(2, "storage class")) == ("1 node", "1,200 nodes", "2 storage classes")
    assert [count(2, one) for one in ("batch", "box", "policy", "key")] == [
        "2 batches",
        "2 boxes",
        "2 policies",
        "2 keys",
    ]


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("touch this cluster", "touches this cluster"),
        ("match no node", "matches no node"),
        ("miss a label", "misses a label"),
        ("fix a port", "fixes a port"),
        ("carry a taint", "carries a taint"),
        ("stay pending", "stays pending"),
        ("do not match, lack cpu and have taints", "does not match, lacks cpu and has taints"),
    ],
)
def test_a_verb_agrees_with_the_number(many: str, one: str) -> None:
    assert (agree(2, many), agree(1, many)) == (many, one)


def test_free_quantities_are_rounded_down() -> None:
    assert (amount("cpu", 1999), free_amount("cpu", 1999)) == ("2", "1.99")
    assert free_amount("memory", 2 * GI - 1, 2 * GI) == "1.99Gi"


@pytest.mark.parametrize(
    ("asks", "free", "of", "text"),
    [
        (GI, 512 * MI, 8 * GI, "requests 1Gi, 0.5Gi of 8Gi free"),
        (GI, 133 * MI, 8 * GI, "requests 1Gi, 133Mi of 8Gi free"),
        (512 * MI, 100 * MI, GI, "requests 512Mi, 100Mi of 1,024Mi free"),
        (GI, -GI // 2, 4 * GI, "requests 1Gi, the node's 4Gi overcommitted by 0.5Gi"),
    ],
)
def test_requested_and_free_have_one_unit(asks: int, free: int, of: int, text: str) -> None:
    assert balance("memory", asks, free, of) == text
    assert balance("cpu", 750, 500, 2000) == "requests 0.75, 0.5 of 2 free"
