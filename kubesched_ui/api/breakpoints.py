"""Breakpoints of a run: named expressions at which playback stops."""

from __future__ import annotations

from typing import Annotated

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Field, ModelSchema, Router, Schema, Status

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.api.debugger import ASKED, Wrong
from kubesched_ui.models import MAX_NAME, Breakpoint, Run
from kubesched_ui.queries.search_client import find_cycles
from scheduler_core.debugger.search import MAX_LENGTH
from scheduler_core.errors import InputError

router = Router(tags=["debugger"])


class BreakpointIn(Schema):
    model_config = {"extra": "forbid", "str_strip_whitespace": True}

    name: Annotated[Text, Field("", max_length=MAX_NAME, description="Empty: the expression is its name.")]
    where: Annotated[Text, Field(min_length=1, max_length=MAX_LENGTH, description="As of `find`.")]


class BreakpointOut(ModelSchema):
    class Meta:
        model = Breakpoint
        fields = ["id", "name", "where"]


@router.get("/runs/{int:run_id}/breakpoints", response={200: list[BreakpointOut], **REFUSALS})
def breakpoints(request: HttpRequest, run_id: int) -> QuerySet[Breakpoint]:
    """List the breakpoints of a run, oldest first."""
    found: QuerySet[Breakpoint] = find(Run, run_id).breakpoints.all()
    return found


@router.post("/runs/{int:run_id}/breakpoints", response={201: BreakpointOut, **ASKED, 400: Wrong, 503: Refusal})
def make_breakpoint(request: HttpRequest, run_id: int, wanted: BreakpointIn) -> Status[Breakpoint]:
    """Add a breakpoint to a run. An invalid expression is rejected with its position, as by `find`."""
    run: Run = find(Run, run_id)
    find_cycles(run, wanted.where, None, "all", 1)
    name = wanted.name or wanted.where[:MAX_NAME]
    if run.breakpoints.count() >= Breakpoint.MOST:
        raise InputError("breakpoints", "", f"limit reached: a run can have {Breakpoint.MOST} breakpoints")
    try:
        with transaction.atomic():
            return Status(201, run.breakpoints.create(name=name, where=wanted.where))
    except IntegrityError:
        raise InputError(
            "breakpoint", "name", f"{name!r} is already the name of another breakpoint of this run"
        ) from None


@router.delete("/runs/{int:run_id}/breakpoints/{int:number}", response={204: None, **REFUSALS})
def drop_breakpoint(request: HttpRequest, run_id: int, number: int) -> Status[None]:
    """Delete a breakpoint."""
    deleted, _ = find(Run, run_id).breakpoints.filter(pk=min(number, MAX_ID)).delete()
    if not deleted:
        raise Http404(f"Run {run_id} has no breakpoint {number}.")
    return Status(204, None)
