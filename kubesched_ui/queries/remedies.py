"""Suggested fixes for stored runs, computed on the restored cluster and cached."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import Cycle, Run
from kubesched_ui.offload.middleware import LARGE
from kubesched_ui.presenters import cycle_rows
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import NotRecorded, key_of, recording_of
from kubesched_ui.runs.build_simulation import unknown_of
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.explain import Answer, NodeAnswer, explain, explain_node
from scheduler_core.explain.answer import Fix
from scheduler_core.explain.quotas import QuotaPicture, picture_of
from scheduler_core.explain.scores import ScoreRules
from scheduler_core.legacy.algorithms import ALGORITHMS
from scheduler_core.plugins import PLUGINS
from scheduler_core.recording.restore import restore_run
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import fixes_for
from scheduler_core.suggestions.node_demand import summary_of
from scheduler_core.suggestions.prefer_node import PreferNode, prefer_node

KEPT = 100  # cached answers
KEPT_CLUSTERS = 2  # a large cluster takes a hundred megabytes

_T = TypeVar("_T")

_lock = threading.Lock()  # one search at a time, since searches modify a cached cluster
_clusters: OrderedDict[tuple[str, int], Simulation] = OrderedDict()
_answers: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


@contextmanager
def _searching() -> Iterator[None]:
    """Allow one search; if it fails, it may have left a cluster modified."""
    with _lock:
        try:
            yield
        except Exception:
            _clusters.clear()
            raise


def at_end(run: Run, ask: Callable[[Simulation], _T]) -> _T:
    """Return what `ask` finds in the cluster at the end of the run, which it leaves unchanged. Raises NotRecorded,
    InputError."""
    recording = recording_of(run)
    with _searching():
        return ask(_at(run, recording.end, 0))


def node_summary(run: Run, name: str, moment: int) -> str:
    """Return the sentence about a node at a timepoint. Raises NotRecorded, InputError."""
    return _cached((key_of(run), "summary", name, moment), lambda: summary_of(_at(run, moment, 0), name))


def quotas(run: Run, cycle: int | None, pod: str) -> QuotaPicture | None:
    """Return the quotas before a cycle, or after the run, with a pending pod (namespace/name) if it exists then.

    Raises NotRecorded, InputError.
    """
    recording = recording_of(run)
    moment = recording.end if cycle is None else recording.before_cycle(cycle)

    def find() -> QuotaPicture | None:
        simulation = _at(run, moment, 0)
        return picture_of(simulation.cluster, next((one for one in simulation.pending if one.key == pod), None))

    return _cached((key_of(run), "quotas", moment, pod), find)


def winning_of(run: Run, row: Cycle, node: str) -> PreferNode:
    """Return fixes that place the pod on a node. Raises NotRecorded, InputError."""
    pod = f"{row.namespace}/{row.name}"
    return _before(run, row, ("to", node), lambda at, _: prefer_node(at, pod, node, attempt=row.attempt))


def explained(run: Run, row: Cycle) -> Answer:
    """Return the explanation of a cycle, computed with the restored cluster. Raises NotRecorded, InputError."""
    trace = trace_of(row)
    return _before(run, row, ("explained",), lambda at, pod: explain(trace, at, pod, names=row.nodes))


def ladder_at(run: Run, row: Cycle) -> Answer:
    """Return the explanation of a cycle with its whole ladder; from its trace alone if nothing was recorded. Raises
    InputError."""
    of = partial(explain, trace_of(row), names=row.nodes, whole_ladder=True)
    try:
        return _before(run, row, ("ladder",), of)
    except NotRecorded:
        return of()


def fixes_of_attempt(run: Run, row: Cycle) -> list[Fix]:
    """Return fixes for the workload of a cycle's pod in the cluster before it. Raises NotRecorded, InputError."""
    answer = explained(run, row)
    return _before(run, row, ("fixes",), lambda at, _: fixes_for(at, [answer])[0])


def explained_node(run: Run, row: Cycle, node: str) -> NodeAnswer:
    """Return why the pod did not go to a node, from the restored cluster if the run was recorded. Raises InputError."""
    trace = trace_of(row)
    try:
        return _before(run, row, ("node", node), lambda at, pod: explain_node(trace, node, at, pod, row.nodes))
    except NotRecorded:
        return explain_node(trace, node, names=row.nodes, rules=rules_of(run, trace.profile))


def _before(run: Run, row: Cycle, what: tuple[str, ...], ask: Callable[[Simulation, PodInfo | None], _T]) -> _T:
    """Return what `ask` finds in the cluster before a cycle and the cycle's pod. `what`: the key of the answer."""

    def find() -> _T:
        simulation = _at(run, recording_of(run).before_cycle(row.number), trace_of(row).start_index)
        key = f"{row.namespace}/{row.name}"
        return ask(simulation, next((pod for pod in simulation.pending if pod.key == key), None))

    return _cached((key_of(run), row.number, *what), find)


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


def _cached(key: tuple[Any, ...], ask: Callable[[], _T]) -> _T:
    with _searching():
        if key not in _answers:
            answer = ask()
            while len(_answers) >= KEPT:
                _answers.popitem(last=False)
            _answers[key] = answer
        _answers.move_to_end(key)
        found: _T = _answers[key]
        return found
