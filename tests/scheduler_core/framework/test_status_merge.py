"""Refusals of several Filter plugins as one."""

import numpy as np

from scheduler_core.framework.interface import PASSES, Verdict, error, unresolvable, unschedulable
from scheduler_core.framework.status_merge import merged, merged_verdict

FULL, TAINTED, CORDONED = unschedulable("full"), unresolvable("tainted"), unresolvable("cordoned")


def test_reasons_of_all_and_the_most_severe_code() -> None:
    said = [FULL.by("NodeResourcesFit"), TAINTED.by("TaintToleration"), CORDONED.by("NodeUnschedulable")]
    status = merged(said)
    assert status is not None
    assert status.reasons == ("full", "tainted", "cordoned")
    assert (status.code, status.plugin) == (TAINTED.code, "NodeUnschedulable"), "the first by name with that code"
    first = merged(said, first=True)
    assert first is not None
    assert first.plugin == "NodeResourcesFit"
    assert merged([]) is None


def test_an_error_stands_alone() -> None:
    broken = error("broken").by("B")
    assert merged([FULL.by("A"), broken, TAINTED.by("C")]) == broken


def test_each_combination_of_refusals_is_a_status() -> None:
    verdicts = {
        "A": Verdict(np.array([0, 1, 1, 0, 2], np.uint16), (FULL, TAINTED)),
        "B": PASSES,
        "C": Verdict(np.array([0, 0, 1, 1, 1], np.uint16), (CORDONED,)),
    }
    found = merged_verdict(verdicts)
    told = [found.at(row) for row in range(5)]
    assert [status and status.reasons for status in told] == [
        None,
        ("full",),
        ("full", "cordoned"),
        ("cordoned",),
        ("tainted", "cordoned"),
    ]
    assert [status and status.plugin for status in told] == [None, "A", "C", "C", "A"]
    assert merged_verdict({"B": PASSES}) == PASSES
