"""Metrics of two runs at their ends: utilisation of nodes and unusable resources."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduler_core.compare.run_side import RunSide
from scheduler_core.metrics.distribution import FIGURES
from scheduler_core.metrics.node_resources import NodeResources, requested_shares, stranded
from scheduler_core.recording.cluster_state import StateAtTimepoint


def metrics(a: RunSide, b: RunSide) -> dict[str, Any]:
    """Return [a's, b's] metrics at the end of the runs, with the keys of docs/debugger.md."""
    sides = (a, b)
    resources = [_resources(side.end) for side in sides]
    shares = [requested_shares(one) for one in resources]
    stranded_of = [stranded(one.free(), _kinds(sides)) for one in resources]
    return {
        "nodes": [len(side.end.rows) for side in sides],
        "nodes_used": [int(np.count_nonzero(side.end.pod_count)) for side in sides],
        "requested_share": {
            resource: {f: [share.get(resource, {}).get(f) for share in shares] for f in FIGURES}
            for resource in _names(shares)
        },
        "pending": [len(side.end.pending()) for side in sides],
        "victims": [_victims(side) for side in sides],
        "stranded": {resource: [of.get(resource) for of in stranded_of] for resource in _names(stranded_of)},
    }


def _names(found: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for of in found for name in of))


def _victims(side: RunSide) -> int:
    victims = side.facts.table
    sizes = np.array([len(value) for value in victims.distinct("victims")] or [0], np.int64)
    return int(sizes[victims["victims"]].sum()) if len(victims) else 0


def _resources(state: StateAtTimepoint) -> NodeResources:
    used = np.unique(state.recording.tables["nodes"]["allocatable"][state.versions]).tolist()
    names = dict.fromkeys(name for kind in used for name in state.node_kinds[kind])
    allocatable = {name: state.allocatable(name) for name in names}
    there = {name: has for name, has in allocatable.items() if (has > 0).any()}
    return NodeResources(there, {name: state.used(name) for name in there})


def _kinds(sides: Sequence[RunSide]) -> list[dict[str, int]]:
    """Return the distinct resource requests of pods of either run."""
    distinct = [side.recording.tables["pods"].distinct("requests") for side in sides]
    kinds = {tuple(sorted(amounts.items())): amounts for of in distinct for amounts in of}
    return sorted(kinds.values(), key=lambda amounts: sum(amounts.values()))
