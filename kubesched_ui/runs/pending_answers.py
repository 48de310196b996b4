"""Explains the pods that have no node at the end of a run, as rows to store."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from kubesched_ui.event_log.rows import AnswerRow
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.suggestions.what_if import WhatIf
from scheduler_core.explain import Answer, explain
from scheduler_core.explain.answer import PendingWorkload
from scheduler_core.simulation import Simulation

# What is explained at the end of a run, in cycles times nodes; the rest is explained when a user opens it.
CYCLES_TIMES_NODES = 400_000
MOST_CYCLES_TIMES_NODES = 20_000_000  # then
AS_NODES = 250  # fixed cost of a cycle, in nodes


class PendingAnswer(NamedTuple):
    """An answer, and the keys of the pods that share it."""

    answer: Answer
    pods: list[str]


def answers_of(simulation: Simulation, fixes: bool = True, only: Collection[str] | None = None) -> list[PendingAnswer]:
    """Return why the pods that wait have no node now, one answer for pods that are alike."""
    kinds: dict[bytes, list[PodInfo]] = {}
    for pod in simulation.pending:
        if not pod.node and pod.key not in simulation.cluster.pods and (only is None or pod.key in only):
            kinds.setdefault(_kind(pod), []).append(pod)
    found = []
    for pods in kinds.values():
        pod = pods[0]
        if pod.pod.spec.scheduler_name not in simulation.scheduler.profiles:
            continue
        answer = explain(WhatIf(simulation, pod.key).run(()), simulation, pod)
        owner = pod.pod.metadata.controller_ref
        kind, name = (owner.kind, owner.name) if owner is not None else ("Pod", pod.name)
        answer.workload = PendingWorkload(kind, pod.namespace, name, len(pods))
        found.append(PendingAnswer(answer, [pod.key for pod in pods]))
    return found


def explained(simulation: Simulation, only: Collection[str] | None = None) -> list[AnswerRow]:
    """Return why pods without a node have none now, for those that are most alike first, within a limit.

    `only`: keys of pods; None: all that wait. The simulation is left unchanged. No fixes are searched.
    """
    return _explained(simulation, _frequent(simulation, only, CYCLES_TIMES_NODES))


def requested(simulation: Simulation, only: Collection[str], pod: str = "") -> list[AnswerRow]:
    """Return the same within a higher limit; with `pod`, only for it and those of `only` that are like it."""
    kinds = _kinds(simulation, set(only))
    if pod:
        return _explained(simulation, next((keys for keys in kinds if pod in keys), []))
    return _explained(simulation, _frequent(simulation, set(only), MOST_CYCLES_TIMES_NODES))


def with_fixes(simulation: Simulation, pods: Collection[str]) -> list[PendingAnswer]:
    """Return the answers about these pods with fixes."""
    return answers_of(simulation, fixes=True, only=set(pods))


def _explained(simulation: Simulation, pods: Collection[str]) -> list[AnswerRow]:
    found = answers_of(simulation, fixes=False, only=set(pods)) if pods else []
    return [row_of(answer, keys, fixed=False) for answer, keys in found]


def _frequent(simulation: Simulation, only: Collection[str] | None, limit: int) -> list[str]:
    """Return the pods to explain: those that are most alike first, as many kinds as `limit` allows."""
    most = max(1, limit // (len(simulation.nodes) + AS_NODES))
    return [pod for pods in sorted(_kinds(simulation, only), key=lambda pods: -len(pods))[:most] for pod in pods]


def _kinds(simulation: Simulation, only: Collection[str] | None) -> list[list[str]]:
    """Return the pods that wait, those that are alike together."""
    kinds: dict[bytes, list[str]] = {}
    for pod in simulation.pending:
        if not pod.node and pod.key not in simulation.cluster.pods and (only is None or pod.key in only):
            kinds.setdefault(_kind(pod), []).append(pod.key)
    return list(kinds.values())


def _kind(pod: PodInfo) -> bytes:
    """Return a key that is equal for pods that are surely alike."""
    return msgspec.json.encode((pod.namespace, pod.labels, pod.pod.metadata.owner_references, pod.pod.spec))


def row_of(answer: Answer, pods: Sequence[str], fixed: bool) -> AnswerRow:
    """Return the row of an answer about these pods."""
    namespace, _, name = answer.pod.partition("/")
    workload = answer.workload or PendingWorkload("Pod", namespace, name)
    cause = answer.cause.kind if answer.cause is not None else ""
    of = (workload.kind, workload.namespace, workload.name)
    document = msgspec.json.encode(answer)
    return AnswerRow(*of, answer.pod, len(pods), list(pods), cause, answer.sentence, document, fixed)
