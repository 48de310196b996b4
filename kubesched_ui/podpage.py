"""What the page of a pod in a run shows: the answer, and every extension point of one attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator

from kubesched_ui import clusterview, figures, plugin_notes, recorded, runs, why
from kubesched_ui.cycleview import POINTS, Matrix, ScoreRow, decisive_point, duel, matrix, preemption, score_rows, steps
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import ClusterObject, Cycle, PodResult, Run
from scheduler_core.releases import get_release

GROUPS_SHOWN = 60
SCORES_SHOWN = 25
TONES = {"waiting": "ok", "scheduled": "ok", "unschedulable": "bad", "gated": "warn", "error": "odd"}
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
    pod = stored.data if stored else copy_of(run, namespace, name)
    if not attempts and pod is None:
        return None
    row = next(
        (row for row in attempts if str(row.attempt) == query.get("attempt")), attempts[-1] if attempts else None
    )
    page: dict[str, Any] = {
        "run": run,
        "namespace": namespace,
        "name": name,
        "attempts": attempts,
        "cycle_row": row,
        "result": result,
        "outcome": result.result if result and row and row is attempts[-1] else row.result if row else "",
    }
    page |= about_pod(run, f"{namespace}/{name}", pod, result) | neighbours(run, result)
    return page | (about_cycle(run, row, query, page["bound_to"]) if row else {"point": ""})


def copy_of(run: Run, namespace: str, name: str) -> dict[str, Any] | None:
    """The copy of the run's template that has this name, if there is one."""
    if not run.template:
        return None
    number = name.rpartition("-")[2]
    if not number.isdecimal() or not 1 <= int(number) <= run.copies:
        return None
    pod = runs.copies_of(runs.pod_template(run.template), 1)[0]
    pod["metadata"] |= {"name": pod["metadata"]["name"].removesuffix("1") + number}
    return pod if runs.pod_key(pod) == f"{namespace}/{name}" else None


def about_pod(run: Run, key: str, pod: dict[str, Any] | None, result: PodResult | None) -> dict[str, Any]:
    """The pod's YAML, and what the snapshot said of it."""
    known = clusterview.of_scenario(run.scenario).pods.get(key)
    said = known.message if known else result.recorded_message if result else ""
    bound = known.node if known else ""
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


def about_cycle(run: Run, row: Cycle, query: Mapping[str, str], page_bound: str) -> dict[str, Any]:
    """The answer and the panels of one attempt."""
    nodes = row.nodes
    trace = recorded.trace_of(row)
    cycle = recorded.cycle_dict(trace, nodes)
    verdicts, tie, view = matrix(cycle, nodes), run.tie_break, clusterview.of_scenario(run.scenario)
    wanted = query.get("point", "")
    return {
        "cycle": cycle,
        "landed": cycle.get("selected") or (cycle.get("postfilter") or {}).get("nominated_node"),
        "tone": TONES.get(row.result, ""),
        "answer": why.answer(run, row, trace, nodes),
        "steps": steps(cycle, row.result, len(nodes)),
        "point": wanted if wanted in POINTS else decisive_point(cycle, row.result),
        "plugin_shown": query.get("plugin", ""),
        "notes": notes(run, verdicts, cycle),
        "matrix": verdicts,
        "matrix_groups": verdicts.groups[:GROUPS_SHOWN],
        "hidden_groups": max(0, len(verdicts.groups) - GROUPS_SHOWN),
        "unseen": verdicts.nodes - verdicts.looked_at,
        "matrix_data": matrix_data(verdicts),
        "preemption": preemption(cycle, {key: pod.priority for key, pod in view.pods.items()}),
        "facts": facts(recorded.events_by_point(run, f"{row.namespace}/{row.name}", row.attempt)),
        "there": there(cycle, verdicts, page_bound) if page_bound else "",
        "tie": "by name" if tie == "name" else "by the run's seed",
    } | about_scores(score_rows(cycle), query)


def there(cycle: Mapping[str, Any], verdicts: Matrix, node: str) -> str:
    """What this cycle thought of the node that the real cluster had chosen."""
    if node == cycle.get("selected"):
        return "This run chose the same node."
    if status := (cycle.get("filter") or {}).get(node):
        return f"Here that node refuses the pod: {'; '.join(status.get('reasons') or ())}."
    if (total := cycle.get("total")) and node in total:
        rank = 1 + sum(value > total[node] for value in total.values())
        return f"Here that node scores {total[node]:,}, rank {rank} of {len(total):,}."
    return ""


def notes(run: Run, verdicts: Matrix, cycle: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """point -> (plugin, what it does there) of the plugins concerned."""
    default = [name for name, _ in get_release(run.release).default_plugins]
    asked = {
        "filter": [*verdicts.plugins, *verdicts.skipped],
        "score": [*(cycle.get("score") or {}), *(cycle.get("skipped_score") or ())],
    }
    return {key: plugin_notes.of(asked.get(key, default), label) for key, label in POINTS.items()}


def facts(events: dict[str, list[dict[str, Any]]]) -> dict[str, list[tuple[str, str]]]:
    """What the recorded events of the points without a panel of their own say, as (label, text)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for point in ("reserve", "permit", "prebind", "bind", "postbind"):
        for event in events.get(point, []):
            status = event["data"].get("status")
            said = f"{status['code']} by {status['plugin']}" if status else "Success"
            found.setdefault(point, []).extend([("node", event["data"].get("node", "")), ("status", said)])
    return found


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
