"""Why pods of a run have no node, or have theirs, and what would place them (docs/answers.md)."""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from kubesched_ui.api.common import RECORDED, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries.answers import answer_of_pod, answers_of_run
from kubesched_ui.queries.remedies import cycle_of, explained

router = Router(tags=["runs"])


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


class AlikeOut(AnswerOut):
    pods: list[str] = Field(description="The pods that share the answer; `pod` is the first.")


@router.get("/runs/{int:run_id}/answers", response={200: list[AlikeOut], **RECORDED})
def run_answers(request: HttpRequest, run_id: int) -> HttpResponse:
    """List why pods have no node at the end of the run, one entry for pods that are alike, most pods first.

    The first 40 have fixes. The list is empty while the run is active.
    """
    rows = answers_of_run(find(Run, run_id), fixes=True)
    return encoded([{"node": None, **row.answer, "pod": row.pod, "pods": row.pods} for row in rows])


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/answer", response={200: AnswerOut, **RECORDED})
def pod_answer(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Return why a pod has no node at the end of the run, or why it was placed on its node in its last cycle."""
    run = find(Run, run_id)
    answer = answer_of_pod(run, namespace, name, fixes=True)
    if answer is None:
        answer = msgspec.to_builtins(explained(run, cycle_of(run, namespace, name, None)))
    return encoded({"node": None, **answer})
