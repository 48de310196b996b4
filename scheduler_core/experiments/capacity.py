"""Capacity: how many more of a pod, or of a mix of pods, fit, per node group, and which reason stops the next one.

The answer is that of adding pods one at a time through the scheduler, without preemption, until one stays pending. If
equal pods never keep each other off other nodes, the order of placement does not matter: then all nodes that fit take a
pod at once, until none fits (`_fill`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from scheduler_core.api.objects import Node, Object
from scheduler_core.cluster.formatting import agree, count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import GRID_LABELS, MAX_CELL_BYTES, Experiment, cells_of
from scheduler_core.experiments.local_fit import nodes_are_independent
from scheduler_core.experiments.parameters import CapacityParameters
from scheduler_core.experiments.pod_copies import PodCopies, PodToCopy, template_of
from scheduler_core.experiments.question import ExperimentQuestion, not_answered
from scheduler_core.experiments.scenario_input import ScenarioInput, apply_changes
from scheduler_core.explain import explain
from scheduler_core.explain.answer import RejectedNodes
from scheduler_core.framework.interface import CycleState
from scheduler_core.metrics.groups import MAX_GROUPS, node_groups
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import DEFAULT_SCHEDULER

GROUP_LABEL = "kubesched.dev/node-group"
"""The label by which the copies are restricted to a node group."""
MAX_NODE_CYCLES = 200_000_000
"""Cycles times nodes of a cell; a cell with more nodes tries fewer pods one by one."""


@dataclass
class FillResult:
    """The result of adding pods. `placed`: template -> number; `landed`: node -> number, unless the limit ended it
    first (`complete` is False). `trace`, `pod`: the cycle of the pod that stayed pending. `at_once`: the nodes were
    filled without single cycles."""

    placed: Counter[str] = field(default_factory=Counter)
    landed: Counter[str] = field(default_factory=Counter)
    trace: CycleTrace | None = None
    pod: PodInfo | None = None
    at_once: bool = False

    @property
    def complete(self) -> bool:
        return self.trace is not None


class Capacity(ExperimentQuestion):
    """The question capacity. A cell adds the pods in the whole cluster or in one node group."""

    name = "capacity"
    section = CapacityParameters
    required = "it names the pods to add"

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        """Yield a cell for the whole cluster and for each group, per scenario, release, configuration, seed and set of
        changes. Raises InputError."""
        wanted = experiment.spec.section(CapacityParameters)
        stored = 0
        for base in cells_of(experiment):
            for cell in _cells(base, wanted, scenarios[base.scenario]):
                stored += len(msgspec.json.encode(cell.parameters))
                if stored > MAX_CELL_BYTES:
                    problem = f"the cells would store more than {MAX_CELL_BYTES // 1_000_000} MB of pods; ask for fewer"
                    raise InputError("", "spec.capacity.pods", problem)
                yield cell

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        parameters = cell.parameters
        templates = msgspec.convert(parameters["pods"], list[PodToCopy])
        group, label = parameters.get("group"), parameters.get("group_label", "")
        simulation, groups = _simulation(cell, scenario, group, label)
        if parameters["pending"] == "ignore":
            _leave_out_pending(simulation)
        for _ in simulation.run():
            check()
        copies = [PodCopies(one, simulation.cluster, {GROUP_LABEL: group} if group else {}) for one in templates]
        members = [name for name, its in groups.items() if group is None or its == group]
        inside = set(members)
        running = sum(pod.node in inside for pod in simulation.cluster.pods.values())
        filled = fill(simulation, copies, parameters["limit"], check)
        result: Result = {
            "metrics": {"fit": filled.placed.total()},
            "fit": filled.placed.total(),
            "nodes": len(members),
            "groups_left_out": parameters.get("left_out", 0),
            "running": running,
            "pods": [{"name": one.name, "fit": filled.placed[one.name]} for one in templates],
            "complete": filled.complete,
            "at_once": filled.at_once,
            **_reason(simulation, filled, group, members),
        }
        if group is None and filled.complete:
            landed: Counter[str] = Counter()
            for node, number in filled.landed.items():
                landed[groups.get(node, "")] += number
            result["landed"] = dict(landed)
        return result

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        rows = [_row(one) for one in done]
        whole = [row for row in rows if not row["group"] and "fit" in row]
        if not whole:
            return {"answer": not_answered(done), "rows": rows}
        if len(whole) == 1:
            answer = _sentence(whole[0])
        else:
            fits = [row["fit"] for row in whole]
            span = f"{min(fits):,} to {max(fits):,}" if min(fits) < max(fits) else f"{fits[0]:,}"
            answer = f"{span} more fit, over {len(whole)} cases: {_sentence(max(whole, key=lambda row: row['fit']))}"
        return {"answer": answer, "rows": rows}


def _cells(base: Cell, wanted: CapacityParameters, scenario: ScenarioInput) -> Iterator[Cell]:
    release = get_release(base.release)
    schedulers = base.loaded().schedulers
    templates = []
    for number, pod in enumerate(wanted.pods):
        one = template_of(pod, f"spec.capacity.pods[{number}]", scenario, release)
        if not one.source and one.pod["spec"].get("schedulerName", DEFAULT_SCHEDULER) not in schedulers:
            one.pod["spec"]["schedulerName"] = next(iter(schedulers))
        templates.append(one)
    shown_names = Counter(one.name for one in templates)
    keys = Counter(_key(one) for one in templates)
    for number, one in enumerate(templates, 1):
        if shown_names[one.name] > 1:
            one.name = f"{one.name} ({number})"
        if keys[_key(one)] > 1:
            one.pod["metadata"]["name"] += f"-{number}"
    nodes = [obj for obj in scenario.prepared_for(base, 0).objects if isinstance(obj, Node)]
    sizes = Counter(node_groups(nodes, wanted.group_label).values())
    groups = [name for name, _ in sizes.most_common(MAX_GROUPS)] if wanted.by_group and len(sizes) > 1 else []
    for mix in [[one] for one in templates] if wanted.separately else [templates]:
        shown = mix[0].name if len(mix) == 1 else " + ".join(f"{one.weight} {one.name}" for one in mix)
        parameters = {
            "pods": msgspec.to_builtins(mix),
            "pending": wanted.pending,
            "group_label": wanted.group_label,
            "limit": wanted.limit,
            "left_out": len(sizes) - len(groups) if groups else 0,
        }
        yield msgspec.structs.replace(base, parameters=parameters, labels={**base.labels, "pods": shown})
        for group in groups:
            labels = {**base.labels, "pods": shown, "group": group}
            yield msgspec.structs.replace(base, parameters={**parameters, "group": group}, labels=labels)


def _key(template: PodToCopy) -> tuple[str, str]:
    metadata = template.pod["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _simulation(
    cell: Cell, scenario: ScenarioInput, group: str | None, label: str
) -> tuple[Simulation, dict[str, str]]:
    """Return the simulation of a cell, whose nodes of the group have GROUP_LABEL, and the group of each node."""
    objects: list[Object] = scenario.prepared_for(cell).objects
    groups = node_groups([obj for obj in objects if isinstance(obj, Node)], label)
    if group is not None:
        objects = [
            _labelled(obj, group) if isinstance(obj, Node) and groups[obj.name] == group else obj for obj in objects
        ]
    return scenario.simulation(cell, objects), groups


def _labelled(node: Node, group: str) -> Node:
    labels = {**node.metadata.labels, GROUP_LABEL: group}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))


def _leave_out_pending(simulation: Simulation) -> None:
    """Apply the changes of the cell, then forget all pending pods and their nominations."""
    for pod in apply_changes(simulation).pending:
        simulation.cluster.nominator.forget(pod)
    simulation.pending, simulation.to_try = [], []


# ---- adding pods


def fill(simulation: Simulation, copies: Sequence[PodCopies], limit: int, check: Check) -> FillResult:
    """Add copies until one stays pending, or until `limit` pods are placed or the cycles are used up."""
    filled = FillResult()
    simulation.scheduler.preemption = False
    arriving = arrivals(copies)
    cycles = max(1_000, MAX_NODE_CYCLES // max(len(simulation.nodes), 1))
    made, pod = next(arriving)
    simulation.pending.append(pod)
    simulation.to_try = tries = [pod]
    first, alone = simulation.scheduler.cycles, len(copies) == 1
    for trace in simulation.run():
        check()
        if trace.pod != pod.key:
            continue
        if trace.result != "scheduled":
            filled.trace, filled.pod = trace, pod
            break
        filled.placed[made.template.name] += 1
        filled.landed[trace.node] += 1
        if alone and nodes_are_independent(simulation.scheduler.framework_of(pod), pod):
            filled.at_once = True
            _fill(simulation, made, filled, limit, check)
        alone = False
        if filled.placed.total() >= limit or trace.number - first > cycles:
            break
        made, pod = next(arriving)
        simulation.pending.append(pod)
        tries.append(pod)
    return filled


def arrivals(copies: Sequence[PodCopies]) -> Iterator[tuple[PodCopies, PodInfo]]:
    """Yield the next copies without end, of each template as often as its weight, evenly mixed: always of the one that
    is furthest behind its share."""
    weights = [one.template.weight for one in copies]
    behind = [0] * len(weights)
    while True:
        for index, weight in enumerate(weights):
            behind[index] += weight
        first = max(range(len(weights)), key=lambda index: (behind[index], -index))
        behind[first] -= sum(weights)
        yield copies[first], copies[first].next()


def _fill(simulation: Simulation, made: PodCopies, filled: FillResult, limit: int, check: Check) -> None:
    """Place a copy on each node that takes one, again and again until none does."""
    cluster, scheduler = simulation.cluster, simulation.scheduler
    while (left := limit - filled.placed.total()) > 0:
        check()
        pod = made.next()
        framework, state = scheduler.framework_of(pod), CycleState()
        names, status, _ = framework.run_pre_filter(state, pod)
        if status is not None:
            return
        refused = np.zeros(len(cluster.nodes), np.bool_)
        if names is not None:
            refused |= np.array([name not in names for name in cluster.nodes.names], np.bool_)
        for verdict in framework.run_filter(state, pod).values():
            if verdict.codes is not None:
                refused |= verdict.codes > 0
        rows = np.flatnonzero(~refused)[:left].tolist()
        if not rows:
            return
        pods = [made.next() for _ in rows]
        for one, row in zip(pods, rows, strict=True):
            one.node = cluster.nodes.names[row]
            filled.landed[one.node] += 1
        cluster.add_pods(pods)
        filled.placed[made.template.name] += len(rows)


# ---- sentences


def _reason(simulation: Simulation, filled: FillResult, group: str | None, members: Iterable[str]) -> Result:
    """Return why the next pod stays pending: a sentence, and the decisive reasons with their nodes.

    `members`: the nodes of `group`, which is None for the whole cluster.
    """
    trace, pod = filled.trace, filled.pod
    if trace is None or pod is None:
        return {"reason": f"the search ended at {count(filled.placed.total(), 'pod')}", "reasons": []}
    answer = explain(trace, simulation, pod)
    groups, sentence = answer.groups, answer.sentence
    if group is not None and groups and answer.preemption is None:
        inside = set(members)
        groups = [within for one in groups if (within := _within(one, inside)).count]
        parts = re.split(r"(?<=\.) ", sentence.replace(f" with {GROUP_LABEL}={group}", " of the group"))
        sentence = " ".join(part for part in parts if GROUP_LABEL not in part) or sentence
    counts: Counter[str] = Counter()
    for one in groups:
        counts[one.words] += one.count
    first = {one.words: one for one in reversed(groups)}
    reasons = [
        {
            "words": f"{n:,} {agree(n, words)}",
            "plugin": first[words].plugin,
            "nodes": n,
            "reasons": first[words].reasons,
        }
        for words, n in counts.most_common(8)
    ]
    return {"reason": sentence, "reasons": reasons}


def _within(group: RejectedNodes, members: set[str]) -> RejectedNodes:
    nodes = [node for node in group.nodes if node in members]
    return msgspec.structs.replace(group, nodes=nodes, count=len(nodes))


def _row(one: Done) -> Result:
    labels = one.cell.labels
    shown = {name: labels.get(name, "") for name in GRID_LABELS}
    row: Result = {**shown, "pods": labels.get("pods", ""), "group": labels.get("group", "")}
    if one.result is None:
        return {**row, "error": one.error}
    kept = ("fit", "nodes", "groups_left_out", "running", "complete", "at_once", "reason", "reasons", "landed")
    row["mix"] = one.result["pods"]
    return row | {name: one.result[name] for name in kept if name in one.result}


def _sentence(row: Result) -> str:
    mix = row["mix"]
    if not row["fit"]:
        return f"No more {'of ' + mix[0]['name'] if len(mix) == 1 else 'pods'} fit. {row['reason']}"
    if len(mix) == 1:
        what = f"{row['fit']:,} more of {mix[0]['name']} {'fits' if row['fit'] == 1 else 'fit'}"
    else:
        parts = ", ".join(f"{one['fit']:,} of {one['name']}" for one in mix)
        what = f"{row['fit']:,} more pods fit ({parts})"
    if not row["complete"]:
        return f"At least {what}: the search ended at its limit before any pod stayed pending."
    return f"{what}, then the next one stays pending. {row['reason']}"
