"""Why pods of a run have no node, or have theirs, and what would place them (docs/answers.md)."""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, RECORDED, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance
from kubesched_ui.queries.answers import answer_of_pod, answers_of_run, ladder_at_end
from kubesched_ui.queries.remedies import explained, ladder_at

router = Router(tags=["runs"])

CYCLE = Query(None, ge=1, le=MAX_ID, description="A cycle of the pod.")


class PendingWorkloadOut(Schema):
    kind: str
    namespace: str
    name: str
    pending: int = Field(1, description="Its pods without a node.")


class PendingCauseOut(Schema):
    kind: str = Field(description="A kind of docs/answers.md.")
    plugin: str = ""
    nodes: list[str] = Field([], description="Nodes that one change opens.")
    objects: list[str] = Field([], description="What is named: taints, labels, resources, domains, claims.")


class RungOut(Schema):
    changes: int | None = Field(description="Changes after which the pod can run there; null: none does it.")
    count: int = Field(description="Number of nodes.")
    nodes: list[str] = Field(description="Up to five of them, the nearest first.")
    text: str


class FixTarget(Schema):
    kind: str
    namespace: str
    name: str


class FixOut(Schema):
    kind: str
    target: FixTarget | None = Field(description="The object to edit; null: it is not one object.")
    text: str
    command: str = Field(description="For kubectl; empty if there is none.")
    patch: Any = Field(description="What the command sends; null if it changes nothing or creates an object.")
    places: int = Field(description="Pods of the workload that get a node with it.")
    of: int = Field(description="Pods of the workload without a node.")
    node: str = Field(description="The node of the first of them.")
    changes: list[dict[str, Any]] = Field(description="The same as changes of a fork.")
    remark: str = Field(description="What is lost or comes back.")


class AnswerOut(Schema):
    """An answer. Fields that are empty are left out."""

    model_config = {"extra": "allow"}

    pod: str
    result: str
    node: str | None
    sentence: str
    workload: PendingWorkloadOut | None = None
    cause: PendingCauseOut | None = None
    ladder: list[RungOut] = Field([], description="Nodes by the number of changes that they need, fewest first.")
    fixes: list[FixOut] = Field([], description="Simulated for all pods of the workload.")


class WholeRungOut(RungOut):
    nodes: list[str] = Field(description="All of them, the nearest first.")
    each: str = Field(description="The text about one of the nodes, a verb first.")


class LadderOut(Schema):
    pod: str
    sentence: str
    ladder: list[WholeRungOut] = Field(description="With all nodes. Empty if the whole pod is rejected.")


class AlikeOut(AnswerOut):
    pods: list[str] = Field(description="The pods that share the answer; `pod` is the first.")


@router.get("/runs/{int:run_id}/answers", response={200: list[AlikeOut], **RECORDED})
def run_answers(request: HttpRequest, run_id: int) -> HttpResponse:
    """List why pods have no node at the end of the run, one entry for pods that are alike, most pods first.

    The first 40 have fixes; those of others are searched with the answer of a pod. The list is empty while the run is
    active.
    """
    rows = answers_of_run(find(Run, run_id), fixes=True)
    return encoded([{"node": None, **row.answer, "pod": row.pod, "pods": row.pods} for row in rows])


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/answer", response={200: AnswerOut, **RECORDED})
def pod_answer(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Return why a pod has no node at the end of the run, or why it was placed on its node in its last cycle."""
    run = find(Run, run_id)
    answer = answer_of_pod(run, namespace, name, fixes=True)
    if answer is None:
        answer = msgspec.to_builtins(explained(run, provenance.cycle_of(run, namespace, name, None)))
    return encoded({"node": None, **answer})


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/ladder", response={200: LadderOut, **RECORDED})
def pod_ladder(request: HttpRequest, run_id: int, namespace: str, name: str, cycle: int | None = CYCLE) -> HttpResponse:
    """Return all nodes by the number of changes that a pod needs to run there, fewest first: before a cycle, or by
    default at the end of the run. For a pod that has a node, the default is its last cycle.
    """
    run = find(Run, run_id)
    answer = ladder_at_end(run, namespace, name) if cycle is None else None
    if answer is None:
        answer = ladder_at(run, provenance.cycle_of(run, namespace, name, None, cycle))
    return encoded({"pod": answer.pod, "sentence": answer.sentence, "ladder": msgspec.to_builtins(answer.ladder)})
