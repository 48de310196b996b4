"""Merged rejections of several Filter plugins."""

from scheduler_core.framework.interface import error, unresolvable, unschedulable
from scheduler_core.framework.status_merge import merged

FULL, TAINTED, CORDONED = unschedulable("full"), unresolvable("tainted"), unresolvable("cordoned")


def test_all_reasons_and_the_most_severe_code() -> None:
    statuses = [FULL.by("NodeResourcesFit"), TAINTED.by("TaintToleration"), CORDONED.by("NodeUnschedulable")]
    status = unresolvable("full", "tainted", "cordoned")
    assert merged(statuses) == status.by("NodeUnschedulable"), "the first by name with that code"
    assert merged(statuses, first=True) == status.by("NodeResourcesFit")
    assert merged([]) is None


def test_an_error_stands_alone() -> None:
    broken = error("broken").by("B")
    assert merged([FULL.by("A"), broken, TAINTED.by("C")]) == broken
