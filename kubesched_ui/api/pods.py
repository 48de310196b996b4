"""The pods of a run: their outcomes, and every decision about one pod."""

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, ModelSchema, Query, Router, Schema

from kubesched_ui.api.common import REFUSALS, Text, find
from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Cycle, PodResult, Run

router = Router(tags=["runs"])


class Reason(Schema):
    plugin: str
    reason: str
    nodes: int


class PodOut(ModelSchema):
    url: str = ""
    reasons: list[Reason] = Field(description="Decisive rejections, most nodes first.")

    class Meta:
        model = PodResult
        exclude = ["id", "run"]

    @staticmethod
    def resolve_url(pod: PodResult) -> str:
        return f"/api/runs/{pod.run_id}/pods/{pod.namespace}/{pod.name}"


class PodPage(Schema):
    total: int
    page: int
    pods: list[PodOut]


class PodQuery(Schema):
    result: Literal["scheduled", "unschedulable", "nominated", "no-node", "gated", "error", "waiting"] | None = Field(
        None, description="nominated and no-node: unschedulable pods with and without a nominated node."
    )
    node: Text | None = None
    namespace: Text | None = None
    q: Text = Field("", description="A part of namespace/name, node or message.")
    sort: Literal[
        "position", "namespace", "name", "result", "node", "score", "margin", "attempts", "duration", "feasible",
        "-position", "-namespace", "-name", "-result", "-node", "-score", "-margin", "-attempts", "-duration",
        "-feasible",
    ] = "position"  # fmt: skip
    page: int = Field(1, ge=1, le=1_000_000)
    page_size: int = Field(100, ge=1, le=1000)


class PodDetail(Schema):
    result: PodOut
    cycles: list[dict[str, Any]] = Field(description="One per attempt, with the keys of docs/formats.md.")


@router.get("/runs/{int:run_id}/pods", response={200: PodPage, **REFUSALS})
def pods(request: HttpRequest, run_id: int, wanted: Query[PodQuery]) -> dict[str, Any]:
    """List the outcomes of pods, filtered, sorted and paginated."""
    rows = find(Run, run_id).pod_results.matching(wanted.q, wanted.result, wanted.node, wanted.namespace)
    start = (wanted.page - 1) * wanted.page_size
    shown = rows.order_by(wanted.sort, "position")[start : start + wanted.page_size]
    return {"total": rows.count(), "page": wanted.page, "pods": shown}


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}", response={200: PodDetail, **REFUSALS})
def pod(request: HttpRequest, run_id: int, namespace: str, name: str) -> dict[str, Any]:
    """Return every decision about one pod: each plugin's verdict and score for every node."""
    run = find(Run, run_id)
    result = get_object_or_404(run.pod_results, namespace=namespace, name=name)
    cycles = Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("number")
    lists = {version: run.nodes_at(version) for version in {c.nodes_version for c in cycles}}
    traces = [trace_of(c).golden(lists[c.nodes_version]) for c in cycles]
    return {"result": result, "cycles": traces}
