"""Converts a cycle of predicates and priorities to the keys of the conformance cases."""

from collections.abc import Sequence
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.preemption import NOT_ELIGIBLE

_OF_A_CYCLE = ("pod", "filter", "feasible", "score", "total", "best", "selected", "fit_error", "error")
NO_MAP = ("InterPodAffinityPriority", "EvenPodsSpreadPriority")  # upstream scores all nodes at once, without a Map


def golden(trace: CycleTrace, names: Sequence[str], pod: PodInfo) -> dict[str, Any]:
    """Return the cycle as plain data. `names`: the run's nodes in row order. `pod`: the pod of the cycle."""
    cycle = trace.golden(names)
    out = {key: cycle[key] for key in _OF_A_CYCLE if key in cycle}
    out["filter_all"] = {
        node: {predicate: _words(**status) for predicate, status in refusals.items()}
        for node, refusals in trace.golden_filter_all(names).items()
    }
    if trace.error and not trace.node:
        return out
    # statuses have no codes
    out["filter"] = {
        node: {key: value for key, value in status.items() if key != "code"} for node, status in cycle["filter"].items()
    }
    if len(out["feasible"]) > 1:
        for priority, score in out.setdefault("score", {}).items():
            if priority in NO_MAP:
                del score["raw"]
            if priority == "EvenPodsSpreadPriority" and not _spreads(pod):
                score["normalized"] = {"": 0}  # upstream names no node in this case
    if trace.postfilter is not None:
        out["preempt"] = _preempt(trace, names)
    return out


def _spreads(pod: PodInfo) -> bool:
    return any(c.when_unsatisfiable == "ScheduleAnyway" for c in pod.pod.spec.topology_spread_constraints)


def _words(code: str, reasons: list[str]) -> list[str]:
    return [f"ERROR: {reason}" if code == fwk.ERROR else reason for reason in reasons]


def _preempt(trace: CycleTrace, names: Sequence[str]) -> dict[str, Any]:
    found = trace.postfilter
    assert found is not None
    if found.status is not None and found.status.message == NOT_ELIGIBLE:
        return {"eligible": False}
    out: dict[str, Any] = {
        "eligible": True,
        "potential": [names[row] for row in trace.potential_rows(False).tolist()],
        "candidates": {
            node: {"victims": list(victims), "pdb_violations": violations}
            for node, (victims, violations) in found.candidates.items()
        },
        "clear_nominations": found.cleared,
    }
    if found.nominated_node:
        out["nominated_any_of"] = found.nominated_any_of
        out["nominated_node"] = found.nominated_node
        out["victims"] = trace.victims
    return out
