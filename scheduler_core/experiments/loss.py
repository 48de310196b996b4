"""The question loss: which node may be drained, and which node, node group or zone may be lost."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from scheduler_core.api.duration import seconds
from scheduler_core.api.objects import Node
from scheduler_core.cluster.formatting import count, some
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.disruption_budgets import DisruptionBudgets
from scheduler_core.experiments.document import GRID_LABELS, Experiment, cells_of
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.experiments.node_loss import LOST, NOMINATED, PENDING, PREEMPTED, NodeLosses
from scheduler_core.experiments.parameters import LossParameters
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.experiments.zone_outage import ZoneOutage
from scheduler_core.metrics.groups import node_groups, workloads

BATCH = 50  # single nodes of a cell
LARGE = 20  # workloads that the answer lists
SCOPES = {"node": "node", "group": "node group", "zone": "zone"}


class Loss(ExperimentQuestion):
    """Each loss is computed on its own, from the end of the scenario's run. A cell is a batch of losses."""

    name = "loss"
    section = LossParameters

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        wanted = experiment.spec.section(LossParameters)
        for cell in cells_of(experiment):
            prepared = scenarios[cell.scenario].prepared_for(cell)
            nodes = [obj for obj in prepared.objects if isinstance(obj, Node)]
            batches = list(_batches(wanted, _chosen(wanted, nodes)))
            kinds: list[tuple[dict[str, Any], dict[str, str]]] = [({"mode": wanted.mode}, {})]
            if wanted.scope == "zone" and wanted.mode == "loss" and wanted.virtual_time:
                kinds.append(({"outage": seconds(wanted.outage)}, {"outage": str(wanted.outage)}))
            for kind, shown in kinds:
                for batch in batches:
                    labels = cell.labels | {wanted.scope: _title(batch)} | shown
                    yield msgspec.structs.replace(cell, parameters=kind | batch, labels=labels)

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        loaded = LoadedCluster(cell, scenario, check)
        cluster = loaded.end.cluster
        workload_of = workloads(pod.pod for pod in cluster.pods.values())
        if outage := cell.parameters.get("outage"):
            (one,) = cell.parameters["losses"]
            clock = ZoneOutage(loaded, _existing(one, loaded), outage, scenario.max_records, scenario.max_pods)
            course = clock.run(one["name"], workload_of, check)
            return {"metrics": {"evicted": course["evicted"]}, "losses": [], "outage": course}
        mode = cell.parameters["mode"]
        budgets = DisruptionBudgets(cluster, loaded.end.pending, scenario.objects) if mode == "drain" else None
        batch = NodeLosses(loaded, mode, workload_of, budgets)
        losses = [batch.run(one["name"], _existing(one, loaded), check) for one in cell.parameters["losses"]]
        pending = sum(pods_down(one) for one in losses)
        return {"metrics": {"pending": pending}, "cycles": loaded.cycles, "losses": losses}

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        wanted = experiment.spec.section(LossParameters)
        varied = [name for name in GRID_LABELS if len({one.cell.labels[name] for one in done}) > 1]
        rows = [row for number, one in enumerate(done, 1) if one.result for row in _rows(number, one, varied)]
        rows.sort(key=_badness)
        for number, one in enumerate(done, 1):
            if one.result and "outage" in one.result:
                _add_outage(rows, number, one, varied)
        return {
            "answer": _sentence(wanted, rows, experiment.spec.size),
            "mode": wanted.mode,
            "scope": wanted.scope,
            "losses": rows,
            "down": sum(row["down"] > 0 for row in rows),
            "blocked": sum(row["blocks"] for row in rows),
            "lost": sum(row["counts"].get(LOST, 0) > 0 for row in rows),
            "workloads": _suffering(done),
        }


def _existing(loss: Mapping[str, Any], loaded: LoadedCluster) -> list[str]:
    """Return the nodes of a loss. Raises InputError if the changes of the cell have removed one."""
    known = loaded.end.cluster.nodes.rows
    nodes: list[str] = loss["nodes"]
    if missing := [node for node in nodes if node not in known]:
        raise InputError("", "spec.changes", f"remove node {missing[0]}, which cannot be lost")
    return nodes


def pods_down(loss: Mapping[str, Any]) -> int:
    """Return how many pods no longer run after a loss: those that stay pending, and those that they preempt."""
    return int(loss["counts"].get(PENDING, 0) + loss["counts"].get(PREEMPTED, 0))


def _add_outage(rows: Sequence[dict[str, Any]], number: int, done: Done, varied: Sequence[str]) -> None:
    """Add the figures of an outage to the row of the zone."""
    assert done.result is not None
    found = done.result["outage"]
    shown = ("pods", "outage", "detected", "counts", "tainted", "evicted", "first", "last", "volumes", "pending_after")
    figures = {name: found[name] for name in shown}
    for row in rows:
        if (row["name"], row["case"]) == (found["name"], _case(done, varied)):
            row["outage"] = figures | {"cell": number}


def _case(done: Done, varied: Sequence[str]) -> str:
    return ", ".join(f"{name} {done.cell.labels.get(name, '')}" for name in varied)


def _badness(row: Mapping[str, Any]) -> tuple[Any, ...]:
    counts = row["counts"]
    return (-row["down"], -row["blocks"], -row["blocked"], -counts.get(NOMINATED, 0), -counts.get(LOST, 0))


def _suffering(done: Sequence[Done]) -> list[dict[str, Any]]:
    """Return the workloads whose pods no longer run after losses, those with most such pods first."""
    found: dict[str, Counter[str]] = {}
    for one in done:
        for loss in one.result["losses"] if one.result else ():
            for workload, pods in loss["workloads"].items():
                found.setdefault(workload, Counter()).update(pods=pods, losses=1)
    worst = sorted(found.items(), key=lambda item: (-item[1]["pods"], item[0]))
    return [{"workload": name, **numbers} for name, numbers in worst[:LARGE]]


def _chosen(wanted: LossParameters, nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Return the losses: name -> nodes. Raises InputError."""
    if not nodes:
        raise InputError("", "spec.scenarios", "the scenario has no nodes")
    found: dict[str, list[str]] = {}
    if wanted.scope == "node":
        found = {node.name: [node.name] for node in nodes}
    else:
        group_of = node_groups(nodes, wanted.label) if wanted.scope == "group" else _zones(nodes)
        for node, group in group_of.items():
            found.setdefault(group, []).append(node)
    if unknown := [name for name in wanted.only if name not in found]:
        problem = f"{SCOPES[wanted.scope]} {unknown[0][:253]} does not exist; there are {some(list(found))}"
        raise InputError("", "spec.loss.only", problem)
    return {name: nodes for name, nodes in found.items() if not wanted.only or name in wanted.only}


def _zones(nodes: Sequence[Node]) -> dict[str, str]:
    """Return node -> zone, for the nodes that have one: its name, with its region if regions have equal zones."""
    found = {node.name: zone_key(node).split(":\0:") for node in nodes if zone_key(node)}
    if not found:
        raise InputError("", "spec.loss.scope", "no node has the label topology.kubernetes.io/zone")
    alone = len({zone for _, zone in found.values()}) == len({tuple(key) for key in found.values()})
    return {
        node: zone if alone and zone else "/".join(filter(None, (region, zone)))
        for node, (region, zone) in found.items()
    }


def _batches(wanted: LossParameters, losses: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    size = BATCH if wanted.scope == "node" else 1
    named = [{"name": name, "nodes": nodes} for name, nodes in losses.items()]
    for first in range(0, len(named), size):
        yield {"losses": named[first : first + size]}


def _title(batch: Mapping[str, Any]) -> str:
    names = [loss["name"] for loss in batch["losses"]]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _rows(number: int, done: Done, varied: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a cell's losses in the answer: without pods, with the cell's number and the place in it."""
    assert done.result is not None
    for place, loss in enumerate(done.result["losses"]):
        budgets = loss.get("budgets", ())
        yield {
            "name": loss["name"],
            "nodes": len(loss["nodes"]),
            "pods": loss["pods"],
            "counts": loss["counts"],
            "down": pods_down(loss),
            "blocked": loss.get("blocked", 0),
            "blocks": any(budget["blocks"] for budget in budgets),
            "budgets": [budget["name"] for budget in budgets],
            "local_data": loss["local_data"],
            "cell": number,
            "place": place,
            "case": _case(done, varied),
        }


def _sentence(wanted: LossParameters, rows: Sequence[Mapping[str, Any]], cases: int) -> str:
    verb = "drained" if wanted.mode == "drain" else "lost"
    what = SCOPES[wanted.scope]
    if not rows:
        return "No loss was computed."
    down = [row for row in rows if row["down"]]
    blocked = sum(row["blocks"] for row in rows)
    unit = what if cases == 1 else "case"
    end = (
        f" PodDisruptionBudgets block the drain {'of' if cases == 1 else 'in'} {count(blocked, unit)}."
        if blocked
        else ""
    )
    if lost := [number for row in rows if (number := row["counts"].get(LOST, 0))]:
        where = "" if len(rows) == 1 else f" {'on' if unit == 'node' else 'in'} {count(len(lost), unit)}"
        pods = f"{count(sum(lost), 'pod')}{where}"
        end += f" Without a controller, and so not created again: {pods}."
    if len(rows) == 1:
        row = rows[0]
        name = f"{what.capitalize()} {row['name']}"
        if not down:
            return f"{name} can be {verb}: none of its {count(row['pods'], 'pod')} stays pending.{end}"
        pods = f"{row['down']:,} of {count(row['pods'], 'pod')}"
        return f"{name} cannot be {verb} without leaving pods pending: {pods}.{end}"
    total = (
        count(len(rows), what)
        if cases == 1
        else f"{len(rows):,} cases ({count(len(rows) // cases, what)}, {cases:,} each)"
    )
    if not down:
        return f"Each of {total} can be {verb} without leaving pods pending.{end}"
    worst = f"the worst is {down[0]['name']}: {count(down[0]['down'], 'pod')}"
    which = f"None of {total} can" if len(down) == len(rows) else f"{len(down):,} of {total} cannot"
    return f"{which} be {verb} without leaving pods pending; {worst}.{end}"
