"""Why pods of a finished run have no node at its end.

A run stores the most frequent answers when it ends. Here the others are computed on the restored cluster when a user
opens them, as are all fixes, and then stored as well.
"""

import logging
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from django.db import transaction

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.event_log.log import insert_answers
from kubesched_ui.event_log.rows import AnswerRow
from kubesched_ui.models import Cycle, PodResult, Run, WorkloadAnswer
from kubesched_ui.outages import DATABASE
from kubesched_ui.queries.recording_cache import NotRecorded, has_recording
from kubesched_ui.queries.remedies import at_end
from kubesched_ui.runs import pending_answers
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.answers import answer_now
from scheduler_core.errors import InputError
from scheduler_core.explain import Answer, explain
from scheduler_core.explain.answer import Fix
from scheduler_core.simulation import Simulation

logger = logging.getLogger(__name__)

NOMINATED = 1000  # pods whose last cycles are read
BARE = "Pod"  # the kind of a workload that is a pod without a controller
FIXED = 40  # answers of a run for which fixes are searched, most pods first


def answer_of_pod(run: Run, namespace: str, name: str, fixes: bool = False) -> dict[str, Any] | None:
    """Return why a pod has no node, as `msgspec.to_builtins` of the core's Answer; None if it has one.

    None also while the run is active, and in the web process for a large run whose answer is not stored. `fixes`:
    search fixes if that was not done yet; they take longer.
    """
    row, key = row_of_pod(run, namespace, name), f"{namespace}/{name}"
    if row is None:
        return None
    answer = _about(row, key)
    if fixes and row.kind == BARE and row.pod != key:
        return answer | {"fixes": msgspec.to_builtins(_fixes_of_pod(run, answer))}
    if fixes and not row.fixed:
        _search_fixes(run, [row])
    return answer | ({"fixes": row.answer["fixes"]} if row.answer.get("fixes") else {})


def ladder_at_end(run: Run, namespace: str, name: str) -> Answer | None:
    """Return the answer about a pod without a node at the end of the run, with its whole ladder; None if it has a node
    or the run is active or was not recorded. Raises NotRecorded, InputError."""
    key = f"{namespace}/{name}"
    pending = PodResult.objects.filter(run=run, namespace=namespace, name=name).without_node()
    if run.active or not pending.exists():
        return None

    def ask(simulation: Simulation) -> Answer | None:
        pod = next((pod for pod in simulation.pending if pod.key == key and not pod.node), None)
        last = _last(run, simulation).get(key)
        return answer_now(simulation, pod, last, whole_ladder=True) if pod is not None else None

    try:
        return at_end(run, ask)
    except NotRecorded:
        if has_recording(run):  # another process computes it
            raise
        return None


def _about(row: WorkloadAnswer, key: str) -> dict[str, Any]:
    """Return the answer about one of its pods, without fixes. Pods without a controller are their own workloads."""
    answer: dict[str, Any] = row.answer | {"pod": key}
    answer.pop("fixes", None)
    if row.kind == BARE and "workload" in answer:
        answer["workload"] = answer["workload"] | {"name": key.partition("/")[2]}
    return answer


def _fixes_of_pod(run: Run, answer: dict[str, Any]) -> list[Fix]:
    about = msgspec.convert(answer, Answer)
    try:
        return at_end(run, lambda simulation: pending_answers.fixes_of_workloads(simulation, [about]))[0]
    except (NotRecorded, InputError) as problem:
        logger.info("Pod %s of run %s has no fixes: %s", answer["pod"], run.pk, problem)
        return []


def row_of_pod(run: Run, namespace: str, name: str) -> WorkloadAnswer | None:
    """Return the stored answer about a pod; compute and store it first if there is none. None as in `answer_of_pod`."""
    key = f"{namespace}/{name}"
    pending = PodResult.objects.filter(run=run, namespace=namespace, name=name).without_node()
    if run.active or not pending.exists():
        return None
    row = _stored(run, namespace, key)
    if row is None:
        try:
            _compute(run, _missing(run), key)
        except NotRecorded:
            return None
        row = _stored(run, namespace, key)
    return row


def answers_of_run(run: Run, fixes: bool = False) -> list[WorkloadAnswer]:
    """Return the answers about all pods without a node, most pods first, and compute and store what is missing.

    `fixes`: search fixes for the first FIXED of them as well. Raises NotRecorded in the web process for a large run.
    """
    if run.active:
        return []
    if missing := _missing(run):
        _compute(run, missing)
    rows = list(WorkloadAnswer.objects.filter(run=run).order_by("-number", "pk"))
    if fixes and rows:
        _search_fixes(run, [row for row in rows[:FIXED] if not row.fixed])
        if run.fixes is None:
            _rank_fixes(run, rows[:FIXED])
    return rows


def best_fixes(run: Run) -> list[dict[str, Any]]:
    """Return the best fixes over all pods without a node, as `msgspec.to_builtins` of the core's Fix. Raises
    NotRecorded in the web process for a large run."""
    answers_of_run(run, fixes=True)
    return run.fixes or []


def _stored(run: Run, namespace: str, key: str) -> WorkloadAnswer | None:
    rows = WorkloadAnswer.objects.filter(run=run, namespace=namespace)
    found = rows.filter(pod=key).first()
    if found is not None:
        return found
    pk = next((pk for pk, pods in rows.filter(number__gt=1).values_list("pk", "pods") if key in pods), None)
    return None if pk is None else rows.get(pk=pk)


def _missing(run: Run) -> list[str]:
    """Return the pods without a node that no stored answer is about."""
    pending = PodResult.objects.filter(run=run).without_node().pod_keys()
    if not pending:
        return []
    pods = WorkloadAnswer.objects.filter(run=run).values_list("pods", flat=True)
    explained = {key for keys in pods.iterator(chunk_size=500) for key in keys}
    return [key for key in pending if key not in explained]


def _compute(run: Run, missing: Sequence[str], pod: str = "") -> None:
    """Explain these pods and store the answers; with `pod`, only it and pods that are like it."""
    rows: list[AnswerRow] = []
    try:
        rows = at_end(
            run, lambda simulation: pending_answers.requested(simulation, missing, _last(run, simulation), pod)
        )
    except NotRecorded:
        if has_recording(run):  # another process computes it
            raise
    except InputError as problem:
        logger.info("Run %s is explained from its cycles alone: %s", run.pk, problem)
    explained = {key for row in rows for key in row.pods}
    rest = [pod] if pod else missing
    rows += _from_cycles(run, [key for key in rest if key not in explained])
    _store(run, rows)


def _last(run: Run, simulation: Simulation) -> dict[str, CycleTrace]:
    """Return the last cycles of the nominated pods, of which each refers to the nodes at the end."""
    found = {}
    for row in PodResult.objects.filter(run=run).without_node().exclude(nominated_node="")[:NOMINATED]:
        cycle = Cycle.objects.filter(run=run, namespace=row.namespace, name=row.name).order_by("-number").first()
        if cycle is not None and cycle.nodes == simulation.nodes:
            found[f"{row.namespace}/{row.name}"] = trace_of(cycle)
    return found


def _from_cycles(run: Run, pods: Collection[str]) -> list[AnswerRow]:
    """Explain pods by their last cycles alone, without the cluster; those with the same reasons have one answer."""
    alike: dict[str, list[PodResult]] = {}
    if pods:
        wanted, results = set(pods), PodResult.objects.filter(run=run).without_node().order_by("position")
        for row in results.iterator(chunk_size=2000):
            if f"{row.namespace}/{row.name}" in wanted:
                why = msgspec.json.encode([row.namespace, row.result, row.message, row.reasons]).decode()
                alike.setdefault(why, []).append(row)
    return [_from_cycle(run, results) for results in alike.values()]


def _from_cycle(run: Run, results: Sequence[PodResult]) -> AnswerRow:
    first, keys = results[0], [f"{row.namespace}/{row.name}" for row in results]
    cycle = Cycle.objects.filter(run=run, namespace=first.namespace, name=first.name).order_by("-number").first()
    if cycle is None:  # a pod that waits for its gates has none in virtual time
        return pending_answers.row_of(Answer(keys[0], first.result, first.message), keys, fixed=True)
    return pending_answers.row_of(explain(trace_of(cycle), names=cycle.nodes), keys, fixed=True)


def _search_fixes(run: Run, rows: Sequence[WorkloadAnswer]) -> None:
    """Search the fixes of these answers and store them."""
    if not rows:
        return
    answers = [msgspec.convert(row.answer, Answer) for row in rows]
    try:
        found = at_end(run, lambda simulation: pending_answers.fixes_of_workloads(simulation, answers))
    except (NotRecorded, InputError) as problem:
        logger.info("Run %s has no fixes: %s", run.pk, problem)
        return
    for row, fixes in zip(rows, found, strict=True):
        row.answer = row.answer | ({"fixes": msgspec.to_builtins(fixes)} if fixes else {})
        row.fixed = True
    try:
        with transaction.atomic():
            WorkloadAnswer.objects.bulk_update(rows, ["answer", "fixed"])
            _measure_again(run)
    except DATABASE as error:
        logger.warning("Fixes of run %s are not stored: %s", run.pk, error)


def _rank_fixes(run: Run, rows: Sequence[WorkloadAnswer]) -> None:
    """Store the best fixes over all these answers with the run."""
    found = [(msgspec.convert(row.answer.get("fixes", []), list[Fix]), row.pods) for row in rows]
    best: list[Fix] = []
    if any(fixes for fixes, _ in found):
        try:
            best = at_end(run, lambda simulation: pending_answers.ranked(simulation, found))
        except (NotRecorded, InputError) as problem:
            logger.info("The fixes of run %s are not ranked: %s", run.pk, problem)
    run.fixes = msgspec.to_builtins(best)
    try:
        Run.everything.filter(pk=run.pk).update(fixes=run.fixes)
    except DATABASE as error:
        logger.warning("The fixes of run %s are not stored: %s", run.pk, error)


def _store(run: Run, rows: Sequence[AnswerRow]) -> None:
    try:
        with transaction.atomic():
            insert_answers(run, rows)
            _measure_again(run)
    except DATABASE as error:
        logger.warning("Answers of run %s are not stored: %s", run.pk, error)


def _measure_again(run: Run) -> None:
    Run.everything.filter(pk=run.pk).update(stored_bytes=None)
