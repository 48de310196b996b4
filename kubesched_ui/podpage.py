"""What the page of a pod in a run shows: the answer, and every extension point of one attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator

from kubesched_ui import clusterview, figures, recorded, runs
from kubesched_ui.answers import answer
from kubesched_ui.cycleview import POINTS, Matrix, ScoreRow, decisive_point, duel, matrix, preemption, score_rows, steps
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import ClusterObject, Cycle, PodResult, Run

GROUPS_SHOWN = 60
SCORES_SHOWN = 25
TONES = {"scheduled": "ok", "unschedulable": "bad", "gated": "warn", "error": "odd"}
# Which lines of a pod's YAML a Filter or Score plugin reads: key of the line -> plugins.
READ_BY = {
    "schedulingGates": "SchedulingGates",
    "nodeName": "NodeName",
    "tolerations": "TaintToleration NodeUnschedulable",
    "nodeSelector": "NodeAffinity",
    "nodeAffinity": "NodeAffinity",
    "podAffinity": "InterPodAffinity",
    "podAntiAffinity": "InterPodAffinity",
    "hostPort": "NodePorts",
    "requests": "NodeResourcesFit NodeResourcesBalancedAllocation",
    "overhead": "NodeResourcesFit NodeResourcesBalancedAllocation",
    "topologySpreadConstraints": "PodTopologySpread",
    "volumes": "VolumeBinding VolumeRestrictions VolumeZone NodeVolumeLimits",
    "image": "ImageLocality",
    "priority": "DefaultPreemption",
    "priorityClassName": "DefaultPreemption",
    "preemptionPolicy": "DefaultPreemption",
    "resourceClaims": "DynamicResources",
}


def context(run: Run, namespace: str, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Everything pod.html needs; None if neither the run nor its scenario knows the pod."""
    attempts = list(Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("number").defer("trace"))
    result = PodResult.objects.filter(run=run, namespace=namespace, name=name).first()
    stored = ClusterObject.objects.filter(scenario=run.scenario_id, kind="Pod", namespace=namespace, name=name).first()
    if not attempts and stored is None:
        return None
    row = next(
        (row for row in attempts if str(row.attempt) == query.get("attempt")), attempts[-1] if attempts else None
    )
    page = {"run": run, "namespace": namespace, "name": name, "attempts": attempts, "cycle_row": row, "result": result}
    page |= about_pod(run, stored, result) | neighbours(run, result)
    return page | (about_cycle(run, row, query) if row else {"point": ""})


def about_pod(run: Run, stored: ClusterObject | None, result: PodResult | None) -> dict[str, Any]:
    """The pod's YAML, and what the snapshot said of it."""
    pod = stored.data if stored else None
    bound = ((pod or {}).get("spec") or {}).get("nodeName") or ""
    said = result.recorded_message if result else runs.recorded_message(pod or {})
    return {"yaml_lines": yaml_lines(pod) if pod else [], "bound_to": bound, "recorded": said}


def yaml_lines(obj: dict[str, Any]) -> list[dict[str, str]]:
    """The object's lines, each with the plugins that read the field it stands in."""
    lines, plugins, depth = [], "", -1
    for text in to_yaml(obj).splitlines():
        indent = len(text) - len(text.lstrip(" -"))
        if depth >= 0 and indent <= depth:
            plugins, depth = "", -1
        key = text.strip().removeprefix("- ").partition(":")[0]
        if depth < 0 and key in READ_BY:
            plugins, depth = READ_BY[key], indent
        lines.append({"text": text, "plugins": plugins})
    return lines


def neighbours(run: Run, result: PodResult | None) -> dict[str, Any]:
    """The pods before and after this one in the run."""
    if result is None:
        return {}
    others = PodResult.objects.filter(run=run).only("namespace", "name")
    before = others.filter(position__lt=result.position).order_by("-position").first()
    return {"before": before, "after": others.filter(position__gt=result.position).order_by("position").first()}


def about_cycle(run: Run, row: Cycle, query: Mapping[str, str]) -> dict[str, Any]:
    """The answer and the panels of one attempt."""
    nodes: list[str] = run.node_names or []
    cycle = recorded.cycle_dict(recorded.trace_of(row), nodes)
    verdicts, tie = matrix(cycle, nodes), run.tie_break
    priorities = {key: pod.priority for key, pod in clusterview.of_scenario(run.scenario_id).pods.items()}
    wanted = query.get("point", "")
    return {
        "cycle": cycle,
        "landed": cycle.get("selected") or (cycle.get("postfilter") or {}).get("nominated_node"),
        "tone": TONES.get(row.result, ""),
        "answer": answer(cycle, row.result, nodes, tie_break=tie),
        "steps": steps(cycle, row.result, len(nodes)),
        "point": wanted if wanted in POINTS else decisive_point(cycle, row.result),
        "plugin_shown": query.get("plugin", ""),
        "matrix": verdicts,
        "matrix_groups": verdicts.groups[:GROUPS_SHOWN],
        "hidden_groups": max(0, len(verdicts.groups) - GROUPS_SHOWN),
        "unseen": verdicts.nodes - verdicts.looked_at,
        "matrix_data": matrix_data(verdicts),
        "preemption": preemption(cycle, priorities),
        "point_events": recorded.events_by_point(run, f"{row.namespace}/{row.name}", row.attempt),
        "tie": "by name" if tie == "name" else "by the run's seed",
    } | about_scores(score_rows(cycle), query)


def matrix_data(verdicts: Matrix) -> dict[str, Any]:
    """The matrix for the list of nodes: each row's cells once, and the nodes that share it."""
    return {
        "plugins": verdicts.plugins,
        "groups": [
            {
                "state": group.state,
                "plugin": group.plugin,
                "why": group.heading,
                "cells": [cell.kind for cell in group.cells],
                "nodes": group.nodes,
            }
            for group in verdicts.groups
        ],
    }


def about_scores(rows: list[ScoreRow], query: Mapping[str, str]) -> dict[str, Any]:
    """The table of scores (searched, a page of it), the chart of the top nodes, the winner against another node."""
    if not rows:
        return {"score_total": 0}
    sought = query.get("q", "").strip().lower()
    found = [row for row in rows if sought in row.node.lower()] if sought else rows
    match = duel(rows, query.get("node"))
    totals = {row.node: row.total for row in rows}
    return {
        "score_total": len(rows),
        "score_head": rows[0].cells,
        "score_query": query.get("q", ""),
        "score_page": Paginator(found, SCORES_SHOWN).get_page(query.get("page")),
        "score_chart": figures.score_bars(rows),
        "duel": match,
        "duel_totals": (totals[match.node], totals[match.other]) if match else (),
        "kept": [(key, query[key]) for key in ("attempt", "node") if query.get(key)],
    }
