"""START HERE: the search for suggested fixes of a pod that fits nowhere.

Each node that rejects the pod is a target. The search takes one step for each obstacle at the target and runs the cycle
with these steps. If there are new obstacles, it continues with them. It removes unnecessary steps from a set that
places the pod. It tries the kinds of steps separately (the pod, its nodes, other pods), and then combined. The number
of cycles and the time are limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions import add_node
from scheduler_core.debugger.suggestions.never import forbidden
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import ADD, EVICT, NODE, POD, Combination, Remedy, Step, cheapest
from scheduler_core.debugger.suggestions.strategies import steps_for
from scheduler_core.debugger.suggestions.targets import worth_trying
from scheduler_core.debugger.suggestions.what_if import WhatIf
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation

MOST = 8  # maximum number of fixes
PER_KIND = 3
DEPTH = 5  # rounds, each for obstacles that appear after the previous steps
BREADTH = 5  # combinations of steps per round
ALTERNATIVES = 4  # steps per obstacle
RUNS_TIMES_NODES = 600_000  # cycles x nodes; about a second
LEAST_RUNS, MOST_RUNS = 60, 300
NANOSECONDS = 1_500_000_000  # measured by the scheduler's timer


def remedies(simulation: Simulation, pod: str, most: int = MOST, attempt: int = 1) -> list[Remedy]:
    """Return fixes for a pod that fits nowhere, the smallest first. All are verified and minimal.

    `simulation`: the cluster before the cycle (`restore_run`); it is left unchanged. `pod`: namespace/name. `attempt`:
    attempt number of the pod. Raises InputError if the pod is not pending then.
    """
    what_if = WhatIf(simulation, pod, attempt)
    nodes = max(len(simulation.cluster.nodes), 1)
    budget = min(max(RUNS_TIMES_NODES // nodes, LEAST_RUNS), MOST_RUNS)
    return shortened(FixSearch(what_if, budget).run(), most)


def shortened(found: list[Remedy], most: int) -> list[Remedy]:
    """Return at most `most` fixes in their order, including the best of each kind."""
    best = {remedy.kind: remedy for remedy in reversed(found)}
    firsts = [remedy for remedy in found if best[remedy.kind] is remedy]
    others = [remedy for remedy in found if best[remedy.kind] is not remedy]
    return sorted([*firsts, *others][:most], key=found.index)


class FixSearch:
    """The search for one pod. `budget` is the maximum number of cycles."""

    def __init__(self, what_if: WhatIf, budget: int) -> None:
        self.what_if = what_if
        self.budget = budget
        self._timer = what_if.simulation.scheduler.timer
        self._end = self._timer() + NANOSECONDS
        self.found: dict[bytes, Remedy] = {}
        self._elsewhere: set[bytes] = set()  # fixes made for a node other than the one that the pod then goes to
        self._tried: set[tuple[str, tuple[Step, ...]]] = set()  # (target, steps) already tried
        self.trace: CycleTrace = what_if.run(())

    def run(self) -> list[Remedy]:
        if self.trace.placed_on:
            return []
        names = self.what_if.cluster.nodes.names
        targets = worth_trying(self.what_if, self._past_whole(names[0])) if names else []
        for kind, share, most in ((POD, 0.45, 16), (ADD, 0.1, 3), (NODE, 0.15, 8), (EVICT, 0.15, 6)):
            self._within(share, frozenset({kind}), targets[:most])
        self._add()
        pure = {remedy.kind for remedy in self.found.values()}
        if POD not in pure or len(pure) < 2:
            self._within(0.4, frozenset({POD, NODE, ADD}), targets[:6])
            self._within(0.4, frozenset({POD, NODE, ADD, EVICT}), targets[:6])
        return self.ranked()

    def _within(self, share: float, kinds: frozenset[str], targets: Sequence[str]) -> None:
        end = min(self.what_if.runs + int(self.budget * share), 2 * self.budget)
        for name in targets:
            if self._over(end) or sum(r.kind in kinds for r in self.found.values()) >= 3 * PER_KIND:
                return
            self._solve(Combination(), name, kinds, DEPTH, end)

    def _over(self, end: int) -> bool:
        """Return whether the limit of cycles or time is reached. The time limit is doubled while nothing is found."""
        late = self._timer() - self._end
        return self.what_if.runs >= end or late > (0 if self.found else NANOSECONDS)

    def _past_whole(self, name: str) -> CycleTrace:
        """Return the trace of a cycle without the rejections of the whole pod that steps can remove."""
        plan, trace = Combination(), self.trace
        while (trace.preenqueue or trace.prefilter) is not None and len(plan.steps) < DEPTH:
            _, obstacles = self._obstacles(plan, name) or ("", [])
            more = plan.and_(cheapest([step for steps in obstacles for step in steps], 1))
            if len(more.steps) == len(plan.steps):
                break
            try:
                plan, trace = more, self.what_if.run(more.changes(self.what_if.document))
            except InputError:
                break
        return trace

    def _obstacles(self, plan: Combination, name: str) -> tuple[str, list[list[Step]]] | None:
        """Return (the node where the pod goes or "", the steps against each obstacle at the target).

        Return None if the steps cannot be applied, or if the target's obstacles are handled by `_past_filters`.
        """
        obstacles: list[list[Step]] = []
        placed: list[str] = []
        past: list[CycleTrace] = []

        def look(trace: CycleTrace, pod: PodInfo) -> None:
            row = self.what_if.cluster.nodes.rows.get(name)
            placed.append(self.reached(trace))
            past.append(trace)
            if placed[0] or row is None:
                return
            cluster, framework = self.what_if.cluster, self.what_if.framework
            context = NodeContext(cluster, framework, pod, self.what_if.document, trace, row)
            for plugin in context.statuses():
                obstacles.append(steps_for(plugin, context))

        try:
            self.what_if.run(plan.changes(self.what_if.document), look)
        except InputError:
            return None
        if not placed[0] and self._past_filters(plan, past[0]):
            return None
        return placed[0], obstacles

    def _solve(self, plan: Combination, name: str, kinds: frozenset[str], depth: int, end: int) -> None:
        if self._over(end) or (plan.steps and (name, plan.steps) in self._tried):
            return
        self._tried.add((name, plan.steps))
        result = self._obstacles(plan, name)
        if result is None:
            return
        node, obstacles = result
        if node:
            self._show(plan, node, elsewhere=node != name)
            return
        alternatives = [cheapest([s for s in steps if s.kind in kinds], ALTERNATIVES) for steps in obstacles]
        if depth and alternatives and all(alternatives):
            for steps in _combinations(alternatives):
                if set(steps) <= set(plan.steps):
                    continue
                self._solve(plan.and_(steps), name, kinds, depth - 1, end)

    def _show(self, plan: Combination, node: str, elsewhere: bool = False) -> None:
        """Remove unnecessary steps from a plan and store it. `elsewhere`: the pod goes to a node other than the
        target."""
        for step in sorted(plan.steps, key=lambda step: -step.cost):
            fewer = plan.without(step)
            if fewer.steps and (other := self._fits(fewer)):
                plan, node = fewer, other
        changes = plan.changes(self.what_if.document)
        deleted = [change for change in changes if change.delete is not None and change.delete.kind == "Pod"]
        if forbidden(self.what_if.cluster, [self.what_if.pod], deleted):
            return
        remedy = plan.remedy(self.what_if.document, node)
        if len(remedy.changes) > 1 and not self._minimal(plan.changes(self.what_if.document)):
            return
        key = _key(remedy)
        if not elsewhere:
            self._elsewhere.discard(key)
        elif key not in self.found:
            self._elsewhere.add(key)
        self.found.setdefault(key, remedy)

    def _fits(self, plan: Combination) -> str:
        try:
            return self.reached(self.what_if.run(plan.changes(self.what_if.document)))
        except InputError:  # its steps conflict or cannot be applied
            return ""

    def _run(self, changes: Sequence[Change]) -> str:
        try:
            return self.reached(self.what_if.run(changes))
        except InputError:
            return ""

    def reached(self, trace: CycleTrace) -> str:
        """Return the node where the pod goes, "" if that is not the goal."""
        return trace.placed_on

    def _past_filters(self, plan: Combination, trace: CycleTrace) -> bool:
        """Return whether the target has no more obstacles. An override then continues with scores."""
        return False

    def _minimal(self, changes: Sequence[Change]) -> bool:
        return not any(self._run([*changes[:i], *changes[i + 1 :]]) for i in range(len(changes)))

    def _add(self) -> None:
        """Try another node of each kind until one of its shape helps, alone or with one edit of the pod."""
        cluster = self.what_if.cluster
        there = add_node.kinds(cluster.nodes.nodes)[:12]
        helpful: set[object] = set()  # shapes of nodes
        for like in () if self._over(2 * self.budget) else there:
            if add_node.shape(like) in helpful:
                continue
            plan = Combination((add_node.step(cluster, like),))
            if node := self._fits(plan):
                self._show(plan, node)
                helpful.add(add_node.shape(like))
        if not any(remedy.kind == ADD for remedy in self.found.values()):
            for like in list({add_node.shape(one): one for one in reversed(there)}.values())[:3]:
                step = add_node.step(cluster, like)
                name = str(step.changes[0].create["metadata"]["name"]) if step.changes[0].create else ""
                end = self.what_if.runs + 12
                self._solve(Combination((step,)), name, frozenset({POD}), DEPTH, end)

    def ranked(self) -> list[Remedy]:
        """Return the smallest fixes, a few per kind, without those for other nodes that a smaller one replaces."""
        ranked = sorted(self.found.values(), key=lambda remedy: (remedy.cost, len(remedy.changes), remedy.text))
        counts: dict[str, int] = {}
        shown: list[Remedy] = []
        for remedy in ranked:
            if _key(remedy) in self._elsewhere and any((r.kind, r.node) == (remedy.kind, remedy.node) for r in shown):
                continue
            counts[remedy.kind] = counts.get(remedy.kind, 0) + 1
            if counts[remedy.kind] <= PER_KIND:
                shown.append(remedy)
        return shown


def _combinations(alternatives: Sequence[Sequence[Step]]) -> Iterator[tuple[Step, ...]]:
    """Yield one step per obstacle: the best ones, then variants with one of them replaced."""
    first = tuple(steps[0] for steps in alternatives)
    yield first
    others = [
        (step.cost, tuple(step if i == j else chosen for j, chosen in enumerate(first)))
        for i, steps in enumerate(alternatives)
        for step in steps[1:]
    ]
    for _, steps in sorted(others, key=lambda pair: pair[0])[: BREADTH - 1]:
        yield steps


def _key(remedy: Remedy) -> bytes:
    return msgspec.json.encode(remedy.changes)
