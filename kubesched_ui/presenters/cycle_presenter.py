"""Labels and symbols of a cycle's extension points."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.points import Results, point_results

LABELS = (
    *("PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
    *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
)
POINTS = {label.lower(): label for label in LABELS}

# Releases before the scheduling framework had fewer points with other names. The keys correspond to the function.
OLD_POINTS = {
    "filter": "Predicates",
    "postfilter": "Preemption",
    "score": "Priorities",
    "reserve": "Assume",
    "bind": "Bind",
}
STATES = {"pass": ("✓", "passed"), "reject": ("✕", "rejected"), "skip": ("–", "skipped"), "wait": ("⋯", "waits")}


class PointStep(NamedTuple):
    """An extension point in the stepper. `seconds`: how long it took, None if that is not recorded."""

    key: str
    label: str
    state: str
    figure: str
    seconds: float | None = None

    @property
    def mark(self) -> str:
        return STATES[self.state][0]

    @property
    def spoken(self) -> str:
        return STATES[self.state][1]


def reached(trace: CycleTrace, after: Results) -> dict[str, tuple[str, str]]:
    """Return the results of the points that an attempt reached.

    `after`: those of what followed the cycle (`attempts.Attempt.points`); state `none` removes a point.
    """
    return {point: found for point, found in (point_results(trace) | dict(after)).items() if found[0] != "none"}


def steps(
    results: Results, points: Mapping[str, str] = POINTS, durations: Mapping[str, int] = MappingProxyType({})
) -> list[PointStep]:
    """Return the steps of these results in order. `points`: those of the release. `durations`: point -> nanoseconds, as
    of CycleTrace; that of Score includes PreScore."""
    return [
        PointStep(key, label, *results[key], durations[key] / 1e9 if durations.get(key) else None)
        for key, label in points.items()
        if key in results
    ]
