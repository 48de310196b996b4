"""Suggested fixes for stored runs, computed on the restored cluster and cached."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from django.http import Http404

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Cycle, Run
from kubesched_ui.offload.routes import LARGE
from kubesched_ui.presenters import cycle_rows
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import NotRecorded, key_of, recording_of
from kubesched_ui.runs.build_simulation import unknown_of
from scheduler_core.config import Configuration
from scheduler_core.debugger.answers import first_of, workloads_of
from scheduler_core.debugger.node_demand import summary_of
from scheduler_core.debugger.restore import restore_run
from scheduler_core.debugger.suggestions.fixes import fixes_of
from scheduler_core.debugger.suggestions.prefer_node import PreferNode, prefer_node
from scheduler_core.explain import Answer, NodeAnswer, explain, explain_node
from scheduler_core.explain.answer import Fix
from scheduler_core.explain.scores import ScoreRules
from scheduler_core.legacy.configuration import load
from scheduler_core.legacy.profile import ALGORITHMS
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation

KEPT = 100  # cached answers
KEPT_CLUSTERS = 2  # a large cluster takes a hundred megabytes

_T = TypeVar("_T")

_lock = threading.Lock()  # one search at a time, since searches modify a cached cluster
_clusters: OrderedDict[tuple[str, int], Simulation] = OrderedDict()
_answers: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


def cycle_of(run: Run, namespace: str, name: str, attempt: int | None) -> Cycle:
    """Return a pod's attempt, by default the last one. Raises Http404."""
    rows = Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("-number")
    row = rows.first() if attempt is None else rows.filter(attempt=attempt).first()
    if row is None:
        which = f" {attempt} times" if attempt is not None and rows.exists() else ""
        raise Http404(f"Run {run.pk} has not scheduled pod {namespace}/{name}{which}.")
    return row


def winning_of(run: Run, row: Cycle, node: str) -> PreferNode:
    """Return fixes that place the pod on a node. Raises NotRecorded, InputError."""
    pod = f"{row.namespace}/{row.name}"

    def ask() -> PreferNode:
        return prefer_node(_before(run, row), pod, node, attempt=row.attempt)

    return _cached((key_of(run), row.number, "to", node), ask)


def at_end(run: Run, ask: Callable[[Simulation], _T]) -> _T:
    """Return what `ask` finds in the cluster at the end of the run, which it leaves unchanged. Raises NotRecorded,
    InputError."""
    recording = recording_of(run)
    with _lock:
        try:
            return ask(_at(run, recording.end, 0))
        except Exception:
            _clusters.clear()
            raise


def node_summary(run: Run, name: str, moment: int) -> str:
    """Return the sentence about a node at a timepoint. Raises NotRecorded, InputError."""
    return _cached((key_of(run), "summary", name, moment), lambda: summary_of(_at(run, moment, 0), name))


def explained(run: Run, row: Cycle) -> Answer:
    """Return the explanation of a cycle, computed with the restored cluster. Raises NotRecorded, InputError."""

    def ask() -> Answer:
        simulation = _before(run, row)
        pod = next((pod for pod in simulation.pending if pod.key == f"{row.namespace}/{row.name}"), None)
        return explain(trace_of(row), simulation, pod, names=row.nodes)

    return _cached((key_of(run), row.number, "explained"), ask)


def ladder_at(run: Run, row: Cycle) -> Answer:
    """Return the explanation of a cycle with its whole ladder; from its trace alone if nothing was recorded. Raises
    InputError."""
    key = f"{row.namespace}/{row.name}"

    def ask() -> Answer:
        simulation = _before(run, row)
        pod = next((pod for pod in simulation.pending if pod.key == key), None)
        return explain(trace_of(row), simulation, pod, names=row.nodes, whole_ladder=True)

    try:
        return _cached((key_of(run), row.number, "ladder"), ask)
    except NotRecorded:
        return explain(trace_of(row), names=row.nodes, whole_ladder=True)


def fixes_of_attempt(run: Run, row: Cycle) -> list[Fix]:
    """Return fixes for the workload of a cycle's pod in the cluster before it. Raises NotRecorded, InputError."""
    answer, key = explained(run, row), f"{row.namespace}/{row.name}"

    def ask() -> list[Fix]:
        simulation = _before(run, row)
        pods = next((pods for pods in workloads_of(simulation).values() if key in {pod.key for pod in pods}), [])
        return fixes_of(simulation, answer, first_of(pods, key))

    return _cached((key_of(run), row.number, "fixes"), ask)


def explained_node(run: Run, row: Cycle, node: str) -> NodeAnswer:
    """Return why the pod did not go to a node, from the restored cluster if the run was recorded. Raises InputError."""
    trace = trace_of(row)

    def ask() -> NodeAnswer:
        simulation = _before(run, row)
        pod = next((pod for pod in simulation.pending if pod.key == f"{row.namespace}/{row.name}"), None)
        return explain_node(trace, node, simulation, pod, row.nodes)

    try:
        return _cached((key_of(run), row.number, "node", node), ask)
    except NotRecorded:
        return explain_node(trace, node, names=row.nodes, rules=rules_of(run, trace.profile))


def _before(run: Run, row: Cycle) -> Simulation:
    start = trace_of(row).start_index
    return _at(run, recording_of(run).before_cycle(row.number), start)


def _at(run: Run, moment: int, start_index: int) -> Simulation:
    key = key_of(run), moment
    found = _clusters.get(key)
    if found is None:
        while len(_clusters) >= (1 if run.cycles_done > LARGE else KEPT_CLUSTERS):
            _clusters.popitem(last=False)
        found = restore_run(recording_of(run), fetcher(run), moment, maker(run), get_release(run.release))
        _clusters[key] = found
    _clusters.move_to_end(key)
    found.scheduler.next_start_index = start_index
    return found


def maker(run: Run) -> Callable[..., Simulation]:
    """Return `Simulation` with the run's settings. Raises InputError."""
    return partial(
        Simulation,
        release=run.release,
        config=configuration_of(run),
        seed=run.seed,
        tie_break=run.tie_break,
        preemption=run.preemption,
        percentage=run.percentage,
    )


def configuration_of(run: Run) -> Configuration:
    """Return the run's initial configuration. Raises InputError."""
    return load(run.config or None, get_release(run.release), unknown=unknown_of(run))


def rules_of(run: Run, profile: str) -> ScoreRules:
    """Return how a profile of the run chooses among feasible nodes. Raises InputError."""
    release, by = get_release(run.release), cycle_rows.tie_rule(run)
    found = next((one for one in configuration_of(run).profiles if one.scheduler_name == profile), None)
    registry = ALGORITHMS if release.predicates else PLUGINS
    return ScoreRules(by=by) if found is None else ScoreRules.of_profile(found, registry, by)


def _cached(key: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
    with _lock:
        if key not in _answers:
            try:
                answer = ask()
            except Exception:
                _clusters.clear()  # the search may have left a cluster modified
                raise
            while len(_answers) >= KEPT:
                _answers.popitem(last=False)
            _answers[key] = answer
        _answers.move_to_end(key)
        return _answers[key]
