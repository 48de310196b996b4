"""The decisions of a run: one short summary per cycle, for programs and pages that follow a run."""

from functools import cache
from typing import Any

import numpy as np

from kubesched_ui.event_log.cycle_batches import TraceReader
from kubesched_ui.models import Run
from kubesched_ui.queries.remedies import rules_of
from scheduler_core.cluster.formatting import count
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.scores import ScoreRules, decision

MAX_TEXT = 300  # characters


def decisions_after(run: Run, since: int, limit: int) -> list[dict[str, Any]]:
    """Return the decisions of at most `limit` cycles after cycle number `since`, in order.

    Each is {cycle, t, pod, attempt, result, node, nominated, nodes, feasible, margin, ties, victims, text}; see
    docs/websocket.md. Raises InputError for a damaged recording.
    """
    reader, rules = TraceReader(run.pk), cache(lambda profile: rules_of(run, profile))
    rows = run.cycles.filter(number__gt=since).order_by("number")
    columns = "number", "namespace", "name", "attempt", "result", "trace"
    found = []
    for number, namespace, name, attempt, result, data in rows.values_list(*columns)[:limit]:
        trace = reader.trace(number, data)
        about = {"cycle": number, "pod": f"{namespace}/{name}", "attempt": attempt, "result": result}
        found.append(about | summary(trace, result, rules(trace.profile)))
    return found


def summary(trace: CycleTrace, result: str, rules: ScoreRules) -> dict[str, Any]:
    """Return what a cycle decided. `result`: as recorded, which may differ from that of the trace in virtual time."""
    placed = result in ("scheduled", "waiting")
    selection = trace.selection() if placed and trace.selected_row >= 0 else None
    return {
        "t": round(trace.time, 6),
        "node": trace.node if placed else "",
        "nominated": trace.nominated_node,
        "nodes": evaluated(trace),
        "feasible": len(trace.feasible_rows()) if trace.verdicts else 0,
        "margin": selection.margin if selection else None,
        "ties": selection.ties if selection else 0,
        "victims": len(trace.victims),
        "text": (why_placed(trace, rules) if placed else why_not(trace))[:MAX_TEXT],
    }


def evaluated(trace: CycleTrace) -> int:
    """Return the number of nodes that the Filter plugins evaluated."""
    if trace.preenqueue is not None or trace.prefilter is not None or not trace.verdicts:
        return 0
    return int(np.count_nonzero(trace.looked_mask()))


def why_placed(trace: CycleTrace, rules: ScoreRules) -> str:
    """Return `680 of 2,000 fit, ahead by 3: the emptiest`."""
    feasible, looked = len(trace.feasible_rows()), evaluated(trace)
    fit = f"{feasible:,} of {looked:,} fit"
    if looked < trace.nodes:
        fit = f"{feasible:,} fit ({looked:,} of {trace.nodes:,} evaluated)"
    selection, decided = trace.selection() if trace.selected_row >= 0 else None, decision(trace, rules)
    if selection is None or decided is None:
        return f"{fit}, the only one" if feasible == 1 else fit
    best = f": {decided.best}" if decided.best else ""
    if selection.ties > 1:
        return f"{fit}, equal with {count(selection.ties - 1, 'other')}{best}"
    return f"{fit}, ahead by {selection.margin:,}{best}"


def why_not(trace: CycleTrace) -> str:
    """Return `0 of 2,000 fit: Insufficient cpu (1,800), node(s) had untolerated taint(s) (200)`, and the result of
    preemption."""
    if (whole := trace.preenqueue or trace.prefilter) is not None:
        text = f"{whole.plugin}: {whole.message}"
    elif trace.error or not trace.verdicts:
        text = trace.error or trace.message
    elif trace.node:  # Reserve, Permit, PreBind or Bind rejected the chosen node
        text = trace.message
    else:
        most = sorted(trace.reasons().items(), key=lambda item: -item[1])
        reasons = ", ".join(f"{reason} ({nodes:,})" for reason, nodes in most)
        text = f"0 of {evaluated(trace):,} fit{': ' * bool(most)}{reasons}"
    if trace.nominated_node:
        evicts = f", {count(len(trace.victims), 'pod')} evicted" if trace.victims else ""
        text += f"; nominated to {trace.nominated_node}{evicts}"
    return text
