"""Suggested fixes: changes that make a pod fit, place it on a node, or place all pending pods.

See docs/debugger.md.
"""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from kubesched_ui.api.common import MAX_ID, RECORDED, Text, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries.remedies import cycle_of, remedies_of, together_of, winning_of

router = Router(tags=["debugger"])

Attempt = Annotated[int | None, Field(ge=1, le=MAX_ID, description="Attempt of the pod. Default: the last one.")]


class Disturbed(Schema):
    pods: int = Field(description="Other pods that are deleted")
    nodes: int = Field(description="Nodes that are changed or added")


class RemedyOut(Schema):
    text: str
    changes: list[dict[str, Any]] = Field(description="In the format of a fork")
    kind: Literal["pod", "node", "evict", "config", "add"]
    disturbs: Disturbed
    node: str = Field(description="The node selected with the fix")
    proved: bool = Field(description="Always true: the cycle was simulated with the fix")
    gap: list[dict[str, Any]] = Field(description="With `node`: scores of this node and of the selected one, by plugin")
    tied: list[str] = Field(
        description="With `node`: the other nodes with the same highest score, if it ties without the fix"
    )
    cost: float = Field(description="The sort key: constraints removed from the pod, and disturbed pods and nodes")


class BottleneckOut(Schema):
    reason: str
    plugin: str
    pods: int
    example: str


class MoreNodesOut(Schema):
    text: str
    like: str
    count: int
    places: int
    changes: list[dict[str, Any]]
    kind: str
    disturbs: Disturbed
    proved: bool
    alternatives: list["MoreNodesOut"] = Field(description="The same with nodes in other zones or regions")


class TogetherOut(Schema):
    pending: int
    looked: int
    lack: dict[str, int] = Field(description="Total requests of the pods that lack resources, in the units of `state`")
    bottlenecks: list[BottleneckOut]
    remedies: list[MoreNodesOut]


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/remedies", response={200: list[RemedyOut], **RECORDED})
def pod_remedies(
    request: HttpRequest, run_id: int, namespace: str, name: str, attempt: Attempt = None, node: Text | None = None
) -> HttpResponse:
    """List suggested fixes for a pod, smallest first; with `node`, those that place it on this node.

    Each fix was simulated, and all of its changes are necessary. The list is empty if the pod fits without a fix, or
    if `node` is the only best node without a fix.
    """
    run = find(Run, run_id)
    row = cycle_of(run, namespace, name, attempt)
    return encoded(winning_of(run, row, node).remedies if node else remedies_of(run, row))


@router.get("/runs/{int:run_id}/remedies", response={200: TogetherOut, **RECORDED})
def run_remedies(request: HttpRequest, run_id: int) -> HttpResponse:
    """Return the bottlenecks of all pending pods, and how many more nodes of which kind would place them."""
    return encoded(together_of(find(Run, run_id)))
