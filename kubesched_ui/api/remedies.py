"""Suggested fixes: changes that place the pods of a workload, a pod on a node, or most pending pods.

See docs/debugger.md.
"""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router

from kubesched_ui.accounts.permissions import permission
from kubesched_ui.api.common import MAX_ID, RECORDED, Described, Text, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries.answers import best_fixes
from kubesched_ui.queries.provenance import cycle_of
from kubesched_ui.queries.remedies import fixes_of_attempt, winning_of
from scheduler_core.explain.answer import Fix

router = Router(tags=["debugger"])

Attempt = Annotated[int | None, Field(ge=1, le=MAX_ID, description="Attempt of the pod. Default: the last one.")]


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/remedies", response={200: list[Described[Fix]], **RECORDED})
@permission(cost="always")
def pod_remedies(
    request: HttpRequest, run_id: int, namespace: str, name: str, attempt: Attempt = None, node: Text | None = None
) -> HttpResponse:
    """List suggested fixes for a pod's workload, as in `answer`; with `node`, those that place the pod on this node.

    Each fix was simulated. The list is empty if the pod fits without a fix, or if `node` is the only best node without
    a fix.
    """
    run = find(Run, run_id)
    row = cycle_of(run, namespace, name, attempt)
    return encoded(winning_of(run, row, node).fixes if node else fixes_of_attempt(run, row))


@router.get("/runs/{int:run_id}/remedies", response={200: list[Described[Fix]], **RECORDED})
@permission(cost="always")
def run_remedies(request: HttpRequest, run_id: int) -> HttpResponse:
    """List the best fixes over all pods without a node, by the pods that each places for its effort and risk.

    `answers` has the fixes of each workload.
    """
    return encoded(best_fixes(find(Run, run_id)))
