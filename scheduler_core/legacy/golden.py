"""Converts a cycle of predicates and priorities to the keys of the conformance cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.preemption import NOT_ELIGIBLE

NO_MAP = ("InterPodAffinityPriority", "EvenPodsSpreadPriority")  # upstream scores all nodes at once, without a Map


def golden(trace: CycleTrace, names: Sequence[str], pod: PodInfo) -> dict[str, Any]:
    """Return the cycle as plain data. `names`: the run's nodes in row order. `pod`: the pod of the cycle."""
    out: dict[str, Any] = {"pod": trace.pod, "filter": {}, "feasible": [], "filter_all": _filter_all(trace, names)}
    if trace.error and not trace.node:
        return {**out, "error": trace.error}
    for status, rows in trace.decisive_statuses():
        told: dict[str, Any] = {"reasons": list(status.reasons)}
        if status.plugin != fwk.EXTENDER:
            told = {"plugin": status.plugin, **told}
        out["filter"].update((names[row], told) for row in rows.tolist())
    rows = trace.feasible_rows().tolist()
    inside = out["feasible"] = [names[row] for row in rows]
    if len(rows) > 1:
        out["score"], total = {}, trace.total() if trace.scores else np.ones(len(rows), np.int64)
        for priority, score in trace.scores.items():
            entry: dict[str, Any] = {"weight": score.weight}
            if priority not in NO_MAP:
                entry["raw"] = dict(zip(inside, score.raw.tolist(), strict=True))
            if priority == "EvenPodsSpreadPriority" and not _spreads(pod):
                out["score"][priority] = {**entry, "normalized": {"": 0}}  # upstream names no node in this case
                continue
            out["score"][priority] = {**entry, "normalized": dict(zip(inside, score.normalized.tolist(), strict=True))}
        out["total"] = dict(zip(inside, total.tolist(), strict=True))
        out["best"] = [inside[i] for i in np.flatnonzero(total == total.max()).tolist()]
    elif rows:
        out["best"] = inside
    if trace.node:
        out["selected"] = trace.node
    if trace.message:
        out["fit_error"] = trace.message
    if trace.postfilter is not None:
        out["preempt"] = _preempt(trace, names)
    return out


def _spreads(pod: PodInfo) -> bool:
    return any(c.when_unsatisfiable == "ScheduleAnyway" for c in pod.pod.spec.topology_spread_constraints)


def _filter_all(trace: CycleTrace, names: Sequence[str]) -> dict[str, Any]:
    refusals: dict[str, Any] = {}
    for predicate, verdict in trace.verdicts.items():
        if verdict.codes is None or predicate == fwk.EXTENDER:
            continue
        texts = [_words(status) for status in verdict.statuses]
        for row in np.flatnonzero(verdict.codes).tolist():
            refusals.setdefault(names[row], {})[predicate] = texts[int(verdict.codes[row]) - 1]
    return refusals


def _words(status: fwk.Status) -> list[str]:
    return [f"ERROR: {reason}" if status.code == fwk.ERROR else reason for reason in status.reasons]


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
