"""Explains the pods that have no node at the end of a run, as rows to store."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from kubesched_ui.event_log.rows import AnswerRow
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.answers import answers_of, first_of, workloads_of
from scheduler_core.debugger.suggestions.fixes import fixes_of, ranked_over
from scheduler_core.debugger.suggestions.owner import equality_of
from scheduler_core.explain import Answer
from scheduler_core.explain.answer import Fix, PendingWorkload
from scheduler_core.simulation import Simulation

# What is explained at the end of a run, in cycles times nodes; the rest is explained when a user opens it.
CYCLES_TIMES_NODES = 400_000
MOST_CYCLES_TIMES_NODES = 20_000_000  # then
AS_NODES = 250  # fixed cost of a cycle, in nodes

Last = Mapping[str, CycleTrace]
"""Nominated pod -> its last cycle, whose rows are the present nodes."""


def explained(simulation: Simulation, only: Collection[str] | None, last: Last) -> list[AnswerRow]:
    """Return why pods without a node have none now, for those that are most alike first, within a limit.

    `only`: keys of pods; None: all that wait. The simulation is left unchanged. No fixes are searched.
    """
    return _explained(simulation, _kinds(simulation, only, last), last, CYCLES_TIMES_NODES)


def requested(simulation: Simulation, only: Collection[str], last: Last, pod: str = "") -> list[AnswerRow]:
    """Return the same within a higher limit; with `pod`, only for it and those of `only` that are like it."""
    kinds = _kinds(simulation, set(only), last)
    if pod:
        kinds = [keys for keys in kinds if pod in keys]
    return _explained(simulation, kinds, last, MOST_CYCLES_TIMES_NODES)


def fixes_of_workloads(simulation: Simulation, answers: Sequence[Answer]) -> list[list[Fix]]:
    """Return the fixes for each of these answers, simulated for all pending pods of its workload."""
    workloads = {pod.key: pods for pods in workloads_of(simulation).values() for pod in pods}
    return [fixes_of(simulation, answer, first_of(workloads.get(answer.pod, []), answer.pod)) for answer in answers]


def ranked(simulation: Simulation, found: Sequence[tuple[Sequence[Fix], Collection[str]]]) -> list[Fix]:
    """Return the best fixes over groups of pods, of which each has its fixes and the keys of its pods."""
    return ranked_over(simulation, [(fixes, _pods(simulation, keys)) for fixes, keys in found])


def _pods(simulation: Simulation, keys: Collection[str]) -> list[PodInfo]:
    wanted = set(keys)
    return [pod for pod in simulation.pending if pod.key in wanted and not pod.node]


def _explained(simulation: Simulation, kinds: list[list[str]], last: Last, limit: int) -> list[AnswerRow]:
    """Explain one pod of each kind, the most frequent first, as many as `limit` allows."""
    most = max(1, limit // (len(simulation.nodes) + AS_NODES))
    chosen = {keys[0]: keys for keys in sorted(kinds, key=lambda keys: -len(keys))[:most]}
    found = answers_of(simulation, set(chosen), last, fixes=False) if chosen else []
    return [row_of(alike.answer, chosen[alike.answer.pod]) for alike in found if alike.answer.pod in chosen]


def _kinds(simulation: Simulation, only: Collection[str] | None, last: Last) -> list[list[str]]:
    """Return the pods that wait, those that are alike together."""
    kinds: dict[object, list[str]] = {}
    for pod in simulation.pending:
        if not pod.node and (only is None or pod.key in only):
            nominated = last[pod.key].nominated_node if pod.key in last else ""
            kinds.setdefault((equality_of(pod), nominated), []).append(pod.key)
    return list(kinds.values())


def row_of(answer: Answer, pods: Sequence[str], fixed: bool = False) -> AnswerRow:
    """Return the row of an answer about these pods. `fixed`: whether it has its fixes."""
    namespace, _, name = answer.pod.partition("/")
    workload = answer.workload or PendingWorkload("Pod", namespace, name)
    cause = answer.cause.kind if answer.cause is not None else ""
    of = (workload.kind, workload.namespace, workload.name)
    document = msgspec.json.encode(answer)
    return AnswerRow(*of, answer.pod, len(pods), list(pods), cause, answer.sentence, document, fixed)
