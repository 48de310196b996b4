"""Explains in one sentence what a node is to the pods that wait: which fit there now, or what keeps them away."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scheduler_core.api.objects import Node
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.system_taints import NEVER, NOT_READY
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.ladder import AMOUNTS, obstacles_at, of_one_node
from scheduler_core.framework import causes
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.node_resources_fit import PODS

FULL = 90  # percent of a resource or of the pod slots
NAMED = 3  # reasons
_OF_NODE = (causes.CORDONED, causes.NODE_NOT_READY)


class Demand(NamedTuple):
    """Pods that wait and are alike. `pod`: the first of them. `trace`: of its cycle in the cluster as it is, with
    verdicts on all nodes. `filters`: the Filter plugins of its profile."""

    pod: PodInfo
    number: int
    trace: CycleTrace
    filters: Sequence[object] = ()


def node_summary(
    cluster: Cluster, name: str, demands: Sequence[Demand], movable: Callable[[], int] | None = None
) -> str:
    """Return one sentence about a node of the cluster. Each pod is considered alone.

    `demands`: of all pods that wait. `movable`: returns how many pods of the node would fit on another one; it is
    called if the node is full.
    """
    row = cluster.nodes.rows[name]
    return _NodeSummary(cluster, row, demands, movable).sentence()


class _NodeSummary:
    def __init__(
        self, cluster: Cluster, row: int, demands: Sequence[Demand], movable: Callable[[], int] | None
    ) -> None:
        self.cluster = cluster
        self.row = row
        self.movable = movable
        self.pending = sum(demand.number for demand in demands)
        self.fit = self.undecided = 0
        # The obstacles of pods that do not fit, with the number of pods.
        self.refused: list[tuple[tuple[Obstacle, ...], int]] = []
        for demand in demands:
            trace = demand.trace
            if trace.preenqueue is not None or trace.prefilter is not None or not trace.nodes:
                self.undecided += demand.number
                continue
            context = RejectionContext(cluster, demand.pod, cluster.nodes.names, demand.filters)
            obstacles = obstacles_at(trace, context, row)
            if obstacles:
                self.refused.append((obstacles, demand.number))
            elif trace.in_subset(row):
                self.fit += demand.number
            else:
                self.undecided += demand.number

    def sentence(self) -> str:
        state = _state(self.cluster.nodes.nodes[self.row])
        rest = self._demand()
        if not state:
            return f"{rest[0].upper()}{rest[1:]}."
        reason = f": the node is {state.lower()}", f": the node {state[0].lower()}{state[1:]}"
        if rest.endswith(reason):
            return f"{state}: {rest.removesuffix(reason[0]).removesuffix(reason[1])}."
        return f"{state}: {rest}." if self._single(_OF_NODE) else f"{state}; {rest}."

    def _share(self, number: int, verb: str) -> str:
        """Return `20 of 37 pending pods fit`, with the verb in its plural form."""
        if self.pending == 1:
            return f"the pending pod {agree(1, verb)}"
        if number == self.pending:
            return f"both pending pods {verb}" if number == 2 else f"all {number:,} pending pods {verb}"
        return f"{number:,} of {count(self.pending, 'pending pod')} {agree(number, verb)}"

    def _single(self, kinds: Sequence[str] = ()) -> tuple[Obstacle, int] | None:
        """Return the obstacle (of one of these kinds) that keeps most pods away alone, and their number."""
        numbers = Counter[tuple[str, tuple[str, ...]]]()
        first: dict[tuple[str, tuple[str, ...]], Obstacle] = {}
        for obstacles, number in self.refused:
            one = obstacles[0]
            if len(obstacles) == 1 and one.effort != causes.NEVER and (not kinds or one.kind in kinds):
                numbers[one.kind, one.objects] += number
                first.setdefault((one.kind, one.objects), one)
        return next(((first[key], number) for key, number in numbers.most_common(1)), None)

    def _demand(self) -> str:
        """Return what the pending pods want of the node, as a clause."""
        if not self.pending:
            used = f" ({self._use()} requested)" if self._use() else ""
            return f"no pod is pending, so nothing asks for this node{used}"
        if self.fit:
            return f"{self._share(self.fit, 'fit')} here now"
        if found := self._single(_OF_NODE):
            return f"{self._share(found[1], 'would fit')} without that"
        if found := self._single():
            return self._one_change(*found)
        if self.undecided == self.pending:
            return f"{self._share(self.pending, 'wait')} for something other than a node"
        return self._none()

    def _one_change(self, found: Obstacle, number: int) -> str:
        everyone = number + self.undecided == self.pending or all(
            any((one.kind, one.objects) == (found.kind, found.objects) for one in obstacles)
            for obstacles, _ in self.refused
        )
        none_does = "the pending pod does not" if self.pending == 1 else "no pending pod"
        part = f"{number:,} of {self.pending:,}" if number < self.pending else "all" if number > 1 else "it"
        would = f"{part} would fit here"
        if found.kind == causes.UNTOLERATED_TAINT and found.objects and everyone:
            verb = "tolerate" if self.pending == 1 else "tolerates"
            return f"{none_does} {verb} {listing(found.objects)}; with that toleration {would}"
        if found.kind == causes.UNTOLERATED_TAINT and found.objects:
            return f"{self._share(number, 'would fit')} here with a toleration of {listing(found.objects)}"
        if found.kind == causes.NODE_SELECTOR and found.objects:
            return f"{self._share(number, 'would fit')} here without the required {listing(found.objects)}"
        if found.kind in AMOUNTS:
            return self._too_full()
        return f"{self._share(number, 'would fit')} here after one change: the node {of_one_node(found.phrase)}"

    def _too_full(self) -> str:
        lacking, number = Counter[str](), 0
        for obstacles, pods in self.refused:
            if len(obstacles) == 1 and obstacles[0].kind in AMOUNTS:
                number += pods
                for name in obstacles[0].objects or (PODS,):
                    lacking[name] += pods
        names = [name for name, _ in lacking.most_common()]
        used = [(name, self._percent(name)) for name in names]
        use = listing([f"{'pod slots' if name == PODS else name} {percent}%" for name, percent in used])
        what = listing(["a pod slot" if name == PODS else name for name in names], "or")
        clause = f"{self._share(number, 'lack')} only {what} here"
        if all(percent < FULL for _, percent in used):
            return f"{clause} ({use} requested)"
        running = int(self.cluster.nodes.pod_count[self.row])
        moves = self.movable() if self.movable is not None else 0
        each = "would" if moves == 1 else "would each"
        could = f", and {moves:,} of its {count(running, 'pod')} {each} fit on another node" if moves else ""
        return f"full, with {use} requested: {clause}{could}"

    def _none(self) -> str:
        """Return why no pod fits after one change: what keeps most of them away, with the pods unless it is all."""
        reasons, changeable = Counter[str](), False
        for obstacles, number in self.refused:
            never = [one for one in obstacles if one.effort == causes.NEVER]
            changeable |= not never
            for words in dict.fromkeys(of_one_node(one.phrase) for one in never[:1] or obstacles):
                reasons[words] += number
        every = sum(number for _, number in self.refused)
        most = reasons.most_common(NAMED)
        parts = [words if number == every else f"{words} ({count(number, 'pod')})" for words, number in most]
        after = " after one change" if changeable and self.pending > 1 else ""
        who = "the pending pod does not fit" if self.pending == 1 else "no pending pod fits"
        return f"{who} here{after}: the node {listing(parts)}"

    def _percent(self, name: str) -> int:
        """Return how much of a resource is requested, in whole percent, rounded down."""
        nodes, row = self.cluster.nodes, self.row
        if name == PODS:
            used, of = int(nodes.pod_count[row]), int(nodes.allowed_pods[row])
        else:
            column = nodes.allocatable.get(name)
            used, of = int(nodes.requested[name][row]), int(column[row]) if column is not None else 0
        return 100 * used // of if of else 0

    def _use(self) -> str:
        """Return `cpu 97% and memory 40%`."""
        names = (resources.CPU, resources.MEMORY)
        return listing([f"{name} {self._percent(name)}%" for name in names if name in self.cluster.nodes.allocatable])


def _state(node: Node) -> str:
    """Return what keeps pods from the node whatever they request, with a capital letter; "" if nothing does."""
    for taint in node.spec.taints:
        if taint.effect == "PreferNoSchedule" or taint.key not in NOT_READY | NEVER:
            continue
        words = agree(1, (NOT_READY | NEVER)[taint.key]).removeprefix("is ")
        return f"{words[0].upper()}{words[1:]}" + (f" since {taint.time_added}" if taint.time_added else "")
    return "Cordoned" if node.spec.unschedulable else ""
