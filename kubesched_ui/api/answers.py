"""Why pods of a run have no node, or have theirs, and what would place them (docs/answers.md)."""

from contextlib import suppress

import msgspec
from django.http import HttpRequest, HttpResponse
from msgspec.structs import replace
from ninja import Field, Query, Router, Schema

from kubesched_ui.accounts.permissions import permission
from kubesched_ui.api.common import MAX_ID, RECORDED, Described, encoded, find
from kubesched_ui.models import Run
from kubesched_ui.queries import provenance, stations
from kubesched_ui.queries.answers import answer_of_pod, answers_of_run, ladder_at_end
from kubesched_ui.queries.recording_cache import NotRecorded, object_at, recording_of
from kubesched_ui.queries.remedies import explained, ladder_at
from scheduler_core.explain.answer import Answer, Rung

router = Router(tags=["runs"])

CYCLE = Query(None, ge=1, le=MAX_ID, description="A cycle of the pod.")


class AnswerOut(Answer):
    """Why a pod was placed on its node, or is pending. Fields that are empty are left out.

    `ladder`: nodes by the number of changes that they need, fewest first. `fixes`: simulated for all pods of the
    `workload`; `no_fixes` says why none is. `groups` are decisive reasons, most nodes first; `closest` the nearest
    nodes with all objections; `top` the best nodes with their scores; `message` is that of the FailedScheduling event.
    """

    node: str | None = None  # type: ignore[assignment]


class AlikeOut(AnswerOut, kw_only=True):
    """An answer about pods that are alike: `pods`; `pod` is the first of them."""

    pods: list[str]


class LadderOut(Schema):
    pod: str
    sentence: str
    ladder: list[Described[Rung]] = Field(
        description="With all nodes of each rung. Empty if the whole pod is rejected."
    )


@router.get("/runs/{int:run_id}/answers", response={200: list[Described[AlikeOut]], **RECORDED})
@permission(cost="always")
def run_answers(request: HttpRequest, run_id: int) -> HttpResponse:
    """List why pods have no node at the end of the run, one entry for pods that are alike, most pods first.

    The first 40 have fixes; those of others are searched with the answer of a pod. The list is empty while the run is
    active.
    """
    rows = answers_of_run(find(Run, run_id), fixes=True)
    return encoded([{"node": None, **row.answer, "pod": row.pod, "pods": row.pods} for row in rows])


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/answer", response={200: Described[AnswerOut], **RECORDED})
@permission(cost="always")
def pod_answer(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Return why a pod has no node at the end of the run, or why it was placed on its node in its last cycle.

    Of a pod that the run does not schedule, where it waits by the snapshot.
    """
    run = find(Run, run_id)
    answer = answer_of_pod(run, namespace, name, fixes=True)
    if answer is None:
        answer = msgspec.to_builtins(_of_snapshot(run, namespace, name))
    return encoded({"node": None, **answer})


def _of_snapshot(run: Run, namespace: str, name: str) -> Answer:
    """Return the answer about the last cycle of a pod with its stations, or what its snapshot shows without a cycle."""
    result = run.pod_results.filter(namespace=namespace, name=name).first()
    rows = run.scenario.cluster_objects.filter(kind="Pod", namespace=namespace, name=name)
    raw = rows.values_list("data", flat=True).first()
    found = stations.of_pod(run, raw, result) if raw is not None and (result or not run.active) else None
    if found is not None and result is None:
        return found.answer(f"{namespace}/{name}")
    cycle = provenance.cycle_of(run, namespace, name, None)
    if raw is None and result is not None:
        with suppress(NotRecorded):
            raw = object_at(run, "Pod", f"{namespace}/{name}", recording_of(run).before_cycle(cycle.number))
            found = stations.of_created_pod(run, raw, result) if raw is not None else None
    answer = explained(run, cycle)
    if found is not None:
        answer = replace(answer, station=found.station, says=found.says, stations=found.stations)
    return answer


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/ladder", response={200: LadderOut, **RECORDED})
@permission(cost="always")
def pod_ladder(request: HttpRequest, run_id: int, namespace: str, name: str, cycle: int | None = CYCLE) -> HttpResponse:
    """Return all nodes by the number of changes that a pod needs to run there, fewest first: before a cycle, or by
    default at the end of the run. For a pod that has a node, the default is its last cycle.
    """
    run = find(Run, run_id)
    answer = ladder_at_end(run, namespace, name) if cycle is None else None
    if answer is None:
        answer = ladder_at(run, provenance.cycle_of(run, namespace, name, None, cycle))
    return encoded({"pod": answer.pod, "sentence": answer.sentence, "ladder": msgspec.to_builtins(answer.ladder)})
