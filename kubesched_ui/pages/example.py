"""A result to look at before anything was done: a sample's pods against its nodes, on the first page."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kubesched_ui.models import Run, Scenario
from kubesched_ui.reading.recorded import on_node
from kubesched_ui.runs import simulations
from scheduler_core.api.objects import Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain import explain
from scheduler_core.releases import NEWEST

NODES, PODS = 6, 8  # at most: it is a glance, and must cost none


@lru_cache(maxsize=2)
def of(sample_id: int) -> dict[str, Any] | None:
    """{release, nodes: names, pods: [{name, result, node, sentence, cells}]}: a cell is what `on_node` says.

    The sample is run in one pass, with the default configuration, and nothing is stored. None for one that is too
    large to be looked at here or has no pending pods. A changed sample is another scenario, so this may be kept.
    """
    sample = Scenario.objects.get(pk=sample_id)
    if not 0 < sample.counts.get("Node", 0) <= NODES or sample.time:
        return None
    begun = simulations.begin(Run(scenario=sample, release=NEWEST))
    simulation, pods = begun.simulation, {obj.key: obj for obj in begun.prepared.objects if isinstance(obj, Pod)}
    names, told = list(simulation.nodes), []
    for trace in simulation.run():
        name = trace.pod.partition("/")[2]
        why = explain(trace, simulation, PodInfo(pods[trace.pod], simulation.cluster.release))
        cells = [on_node(trace, row) for row in range(len(names))]
        for cell, node in zip(cells, names, strict=True):
            cell["node"] = node
        told.append({"name": name, "result": trace.result, "sentence": why.sentence, "cells": cells})
    return {"release": NEWEST, "nodes": names, "pods": told} if 0 < len(told) <= PODS else None
