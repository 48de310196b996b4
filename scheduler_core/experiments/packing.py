"""Packing: the fewest nodes that the workload needs (compaction), and how far it can grow (workload inflation).

The workload is placed from scratch, without preemption: running pods are scheduled again in the order of the queue.
Static pods and those of DaemonSets belong to their node. A trial succeeds if at most the picky share of the pods stays
pending. Compaction takes the nodes in a random order and searches the smallest prefix by bisection; inflation searches
the largest factor on all nodes. Neither needs to be monotone, so the size found and its neighbour have been tried.

Source: Verma, Korupolu, Wilkes, "Evaluating job packing in warehouse-scale computing", CLUSTER 2014.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.devices import ResourceClaim, ResourceClaimStatus
from scheduler_core.api.objects import (
    Container,
    Metadata,
    Namespace,
    Node,
    Object,
    Pod,
    PodStatus,
    Quantities,
    Resources,
)
from scheduler_core.cluster import resources
from scheduler_core.cluster.formatting import agree, count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import GRID_LABELS, Experiment, cells_of
from scheduler_core.experiments.parameters import Measure, PackingParameters, PendingPods
from scheduler_core.experiments.pod_copies import PodCopies, PodToCopy
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.forks.stages import Stage, apply_again, decisions
from scheduler_core.metrics.distribution import percentile
from scheduler_core.metrics.node_resources import PODS, Float64, Int64
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation

MAX_FACTOR = 64
MAX_PODS = 500_000
PERCENT = 100  # steps of a factor of requests
_BOUNDED = (resources.CPU, resources.MEMORY)
_SCALED = (resources.CPU, resources.MEMORY, resources.EPHEMERAL)

Trial = Callable[[int], bool]


class PackingQuestion(ExperimentQuestion):
    """The question packing. A cell is one measure with one order of the nodes."""

    name = "packing"
    section = PackingParameters

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        """Yield a cell for each cell of the grid, measure and order of the nodes. Raises InputError."""
        wanted = experiment.spec.section(PackingParameters)
        for base in cells_of(experiment):
            for measure in wanted.measures:
                for order in range(1, wanted.orders + 1):
                    parameters = {"measure": measure, "order": order, "pending": wanted.pending, "picky": wanted.picky}
                    labels = {**base.labels, "measure": measure, "order": str(order)}
                    yield msgspec.structs.replace(base, parameters=parameters, labels=labels)

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        """Return `found`: the number of nodes, or the factor; None if the workload does not fit as it is (compaction
        and replicas: how many pods of a random order precede the first that does not fit says nothing), or not at all
        (requests). `complete`: whether the search ended before its limit. `tried`: size -> whether the
        workload fits, in the order of the search, with sizes in nodes, pods or percent."""
        measure: Measure = cell.parameters["measure"]
        workload = PlacedWorkload(cell, scenario, check)
        tried: dict[int, bool] = {}

        def trial(size: int) -> bool:
            if size not in tried:
                tried[size] = getattr(workload, f"fits_{measure}")(size)
            return tried[size]

        pods, nodes = len(workload.pods), len(workload.nodes)
        found: float | None = None
        complete = True
        if measure == "compaction":
            found = smallest(trial, nodes) if pods else None
        elif pods:
            whole = pods if measure == "replicas" else PERCENT
            limit = whole * MAX_FACTOR
            if measure == "replicas":
                limit = min(limit, max(MAX_PODS, whole))
            size = largest(trial, whole, limit) if measure == "requests" or trial(whole) else 0
            complete = size < limit or not size
            found = round(size / whole, 4) if size else None
        metric = "compaction" if measure == "compaction" else f"inflation:{measure}"
        return {
            "metrics": {metric: found} if found is not None else {},
            "found": found,
            "complete": complete,
            "nodes": nodes,
            "pods": pods,
            "allowed": workload.allowed,
            "pending": workload.pending_at_first,
            "tried": {str(size): fits for size, fits in tried.items()},
        }

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        """Return `rows`: for each cell of the grid and measure its `title`, the 90th percentile over the orders of the
        nodes (of a factor: the one that 90% of the orders reach), the smallest and the largest value, and all values.
        """
        groups: dict[tuple[tuple[str, str], ...], list[Done]] = {}
        for one in done:
            labels = {name: value for name, value in one.cell.labels.items() if name != "order"}
            groups.setdefault(tuple(labels.items()), []).append(one)
        rows = [_row(dict(labels), members) for labels, members in groups.items()]
        _name_rows(rows)
        wanted = experiment.spec.section(PackingParameters)
        return {"answer": _answer(rows, wanted.pending), "rows": rows}


def smallest(trial: Trial, most: int) -> int | None:
    """Return a size up to `most` that fits while the next smaller one does not, by bisection; None if `most` does not
    fit. Size 0 never fits."""
    if most < 1 or not trial(most):
        return None
    return _neighbours(trial, 0, most, low_fits=False)[1]


def largest(trial: Trial, start: int, limit: int) -> int:
    """Return a size up to `limit` that fits while the next larger one does not: doubled from `start`, then by
    bisection. Return `limit` if it fits; 0 if the search finds none that fits."""
    low, high = 0, start
    while trial(high):
        low = high
        if high == limit:
            return limit
        high = min(high * 2, limit)
    return _neighbours(trial, low, high, low_fits=True)[0]


def _neighbours(trial: Trial, low: int, high: int, low_fits: bool) -> tuple[int, int]:
    """Return, by bisection, a size and the next larger one, of which one fits as the first or the last size does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trial(middle) == low_fits else (low, middle)
    return low, high


class PlacedWorkload:
    """The pods of a scenario, to be placed from scratch on some of its nodes.

    `nodes`: in the random order of the cell. `pods`: without their nodes, as listed. `allowed`: how many pods may stay
    pending. `pending_at_first`: the number of pods that stayed pending in the first trial, which may end early. Raises
    InputError.
    """

    def __init__(self, cell: Cell, scenario: ScenarioInput, check: Check) -> None:
        self.cell, self._check = cell, check
        self.release = get_release(cell.release)
        self.configuration = cell.loaded()
        changes = read_changes(cell.changes)
        self._decisions = decisions([Stage(at=1, changes=changes)])
        base = scenario.changed_simulation(cell)
        prepared = scenario.prepared_for(cell)
        listed = {obj.key: position for position, obj in enumerate(prepared.objects) if isinstance(obj, Pod)}
        cluster = base.cluster
        everything = [*cluster.pods.values(), *base.pending]
        everything.sort(key=lambda pod: listed.get(pod.key, len(listed)))
        self.nodes = sorted(cluster.nodes.nodes, key=lambda node: node.name)
        self.seed = f"{cell.seed}/{cell.parameters['order']}"
        random.Random(self.seed).shuffle(self.nodes)
        self.fixed: list[Pod] = []  # on their nodes
        self.pods: list[Pod] = []
        for pod in everything:
            self._add(pod)
        self.picky: float = cell.parameters["picky"]
        self.allowed = math.floor(self.picky * len(self.pods))
        self._others = list(self._other_objects(base))
        # Otherwise a total says nothing: the plugin is switched off, or part of an older algorithm.
        self._fit_runs = not self._decisions and all(
            any(plugin.name == "NodeResourcesFit" for plugin in framework.filter)
            for framework in base.scheduler.profiles.values()
        )
        self.pending_at_first: int | None = None

    def _add(self, info: PodInfo) -> None:
        pod = info.pod
        node = info.node or _pinned_node(pod)
        if pod.stays_in_drain:
            if node:
                spec = msgspec.structs.replace(pod.spec, node_name=node)
                self.fixed.append(msgspec.structs.replace(pod, spec=spec))
            return
        if info.terminating or pod.spec.scheduling_gates:
            return
        if not info.node and self.cell.parameters["pending"] == "ignore":
            return
        scheduler = pod.spec.scheduler_name
        if scheduler not in self.configuration.schedulers:
            scheduler = next(iter(self.configuration.schedulers))
        spec = msgspec.structs.replace(pod.spec, node_name="", scheduler_name=scheduler, priority=info.priority)
        status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
        self.pods.append(msgspec.structs.replace(pod, spec=spec, status=status))

    def _other_objects(self, base: Simulation) -> Iterator[Object]:
        staying = {pod.metadata.uid for pod in self.fixed}
        for obj in base.cluster.others():
            if isinstance(obj, ResourceClaim) and not staying & {one.uid for one in obj.status.reserved_for}:
                yield msgspec.structs.replace(obj, status=ResourceClaimStatus())
            else:
                yield obj
        for name, labels in base.cluster.namespaces.items():
            yield Namespace(metadata=Metadata(name=name, labels=labels))

    # ---- trials

    def fits_compaction(self, size: int) -> bool:
        """Return whether the workload fits on the first `size` nodes."""
        copies = np.ones(len(self.pods), np.int64)
        return self._fits(self.nodes[:size], self.pods, copies, self.allowed)

    def fits_replicas(self, size: int) -> bool:
        """Return whether `size` pods fit on all nodes: the workload in a random order, again and again."""
        order = list(range(len(self.pods)))
        random.Random(f"{self.seed}/replicas").shuffle(order)
        whole, rest = divmod(size, len(order))
        copies = np.full(len(order), whole, np.int64)
        copies[order[:rest]] += 1
        return self._fits(self.nodes, self.pods, copies, math.floor(self.picky * size))

    def fits_requests(self, size: int) -> bool:
        """Return whether the workload fits on all nodes if its requests are `size` percent of what they are."""
        scaled = Scale(size)
        return self._fits(
            self.nodes, list(map(scaled, self.pods)), np.ones(len(self.pods), np.int64), self.allowed, size
        )

    def _fits(
        self, nodes: Sequence[Node], pods: Sequence[Pod], copies: Int64, allowed: int, percent: int = PERCENT
    ) -> bool:
        """Return whether at most `allowed` pods stay pending on these nodes. `copies`: of each pod."""
        first = self.pending_at_first is None
        if not first and not self._enough(len(nodes), copies, allowed, percent):
            return False
        there = {node.name for node in nodes}
        once = [pod for pod, number in zip(pods, copies.tolist(), strict=True) if number]
        staying = [pod for pod in self.fixed if pod.spec.node_name in there]
        simulation = Simulation(
            [*self._others, *nodes, *staying, *once],
            release=self.release,
            config=self.configuration,
            seed=self.cell.seed,
            preemption=False,
            timer=lambda: 0,
        )
        self._copy(simulation, pods, copies)
        apply_again(Edit(simulation), self._decisions)
        pending = 0
        for trace in simulation.run():
            self._check()
            pending += not trace.placed_on
            if pending > allowed and not first:
                return False
        if first:
            self.pending_at_first = pending
        return pending <= allowed

    @staticmethod
    def _copy(simulation: Simulation, pods: Sequence[Pod], copies: Int64) -> None:
        """Add the further copies of the pods to those to schedule."""
        numbers = np.flatnonzero(copies > 1).tolist()
        for number in numbers:
            pod = pods[number]
            made = PodCopies(PodToCopy(pod.name, msgspec.to_builtins(pod), source=pod.key), simulation.cluster, {})
            more = [made.next() for _ in range(int(copies[number]) - 1)]
            simulation.pending += more
            simulation.to_try += more
        if numbers:
            simulation.sort_pods()

    # ---- a bound that spares trials

    def _enough(self, nodes: int, copies: Int64, allowed: int, percent: int) -> bool:
        """Return whether the first nodes have enough cpu, memory and places for pods in total, even without the largest
        pods. Otherwise a trial would fail, because NodeResourcesFit runs and counts these resources."""
        for requests, capacity in self._totals:
            largest = np.sort(np.repeat(requests, copies))[::-1][allowed:] if allowed else requests * copies
            if float(largest.sum()) * (percent / PERCENT) > float(capacity[nodes]):
                return False
        return True

    @cached_property
    def _totals(self) -> list[tuple[Float64, Float64]]:
        """For each resource: the requests of each pod, and what the first n nodes have beyond the fixed pods."""
        infos = [PodInfo(pod, self.release) for pod in self.pods]
        held: dict[str, dict[str, int]] = {node.name: {} for node in self.nodes}
        for pod in self.fixed:
            mine = held.get(pod.spec.node_name)
            if mine is not None:
                for name, amount in {PODS: 1, **PodInfo(pod, self.release).held}.items():
                    mine[name] = mine.get(name, 0) + amount
        allocatable = [resources.amounts(node.status.allocatable) for node in self.nodes]
        found = []
        for name in (*_BOUNDED, PODS) if self._fit_runs else ():
            if name == PODS and self.cell.parameters["measure"] == "requests":
                continue  # their number is not scaled
            wanted = [1 if name == PODS else info.held.get(name, 0) for info in infos]
            free = [
                max(has.get(name, 0) - held[node.name].get(name, 0), 0)
                for has, node in zip(allocatable, self.nodes, strict=True)
            ]
            found.append((np.array(wanted, np.float64), np.concatenate(([0.0], np.cumsum(free, dtype=np.float64)))))
        return found


class Scale:
    """Multiplies the requests of pods for cpu, memory and ephemeral storage by `percent` / 100, rounded up to
    millicores and bytes."""

    def __init__(self, percent: int) -> None:
        self.percent = percent
        self._known: dict[tuple[tuple[str, str | int | float], ...], Quantities] = {}

    def __call__(self, pod: Pod) -> Pod:
        spec = pod.spec
        scaled = msgspec.structs.replace(
            spec,
            containers=list(map(self._container, spec.containers)),
            init_containers=list(map(self._container, spec.init_containers)),
            overhead=self._quantities(spec.overhead),
            resources=self._resources(spec.resources) if spec.resources is not None else None,
        )
        return msgspec.structs.replace(pod, spec=scaled)

    def _container(self, container: Container) -> Container:
        return msgspec.structs.replace(container, resources=self._resources(container.resources))

    def _resources(self, given: Resources) -> Resources:
        return msgspec.structs.replace(given, requests=self._quantities(given.requests), limits={})

    def _quantities(self, given: Quantities) -> Quantities:
        key = tuple(given.items())
        if key not in self._known:
            self._known[key] = {
                name: self._scaled(name, amount) if name in _SCALED else amount for name, amount in given.items()
            }
        return self._known[key]

    def _scaled(self, name: str, amount: str | int | float) -> str:
        nano = quantity.nano_value(amount) * self.percent
        if name == resources.CPU:
            return f"{-(-nano // (PERCENT * 10**6))}m"
        return str(-(-nano // (PERCENT * 10**9)))


def _pinned_node(pod: Pod) -> str:
    """Return the node to which the DaemonSet controller restricts a pod; "" if there is none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    return affinity.required.named_node if affinity is not None and affinity.required is not None else ""


# ---- the answer


def _row(labels: dict[str, str], members: Sequence[Done]) -> Result:
    results = [one.result for one in members if one.result is not None]
    row: Result = {**labels, "orders": len(members)}
    if not results:
        return row | {"error": next(one.error for one in members)}
    values = sorted(result["found"] for result in results if result["found"] is not None)
    first = results[0]
    row |= {name: first[name] for name in ("nodes", "pods", "allowed")}
    row |= {"values": values, "pending": max(result["pending"] or 0 for result in results)}
    row |= {"complete": all(result["complete"] for result in results), "failed": len(members) - len(results)}
    row["unplaced"] = len(results) - len(values)
    if not row["unplaced"]:
        best_first = values if labels["measure"] == "compaction" else values[::-1]
        row |= {"found": percentile(best_first, 90), "least": values[0], "most": values[-1]}
    return row


def _answer(rows: Sequence[Result], pending: PendingPods) -> str:
    sentences = []
    for measure in ("compaction", "replicas", "requests"):
        mine = [row for row in rows if row["measure"] == measure]
        answered = [row for row in mine if "found" in row]
        if answered:
            better = min if measure == "compaction" else max
            best = better(answered, key=lambda row: row["found"])
            alike = len({row["found"] for row in answered}) == 1
            sentences.append(_sentence(best, "" if alike else best["title"]))
        elif mine:
            sentences.append(_no_answer(mine[0], pending))
    if any("found" in row for row in rows):
        orders = count(max(row["orders"] for row in rows), "random order of the nodes", "random orders of the nodes")
        sentences.append(f"This holds for 90% of {orders}.")
    return " ".join(dict.fromkeys(sentences)) or "No cell was computed."


def _name_rows(rows: Sequence[Result]) -> None:
    """Set `title` of each row: the labels in which the rows of its measure differ, or the configuration."""
    for measure in {row["measure"] for row in rows}:
        mine = [row for row in rows if row["measure"] == measure]
        names = [name for name in GRID_LABELS if len({row.get(name) for row in mine}) > 1]
        for row in mine:
            chosen = [f"seed {row[name]}" if name == "seed" else row[name] for name in names if row.get(name)]
            row["title"] = ", ".join(chosen) or row.get("configuration", "")


def _sentence(row: Result, which: str) -> str:
    start = f"With {which}, " if which else ""
    if row["measure"] == "compaction":
        spared = 1 - row["found"] / row["nodes"] if row["nodes"] else 0
        pods = "the pod fits" if row["pods"] == 1 else f"the {row['pods']:,} pods fit"
        sentence = f"{pods} on {row['found']:,} of {count(row['nodes'], 'node')}"
        sentence += f", so {spared:.0%} of the nodes are not needed" if spared else ""
    else:
        factor = f"{'' if row['complete'] else 'at least '}{row['found']:.2f} times"
        what = f"{factor} as many pods" if row["measure"] == "replicas" else f"pods with {factor} the requests"
        sentence = f"{what} fit"
        if row["measure"] == "requests" and row["found"] < 1:
            sentence = f"the pods fit only if their requests shrink to {row['found']:.0%} of what they are"
    sentence = start + sentence
    return f"{sentence[0].upper()}{sentence[1:]}."


def _no_answer(row: Result, pending: PendingPods) -> str:
    if "error" in row:
        return f"Not answered ({row['measure']}): {row['error']}"
    if not row["pods"]:
        return "The scenario has no pods that could be placed elsewhere."
    if not row["nodes"]:
        return "The scenario has no nodes."
    if row["measure"] == "requests":
        return "The workload does not fit even with a small part of its requests."
    pods = f"{row['pending']:,} of {count(row['pods'], 'pod')} {agree(row['pending'], 'stay')} pending on all nodes"
    allowed = f"{row['allowed']:,}" if row["allowed"] else "none"
    advice = " To measure it, leave out the pods that are pending now." if pending == "first" else ""
    return f"The workload does not fit as it is: placed from scratch, {pods}, and {allowed} may.{advice}"
