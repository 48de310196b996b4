"""Details of one pod's cycle: provenance of its numbers, preemption dry runs and resource claims.

They are computed again from the recorded cluster before the cycle. See docs/debugger.md.
"""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.accounts.permissions import permission
from kubesched_ui.api.common import MAX_ID, RECORDED, Described, Text, encoded, find, with_former_names
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance, queue_times
from scheduler_core.provenance.tree import Tree
from scheduler_core.search import claims
from scheduler_core.search.claims import NodeGroup, OneNode
from scheduler_core.search.preemption_dry_run import DryRun, PreemptionDryRuns, TriedNode
from scheduler_core.search.provenance import OWN_POINTS, POINTS, Question
from scheduler_core.search.queue_times import QUEUE

router = Router(tags=["debugger"])

POD = "/runs/{int:run_id}/pods/{namespace}/{name}"


class CycleQuery(Schema):
    attempt: int | None = Field(None, ge=1, le=MAX_ID, description="Attempt of the pod. Default: the last one.")
    cycle: int | None = Field(None, ge=1, le=MAX_ID, description="Number of the cycle, instead of `attempt`.")


# ---- provenance


class Value(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    value: Any = Field(description="A number, a boolean or a text. In the root: the recorded value")
    op: str = Field(description="The operation on `args`, or the kind of leaf; see docs/debugger.md")
    text: str = Field("", description="In the root: the whole tree as a sentence")
    label: str = Field("", description="The meaning of the value; for a constant, its name in upstream")
    unit: str = Field("", description="m for millicores, B for bytes")
    args: list[dict[str, Any]] | None = Field(None, description="Arguments of the operation, in the same format")
    source: dict[str, str] | None = Field(None, description="For a field: `kind`, `namespace`, `name`, `path`")
    cycle: int = Field(0, description="The earlier cycle that caused it")
    seq: int = Field(0, description="In virtual time: the event that caused it")
    pages: int = Field(0, description="In the root: number of pages of its longest sum")


class ProvenanceQuery(CycleQuery):
    point: Text = Field(description=f"One of {', '.join((*POINTS, *OWN_POINTS, QUEUE))}.")
    plugin: Text = Field("", description="Required for all points except total.")
    node: Text = Field("", description="Default: the selected node.")
    page: int = Field(1, ge=1, le=1_000_000, description="Page of sums over many pods.")
    move: int | None = Field(
        None, ge=1, le=MAX_ID, description="For queue: the event that moved the pod. Default: the start of the attempt."
    )
    until: bool = Field(False, description="For queue: the latest time at which the pod leaves the state it moved to.")


@router.get(f"{POD}/provenance", response={200: Value, **RECORDED})
@permission(cost="always")
def provenance_of(
    request: HttpRequest, run_id: int, namespace: str, name: str, query: Query[ProvenanceQuery]
) -> HttpResponse:
    """Return the provenance of a verdict, score, total or choice as a tree.

    Inner values are computed from their arguments; leaves are fields of objects and of the configuration.
    """
    run = find(Run, run_id)
    if query.point == QUEUE:
        return encoded(_of_queue(run, namespace, name, query))
    question = Question(query.point, query.node, query.plugin, query.page)
    cycle = provenance.cycle_of(run, namespace, name, query.attempt, query.cycle)
    return encoded(provenance.explain_number(run, cycle, question))


def _of_queue(run: Run, namespace: str, name: str, query: ProvenanceQuery) -> Tree:
    cycle = provenance.cycle_of(run, namespace, name, query.attempt, query.cycle) if query.move is None else None
    return queue_times.explain_time(run, cycle, namespace, name, query.move, query.until)


# ---- preemption


class Trials(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    pod: str
    cycle: int
    attempt: int
    nominated: str = Field(description="The nominated node; empty for none")
    message: str = Field(description="The message of preemption if it nominated no node")
    nodes: list[Described[TriedNode]] = Field(description="One page of the nodes that the cycle tried, in order")
    total: int = Field(description="Number of nodes tried")
    page: int
    pages: int
    trial: Described[DryRun] | None = Field(description="The dry run on `node`; null if no node was tried")
    before: str = Field(description="The node tried before it")
    after: str = Field(description="The node tried after it")


class TrialsQuery(CycleQuery):
    node: Text = Field("", description="Default: the nominated node, or else the first one tried.")
    page: int = Field(1, ge=1, le=1_000_000, description="Page of the nodes, 100 per page.")


@router.get(f"{POD}/trials", response={200: Trials, **RECORDED})
@permission(cost="always")
def trials_of(request: HttpRequest, run_id: int, namespace: str, name: str, query: Query[TrialsQuery]) -> HttpResponse:
    """Return each removal and reprieve of the preemption dry run on one node."""
    run = find(Run, run_id)
    cycle = provenance.cycle_of(run, namespace, name, query.attempt, query.cycle)
    found = provenance.repeated(PreemptionDryRuns, run, cycle, query.node, query.page)
    return encoded(found | {"said": found["message"]})


# ---- resource claims


class Claims(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    pod: str
    cycle: int
    attempt: int
    message: str = Field(description="Why Filter did not run, if the claims prevented it")
    groups: list[Described[NodeGroup]] = Field(
        description="One page of the groups: fitting ones, then by least shortage"
    )
    nodes: int
    total: int = Field(description="Number of groups")
    page: int
    pages: int
    node: Described[OneNode] | None = Field(description="The devices of `node`")


class ClaimsQuery(CycleQuery):
    node: Text = Field("", description="Default: the selected node, or else the first node of the first group.")
    page: int = Field(1, ge=1, le=1_000_000, description="Page of the groups, 20 per page.")


@router.get(f"{POD}/claims", response={200: Claims, **RECORDED})
@permission(cost="always")
def claims_of(request: HttpRequest, run_id: int, namespace: str, name: str, query: Query[ClaimsQuery]) -> HttpResponse:
    """Return the devices that each request of the pod's resource claims finds."""
    run = find(Run, run_id)
    cycle = provenance.cycle_of(run, namespace, name, query.attempt, query.cycle)
    found = provenance.repeated(claims.Claims, run, cycle, query.node, query.page)
    return encoded(with_former_names(msgspec.to_builtins(found), message="said"))
