"""Buy: the cheapest set of new nodes that places the pods, with a bound below which no set can cost.

The set is found in a model (`pod_shapes`, `purchase`). Then the scheduler places the pods twice on nodes of
the set: as planned, with the planned node as `status.nominatedNodeName`, which Kubernetes tries first, and by its own
scores. Constraints outside the model can leave pods pending in either run; nodes are then added until all pods run.
They only make a set dearer, so the bound stays valid.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from scheduler_core.api.objects import PodStatus
from scheduler_core.cluster import resources
from scheduler_core.cluster.formatting import count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import Experiment, cells_of, inside
from scheduler_core.experiments.node_catalog import add_node, daemon_sets, new_node, node_name
from scheduler_core.experiments.parameters import BuyParameters, NodeType
from scheduler_core.experiments.pod_shapes import Shapes, shapes_of
from scheduler_core.experiments.purchase import Purchase, first_fit, purchase
from scheduler_core.experiments.purchase_model import Int64, Offer, Problem
from scheduler_core.experiments.question import ExperimentQuestion, not_answered
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import MOST
from scheduler_core.simulation import Simulation

MICRO = 1_000_000  # prices are computed in millionths
MAX_ROUNDS = 12  # in which nodes are added for pods that a run leaves pending
MAX_EXAMPLES = 5
MAX_REASONS = 20
SHOWN_RESOURCES = (resources.CPU, resources.MEMORY)


@dataclass
class RunOnSet:
    """A run on a set of nodes. `types`: new node -> its type. `placed`: pod -> node. `pending`: pods without a node
    and why. `added`: nodes that were added because pods stayed pending."""

    simulation: Simulation
    types: dict[str, str]
    placed: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    added: int = 0


class Buy(ExperimentQuestion):
    """The question buy. A cell is one purchase."""

    name = "buy"
    section = BuyParameters
    required = "it has the catalog of node types"

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        """Yield a cell for each scenario, release, configuration, seed and set of changes. Raises InputError."""
        wanted = experiment.spec.section(BuyParameters)
        for number, one in enumerate(wanted.catalog):
            with inside(f"spec.buy.catalog[{number}]"):
                new_node(one, "node")
        for cell in cells_of(experiment):
            yield msgspec.structs.replace(cell, parameters=msgspec.to_builtins(wanted))

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        return _Computation(cell, scenario, check).result()

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        rows = [{"labels": one.cell.labels, "error": one.error, **(one.result or {})} for one in done]
        found = [row for row in rows if "price" in row]
        if not found:
            return {"answer": not_answered(done), "rows": rows}
        wanted = experiment.spec.section(BuyParameters)
        currency, per = wanted.currency, wanted.per
        if len(found) == 1:
            answer = sentence(found[0], currency, per)
        else:
            best = min(found, key=lambda row: (row["pods"] - row["placed"], row["price"]))
            answer = f"The cheapest of {len(found)} cases: {sentence(best, currency, per)}"
        return {"answer": answer, "rows": rows, "currency": currency, "per": per}


def price_text(price: float, currency: str, per: str = "") -> str:
    """Return a price with two decimals, or more if it has them: `$34.20 per hour`, `EUR 34.20`."""
    digits = f"{price:,.6f}".rstrip("0")
    whole, _, decimals = digits.partition(".")
    space = " " if currency[-1:].isalpha() else ""
    unit = f" per {per}" if per else ""
    return f"{currency}{space}{whole}.{decimals.ljust(2, '0')}{unit}"


def sentence(row: Mapping[str, Any], currency: str, per: str = "") -> str:
    """Return the answer of a cell as one sentence."""
    pods, placed, price, bound = row["pods"], row["placed"], row["price"], row["bound"]
    if not pods:
        return "Nothing to buy: no pod is pending."
    if not placed:
        return f"No set of these node types places any of the {count(pods, 'pending pod')}."
    what = f"all {pods:,} pods" if placed == pods > 1 else count(placed, "pod")
    if placed < pods:
        what = f"{placed:,} of {count(pods, 'pod')}"
    others = f"; {row['short']}" if row["short"] else ""
    if not row["nodes"]:
        if placed < pods and not others:
            others = f"; no node type takes the other {pods - placed:,}"
        return f"Nothing to buy: the existing nodes have space for {what}{others}."
    verb = "places" if row["nodes"] == 1 else "place"
    start = f"{count(row['nodes'])} for {price_text(price, currency, per)} {verb} {what}"
    if others:
        return f"{start}{others}."
    if bound >= price:
        return f"{start}; no set costs less."
    waste = 100 * (price - bound) / price
    return (
        f"{start}; no set costs less than {price_text(bound, currency, per)}, so at most {_percent(waste)} is wasted."
    )


def _percent(number: float) -> str:
    """Return a percentage rounded up, so that it stays an upper bound."""
    step = 0.1 if number < 10 else 1.0
    return f"{np.ceil(number / step - 1e-9) * step:.1f}%" if step < 1 else f"{np.ceil(number):.0f}%"


class _Computation:
    """The computation of a cell."""

    def __init__(self, cell: Cell, scenario: ScenarioInput, check: Check) -> None:
        self.cell, self.scenario, self.check = cell, scenario, check
        self.parameters = msgspec.convert(cell.parameters, BuyParameters)
        self.types: list[NodeType] = self.parameters.catalog
        self.prices = [round(one.price * MICRO) for one in self.types]
        whole = scenario.changed_simulation(cell)  # also with the pods of DaemonSets, which `empty` removes
        pods = (*whole.cluster.pods.values(), *whole.pending)
        self.daemons = daemon_sets(scenario, whole.release, (pod.pod for pod in pods))
        simulation = self._simulation()
        self.existing = list(simulation.cluster.nodes.names)
        to_place, self.gated = _to_place(simulation)
        self.shapes, self.problem = self._model(simulation, to_place)
        self.able = self.problem.usable.any(axis=0) | np.any([one.allowed for one in self.problem.offers], axis=0)
        self.left = {  # the pods that no node takes, and why
            pod.key: "; ".join(dict.fromkeys(filter(None, self.shapes.reasons[shape]))) or "no node type takes it"
            for shape in np.flatnonzero(~self.able)
            for pod in self.shapes.members[shape]
        }
        self._numbers: Counter[int] = Counter()

    def result(self) -> Result:
        problem = self.problem
        if len(self.able):
            demand = np.where(self.able, problem.demand, 0)
            found = purchase(replace(problem, demand=demand), self.parameters.seconds, self.check)
        else:
            found = Purchase(0, 0, 0, 0, [], np.zeros((len(problem.existing), 0), np.int64), problem.demand, True)
        planned = self._planned(found)
        own = self._complete(self._run(planned.types, {}))
        return self._describe(found, planned, own)

    # ---- the model

    def _simulation(self) -> Simulation:
        simulation = self.scenario.changed_simulation(self.cell)
        simulation.scheduler.preemption = False
        simulation.scheduler.collects_rejectors = False
        if self.parameters.workload == "all":
            empty(simulation)
        simulation.cluster.nodes.refresh()
        return simulation

    def _model(self, simulation: Simulation, pods: Sequence[PodInfo]) -> tuple[Shapes, Problem]:
        """Return the shapes of the pods and the problem. One node of each type is added to the simulation."""
        cluster = simulation.cluster
        samples = [node_name(one, number, self.existing) for number, one in enumerate(self.types)]
        for one, name in zip(self.types, samples, strict=True):
            add_node(cluster, new_node(one, name), self.daemons)
        cluster.nodes.refresh()
        rows = [cluster.nodes.rows[name] for name in samples]
        shapes = shapes_of(simulation, pods, rows, self.check)
        capacities = shapes.free(simulation, rows)
        offers = [
            Offer(price, np.maximum(capacity, 0), one.max_count, shapes.allowed[:, row])
            for one, price, capacity, row in zip(self.types, self.prices, capacities, rows, strict=True)
        ]
        there = [cluster.nodes.rows[name] for name in self.existing]
        usable = shapes.allowed[:, there].T.copy()
        return shapes, Problem(shapes.demand, shapes.requests, offers, shapes.free(simulation, there), usable)

    # ---- runs

    def _planned(self, found: Purchase) -> RunOnSet:
        """Run with the planned node of each pod as its nominated node."""
        waiting = [iter(members) for members in self.shapes.members]
        plan: dict[str, str] = {}
        types: dict[str, str] = {}

        def take(node: str, pods: Int64) -> None:
            for shape in np.flatnonzero(pods):
                for _ in range(int(pods[shape])):
                    plan[next(waiting[shape]).key] = node

        for row in np.flatnonzero(found.on_existing.any(axis=1)):
            take(self.existing[row], found.on_existing[row])
        for packing in found.bought:
            for _ in range(packing.nodes):
                name = self._new_name(packing.offer, types)
                types[name] = self.types[packing.offer].name
                take(name, packing.pods)
        run = self._complete(self._run(types, plan))
        if run.added:
            again = self._run(run.types, run.placed)
            if not again.pending:
                again.added = run.added
                return again
        return run

    def _new_name(self, offer: int, types: Mapping[str, str]) -> str:
        """Return a new name; those of several types can differ in characters only that names of nodes cannot have."""
        while True:
            self._numbers[offer] += 1
            name = node_name(self.types[offer], self._numbers[offer], self.existing)
            if name not in types:
                return name

    def _run(self, types: Mapping[str, str], plan: Mapping[str, str]) -> RunOnSet:
        """Run on a set of nodes. `plan`: pod -> its nominated node."""
        simulation = self._simulation()
        by_name = {one.name: one for one in self.types}
        for name, kind in types.items():
            add_node(simulation.cluster, new_node(by_name[kind], name), self.daemons)
        simulation.cluster.nodes.refresh()
        run = RunOnSet(simulation, dict(types))
        pods, _ = _to_place(simulation)
        self._place(run, [pod for pod in pods if pod.key not in self.left], plan)
        return run

    def _place(self, run: RunOnSet, pods: Sequence[PodInfo], plan: Mapping[str, str]) -> None:
        """Try the pods in order."""
        simulation = run.simulation
        for pod in pods:
            pod.nominated_node = plan.get(pod.key, "")
        simulation.to_try = list(pods)
        run.pending = {pod.key: "not tried" for pod in pods}
        for trace in simulation.run():
            self.check()
            if trace.result != "scheduled" and trace.pod in run.pending:
                run.pending[trace.pod] = trace.message or trace.error or trace.result
        for pod in pods:
            at = simulation.cluster.pods.get(pod.key)
            if at is not None:
                run.placed[pod.key] = at.node
                run.pending.pop(pod.key, None)

    def _complete(self, run: RunOnSet) -> RunOnSet:
        """Add nodes to a run while pods are pending, then take back new nodes that have none. Return the run."""
        cluster, problem, factor = run.simulation.cluster, self.problem, 1
        for _ in range(MAX_ROUNDS):
            if not run.pending:
                break
            demand = np.array([sum(pod.key in run.pending for pod in pods) for pods in self.shapes.members], np.int64)
            used = Counter(run.types.values())
            offers = [
                offer if offer.limit is None else offer._replace(limit=max(0, offer.limit - used[one.name]))
                for offer, one in zip(problem.offers, self.types, strict=True)
            ]
            before = len(run.pending)
            chosen = first_fit(replace(problem.without_existing(demand), offers=offers))
            if not chosen:
                break
            for packing in chosen:
                left_to_buy = offers[packing.offer].limit
                number = packing.nodes * factor if left_to_buy is None else min(packing.nodes * factor, left_to_buy)
                for _ in range(min(number, before)):
                    name = self._new_name(packing.offer, run.types)
                    kind = self.types[packing.offer]
                    run.types[name] = kind.name
                    add_node(cluster, new_node(kind, name), self.daemons)
                    run.added += 1
            cluster.nodes.refresh()
            again = [pod for pod in run.simulation.pending if pod.key in run.pending]
            self._place(run, again, {})
            if len(run.pending) == before:
                factor *= 2
        used_nodes = set(run.placed.values())
        run.types = {name: kind for name, kind in run.types.items() if name in used_nodes}
        return run

    # ---- the result

    def _describe(self, found: Purchase, planned: RunOnSet, own: RunOnSet) -> Result:
        price, pods = self._price(planned), int(self.problem.demand.sum())
        bound = min(found.bound, round(price * MICRO)) if not planned.pending else found.bound
        waiting = {**self.left, **planned.pending}
        reasons: dict[str, list[str]] = {}
        for key, reason in waiting.items():
            reasons.setdefault(reason[:300], []).append(key)
        ranked = sorted(reasons.items(), key=lambda item: -len(item[1]))[:MAX_REASONS]
        gap = (price - bound / MICRO) / price if price else 0.0
        return {
            "metrics": {"price": price, "bound": bound / MICRO, "gap": gap, "nodes_bought": len(planned.types)},
            "pods": pods,
            "gated": self.gated,
            "placed": pods - len(waiting),
            "short": self._short(found, planned),
            "nodes": len(planned.types),
            "price": price,
            "bound": bound / MICRO,
            "resource_bound": min(found.resource_bound, bound) / MICRO,
            "first_fit": None if found.first_fit is None else found.first_fit / MICRO,
            "model_price": found.price / MICRO,
            "complete": found.complete,
            "iterations": found.iterations,
            "seconds": round(found.seconds, 3),
            "added": planned.added,
            "nominated": planned.simulation.release.evaluates_nominated_node_first,
            "on_existing": sum(node not in planned.types for node in planned.placed.values()),
            "own": {
                "price": self._price(own),
                "nodes": len(own.types),
                "added": own.added,
                "pending": len(own.pending),
            },
            "types": [self._type(one, planned, own) for one in self.types],
            "left": [{"reason": why, "count": len(keys), "examples": keys[:MAX_EXAMPLES]} for why, keys in ranked],
            "plan": {"nodes": planned.types, "pods": planned.placed}
            if len(planned.types) + len(planned.placed) <= MOST
            else None,
            "daemon_sets": [workload.title for workload in self.daemons][:MAX_REASONS],
        }

    def _short(self, found: Purchase, planned: RunOnSet) -> str:
        """Return why the set leaves pods pending; "" if it leaves none."""
        left = found.unplaced > 0
        if not planned.pending:
            return ""
        if not left.any():
            return "the scheduler leaves the others pending"
        if any(offer.allowed[left].any() for offer in self.problem.offers):
            return "the others do not fit into the allowed number of nodes"
        return "no node type takes the others"

    def _price(self, run: RunOnSet) -> float:
        prices = {one.name: price for one, price in zip(self.types, self.prices, strict=True)}
        return sum(prices[kind] for kind in run.types.values()) / MICRO

    def _type(self, one: NodeType, planned: RunOnSet, own: RunOnSet) -> dict[str, Any]:
        """Describe a type: how many nodes, and the mean share of them that pods request, DaemonSets included."""
        table = planned.simulation.cluster.nodes
        mine = [name for name, kind in planned.types.items() if kind == one.name]
        rows = [table.rows[name] for name in mine]
        pods = Counter(planned.placed.values())
        fullness = {}
        for resource in sorted(table.allocatable, key=lambda name: (name not in SHOWN_RESOURCES, name)):
            of = table.allocatable[resource][rows]
            if rows and of.any():
                share = table.requested[resource][rows][of > 0] / of[of > 0]
                fullness[resource] = {"mean": round(float(share.mean()), 4), "min": round(float(share.min()), 4)}
        return {
            "name": one.name,
            "price": one.price,
            "count": len(rows),
            "own_count": sum(kind == one.name for kind in own.types.values()),
            "pods": sum(pods[name] for name in mine),
            "fullness": fullness,
        }


def _to_place(simulation: Simulation) -> tuple[list[PodInfo], int]:
    """Return the pods to place, in queue order, and how many are gated."""
    pods = []
    for pod in simulation.to_try:
        if simulation.scheduler.framework_of(pod).run_pre_enqueue(pod) is None:
            pods.append(pod)
    return pods, len(simulation.to_try) - len(pods)


def empty(simulation: Simulation) -> None:
    """Remove all nodes. Pods that ran there become pending, except those that belong to a node."""
    cluster = simulation.cluster
    profiles = simulation.scheduler.profiles
    moved = []
    for pod in list(cluster.pods.values()):
        cluster.remove_pod(pod)
        if not pod.pod.stays_in_drain and pod.pod.spec.scheduler_name in profiles and not pod.terminating:
            spec = msgspec.structs.replace(pod.pod.spec, node_name="")
            moved.append(PodInfo(msgspec.structs.replace(pod.pod, spec=spec, status=PodStatus()), pod.release))
    simulation.pending = [pod for pod in [*moved, *simulation.pending] if not pod.pod.stays_in_drain]
    tried = {pod.key for pod in (*moved, *simulation.to_try)}
    simulation.to_try = [pod for pod in simulation.pending if pod.key in tried]
    simulation.sort_pods()
    for name in list(cluster.nodes.names):
        node = cluster.nodes.entries[name].node
        if node is not None:
            cluster.remove(node)
