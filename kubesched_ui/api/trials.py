"""The preemption dry run of a cycle. See docs/debugger.md."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance

router = Router(tags=["debugger"])


class Trial(Schema):
    """One step: all pods of lower priority are removed from the node, or one of them is reprieved."""

    do: str = Field(description="remove or reprieve")
    pods: list[str] = Field(description="Who leaves, most important first; or the one that is put back")
    priority: int | None = Field(description="Of the pod that is put back")
    violates: bool = Field(description="To evict it breaks a disruption budget; such pods are put back first")
    fits: bool = Field(description="Whether the preempting pod fits then; if not, the one put back is a victim")
    plugin: str = Field(description="Which refuses it if not")
    reasons: list[str]
    nominated: bool = Field(description="It would fit but for pods that are nominated to the node")


class TrialOnNode(Schema):
    node: str
    tried: bool = Field(description="Whether the cycle came to this node")
    steps: list[Trial]
    victims: list[str] = Field(description="Most important first; none if evicting does not help")
    violations: int = Field(description="Of disruption budgets")
    plugin: str = Field(description="Which refuses the pod even so")
    reasons: list[str] = Field(description="Why evicting does not help")
    agrees: bool | None = Field(description="With what the cycle recorded; null where it recorded nothing")
    note: str


class Tried(Schema):
    node: str
    candidate: bool
    victims: int
    violations: int
    plugin: str
    reasons: list[str]


class TrialsTold(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    pod: str
    cycle: int
    attempt: int
    nominated: str = Field(description="The node that room was made on; empty for none")
    said: str = Field(description="What preemption answered, where it made no room")
    nodes: list[Tried] = Field(description="Nodes that the cycle tried, in the order in which it did; a page of them")
    total: int = Field(description="How many it tried")
    page: int
    pages: int
    trial: TrialOnNode | None = Field(description="The node that is asked for; null if none was tried")
    before: str = Field(description="The node that was tried before it")
    after: str = Field(description="The node that was tried after it")


class TrialsAsked(Schema):
    node: Text = Field("", description="The node that room was made on, else the first tried, if nothing is said.")
    attempt: int | None = Field(None, ge=1, le=MAX_ID, description="The last one, if nothing is said.")
    cycle: int | None = Field(None, ge=1, le=MAX_ID, description="Instead of the attempt: the number of its cycle.")
    page: int = Field(1, ge=1, le=1_000_000, description="Of the nodes, 100 at a time.")


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/trials", response={200: TrialsTold, **REFUSALS, 409: Refusal})
def trials_of(request: HttpRequest, run_id: int, namespace: str, name: str, asked: Query[TrialsAsked]) -> HttpResponse:
    """Return each removal and reprieve of the preemption dry run on one node, repeated on the cluster before the
    cycle.
    """
    run = find(Run, run_id)
    cycle = provenance.cycle_of(run, namespace, name, asked.attempt, asked.cycle)
    told = provenance.trials_of(run, cycle, asked.node, asked.page)
    return HttpResponse(msgspec.json.encode(told), content_type="application/json")
