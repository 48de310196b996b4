"""Formatted quantities: cpu in cores, free memory in the unit of the request."""

import pytest

from scheduler_core.cluster.formatting import amount, balance, count, free_amount

MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("number", "text"), [(1, "0.001"), (250, "0.25"), (1500, "1.5"), (1234, "1.24"), (64_000, "64"), (0, "0")]
)
def test_cpu_is_in_cores(number: int, text: str) -> None:
    assert amount("cpu", number) == text


def test_plurals() -> None:
    assert (count(1), count(1200), count(2, "storage class")) == ("1 node", "1,200 nodes", "2 storage classes")


def test_free_quantities_are_rounded_down() -> None:
    assert (amount("cpu", 1999), free_amount("cpu", 1999)) == ("2", "1.99")
    assert free_amount("memory", 2 * GI - 1, 2 * GI) == "1.99Gi"


@pytest.mark.parametrize(
    ("asks", "free", "of", "text"),
    [
        (GI, 512 * MI, 8 * GI, "requests 1Gi, 0.5Gi of 8Gi free"),
        (512 * MI, 100 * MI, GI, "requests 512Mi, 100Mi of 1,024Mi free"),
        (GI, -GI // 2, 4 * GI, "requests 1Gi, the node's 4Gi overcommitted by 0.5Gi"),
    ],
)
def test_requested_and_free_have_one_unit(asks: int, free: int, of: int, text: str) -> None:
    assert balance("memory", asks, free, of) == text
    assert balance("cpu", 750, 500, 2000) == "requests 0.75, 0.5 of 2 free"
