"""Times of pods in the queue of a run in virtual time."""

from collections.abc import Iterable

from scheduler_core.metrics.catalog import PERCENTILES
from scheduler_core.metrics.distribution import percentile

MAX_PRIORITIES = 20


def wait_metrics(waits: Iterable[tuple[int, float]]) -> dict[str, float]:
    """Return the percentiles of the waits of all pods (`wait:p95`) and of those of each priority (`wait:100:p95`).

    `waits`: (priority, seconds from the creation of the pod to its binding). With more than 20 priorities, only those
    with most pods are listed.
    """
    of: dict[int, list[float]] = {}
    for priority, seconds in waits:
        of.setdefault(priority, []).append(seconds)
    everything = sorted(seconds for found in of.values() for seconds in found)
    metrics = _percentiles("wait", everything)
    chosen = sorted(of, key=lambda priority: (-len(of[priority]), -priority))[:MAX_PRIORITIES]
    for priority in sorted(chosen, reverse=True):
        metrics |= _percentiles(f"wait:{priority}", sorted(of[priority]))
    return metrics


def _percentiles(name: str, ascending: list[float]) -> dict[str, float]:
    if not ascending:
        return {}
    return {f"{name}:p{percent}": round(percentile(ascending, percent), 6) for percent in PERCENTILES}
