"""One cycle of a run, step by step over all nodes."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router

from kubesched_ui.api.common import MAX_ID, REFUSALS, Text, find
from kubesched_ui.models import Run
from kubesched_ui.presenters.cycle_rows import trace_of
from scheduler_core.debugger import cycle_steps

router = Router(tags=["debugger"])

SCORES = Query("", description="A Score plugin, whose points are told, too.")
KNOWN = Query(-1, ge=-1, le=MAX_ID, description="The `nodes_version` whose names need not be told again.")


@router.get("/runs/{int:run_id}/cycles/{int:number}", response={200: dict[str, Any], **REFUSALS})
def cycle(request: HttpRequest, run_id: int, number: int, scores: Text = SCORES, known: int = KNOWN) -> HttpResponse:
    """Return every plugin's verdicts in one cycle, in order, with totals and preemption victims
    (scheduler_core/debugger/cycle_steps.py).

    `names`: the nodes of the rows. `before`, `after`: the pod's previous and next cycle.
    """
    run: Run = find(Run, run_id)
    row = run.cycles.filter(number=number).first() if number <= MAX_ID else None
    if row is None:
        raise Http404(f"Run {run_id} has no cycle {number}.")
    trace = trace_of(row)
    same = run.cycles.filter(namespace=row.namespace, name=row.name)
    numbers = same.values_list("number", flat=True)
    told = {
        "number": number,
        "pod": f"{row.namespace}/{row.name}",
        "attempt": row.attempt,
        "t": trace.time,
        "result": row.result,
        "node": trace.node,
        "nominated": trace.nominated_node,
        "message": trace.message or trace.error,
        "before": numbers.filter(number__lt=number).order_by("-number").first(),
        "after": numbers.filter(number__gt=number).order_by("number").first(),
        "nodes_version": row.nodes_version,
        "names": None if known == row.nodes_version else row.nodes,
    }
    return HttpResponse(msgspec.json.encode(cycle_steps.told(trace, scores) | told), content_type="application/json")
