"""Where a number of a run comes from. See docs/debugger.md."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.asking import provenance
from kubesched_ui.models import Run
from scheduler_core.debugger.provenance import POINTS, Question

router = Router(tags=["debugger"])


class Value(Schema):
    """Documented here; the answer is encoded at once."""

    value: Any = Field(description="A number, a boolean or a text; of the root what the cycle recorded")
    op: str = Field(description="How it was computed from `args`, or what kind of leaf it is; see docs/debugger.md")
    text: str = Field("", description="Of the root: it all in a sentence")
    label: str = Field("", description="What it is; of a constant its name in upstream")
    unit: str = Field("", description="m for millicores, B for bytes")
    args: list[dict[str, Any]] | None = Field(None, description="Of an operation: such values again")
    source: dict[str, str] | None = Field(None, description="Of a field: `kind`, `namespace`, `name`, `path`")
    cycle: int = Field(0, description="The earlier cycle that brought it about")
    pages: int = Field(0, description="Of the root: how many pages its longest sum has")


class Asked(Schema):
    point: Text = Field(description=f"One of {', '.join(POINTS)}.")
    plugin: Text = Field("", description="For all points but total.")
    node: Text = Field("", description="The node that was chosen, if nothing is said.")
    attempt: int | None = Field(None, ge=1, le=MAX_ID, description="The last one, if nothing is said.")
    cycle: int | None = Field(None, ge=1, le=MAX_ID, description="Instead of the attempt: the number of its cycle.")
    page: int = Field(1, ge=1, le=1_000_000, description="Of sums over many pods.")


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/provenance", response={200: Value, **REFUSALS, 409: Refusal})
def provenance_of(request: HttpRequest, run_id: int, namespace: str, name: str, asked: Query[Asked]) -> HttpResponse:
    """Where a verdict, a score, a total or a choice comes from: a tree whose inner values are computed from their
    arguments, down to fields of objects and of the configuration."""
    question, run = Question(asked.point, asked.node, asked.plugin, asked.page), find(Run, run_id)
    cycle = provenance.cycle_of(run, namespace, name, asked.attempt, asked.cycle)
    tree = provenance.tell(run, cycle, question)
    return HttpResponse(msgspec.json.encode(tree), content_type="application/json")
