"""Cells as runs: the settings of a run, and the changes of a fork of it, with which it computes what a cell does.

A cell of most questions computes a run and then something else: losses, moves, pods that are added. A fork of its run
does the same with changes. A cell that tries several sizes or sets is represented by the one that its result names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api.objects import Node, Object
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.experiments.buy import empty
from scheduler_core.experiments.capacity import GROUP_LABEL, arrivals
from scheduler_core.experiments.cell import Cell, Result
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.experiments.move_board import as_new
from scheduler_core.experiments.node_catalog import daemon_pods, daemon_sets, new_node
from scheduler_core.experiments.node_loss import Raw, create_again, deletion, loss_changes
from scheduler_core.experiments.packing import PlacedWorkload
from scheduler_core.experiments.parameters import BuyParameters, MovesParameters
from scheduler_core.experiments.pod_copies import PodCopies, PodToCopy
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import MOST
from scheduler_core.metrics.groups import node_groups

OUTAGE = "An outage continues a single pass in virtual time, and no run does that."
SEVERAL = "This cell computes {number:,} losses. Open each of them as a run."
GROWTH = "A run cannot multiply its pods or their requests."
TOO_MANY = "It needs {number:,} changes, and a run can have at most {most:,}."


class CellRun(NamedTuple):
    """What a run needs to compute a cell, besides the settings that each cell has. `settings`: `pods`, `unbind` and
    `preemption`, as a run has them. `name`: what the fork does. `changes`: returns those of the
    fork. `at_end`: whether they follow the last cycle, or precede the first one. `preemption`: of the fork."""

    settings: dict[str, Any]
    name: str
    changes: Callable[[], list[Raw]]
    at_end: bool = True
    preemption: bool = True


def why_not(cell: Cell, metrics: Mapping[str, float], place: int | None = None) -> str:
    """Return why no run represents a finished cell, or the loss `place` of it; "" if one may."""
    parameters = cell.parameters
    if cell.question == "loss":
        if "outage" in parameters:
            return OUTAGE
        losses = len(parameters["losses"]) if place is None else 1
        return SEVERAL.format(number=losses) if losses > 1 else ""
    if cell.question == "packing" and parameters["measure"] != "compaction":
        return GROWTH
    number = {"capacity": metrics.get("fit", 0) + 1, "buy": metrics.get("nodes_bought", 0)}.get(cell.question, 0)
    return TOO_MANY.format(number=number, most=MOST) if number > MOST else ""


def refuse_many(number: int) -> None:
    """Raise InputError if a fork cannot have so many changes."""
    if number > MOST:
        raise InputError("", "", TOO_MANY.format(number=number, most=MOST))


def has_fork(cell: Cell, result: Result) -> bool:
    """Return whether a cell does something besides its run and its changes, which a fork of the run does."""
    if cell.question == "moves":
        return bool(result.get("moves"))
    if cell.question == "packing":
        return bool(result.get("found")) and result["found"] < result["nodes"]
    return cell.question in CELL_RUNS


def run_of(cell: Cell, result: Result, scenario: ScenarioInput, place: int = 0) -> CellRun:
    """Return what a run of the finished cell needs. `place`: of a loss in its cell. Raises InputError."""
    return CELL_RUNS[cell.question](cell, result, scenario, place)


def checked(changes: list[Raw]) -> list[Raw]:
    """Return the changes as JSON data. Raises InputError if a fork cannot have so many."""
    refuse_many(len(changes))
    found: list[Raw] = msgspec.json.decode(msgspec.json.encode(changes))
    return found


def _create(obj: Object) -> Raw:
    return {"create": {"kind": type(obj).__name__, **msgspec.to_builtins(obj)}}


# ---- after the run


def _loss(cell: Cell, result: Result, scenario: ScenarioInput, place: int) -> CellRun:
    mode, one = cell.parameters["mode"], result["losses"][place]

    def changes() -> list[Raw]:
        loaded = LoadedCluster(cell, scenario, lambda: None)
        return loss_changes(loaded.continuation(), one["nodes"], mode)

    refuse_many(one["pods"] + len(one["nodes"]))  # known without another run
    return CellRun({}, f"{mode} of {one['name']}", changes)


def _moves(cell: Cell, result: Result, scenario: ScenarioInput, place: int) -> CellRun:
    """The pods leave their nodes first, so that the order of the moves does not matter; then each is placed on its last
    node, and the pending pods are created again, so that the scheduler tries them."""
    pending = msgspec.convert(cell.parameters, MovesParameters).pending
    settings: dict[str, Any] = {"pods": result["pods"]} if pending == "ignore" else {}
    moved = {move["pod"]: move["to"] for move in result.get("moves") or ()}

    def changes() -> list[Raw]:
        simulation = scenario.changed_simulation(cell)
        pods = {pod.key: pod for pod in (*simulation.pending, *simulation.cluster.pods.values())}
        found = [deletion("Pod", key) for key in (*moved, *result["wanted"])]
        for again in (moved, result["wanted"]):  # the pending pods last
            found += create_again(simulation, [as_new(pods[key]) for key in again])
        return found + [{"place": {"pod": pod, "node": node}} for pod, node in moved.items()]

    return CellRun(settings, f"moves for {result['pods'][0]}", changes)


def _capacity(cell: Cell, result: Result, scenario: ScenarioInput, place: int) -> CellRun:
    """The pods that fit are created after the run, and the one that stays pending."""
    parameters = cell.parameters
    settings: dict[str, Any] = {"pods": []} if parameters["pending"] == "ignore" else {}
    group, number = parameters.get("group"), result["fit"] + bool(result["complete"])

    def changes() -> list[Raw]:
        simulation = scenario.changed_simulation(cell)
        nodes: dict[str, str] = {}
        if group is not None:
            prepared = scenario.prepared_for(cell).objects
            nodes = node_groups([obj for obj in prepared if isinstance(obj, Node)], parameters["group_label"])
        labels = {"metadata": {"labels": {GROUP_LABEL: group}}}
        found: list[Raw] = [
            {"patch": {"kind": "Node", "namespace": "", "name": node, "patch": labels}}
            for node, of in nodes.items()
            if of == group
        ]
        templates = msgspec.convert(parameters["pods"], list[PodToCopy])
        copies = [PodCopies(one, simulation.cluster, {GROUP_LABEL: group} if group else {}) for one in templates]
        for made, pod in islice(arrivals(copies), number):
            found += [_create(claim) for claim in made.claims]
            found.append(_create(pod.pod))
        return found

    name = f"{number:,} more of {' and '.join(one['name'] for one in result['pods'])}"
    return CellRun(settings, name, changes, preemption=False)


# ---- before the run


def _buy(cell: Cell, result: Result, scenario: ScenarioInput, place: int) -> CellRun:
    """The bought nodes and the pods of their DaemonSets are created, and each pod is placed as planned."""
    parameters, plan = msgspec.convert(cell.parameters, BuyParameters), result["plan"]
    if plan is None:
        raise InputError("", "", TOO_MANY.format(number=result["nodes"] + result["placed"], most=MOST))
    simulation = scenario.changed_simulation(cell)
    pods = [*simulation.cluster.pods.values(), *simulation.pending]
    settings: dict[str, Any] = {"preemption": False}
    removed: list[Raw] = []
    if parameters.workload == "all":
        nodes, bound = list(simulation.cluster.nodes.names), list(simulation.cluster.pods.values())
        empty(simulation)
        again = {pod.key for pod in simulation.to_try}
        settings["unbind"] = [pod.key for pod in bound if pod.key in again]
        removed = _without(nodes, [pod for pod in bound if pod.key not in again])

    def changes() -> list[Raw]:
        types = {one.name: one for one in parameters.catalog}
        daemons = daemon_sets(scenario, simulation.release, [pod.pod for pod in pods])
        found = list(removed)
        for name, kind in plan["nodes"].items():
            node = new_node(types[kind], name)
            found.append(_create(node))
            found += [_create(pod.pod) for pod in daemon_pods(daemons, node, simulation.release)]
        return found + [{"place": {"pod": pod, "node": node}} for pod, node in plan["pods"].items()]

    return CellRun(settings, f"{result['nodes']:,} bought nodes", changes, at_end=False)


def _packing(cell: Cell, result: Result, scenario: ScenarioInput, place: int) -> CellRun:
    """The workload is scheduled from scratch on the nodes that it needs; if it does not fit on all, then on all."""
    workload = PlacedWorkload(cell, scenario, lambda: None)
    size = result["found"] or len(workload.nodes)
    simulation = scenario.changed_simulation(cell)
    bound, again = simulation.cluster.pods, [pod.key for pod in workload.pods]
    running = [key for key in again if key in bound]
    settings: dict[str, Any] = {"preemption": False, "unbind": running}
    if cell.parameters["pending"] == "ignore":
        settings |= {"pods": again, "unbind": []}
    gone = [node.name for node in workload.nodes[size:]]
    fixed = [pod for key, pod in bound.items() if key not in again and pod.node in set(gone)]
    return CellRun(settings, f"{size:,} nodes", lambda: _without(gone, fixed), at_end=False)


def _without(nodes: Iterable[str], pods: Sequence[PodInfo]) -> list[Raw]:
    """Return the changes that delete nodes and the pods that stay there."""
    return [deletion("Pod", pod.key) for pod in pods] + [deletion("Node", node) for node in nodes]


CELL_RUNS: dict[str, Callable[[Cell, Result, ScenarioInput, int], CellRun]] = {
    "loss": _loss,
    "moves": _moves,
    "capacity": _capacity,
    "buy": _buy,
    "packing": _packing,
}
"""The questions whose cells compute more than a run."""
