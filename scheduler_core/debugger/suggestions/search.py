"""START HERE: the search for what would let a pod in.

A node that refuses the pod is a target. All that stands in the way there is taken away, a step for each obstacle; the
cycle is run with these steps; if something else is in the way now, the search goes on from there. What places the pod
is stripped of every step that is not needed, and shown. Sides are tried apart: the pod alone, its nodes, other pods;
then together. Bounded by the number of cycles it may run, and by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change, Skip
from scheduler_core.debugger.suggestions import add_node
from scheduler_core.debugger.suggestions.node_context import Spot
from scheduler_core.debugger.suggestions.steps import ADD, CONFIG, EVICT, NODE, POD, Plan, Remedy, Step, cheapest
from scheduler_core.debugger.suggestions.strategies import ways_of
from scheduler_core.debugger.suggestions.targets import worth_trying
from scheduler_core.debugger.suggestions.what_if import Trial, placed_on
from scheduler_core.errors import InputError
from scheduler_core.plugins import REGISTRY
from scheduler_core.simulation import Simulation

MOST = 8  # remedies that are shown
PER_KIND = 3
DEPTH = 5  # rounds of obstacles behind obstacles
BREADTH = 5  # ways past the obstacles of one round
ALTERNATIVES = 4  # steps against one obstacle
RUNS_TIMES_NODES = 600_000  # cycles x nodes; about a second
LEAST_RUNS, MOST_RUNS = 60, 300
NANOSECONDS = 1_500_000_000  # by the scheduler's timer
# The kubelet rejects a pod that breaks these: without the plugin, the pod goes where it cannot run.
KUBELETS = frozenset(name for name, plugin in REGISTRY.items() if plugin.kubelet_admits)
_LAST = ("Volume", "Node", "EBS", "GCE", "Azure", "Dynamic")


def remedies(simulation: Simulation, pod: str, most: int = MOST, attempt: int = 1) -> list[Remedy]:
    """What would let a pod in that fits nowhere; the least first. All are proved and minimal.

    `simulation`: the cluster as it was before the cycle (`rewind`); it is left as it is. `pod`: namespace/name.
    `attempt`: the how many-th it is. Raises InputError for a pod that is not pending then.
    """
    trial = Trial(simulation, pod, attempt)
    nodes = max(len(simulation.cluster.nodes), 1)
    budget = min(max(RUNS_TIMES_NODES // nodes, LEAST_RUNS), MOST_RUNS)
    return shortened(Search(trial, budget).run(), most)


def shortened(found: list[Remedy], most: int) -> list[Remedy]:
    """As many of them, in their order; the best of each kind among them."""
    best = {remedy.kind: remedy for remedy in reversed(found)}
    others = [remedy for remedy in found if best[remedy.kind] is not remedy]
    return sorted([*best.values(), *others][:most], key=found.index)


class Search:
    """One pod's search. `budget`: how many cycles it may run."""

    def __init__(self, trial: Trial, budget: int) -> None:
        self.trial = trial
        self.budget = budget
        self._timer = trial.simulation.scheduler.timer
        self._end = self._timer() + NANOSECONDS
        self.found: dict[bytes, Remedy] = {}
        self._elsewhere: set[bytes] = set()  # of those found, the ones made for another node than the pod then goes to
        self._seen: set[tuple[str, tuple[Step, ...]]] = set()  # at a target
        self.trace: CycleTrace = trial.run(())

    def run(self) -> list[Remedy]:
        if placed_on(self.trace):
            return []
        names = self.trial.cluster.nodes.names
        targets = worth_trying(self.trial, self._past_whole(names[0])) if names else []
        shares = (
            (frozenset({POD}), 0.45, 16),
            (frozenset({ADD}), 0.1, 3),
            (frozenset({NODE}), 0.15, 8),
            (frozenset({EVICT}), 0.15, 6),
        )
        for kinds, share, most in shares:
            self._within(share, kinds, targets[:most])
        self._add()
        pure = {remedy.kind for remedy in self.found.values()}
        if POD not in pure or len(pure) < 2:
            self._within(0.4, frozenset({POD, NODE, ADD}), targets[:6])
            self._within(0.4, frozenset({POD, NODE, ADD, EVICT}), targets[:6])
        self._configure(targets)
        return self.ranked()

    def _within(self, share: float, kinds: frozenset[str], targets: Sequence[str]) -> None:
        end = min(self.trial.runs + int(self.budget * share), 2 * self.budget)
        for name in targets:
            if self._over(end) or sum(r.kind in kinds for r in self.found.values()) >= 3 * PER_KIND:
                return
            self._solve(Plan(), name, kinds, DEPTH, end)

    def _over(self, end: int) -> bool:
        """Whether it has run enough cycles; or had its time, which is twice as long while nothing was found."""
        late = self._timer() - self._end
        return self.trial.runs >= end or late > (0 if self.found else NANOSECONDS)

    # ---- one target

    def _past_whole(self, name: str) -> CycleTrace:
        """The cycle without what rejects the pod as a whole, where there are steps against it: what nodes say then."""
        plan, trace = Plan(), self.trace
        while (trace.preenqueue or trace.prefilter) is not None and len(plan.steps) < DEPTH:
            _, obstacles = self._obstacles(plan, name) or ("", [])
            more = plan.and_(cheapest([step for steps in obstacles for step in steps], 1))
            if len(more.steps) == len(plan.steps):
                break
            try:
                plan, trace = more, self.trial.run(more.changes(self.trial.document))
            except InputError:
                break
        return trace

    def _obstacles(self, plan: Plan, name: str) -> tuple[str, list[list[Step]]] | None:
        """(the node where the pod goes, "" if nowhere; the ways past each obstacle at the target). None if the steps
        cannot be done."""
        seen: list[list[Step]] = []
        placed: list[str] = []
        past: list[CycleTrace] = []

        def look(trace: CycleTrace, pod: PodInfo) -> None:
            row = self.trial.cluster.nodes.rows.get(name)
            placed.append(self.reached(trace))
            past.append(trace)
            if placed[0] or row is None:
                return
            cluster, framework = self.trial.cluster, self.trial.framework
            spot = Spot(cluster, framework, pod, self.trial.document, trace, row)
            for plugin in spot.statuses():
                seen.append([step for ways in ways_of(plugin) for step in ways(spot)])

        try:
            self.trial.run(plan.changes(self.trial.document), look)
        except InputError:
            return None
        if not placed[0] and self._past_filters(plan, past[0]):
            return None
        return placed[0], seen

    def _solve(self, plan: Plan, name: str, kinds: frozenset[str], depth: int, end: int) -> None:
        if self._over(end) or (plan.steps and (name, plan.steps) in self._seen):
            return
        self._seen.add((name, plan.steps))
        result = self._obstacles(plan, name)
        if result is None:
            return
        node, obstacles = result
        if node:
            self._show(plan, node, elsewhere=node != name)
            return
        ways = [cheapest([s for s in steps if s.kind in kinds], ALTERNATIVES) for steps in obstacles]
        if depth and ways and all(ways):
            for steps in _combinations(ways):
                if set(steps) <= set(plan.steps):
                    continue
                self._solve(plan.and_(steps), name, kinds, depth - 1, end)

    # ---- what is found

    def _show(self, plan: Plan, node: str, elsewhere: bool = False) -> None:
        """Strips a plan of what it does not need. `elsewhere`: the pod goes to another node than it was made for."""
        for step in sorted(plan.steps, key=lambda step: -step.cost):
            fewer = plan.without(step)
            if fewer.steps and (other := self._fits(fewer)):
                plan, node = fewer, other
        remedy = plan.remedy(self.trial.document, node)
        if len(remedy.changes) > 1 and not self._minimal(plan.changes(self.trial.document)):
            return
        key = _key(remedy)
        if not elsewhere:
            self._elsewhere.discard(key)
        elif key not in self.found:
            self._elsewhere.add(key)
        self.found.setdefault(key, remedy)

    def _fits(self, plan: Plan) -> str:
        try:
            return self._run(plan.changes(self.trial.document))
        except InputError:  # its steps do not go together
            return ""

    def _run(self, changes: Sequence[Change]) -> str:
        try:
            return self.reached(self.trial.run(changes))
        except InputError:
            return ""

    def reached(self, trace: CycleTrace) -> str:
        """The node that the pod goes to, "" if that is not what is looked for."""
        return placed_on(trace)

    def _past_filters(self, plan: Plan, trace: CycleTrace) -> bool:
        """Whether nothing stands in the way at the target any more; it is taken care of then."""
        return False

    def _minimal(self, changes: Sequence[Change]) -> bool:
        return not any(self._run([*changes[:i], *changes[i + 1 :]]) for i in range(len(changes)))

    def _add(self) -> None:
        """Another node, of the kinds that take the pod; alone, or with one edit of the pod."""
        cluster = self.trial.cluster
        there = add_node.kinds(cluster.nodes.nodes)[:12]
        for like in () if self._over(2 * self.budget) else there:
            step = add_node.step(cluster, like)
            plan = Plan((step,))
            if node := self._fits(plan):
                self._show(plan, node)
        if not any(remedy.kind == ADD for remedy in self.found.values()):
            for like in there[:3]:
                step = add_node.step(cluster, like)
                name = str(step.changes[0].create["metadata"]["name"]) if step.changes[0].create else ""
                end = self.trial.runs + 12
                self._solve(Plan((step,)), name, frozenset({POD}), DEPTH, end)

    def _configure(self, targets: Sequence[str]) -> None:
        """The profile without the plugin that refuses; one that kubelet minds, too, only if nothing else helps."""
        trace, pod = self.trace, self.trial.pod
        whole = trace.preenqueue or trace.prefilter
        names = [whole.plugin] if whole is not None else list(trace.verdicts)
        names += [plugin for status, _ in trace.decisive_statuses() if (plugin := status.plugin) not in names]
        for name in dict.fromkeys(names):
            new = successor(name)
            last = new in KUBELETS or new.startswith(_LAST)
            if (last and self.found and new != "NodeUnschedulable") or name not in self.trial.framework.plugin_names:
                continue
            change = Change(skip=Skip(pod=pod.key, plugin=name))
            what = "predicate" if self.trial.simulation.release.predicates else "plugin"
            step = Step(f"leave {what} {name} out of the profile for this pod", CONFIG, 6.0, None, (change,))
            plan = Plan((step,))
            if node := self._fits(plan):
                self._show(plan, node)

    def ranked(self) -> list[Remedy]:
        """The least first, a few of each kind. What was made for another node than the pod then goes to says nothing
        new where something less takes it there."""
        ranked = sorted(self.found.values(), key=lambda remedy: (remedy.cost, len(remedy.changes), remedy.text))
        counts: dict[str, int] = {}
        kept: list[Remedy] = []
        for remedy in ranked:
            if _key(remedy) in self._elsewhere and any((r.kind, r.node) == (remedy.kind, remedy.node) for r in kept):
                continue
            counts[remedy.kind] = counts.get(remedy.kind, 0) + 1
            if counts[remedy.kind] <= PER_KIND:
                kept.append(remedy)
        return kept


def _combinations(ways: Sequence[Sequence[Step]]) -> Iterator[tuple[Step, ...]]:
    """A step for each obstacle: the best of each, then with one of them replaced by the next best."""
    first = tuple(steps[0] for steps in ways)
    yield first
    others = [
        (step.cost, tuple(step if i == j else chosen for j, chosen in enumerate(first)))
        for i, steps in enumerate(ways)
        for step in steps[1:]
    ]
    for _, steps in sorted(others, key=lambda pair: pair[0])[: BREADTH - 1]:
        yield steps


def _key(remedy: Remedy) -> bytes:
    return msgspec.json.encode(remedy.changes)
