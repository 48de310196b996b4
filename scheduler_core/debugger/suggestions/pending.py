"""Overview of all pending pods: what they lack, and how many more nodes of which kind would place them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np

from scheduler_core.api.objects import Node
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.add_node import another, kinds, shape
from scheduler_core.debugger.suggestions.owner import equality_of
from scheduler_core.debugger.suggestions.placing import Placing, fewest
from scheduler_core.debugger.suggestions.what_if import WhatIf
from scheduler_core.simulation import Simulation

MOST_KINDS = 6
CYCLES_TIMES_NODES = 3_000_000
AS_NODES = 250  # fixed cost of a cycle, in nodes


class Bottleneck(msgspec.Struct):
    """The most frequent obstacle of `pods` pods, of which `example` is one."""

    reason: str
    plugin: str
    pods: int
    example: str


class MoreNodes(msgspec.Struct):
    """`count` more nodes like `like` place `places` of the pods. The result was simulated. `alternatives`: nodes in
    other zones or regions that help as well."""

    text: str
    like: str
    count: int
    places: int
    changes: list[dict[str, Any]]
    kind: str = "add"
    disturbs: dict[str, int] = {}
    proved: bool = True
    alternatives: list[MoreNodes] = []


class AllPending(msgspec.Struct):
    """Summary of the pending pods.

    `pending`: number of pods that wait for the profiles; `looked`: how many were tried. `lack`: resource -> total
    requests of the pods that lack resources. `bottlenecks`: by number of pods, descending. `remedies`: by number of
    placed pods, descending. `members`: number of pods in pod groups, which are not tried.
    """

    pending: int
    looked: int
    lack: dict[str, int]
    bottlenecks: list[Bottleneck]
    remedies: list[MoreNodes]
    members: int = 0


def all_pending(simulation: Simulation) -> AllPending:
    """Return the summary at the end of a run; the simulation (`restore_run`) is left unchanged.

    Pods that fit, that are being deleted, or that wait for another scheduler are not counted as lacking. The number of
    cycles is limited.
    """
    return _PendingPods(simulation).answer()


class _PendingPods:
    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.cluster = simulation.cluster
        self.placing = Placing(simulation, max(CYCLES_TIMES_NODES // (len(self.cluster.nodes) + AS_NODES), 100))
        scheduler = simulation.scheduler
        waiting = [pod for pod in simulation.pending if not pod.node and not pod.terminating]
        mine = [pod for pod in waiting if pod.pod.spec.scheduler_name in scheduler.profiles]
        grouped = simulation.release.pod_groups
        self.waiting = [pod for pod in mine if not grouped or pod.pod.spec.scheduling_group is None]
        self.waiting.sort(key=lambda pod: -pod.priority)
        self.members = len(mine) - len(self.waiting)
        self.stuck: list[PodInfo] = []

    def answer(self) -> AllPending:
        reasons: Counter[tuple[str, str]] = Counter()
        examples: dict[tuple[str, str], str] = {}
        lack: Counter[str] = Counter()
        known: dict[bytes, tuple[str, str] | None] = {}
        looked = 0
        for pod in self.waiting:
            kind = equality_of(pod)
            if kind not in known:
                if self.placing.cycles <= 0:
                    continue
                self.placing.cycles -= 1
                known[kind] = bottleneck(WhatIf(self.simulation, pod.key).run(()))
            looked += 1
            found = known[kind]
            if found is None:
                continue
            self.stuck.append(pod)
            reasons[found] += 1
            examples.setdefault(found, pod.key)
            if successor(found[0]) == "NodeResourcesFit":
                lack.update(pod.requests | {"pods": 1})
        bottlenecks = [
            Bottleneck(why, plugin, n, examples[plugin, why]) for (plugin, why), n in reasons.most_common(20)
        ]
        return AllPending(len(self.waiting), looked, dict(lack), bottlenecks, self.more_nodes(), self.members)

    def more_nodes(self) -> list[MoreNodes]:
        """Return, for each shape of node, the smallest number of nodes that places as many pods as possible."""
        shapes: dict[object, list[Node]] = {}
        for like in sorted(kinds(self.cluster.nodes.nodes), key=self._fitting_pods, reverse=True):
            shapes.setdefault(shape(like), []).append(like)
        turns = zip_longest(*shapes.values())  # a node of each shape first
        there = [like for turn in turns for like in turn if like is not None][:MOST_KINDS]
        found: dict[object, list[MoreNodes]] = {}
        for like in there if self.stuck else ():
            if self.placing.cycles <= 0:
                break
            number, placed = fewest(partial(self._place, like), len(self.stuck))
            if number and placed and self._place(like, number) >= placed:
                changes = [msgspec.to_builtins(change) for change in self._changes(like, number)]
                text = f"{number} more {'node' if number == 1 else 'nodes'} like {like.name} "
                text += f"{'places' if number == 1 else 'place'} {placed} of {formatting.count(len(self.stuck), 'pod')}"
                more = MoreNodes(text, like.name, number, placed, changes, disturbs={"pods": 0, "nodes": number})
                found.setdefault(shape(like), []).append(more)
        best = []
        for equal in found.values():
            first, *rest = sorted(equal, key=_rank)
            first.alternatives = rest
            best.append(first)
        return sorted(best, key=_rank)

    def _fitting_pods(self, like: Node) -> int:
        """Return how many of the pods such a node is large enough for, one at a time."""
        row = self.cluster.nodes.rows[like.name]
        has = {name: int(column[row]) for name, column in self.cluster.nodes.allocatable.items()}
        return sum(all(has.get(name, 0) >= n for name, n in pod.requests.items()) for pod in self.stuck)

    def _place(self, like: Node, number: int) -> int:
        """Return how many of the pods are placed, in order, with this many more nodes."""
        return len(self.placing.place(self._changes(like, number), self.stuck))

    def _changes(self, like: Node, number: int) -> list[Change]:
        entries = self.cluster.nodes.entries
        return [Change(create=another(entries, like, i)) for i in range(1, number + 1)]


def _rank(more: MoreNodes) -> tuple[int, int, str]:
    return -more.places, more.count, more.like


def bottleneck(trace: CycleTrace) -> tuple[str, str] | None:
    """Return the (plugin, reason) that excludes a pod from most nodes; None for a pod that fits.

    Nodes that only one plugin rejects count; if there are none, the first plugin that rejects each node.
    """
    if trace.placed_on:
        return None
    whole = trace.preenqueue or trace.prefilter
    if whole is not None:
        return whole.plugin, whole.message
    alone: Counter[tuple[str, str]] = Counter()
    codes = {plugin: verdict.codes for plugin, verdict in trace.verdicts.items() if verdict.codes is not None}
    number = sum((column > 0 for column in codes.values()), np.zeros(trace.nodes, np.int64))
    for plugin, column in codes.items():
        for code, status in enumerate(trace.verdicts[plugin].statuses, 1):
            count = int(((column == code) & (number == 1)).sum())
            if count:
                alone[plugin, status.message] += count
    if alone:
        return alone.most_common(1)[0][0]
    decisive: Counter[tuple[str, str]] = Counter()
    for status, rows in trace.decisive_statuses():
        decisive[status.plugin, status.message] += len(rows)
    return decisive.most_common(1)[0][0] if decisive else ("", trace.message or trace.error)
