"""The metrics of a run by name: what each means, and which values are better.

A name has parts that `:` separates, such as `requested_share:cpu:mean`. docs/experiments.md describes the formulas.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scheduler_core.metrics.distribution import FIGURES
from scheduler_core.metrics.pareto import Direction

PERCENTILES = (50, 95, 99)
PENDING_BY = "pending_by:"  # begins the names of metrics that only runs with such pods have


class Metric(NamedTuple):
    """A metric. `title`: text in which `{}` stands for the parts of a name after the first. `unit`: "" for a count,
    `share`, `s` or `GPUs`. `better`: which values are; None if neither is."""

    title: str
    unit: str = ""
    better: Direction | None = None


METRICS = {
    "placed": Metric("Pods placed", better="higher"),
    "pending": Metric("Pods pending", better="lower"),
    "nominated": Metric("Pods nominated"),
    "pending_by": Metric("Pods pending because of {}", better="lower"),
    "nodes": Metric("Nodes"),
    "nodes_used": Metric("Nodes with pods", better="lower"),
    "requested_share": Metric("Requested share of {}", "share"),
    "skew": Metric("Skew over {}", better="lower"),
    "preemptions": Metric("Preemptions", better="lower"),
    "disturbed": Metric("Pods disturbed", better="lower"),
    "stranded": Metric("Stranded {}", better="lower"),
    "hole_filling": Metric("Mean pods that still fit", better="higher"),
    "gpu_fragmentation": Metric("Fragmented {}", "GPUs", "lower"),
    "compaction": Metric("Nodes that the workload needs", better="lower"),
    "inflation": Metric("Largest factor of {}", better="higher"),
    "attempts": Metric("Attempts", better="lower"),
    "wasted_attempts": Metric("Wasted attempts", better="lower"),
    "wait": Metric("Wait, {}", "s", "lower"),
    "drain_seconds": Metric("Time to drain the queue", "s", "lower"),
}
_BETTER: dict[str, Direction] = {"stddev": "lower", "jain": "higher"}
_FIGURE_TITLES = {
    "stddev": "standard deviation",
    "min": "minimum",
    "max": "maximum",
    "jain": "Jain's fairness index",
}
assert _BETTER.keys() | _FIGURE_TITLES.keys() <= set(FIGURES)


def metric_of(name: str) -> Metric:
    """Return the metric with this name; its title is complete. Raises KeyError for an unknown one."""
    first, *parts = name.split(":")
    metric = METRICS[first]
    if first == "requested_share" and parts:
        metric = metric._replace(better=_BETTER.get(parts[-1]))
        if parts[-1] == "jain":
            metric = metric._replace(unit="")
    if first == "wait" and len(parts) > 1:
        parts = [f"priority {parts[0]}", *parts[1:]]
    if first in ("requested_share", "skew") and parts:
        parts = [*parts[:-1], _FIGURE_TITLES.get(parts[-1], parts[-1])]
    title = metric.title
    return metric._replace(title=title.format(", ".join(parts)) if "{}" in title else title)


def with_counts(metrics: Sequence[Mapping[str, float | None]]) -> list[dict[str, float | None]]:
    """Return the metrics of runs. A number of pending pods by plugin that only some of the runs have is 0 in the
    others."""
    counts = dict.fromkeys(name for of in metrics for name in of if name.startswith(PENDING_BY))
    return [{**of, **{name: 0 for name in counts if name not in of}} for of in metrics]
