"""Traces of versions 1 and 2 in every shape they had; recording/kept of the application has whole databases."""

import zlib
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from tests.scheduler_core.cycle.test_trace import assert_same, full_trace

NODES = ["m", "n", "o"]


def today() -> CycleTrace:
    """A trace without what was added after version 2."""
    trace = full_trace()
    trace.group, trace.placement, trace.merges, trace.batch_hint = "", None, 0, ""
    return trace


def document(trace: CycleTrace) -> list[Any]:
    found: list[Any] = msgspec.msgpack.decode(zlib.decompress(trace.encode()[1:]))
    found[0] = found[0][:19]
    return found


def packed(version: int, value: Any) -> bytes:
    return bytes((version,)) + zlib.compress(msgspec.msgpack.encode(value))


def wide(column: Any) -> Any:
    """A column as the first version had it: 8, 16 or 32 bits, else 64 with a sign."""
    if column is None:
        return None
    values = column if isinstance(column, np.ndarray) else np.asarray(column)
    if not len(values):
        return 0, -1, 0
    low, high = int(values.min()), int(values.max())
    if low == high:
        return len(values), -1, low
    kind = 3 if low < 0 else next((k for k, bits in enumerate((8, 16, 32)) if high < 1 << bits), 3)
    return len(values), kind, values.astype((np.uint8, np.uint16, np.uint32, np.int64)[kind]).tobytes()


def old_postfilter(found: list[Any], rejected: Any, decides: bool) -> list[Any]:
    status, nominated, candidates, _, any_of, rule, decided, *_ = found[8]
    return [status, nominated, candidates, rejected, any_of, rule, *([decided] if decides else [])]


def test_refusals_by_status_and_name() -> None:
    trace = today()
    found = document(trace)
    found[8] = old_postfilter(found, [(found[1][0], ["n", "gone"])], True)
    assert_same(CycleTrace.decode(packed(2, found), lambda: NODES), trace)


@pytest.mark.parametrize("decides", [False, True])
def test_refusals_node_by_node(decides: bool) -> None:
    trace = today()
    found = document(trace)
    found[8] = old_postfilter(found, {"n": found[1][0]}, decides)
    assert_same(CycleTrace.decode(packed(1, found), lambda: NODES), trace)


@pytest.mark.parametrize(
    "values", [[], [4, 4], [0, 1, 0], [3, 255], [0, 70_000], [0, 1 << 40], [-5, 3], [-(1 << 62), 1]]
)
def test_wide_columns(values: list[int]) -> None:
    trace = today()
    for score in trace.scores.values():
        score.raw = score.normalized = np.array(values, np.int64)
    found = document(trace)
    found[8] = old_postfilter(found, {"n": found[1][0]}, False)
    found[7] = [(plugin, weight, wide(np.array(values, np.int64)), None) for plugin, weight, *_ in found[7]]
    assert_same(CycleTrace.decode(packed(1, found), lambda: NODES), trace)


@pytest.mark.parametrize("version", [1, 2])
def test_damage_is_told(version: int) -> None:
    whole = document(today())
    for index in range(len(whole)):
        for wrong in (7, "x", [1], [[1, 2, 3]], {"a": 1}):
            with pytest.raises(InputError, match="damaged"):
                CycleTrace.decode(packed(version, [*whole[:index], wrong, *whole[index + 1 :]]), lambda: NODES)


@pytest.mark.parametrize("version", [0, 4, 255])
def test_a_version_that_never_was(version: int) -> None:
    with pytest.raises(InputError, match="version"):
        CycleTrace.decode(bytes((version,)) + today().encode()[1:])
