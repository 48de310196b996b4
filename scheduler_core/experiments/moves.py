"""Moves: the fewest moves of running pods after which a pending pod, or a gang, fits, and what they cost."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import amount, count, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.disruption_budgets import SEVERAL, DisruptionBudgets
from scheduler_core.experiments.document import GRID_LABELS, Experiment, cells_of
from scheduler_core.experiments.move_board import Board, PodMove, as_new
from scheduler_core.experiments.move_search import MoveResult, search_moves
from scheduler_core.experiments.parameters import MAX_TARGETS, MovesParameters
from scheduler_core.experiments.question import ExperimentQuestion, not_answered
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.explain.summary import reason_text
from scheduler_core.plugins.volumes import BIND_COMPLETED, claim_name
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.group_waits import group_of

NODES_LISTED = 24
"""Nodes whose pods are in a result."""


class Moves(ExperimentQuestion):
    """The question moves. It has one cell per scenario, release, configuration, seed and set of changes."""

    name = "moves"
    section = MovesParameters
    required = "it names the pending pods"

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        """Yield the cells."""
        wanted = experiment.spec.section(MovesParameters)
        for base in cells_of(experiment):
            yield msgspec.structs.replace(base, parameters=msgspec.to_builtins(wanted))

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        wanted = msgspec.convert(cell.parameters, MovesParameters)
        simulation, targets, pending = _prepared(cell, scenario, wanted, check)
        waiting = [pod for pod in targets if not pod.node]
        names = [pod.key for pod in targets]
        if not waiting:
            placed = {pod.key: pod.node for pod in targets}
            result: Result = {"metrics": {"moves": 0}, "pods": names, "moves": [], "placed": placed}
            return {**result, "minimal": True, "placed_by_run": True}
        budgets = DisruptionBudgets(simulation.cluster, pending, scenario.objects)
        movable, fixed = sort_pods(simulation, budgets)
        board = Board(simulation, waiting, movable, wanted.effort, check)
        found = search_moves(board, wanted.most)
        result = {
            "pods": names,
            "at_least": found.at_least,
            "impossible": found.impossible,
            "ended": found.ended,
            "most": wanted.most,
            "fixed": dict(fixed),
            "movable": len(movable),
            "nominated": {pod.key: pod.nominated_node for pod in waiting if pod.nominated_node},
        }
        if found.moves is None:
            return {**result, "metrics": {}, "reason": _gated(simulation, waiting) or _why_none(found, wanted, movable)}
        replicas = Counter(map(_controller, simulation.cluster.pods.values()))
        moves = [_move_cost(board.original[move.pod], move, replicas, budgets) for move in found.moves]
        placed, problem = verify(cell, scenario, wanted, found, check)
        return {
            **result,
            "metrics": {"moves": len(moves)},
            "moves": moves,
            "placed": placed or found.placed,
            "minimal": found.at_least >= len(moves),
            "verified": not problem,
            "problem": problem,
            "cost": _total_cost(moves),
            "nodes": _nodes_of(simulation.cluster, found),
            "wanted": {pod.key: _requested(pod.requests) for pod in waiting},
        }

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        rows: list[Result] = [
            {name: one.cell.labels.get(name, "") for name in GRID_LABELS}
            | ({"error": one.error} if one.result is None else one.result | {"sentence": sentence(one.result)})
            for one in done
        ]
        answers = [row["sentence"] for row in rows if "sentence" in row]
        if not answers:
            return {"answer": not_answered(done), "rows": rows}
        if len(set(answers)) == 1:
            return {"answer": answers[0], "rows": rows}
        solved = [len(row["moves"]) for row in rows if row.get("moves") is not None]
        if not solved:
            span = "no moves were found"
        elif min(solved) < max(solved):
            span = f"between {min(solved)} and {max(solved)} moves"
        else:
            span = count(solved[0], "move")
        return {"answer": f"Over {len(answers)} cases {span}. The first: {answers[0]}", "rows": rows}


def _prepared(
    cell: Cell, scenario: ScenarioInput, wanted: MovesParameters, check: Check
) -> tuple[Simulation, list[PodInfo], list[PodInfo]]:
    """Return the cluster in which moves are searched for, the pending pods that should fit, in queue order, and all
    pods without a node at first. Raises InputError."""
    simulation = scenario.changed_simulation(cell)
    pending = list(simulation.pending)
    by_key = {pod.key: pod for pod in pending}
    if wanted.group:
        targets = [pod for pod in pending if group_of(pod) == wanted.group]
        if not targets:
            raise InputError("", "spec.moves.group", f"the scenario has no pending pod of group {wanted.group[:253]}")
        if len(targets) > MAX_TARGETS:
            raise InputError("", "spec.moves.group", f"has {len(targets)} pending pods; at most {MAX_TARGETS}")
    else:
        for number, key in enumerate(wanted.pods):
            if key not in by_key:
                runs = simulation.cluster.pods.get(key)
                problem = f"already runs on {runs.node}" if runs else "is not a pending pod of the scenario"
                raise InputError("", f"spec.moves.pods[{number}]", f"{key[:253]} {problem}")
        targets = [pod for pod in pending if pod.key in wanted.pods]
    targets = simulation.in_queue_order(targets)
    for pod in targets:
        simulation.scheduler.framework_of(pod)
    if wanted.pending == "ignore":
        for pod in pending:
            simulation.cluster.nominator.forget(pod)
        simulation.pending, simulation.to_try = list(targets), []
    for _ in simulation.run():
        check()
    return simulation, targets, pending


# ---- which pods may move


def sort_pods(simulation: Simulation, budgets: DisruptionBudgets) -> tuple[list[PodInfo], Counter[str]]:
    """Return the running pods that may move, and why the others may not: reason -> number of pods."""
    movable, fixed = [], Counter[str]()
    for pod in simulation.cluster.pods.values():
        reason = _fixed(pod, simulation, budgets)
        if reason:
            fixed[reason] += 1
        else:
            movable.append(pod)
    return movable, fixed


def _fixed(pod: PodInfo, simulation: Simulation, budgets: DisruptionBudgets) -> str:
    """Return why a running pod may not move; "" if it may."""
    raw, cluster = pod.pod, simulation.cluster
    if pod.terminating:
        return "it is being deleted"
    if raw.placed_by == "kubelet":
        return "it is a static pod"
    if raw.stays_in_drain:
        return "its DaemonSet has one pod per node"
    if raw.metadata.controller_ref is None:
        return "no controller would create it again"
    if raw.spec.scheduler_name not in simulation.scheduler.profiles:
        return "another scheduler places it"
    if pod.node not in cluster.nodes.rows:
        return "its node does not exist"
    if refused := budgets.evict([pod]).refused:
        several = "several PodDisruptionBudgets select it, so it cannot be evicted"
        return several if SEVERAL in refused.values() else "a PodDisruptionBudget allows no disruption"
    if raw.spec.resource_claims:
        return "it has devices of its node"
    for volume in raw.spec.volumes:
        name = claim_name(pod, volume)
        claim = cluster.claims.get(f"{pod.namespace}/{name}") if name else None
        if name and (claim is None or BIND_COMPLETED not in claim.metadata.annotations):
            return "one of its claims is not bound"
    return ""


# ---- costs


def _move_cost(
    pod: PodInfo, move: PodMove, replicas: Mapping[tuple[str, str, str], int], budgets: DisruptionBudgets
) -> Result:
    """Return a move with what it disturbs. `replicas`: the running pods of each controller."""
    return {
        "pod": move.pod,
        "from": move.origin,
        "to": move.node,
        "priority": pod.priority,
        "requests": {name: amount(name, number) for name, number in _requested(pod.requests).items()},
        "cpu": pod.requests.get(resources.CPU, 0),
        "memory": pod.requests.get(resources.MEMORY, 0),
        "controller": " ".join(_controller(pod)[1:]),
        "replicas": replicas[_controller(pod)],
        "budgets": sorted(budgets.selecting(pod.key)),
    }


def _total_cost(moves: Sequence[Result]) -> Result:
    """Return the cost of all moves together. `single`: the disturbed pods that are the only one of their controller."""
    pods = {move["pod"]: move for move in moves}
    return {
        "pods": len(pods),
        "restarts": len(moves),
        "highest_priority": max((move["priority"] for move in moves), default=None),
        "cpu": sum(move["cpu"] for move in pods.values()),
        "memory": sum(move["memory"] for move in pods.values()),
        "single": [name for name, move in pods.items() if move["replicas"] == 1],
        "budgets": sorted({budget for move in moves for budget in move["budgets"]}),
    }


def _controller(pod: PodInfo) -> tuple[str, str, str]:
    owner = pod.pod.metadata.controller_ref
    return (pod.namespace, owner.kind, owner.name) if owner is not None else (pod.namespace, "Pod", pod.name)


def _requested(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in amounts.items() if number}


def _nodes_of(cluster: Cluster, found: MoveResult) -> list[Result]:
    """Return the nodes of the moves in order, each with its pods and their requests before and after them. The cluster
    is as before, and the pending pods are in neither list. At most NODES_LISTED nodes."""
    moves = found.moves or []
    names = dict.fromkeys([*(name for move in moves for name in (move.origin, move.node)), *found.placed.values()])
    last = {move.pod: move.node for move in moves}
    every = {one.key: one for name in names for one in cluster.nodes.entries[name].pods.values()}
    shown = {key: [key, _requested(pod.held)] for key, pod in every.items()}
    nodes = []
    for name in list(names)[:NODES_LISTED]:
        row = cluster.nodes.rows[name]
        there = cluster.nodes.entries[name].pods
        arrived = [key for key, node in last.items() if node == name and key not in there]
        stayed = [key for key in there if last.get(key, name) == name]
        nodes.append(
            {
                "name": name,
                "zone": cluster.nodes.tree.zone_of[name].rpartition(":")[2],
                "allocatable": {one: int(of[row]) for one, of in cluster.nodes.allocatable.items() if of[row]},
                "before": [shown[key] for key in sorted(there)],
                "after": [shown[key] for key in (*sorted(stayed), *arrived)],
            }
        )
    return nodes


# ---- verification


def verify(
    cell: Cell, scenario: ScenarioInput, wanted: MovesParameters, found: MoveResult, check: Check
) -> tuple[dict[str, str], str]:
    """Execute the moves in a new run, and then let the scheduler place the pending pods by itself.

    Returns: the node of each pending pod, and what went wrong ("" if each move passes all filters at its time and each
    pending pod is placed).
    """
    simulation, targets, _ = _prepared(cell, scenario, wanted, check)
    scheduler, cluster = simulation.scheduler, simulation.cluster
    scheduler.preemption = False
    for number, move in enumerate(found.moves or [], 1):
        old = cluster.pods[move.pod]
        cluster.remove_pod(old)
        pod = as_new(old)
        scheduler.places = {pod.key: move.node}
        simulation.pending.append(pod)
        simulation.to_try = [pod]
        for trace in simulation.run():
            row = cluster.nodes.rows[move.node]
            passing = trace.passing() if trace.prefilter is None else None
            refused = trace.prefilter is not None or (passing is not None and not passing[row])
            if refused or trace.result != "scheduled":
                return {}, f"move {number}: {move.pod} does not fit on {move.node}"
    scheduler.places = {}
    simulation.to_try = [pod for pod in targets if not pod.node]
    for _ in simulation.run():
        check()
    left = [pod.key for pod in targets if pod.key not in cluster.pods]
    if left:
        return {}, f"{listing(left)} stayed pending in the run after the moves"
    return {pod.key: cluster.pods[pod.key].node for pod in targets}, ""


# ---- sentences


def _gated(simulation: Simulation, pods: Sequence[PodInfo]) -> str:
    """Return why a pod is not queued, "" if all are."""
    for pod in pods:
        status = simulation.scheduler.framework_of(pod).run_pre_enqueue(pod)
        if status is not None:
            return (
                f"{pod.key} is not queued: {status.plugin} rejects it ({reason_text(status)}), which no moves change."
            )
    return ""


def _why_none(found: MoveResult, wanted: MovesParameters, movable: Sequence[PodInfo]) -> str:
    if found.impossible:
        left = f"the {len(movable):,} pods that may move are" if len(movable) > 1 else "the one pod that may move is"
        if not movable:
            return "None of the running pods may move."
        return f"However {left} placed, no node has what the pending pods need."
    if found.ended:
        least = count(found.at_least, "move")
        return f"The search ended at its effort. At least {least} would be needed. A larger effort may find moves."
    needed = count(found.at_least, "move")
    return f"At least {needed} would be needed, and the search is for {wanted.most} at most."


def sentence(result: Result) -> str:
    """Return the answer of a cell in one sentence or two."""
    names = result["pods"]
    what = names[0] if len(names) == 1 else f"the {len(names)} pods ({some(names, 3)})"
    subject = what[0].upper() + what[1:] if what.startswith("the ") else what
    fits = "fits" if len(names) == 1 else "fit"
    if result.get("placed_by_run"):
        nodes = listing(sorted(set(result["placed"].values())))
        return f"{subject} {fits} without moves: the scheduler places {'it' if len(names) == 1 else 'them'} on {nodes}."
    moves = result.get("moves")
    if moves is None:
        if result["impossible"]:
            return f"No moves of running pods let {what} fit."
        if result["ended"]:
            least = count(result["at_least"], "move")
            return f"No moves were found with which {what} {fits}, before the search ended. It needs at least {least}."
        return f"{subject} {'does' if len(names) == 1 else 'do'} not fit with {count(result['most'], 'move')} or fewer."
    if not moves and result["nominated"]:
        nodes = listing(sorted(set(result["nominated"].values())))
        return f"{subject} {fits} without moves: the scheduler evicts pods of lower priority on {nodes}."
    if not moves:
        return f"{subject} {fits} without moves."
    cost, pods = result["cost"], result["cost"]["pods"]
    text = f"{subject} {fits} after {count(len(moves), 'move')}"
    if len(moves) != pods:
        text += f" of {count(pods, 'pod')}"
    text += ", and fewer do not suffice." if result["minimal"] else f"; at least {result['at_least']} are needed."
    if cost["single"]:
        of_one = "is the only pod of its controller" if len(cost["single"]) == 1 else "are the only pods of theirs"
        text += f" {some(cost['single'], 3)} {of_one}."
    if not result["verified"]:
        text += f" But a run with these moves ended otherwise: {result['problem']}."
    return text
