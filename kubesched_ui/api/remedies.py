"""Suggested fixes: changes that place the pods of a workload, a pod on a node, or most pending pods.

See docs/debugger.md.
"""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from kubesched_ui.api.answers import FixOut
from kubesched_ui.api.common import MAX_ID, RECORDED, Text, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries.answers import best_fixes
from kubesched_ui.queries.remedies import cycle_of, fixes_of_attempt, winning_of

router = Router(tags=["debugger"])

Attempt = Annotated[int | None, Field(ge=1, le=MAX_ID, description="Attempt of the pod. Default: the last one.")]


class Disturbed(Schema):
    pods: int = Field(description="Other pods that are deleted")
    nodes: int = Field(description="Nodes that are changed or added")


class RemedyOut(Schema):
    text: str
    changes: list[dict[str, Any]] = Field(description="In the format of a fork")
    kind: Literal["pod", "node", "evict", "config"]
    disturbs: Disturbed
    node: str = Field(description="The node selected with the fix")
    proved: bool = Field(description="Always true: the cycle was simulated with the fix")
    gap: list[dict[str, Any]] = Field(description="With `node`: scores of this node and of the selected one, by plugin")
    tied: list[str] = Field(
        description="With `node`: the other nodes with the same highest score, if it ties without the fix"
    )
    cost: float = Field(description="The sort key: constraints removed from the pod, and disturbed pods and nodes")


@router.get(
    "/runs/{int:run_id}/pods/{namespace}/{name}/remedies", response={200: list[FixOut] | list[RemedyOut], **RECORDED}
)
def pod_remedies(
    request: HttpRequest, run_id: int, namespace: str, name: str, attempt: Attempt = None, node: Text | None = None
) -> HttpResponse:
    """List suggested fixes for a pod's workload, as in `answer`; with `node`, those that place the pod on this node.

    Each fix was simulated. Those for a node are the smallest first, and all of their changes are necessary. The list is
    empty if the pod fits without a fix, or if `node` is the only best node without a fix.
    """
    run = find(Run, run_id)
    row = cycle_of(run, namespace, name, attempt)
    return encoded(winning_of(run, row, node).remedies if node else fixes_of_attempt(run, row))


@router.get("/runs/{int:run_id}/remedies", response={200: list[FixOut], **RECORDED})
def run_remedies(request: HttpRequest, run_id: int) -> HttpResponse:
    """List the best fixes over all pods without a node, by the pods that each places for its effort and risk.

    `answers` has the fixes of each workload.
    """
    return encoded(best_fixes(find(Run, run_id)))
