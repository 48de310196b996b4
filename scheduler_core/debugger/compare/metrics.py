"""Metrics of two runs at their ends: utilisation of nodes and unusable resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.debugger.cluster_state import StateAtTimepoint
from scheduler_core.debugger.compare.run_side import RunSide
from scheduler_core.explain.failure_details import PODS

FIGURES = ("mean", "stddev", "min", "max")

Int64 = npt.NDArray[np.int64]


def metrics(a: RunSide, b: RunSide) -> dict[str, Any]:
    """Return [a's, b's] metrics at the end of the runs, with the keys of docs/debugger.md."""
    sides = (a, b)
    shares = [_shares(side.end) for side in sides]
    stranded = [_stranded(side.end, _kinds(sides)) for side in sides]
    return {
        "nodes": [len(side.end.rows) for side in sides],
        "nodes_used": [int(np.count_nonzero(side.end.pod_count)) for side in sides],
        "requested_share": {
            resource: {f: [share.get(resource, {}).get(f) for share in shares] for f in FIGURES}
            for resource in _names(shares)
        },
        "pending": [len(side.end.pending()) for side in sides],
        "victims": [_victims(side) for side in sides],
        "stranded": {resource: [of.get(resource) for of in stranded] for resource in _names(stranded)},
    }


def _names(found: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for of in found for name in of))


def _victims(side: RunSide) -> int:
    victims = side.facts.table
    sizes = np.array([len(value) for value in victims.distinct("victims")] or [0], np.int64)
    return int(sizes[victims["victims"]].sum()) if len(victims) else 0


def _allocatable(state: StateAtTimepoint) -> dict[str, Int64]:
    """Map each resource of the nodes to the allocatable quantity of each node."""
    used = np.unique(state.recording.tables["nodes"]["allocatable"][state.versions]).tolist()
    names = dict.fromkeys(name for kind in used for name in state.node_kinds[kind])
    return {name: state.allocatable(name) for name in names}


def _shares(state: StateAtTimepoint) -> dict[str, dict[str, float]]:
    """Map each resource to statistics of its requested share over nodes that have it: mean, stddev, min, max."""
    found = {}
    for resource, has in _allocatable(state).items():
        where = has > 0
        if not where.any():
            continue
        share = state.used(resource)[where] / has[where]
        figures = (share.mean(), share.std(), share.min(), share.max())
        found[resource] = {name: round(float(figure), 6) for name, figure in zip(FIGURES, figures, strict=True)}
    return found


def _kinds(sides: Sequence[RunSide]) -> list[dict[str, int]]:
    """Return the distinct resource requests of pods of either run."""
    distinct = [side.recording.tables["pods"].distinct("requests") for side in sides]
    kinds = {tuple(sorted(amounts.items())): amounts for of in distinct for amounts in of}
    return sorted(kinds.values(), key=lambda amounts: sum(amounts.values()))


def _stranded(state: StateAtTimepoint, kinds: Sequence[dict[str, int]]) -> dict[str, int]:
    """Map each resource to its free total on nodes where no pod of the runs that requests it fits."""
    has = _allocatable(state)
    free = {resource: np.maximum(amount - state.used(resource), 0) for resource, amount in has.items()}
    found = {}
    for resource in free:
        if resource == PODS:
            continue
        closed = free[resource] > 0
        for kind in kinds:
            if not closed.any():
                break
            if not kind.get(resource):
                continue
            rows = np.flatnonzero(closed)
            fits = np.ones(len(rows), np.bool_)
            if PODS in free:
                fits &= free[PODS][rows] > 0
            for name, amount in kind.items():
                if amount:
                    fits &= free[name][rows] >= amount if name in free else False
            closed[rows[fits]] = False
        found[resource] = int(free[resource][closed].sum())
    return found
