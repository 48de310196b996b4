"""Answers for the pods of a cluster that wait: what keeps them from a node now, by workload.

A pod is tried once more in the cluster as it is: at the end of a run, in a snapshot after its pods were tried, or in a
live cluster. Nothing changes. What a past cycle decided is explained by `explain.explain`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler_core.cluster.formatting import agree, count, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import explain, explain_node
from scheduler_core.explain.answer import Answer, Cause, Fix, NodeAnswer, PendingWorkload, Target
from scheduler_core.explain.preemption import waits_for_victims
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.template_patch import patch_of
from scheduler_core.framework import causes
from scheduler_core.plugins.volumes import claim_name
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.fixes import fixes_of, why_none
from scheduler_core.suggestions.group_waits import group_of, why_group_waits
from scheduler_core.suggestions.owner import equality_of, owner_of
from scheduler_core.suggestions.what_if import WhatIf

NAMED = 3  # nodes in a sentence
_OF_CLAIMS = (causes.CLAIM_MISSING, causes.CLAIM_UNBOUND)


@dataclass(slots=True)
class AlikePods:
    """Pods that have the same answer: pods of one workload that are equal but for what names each of them. `answer`:
    that of the first one."""

    answer: Answer
    pods: list[str] = field(default_factory=list)


def answers_of(
    simulation: Simulation,
    only: Collection[str] | None = None,
    last: Mapping[str, CycleTrace] | None = None,
    *,
    fixes: bool = True,
    like: str = "",
    most: int | None = None,
) -> list[AlikePods]:
    """Return the answers for the pods that wait for the profiles, by workload.

    `simulation`: the cluster; it is left unchanged. `fixes`: whether suggested fixes are searched, for all pending pods
    of the workload. `only`: pods (namespace/name) to answer for. `last`: pod -> its last cycle; a nomination is taken
    from it. `like`: answer only for this pod and those that are like it. `most`: the number of answers, those of the
    most pods first; None for all, in the order of the input.
    """
    kinds: dict[tuple[bytes, str], tuple[Target, list[PodInfo], list[PodInfo]]] = {}
    last = last or {}
    for owner, pods in workloads_of(simulation).items():
        for pod in pods:
            if only is None or pod.key in only:
                nominated = pod.key in last and last[pod.key].nominated_node
                key = equality_of(pod), pod.key if nominated else ""  # it does not count its own nomination
                kinds.setdefault(key, (owner, pods, []))[2].append(pod)
    chosen = [kind for kind in kinds.values() if not like or any(pod.key == like for pod in kind[2])]
    found = []
    for owner, pods, alike in sorted(chosen, key=lambda kind: -len(kind[2]))[:most] if most else chosen:
        answer = answer_now(simulation, alike[0], last.get(alike[0].key))
        answer.workload = PendingWorkload(owner.kind, owner.namespace, owner.name, len(pods))
        if fixes:
            answer.fixes = fixes_of(simulation, answer, first_of(pods, answer.pod))
        found.append(AlikePods(answer, [pod.key for pod in alike]))
    return found


def workloads_of(simulation: Simulation) -> dict[Target, list[PodInfo]]:
    """Return the pods that wait for the profiles by workload, in the order of the input. Equal pods without a
    controller are one workload, with the name of the first."""
    found: dict[Target, list[PodInfo]] = {}
    bare: dict[bytes, Target] = {}
    for pod in simulation.pending:
        waits = not pod.node and not pod.terminating and pod.key not in simulation.cluster.pods
        if waits and pod.pod.spec.scheduler_name in simulation.scheduler.profiles:
            owner = owner_of(simulation.cluster, pod)
            if owner.kind == "Pod":
                owner = bare.setdefault(equality_of(pod), owner)
            found.setdefault(owner, []).append(pod)
    return found


def fixes_for(simulation: Simulation, answers: Sequence[Answer]) -> list[list[Fix]]:
    """Return the suggested fixes for each answer, simulated for all pending pods of the pod's workload."""
    workloads = {pod.key: pods for pods in workloads_of(simulation).values() for pod in pods}
    return [fixes_of(simulation, answer, first_of(workloads.get(answer.pod, []), answer.pod)) for answer in answers]


def first_of(pods: Sequence[PodInfo], key: str) -> list[PodInfo]:
    """Return the pods with the one of this key first: the pod of an answer, before the others of its workload."""
    return sorted(pods, key=lambda pod: pod.key != key)


def answer_now(
    simulation: Simulation, pod: PodInfo, last: CycleTrace | None = None, whole_ladder: bool = False
) -> Answer:
    """Return why a pending pod has no node now. `last`: its last cycle, if it is known. `whole_ladder`: as of
    `explain`. Raises InputError if the pod is not pending."""
    if last is not None and last.postfilter is not None and last.postfilter.nominated_node and last.victims:
        victims = [simulation.cluster.pods[key] for key in last.victims if key in simulation.cluster.pods]
        if not victims or not all(victim.terminating for victim in victims):
            answer = explain(last, simulation, pod, victims=victims, whole_ladder=whole_ladder)
            answer.no_fixes = why_none(answer)
            return answer
    what_if = WhatIf(simulation, pod.key)
    answer, trace = _tried(simulation, what_if, (), whole_ladder)
    if answer.cause is not None and answer.cause.kind != causes.WAITS:
        waits = waits_for_victims(
            simulation.cluster, pod, simulation.scheduler.profiles.get(pod.pod.spec.scheduler_name)
        )
        answer.cause, answer.sentence = waits or (answer.cause, answer.sentence)
    if group_of(pod):
        _describe_group(simulation, pod, answer, trace)
    answer.message = last.message if last is not None else answer.message
    if answer.cause is not None and (trace.preenqueue or trace.prefilter) is not None:
        _look_behind(simulation, what_if, answer, whole_ladder)
    answer.no_fixes = why_none(answer)
    return answer


def node_answer_now(simulation: Simulation, pod: str, node: str) -> NodeAnswer:
    """Return why a pending pod (namespace/name) would, or would not, go to a node now. Raises InputError if the pod is
    not pending for one of the profiles, or there is no such node."""
    found: list[NodeAnswer] = []
    what_if = WhatIf(simulation, pod)
    what_if.run((), lambda trace, info: found.append(explain_node(trace, node, simulation, info)))
    return found[0]


def _tried(
    simulation: Simulation, what_if: WhatIf, changes: Sequence[Change], whole_ladder: bool
) -> tuple[Answer, CycleTrace]:
    """Return the answer of a dry cycle with changes. A pod that a node takes still waits."""
    found: list[Answer] = []

    def look(trace: CycleTrace, pod: PodInfo) -> None:
        node = trace.placed_on
        if pod.group:
            trace.group = pod.group
        if node:
            trace.result = "unschedulable"
        answer = explain(trace, simulation, pod, whole_ladder=whole_ladder)
        if node:
            names = [simulation.cluster.nodes.names[row] for row in trace.feasible_rows().tolist()]
            if answer.cause is None or answer.cause.kind != causes.POD_GROUP:
                answer.cause = Cause(causes.WAITS, "", names)
                takes = agree(len(names), "take it")
                answer.sentence = f"{_some(names, takes)} now; the pod waits for its next attempt."
            answer.node = ""
        found.append(answer)
        trace.result = "scheduled" if node else trace.result

    trace = what_if.run(changes, look)
    return found[0], trace


def _describe_group(simulation: Simulation, pod: PodInfo, answer: Answer, trace: CycleTrace) -> None:
    """Say why the pod's group keeps it waiting; a member of a group that fits as a whole waits for its next attempt."""
    if text := why_group_waits(simulation, pod, trace):
        nodes = [trace.placed_on] if trace.placed_on else []
        plugin = answer.cause.plugin if answer.cause is not None else ""
        answer.cause, answer.sentence = Cause(causes.POD_GROUP, plugin, nodes, [group_of(pod)]), text
    elif trace.placed_on:
        answer.cause = Cause(causes.WAITS, "", [trace.placed_on])
        answer.sentence = f"{trace.placed_on} takes it now, and its group fits; the pod waits for its next attempt."


def _look_behind(simulation: Simulation, what_if: WhatIf, answer: Answer, whole_ladder: bool) -> None:
    """Add which nodes take the pod once nothing keeps it from all nodes."""
    assert answer.cause is not None
    changes: list[Change] = []
    behind, cause = answer, answer.cause
    for _ in range(4):
        change = _without(what_if, cause, changes)
        if change is None:
            return
        changes.append(change)
        try:
            behind, trace = _tried(simulation, what_if, changes, whole_ladder)
        except InputError:
            return
        if behind.cause is None or (trace.preenqueue or trace.prefilter) is None:
            break
        answer.sentence += f" Even then, {_continued(behind.sentence)}"
        cause = behind.cause
    if behind.cause is None:
        return
    answer.cause.nodes = behind.cause.nodes
    answer.ladder = behind.ladder
    when = "after admission" if answer.cause.kind == causes.GATED else "then"
    later = f"could take the pod {when}"
    for rung in answer.ladder:
        if rung.changes == 0:
            rung.when = when
            rung.text, rung.each = f"{count(rung.count)} {later}", later if rung.each else ""
        rung.changes = None if rung.changes is None else rung.changes + len(changes)
    if behind.cause.kind == causes.WAITS:
        answer.sentence += f" {_some(behind.cause.nodes, 'could take it then')}."
    elif behind.cause.kind != answer.cause.kind:
        answer.sentence += f" Even then, {_continued(behind.sentence)}"


def _continued(sentence: str) -> str:
    """Return a sentence as the continuation of another: without its capital, unless it begins with a name."""
    first, _, rest = sentence.partition(" ")
    return f"{first.lower()} {rest}" if first in ("No", "The", "All", "None", "There", "At", "It", "Its") else sentence


def _some(names: Sequence[str], verb: str) -> str:
    """Return `n1 could take it`, `4 nodes could take it (n1, n2, n3 and 1 more)`."""
    if len(names) == 1:
        return f"{names[0]} {verb}"
    return f"{count(len(names))} {verb} ({some(sorted(names), NAMED)})"


def _without(what_if: WhatIf, cause: Cause, changes: Sequence[Change]) -> Change | None:
    """Return the change of the pod that removes what keeps it from all nodes; None if it is unknown."""
    pod = what_if.pod
    if cause.kind == causes.GATED:
        return patch_of("Pod", pod.namespace, pod.name, {"spec": {"schedulingGates": None}})
    if cause.kind in _OF_CLAIMS and cause.objects:
        volumes = what_if.document["spec"].get("volumes", [])
        for change in changes:
            if change.patch is not None:
                volumes = change.patch.patch["spec"].get("volumes", volumes)
        gone = {v.name for v in pod.pod.spec.volumes if f"{pod.namespace}/{claim_name(pod, v)}" in cause.objects}
        kept = [volume for volume in volumes if volume["name"] not in gone]
        if len(kept) < len(volumes):
            return patch_of("Pod", pod.namespace, pod.name, {"spec": {"volumes": kept}})
    return None
