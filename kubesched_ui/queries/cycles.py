"""One cycle of a run for a map of its nodes."""

from typing import Any

from kubesched_ui.models import Cycle, Run
from kubesched_ui.queries.remedies import rules_of
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger import cycle_steps
from scheduler_core.explain import explain


def steps_of(run: Run, row: Cycle, trace: CycleTrace, scores: str = "") -> dict[str, Any]:
    """Return `cycle_data` of a stored cycle and its trace, with its pod and its result.

    `sentence`: the answer from the cycle alone, without the cluster. `before`, `after`: the pod's previous and next
    cycle, or None. Raises InputError if plugin `scores` did not score.
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
        "sentence": sentence_of(run, row, trace),
        "before": numbers.filter(number__lt=row.number).order_by("-number").first(),
        "after": numbers.filter(number__gt=row.number).order_by("number").first(),
        "nodes_version": row.nodes_version,
    }


def sentence_of(run: Run, row: Cycle, trace: CycleTrace) -> str:
    """Return the sentence about a cycle, from its trace alone."""
    return explain(trace, names=row.nodes, rules=rules_of(run, trace.profile)).sentence
