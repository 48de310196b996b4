"""One cycle of a run for a map of its nodes."""

from typing import Any

from kubesched_ui.models import Cycle, Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.search import cycle_steps


def steps_of(run: Run, row: Cycle, trace: CycleTrace, scores: str = "") -> dict[str, Any]:
    """Return `cycle_data` of a stored cycle and its trace, with its pod and its result.

    `before`, `after`: the pod's previous and next cycle, or None. Raises InputError if plugin `scores` did not score.
    """
    numbers = run.cycles.filter(namespace=row.namespace, name=row.name).values_list("number", flat=True)
    return cycle_steps.cycle_data(trace, scores) | {
        "number": row.number,
        "pod": f"{row.namespace}/{row.name}",
        "attempt": row.attempt,
        "t": trace.time,
        "result": row.result,
        "node": trace.node,
        "nominated": trace.nominated_node,
        "message": trace.message or trace.error,
        "before": numbers.filter(number__lt=row.number).order_by("-number").first(),
        "after": numbers.filter(number__gt=row.number).order_by("number").first(),
        "nodes_version": row.nodes_version,
    }
