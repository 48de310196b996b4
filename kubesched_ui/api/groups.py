"""The pod groups of a run. See docs/debugger.md."""

from typing import Any, Literal

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, find
from kubesched_ui.models import Run
from kubesched_ui.queries import groups

router = Router(tags=["debugger"])

Result = Literal["scheduled", "waiting", "unschedulable"]
PAGE = 20


class StatusOut(Schema):
    plugin: str
    code: str
    reasons: list[str]


class Member(Schema):
    """A member. Members are listed in the order tried; each is tried with the earlier ones assumed on their nodes."""

    pod: str
    cycle: int = Field(description="Number of its cycle")
    result: str
    node: str = Field(description="The node where it is assumed or nominated; empty if it fits nowhere")
    fits: bool = Field(description="Whether it found a node without evictions")
    preempts: bool = Field(description="Whether it fits on `node` after the eviction of `victims`")
    fit_error: str = Field(description="Why no node fits")
    said: str = Field(description="Former name of `fit_error`", deprecated=True)
    permit: StatusOut | None = Field(description="Status of Permit on the node; null if Permit did not run")
    message: str = Field(description="For a pending member: why, with regard to its group")
    rejected_by: list[str] = Field(description="Plugins whose events can requeue it")
    nominated_node: str = Field(description="nominatedNodeName in its status afterwards")
    victims: list[str]


class GroupVictim(Schema):
    pod: str
    node: str = Field(description="The node that it was on")


class Placement(Schema):
    """A topology domain in which the group was tried."""

    name: str
    nodes: int
    placed: int = Field(description="Members that found a node in the domain")
    preempts: int = Field(description="Those of them that need evictions")
    status: StatusOut
    score: int | None = Field(description="Score among the feasible domains; null if there is only one")


class Span(Schema):
    first: int
    last: int


class GroupShort(Schema):
    name: str = Field(description="namespace/name of the PodGroup")
    policy: Literal["gang", "basic"]
    min_count: int = Field(description="minCount of a gang; else 0")
    topology_key: str
    result: Result
    members: int = Field(description="Members that were tried")
    fit: int
    bound: int
    held: int = Field(description="Members rejected by PreEnqueue")
    victims: int
    sentence: str
    first: int = Field(description="Number of the first member's cycle")
    last: int


class GroupPage(Schema):
    total: int
    page: int
    groups: list[GroupShort]


class GroupDetail(Schema):
    name: str
    sentence: str
    result: Result
    popped: str = Field(description="The pod that was popped from the queue")
    policy: Literal["gang", "basic"]
    min_count: int
    priority: int
    topology_key: str
    disruption_mode: str
    bound: int
    running: int = Field(description="Members that were on nodes before the cycle")
    members: list[Member]
    held: dict[str, StatusOut] = Field(description="Member -> status of PreEnqueue")
    status: StatusOut
    condition: dict[str, str] = Field(description="Condition PodGroupScheduled of the PodGroup afterwards")
    preempted_as_whole: bool = Field(description="Whether workload-aware preemption ran")
    victims: list[GroupVictim] = Field(description="Pods evicted in this cycle, even if the group was not scheduled")
    placement: str = Field(
        description="The selected domain, or the one that the message is about; empty for the whole cluster"
    )
    placements: list[Placement]
    first: int
    last: int
    attempt: int
    attempts: list[Span]


class GroupQuery(Schema):
    cycle: int | None = Field(
        None, ge=1, le=MAX_ID, description="A cycle of one of its members. Default: the last attempt."
    )


@router.get("/runs/{int:run_id}/groups", response={200: GroupPage, **REFUSALS})
def groups_of(request: HttpRequest, run_id: int, page: int = Query(1, ge=1, le=1_000_000)) -> dict[str, Any]:
    """List the pod groups of a run in the order tried, 20 per page."""
    run = find(Run, run_id)
    shown = Paginator(run.group_cycles.order_by("first"), PAGE).get_page(page)
    entries = [groups.summary(run, group) for group in shown.object_list]
    return {"total": shown.paginator.count, "page": shown.number, "groups": entries}


@router.get("/runs/{int:run_id}/groups/{namespace}/{name}", response={200: GroupDetail, **REFUSALS}, url_name="group")
def group(request: HttpRequest, run_id: int, namespace: str, name: str, query: Query[GroupQuery]) -> dict[str, Any]:
    """Return one cycle of a group: its members in the order tried, the placements, the evicted pods and the outcome."""
    run = find(Run, run_id)
    found = groups.group_at(run, namespace, name, query.cycle)
    if found is None:
        raise Http404(f"Run {run_id} has no cycle of a pod group {namespace[:253]}/{name[:253]}.")
    return groups.detail(run, found)
