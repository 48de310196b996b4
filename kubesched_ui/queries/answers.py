"""Why pods of a finished run have no node at its end.

A run stores the most frequent answers when it ends. Here the others are computed on the restored cluster when a user
opens them, as are all fixes, and then stored as well.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import msgspec
from django.db import transaction

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.event_log.log import insert_answers
from kubesched_ui.event_log.rows import AnswerRow
from kubesched_ui.models import Cycle, PodResult, Run, WorkloadAnswer
from kubesched_ui.queries.recording_cache import NotRecorded, has_recording
from kubesched_ui.queries.remedies import at_end
from kubesched_ui.runs import pending_answers
from kubesched_ui.runtime.outages import DATABASE
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import Answer, explain
from scheduler_core.explain.answer import Fix, no_fixes
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answer_now, fixes_for
from scheduler_core.suggestions.fixes import ranked_over

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

NOMINATED = 1000  # pods whose last cycles are read
BARE = "Pod"  # the kind of a workload that is a pod without a controller
NOT_KNOWN = no_fixes("the cluster at the end of the run is not known")
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
    helped = not row.fixed or row.answer.get("fixes")  # if no fix helps the first pod, none helps the others
    if fixes and row.kind == BARE and row.pod != key and helped:
        found = _fixes(run, lambda at: fixes_for(at, [msgspec.convert(answer, Answer)])[0])
        return answer | {"fixes": msgspec.to_builtins(found or [])}
    if fixes and not row.fixed:
        _search_fixes(run, [row])
        if not row.fixed:
            return answer | {"no_fixes": NOT_KNOWN}
    return answer | ({"fixes": row.answer["fixes"]} if row.answer.get("fixes") else {})


def ladder_at_end(run: Run, namespace: str, name: str) -> Answer | None:
    """Return the answer about a pod without a node at the end of the run, with its whole ladder; None if it has a node
    or the run is active or was not recorded. Raises NotRecorded, InputError."""
    key = f"{namespace}/{name}"
    if not _waits(run, namespace, name):
        return None

    def ask(simulation: Simulation) -> Answer | None:
        pod = next((pod for pod in simulation.pending if pod.key == key and not pod.node), None)
        last = _last(run, simulation).get(key)
        return answer_now(simulation, pod, last, whole_ladder=True) if pod is not None else None

    return _at_end(run, ask)


def _at_end(run: Run, ask: Callable[[Simulation], _T]) -> _T | None:
    """Return what `ask` finds in the cluster at the end of the run; None if nothing was recorded. Raises NotRecorded
    if another process computes it, and InputError."""
    try:
        return at_end(run, ask)
    except NotRecorded:
        if has_recording(run):
            raise
        return None


def _about(row: WorkloadAnswer, key: str) -> dict[str, Any]:
    """Return the answer about one of its pods, without fixes. Pods without a controller are their own workloads."""
    answer: dict[str, Any] = row.answer | {"pod": key}
    answer.pop("fixes", None)
    if row.kind == BARE and "workload" in answer:
        answer["workload"] = answer["workload"] | {"name": key.partition("/")[2]}
    return answer


def row_of_pod(run: Run, namespace: str, name: str) -> WorkloadAnswer | None:
    """Return the stored answer about a pod; compute and store it first if there is none. None as in `answer_of_pod`."""
    key = f"{namespace}/{name}"
    if not _waits(run, namespace, name):
        return None
    if (row := _stored(run, namespace, key)) is not None:
        return row
    with suppress(NotRecorded):
        _compute(run, _missing(run), key)
    return _stored(run, namespace, key)


def _waits(run: Run, namespace: str, name: str) -> bool:
    """Return whether the run has ended and the pod has no node."""
    pending = PodResult.objects.filter(run=run, namespace=namespace, name=name).without_node()
    return not run.active and pending.exists()


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
    only, limit = set(missing), pending_answers.MOST_CYCLES_TIMES_NODES
    rows: list[AnswerRow] = []
    waits = run.scenario.packed_waits()
    try:
        found = _at_end(run, lambda at: pending_answers.explained(at, only, _last(run, at), waits, pod, limit))
        rows = found or []
    except InputError as problem:
        logger.info("Run %s is explained from its cycles alone: %s", run.pk, problem)
    explained = {key for row in rows for key in row.pods}
    rest = [pod] if pod else missing
    rows += _from_cycles(run, [key for key in rest if key not in explained])
    with _stores(run):
        insert_answers(run, rows)


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
        return pending_answers.row_of(Answer(keys[0], first.result, first.message, no_fixes=NOT_KNOWN), keys)
    answer = explain(trace_of(cycle), names=cycle.nodes)
    answer.no_fixes = NOT_KNOWN
    return pending_answers.row_of(answer, keys)


def _search_fixes(run: Run, rows: Sequence[WorkloadAnswer]) -> None:
    """Search the fixes of these answers and store them."""
    if not rows:
        return
    about = [msgspec.convert(row.answer, Answer) for row in rows]
    found = _fixes(run, lambda simulation: fixes_for(simulation, about))
    if found is None:
        return
    for row, fixes in zip(rows, found, strict=True):
        row.answer = row.answer | ({"fixes": msgspec.to_builtins(fixes)} if fixes else {})
        row.fixed = True
    with _stores(run):
        WorkloadAnswer.objects.bulk_update(rows, ["answer", "fixed"])


def _rank_fixes(run: Run, rows: Sequence[WorkloadAnswer]) -> None:
    """Store the best fixes over all these answers with the run."""
    found = [(msgspec.convert(row.answer.get("fixes", []), list[Fix]), row.pods) for row in rows]

    def rank(simulation: Simulation) -> list[Fix]:
        pods = {pod.key: pod for pod in simulation.pending if not pod.node}
        return ranked_over(simulation, [(fixes, [pods[key] for key in keys if key in pods]) for fixes, keys in found])

    best = _fixes(run, rank) if any(fixes for fixes, _ in found) else None
    run.fixes = msgspec.to_builtins(best or [])
    with _stores(run):
        Run.everything.filter(pk=run.pk).update(fixes=run.fixes)


def _fixes(run: Run, ask: Callable[[Simulation], _T]) -> _T | None:
    """Return what `ask` finds in the cluster at the end of the run; None if that cannot be restored."""
    try:
        return at_end(run, ask)
    except (NotRecorded, InputError) as problem:
        logger.info("Fixes of run %s are not searched: %s", run.pk, problem)
        return None


@contextmanager
def _stores(run: Run) -> Iterator[None]:
    """Store in one transaction. If the database refuses, the answers are computed again when they are opened."""
    try:
        with transaction.atomic():
            yield
            Run.everything.filter(pk=run.pk).update(stored_bytes=None)
    except DATABASE as error:
        logger.warning("Answers of run %s are not stored: %s", run.pk, error)
