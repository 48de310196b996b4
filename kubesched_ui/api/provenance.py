"""Provenance of the numbers of a run. See docs/debugger.md."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance, queue_times
from scheduler_core.debugger.provenance import OWN_POINTS, POINTS, Question
from scheduler_core.debugger.queue_times import QUEUE
from scheduler_core.provenance.tree import Tree

router = Router(tags=["debugger"])


class Value(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    value: Any = Field(description="A number, a boolean or a text; of the root what the cycle recorded")
    op: str = Field(description="How it was computed from `args`, or what kind of leaf it is; see docs/debugger.md")
    text: str = Field("", description="Of the root: it all in a sentence")
    label: str = Field("", description="What it is; of a constant its name in upstream")
    unit: str = Field("", description="m for millicores, B for bytes")
    args: list[dict[str, Any]] | None = Field(None, description="Of an operation: such values again")
    source: dict[str, str] | None = Field(None, description="Of a field: `kind`, `namespace`, `name`, `path`")
    cycle: int = Field(0, description="The earlier cycle that brought it about")
    seq: int = Field(0, description="The event of a run in time that brought it about")
    pages: int = Field(0, description="Of the root: how many pages its longest sum has")


class ProvenanceAsked(Schema):
    point: Text = Field(description=f"One of {', '.join((*POINTS, *OWN_POINTS, QUEUE))}.")
    plugin: Text = Field("", description="For all points but total.")
    node: Text = Field("", description="The node that was chosen, if nothing is said.")
    attempt: int | None = Field(None, ge=1, le=MAX_ID, description="The last one, if nothing is said.")
    cycle: int | None = Field(None, ge=1, le=MAX_ID, description="Instead of the attempt: the number of its cycle.")
    page: int = Field(1, ge=1, le=1_000_000, description="Of sums over many pods.")
    move: int | None = Field(
        None, ge=1, le=MAX_ID, description="For queue: the event by which the pod moved; else the begin of the attempt."
    )
    until: bool = Field(False, description="For queue: when the stay that the move began ends at the latest.")


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/provenance", response={200: Value, **REFUSALS, 409: Refusal})
def provenance_of(
    request: HttpRequest, run_id: int, namespace: str, name: str, asked: Query[ProvenanceAsked]
) -> HttpResponse:
    """Return the provenance of a verdict, score, total or choice as a tree.

    Inner values are computed from their arguments; leaves are fields of objects and of the configuration.
    """
    run = find(Run, run_id)
    if asked.point == QUEUE:
        tree = _of_queue(run, namespace, name, asked)
    else:
        question = Question(asked.point, asked.node, asked.plugin, asked.page)
        cycle = provenance.cycle_of(run, namespace, name, asked.attempt, asked.cycle)
        tree = provenance.tell(run, cycle, question)
    return HttpResponse(msgspec.json.encode(tree), content_type="application/json")


def _of_queue(run: Run, namespace: str, name: str, asked: ProvenanceAsked) -> Tree:
    cycle = provenance.cycle_of(run, namespace, name, asked.attempt, asked.cycle) if asked.move is None else None
    return queue_times.tell(run, cycle, namespace, name, asked.move, asked.until)
