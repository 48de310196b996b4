"""NodeResourceTopologyMatch: refuses nodes whose Topology Manager would refuse the pod, and scores NUMA zones.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesourcetopology.
"""

from collections.abc import Iterable
from typing import Any, Self

import msgspec
import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod
from scheduler_core.api.plugin_args import Complain, Int64, PluginArgs, ResourceSpec, Strict
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cluster import formatting
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.qos import qos_class
from scheduler_core.framework import events
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.contrib import numa_zones
from scheduler_core.plugins.contrib.numa_table import NumaScores, NumaTable
from scheduler_core.plugins.contrib.numa_zones import (
    CANNOT_ALIGN_CONTAINER,
    CANNOT_ALIGN_INIT,
    CANNOT_ALIGN_POD,
    CANNOT_ALIGN_SIDECAR,
    GUARANTEED,
    Alignment,
    InconsistentTopologyError,
    Nano,
    Shape,
    offered_by,
)
from scheduler_core.provenance.context import BYTES, MILLI, View
from scheduler_core.provenance.tree import Tree, constant, every, less, lowest, opposite, some, subtract

STALE = "invalid node topology data"


class NumaScoringStrategy(Strict, frozen=True, kw_only=True):
    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()


class TopologyCache(Strict, frozen=True, kw_only=True):
    """`foreign_pods_detect`: which pods of other schedulers make a node's data invalid. Others are accepted only."""

    foreign_pods_detect: str = "All"
    resync_method: str = "Autodetect"
    informer_mode: str = "Dedicated"
    resync_scope: str = "All"


class NodeResourceTopologyMatchArgs(PluginArgs, frozen=True, kw_only=True):
    """How zones are scored, and whether pods that were placed since the last report of a node are subtracted."""

    scoring_strategy: NumaScoringStrategy | None = None
    cache_resync_period_seconds: Int64 = 0
    discard_reserved_nodes: bool = False
    cache: TopologyCache = msgspec.field(default_factory=TopologyCache)
    preemption_mode: str = "Disabled"  # only newer sources than those that decide here have it
    # of v1beta1; the plugin no longer reads them
    kubeconfigpath: str | None = None
    masteroverride: str | None = None
    namespaces: tuple[str, ...] | None = None
    not_in = {
        "v1beta1": ("preemptionMode",),
        **dict.fromkeys(("v1beta2", "v1beta3"), ("kubeconfigpath", "masteroverride", "namespaces", "preemptionMode")),
        "v1": ("kubeconfigpath", "masteroverride", "namespaces"),
    }

    def finish(self, complain: Complain) -> Self:
        strategy = self.scoring_strategy or NumaScoringStrategy(type=numa_zones.LEAST)
        if strategy.type not in numa_zones.STRATEGIES:
            complain("scoringStrategy.type", f'Invalid value: "{strategy.type[:80]}": invalid ScoringStrategyType')
        if self.preemption_mode != "Disabled":
            known = (
                "is not simulated: zones stay as reported"
                if self.preemption_mode == "Enabled"
                else "is no PreemptionMode"
            )
            complain("preemptionMode", f'"{self.preemption_mode[:80]}" {known}')
        usual = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
        strategy = msgspec.structs.replace(strategy, resources=strategy.resources or usual)
        return msgspec.structs.replace(self, scoring_strategy=strategy)


class NodeResourceTopologyMatch(fwk.FilterPlugin, fwk.ScorePlugin, fwk.ReservePlugin, fwk.PostBindPlugin):
    name = "NodeResourceTopologyMatch"
    args_class = NodeResourceTopologyMatchArgs
    in_tree = False
    memory = ("_foreign", "_schedulers")
    best = "the one whose NUMA zones suit the pod best"
    pod_fields = ("resources",)
    phrases = {
        CANNOT_ALIGN_POD: "have no NUMA zone that holds the whole pod",
        CANNOT_ALIGN_CONTAINER: "have no NUMA zone that holds one of the pod's containers",
        CANNOT_ALIGN_INIT: "have no NUMA zone that holds one of the pod's init containers",
        CANNOT_ALIGN_SIDECAR: "have no NUMA zone that holds one of the pod's sidecar containers",
        STALE: "have NUMA zones of which it is not known what is free",
    }

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.weights = {one.name: one.weight or 1 for one in args.scoring_strategy.resources}
        self._discards = args.discard_reserved_nodes
        self._counts = not self._discards and args.cache_resync_period_seconds > 0
        self._zones = NumaTable([], [])
        self._versions = (-1, -1)
        self._changed: set[str] = set()  # nodes with other assumed pods than `_zones` has
        self._assumed: dict[str, dict[str, Nano]] = {}  # node -> pods placed by this scheduler -> requests
        self._foreign: set[str] = set()  # nodes that have, or had, pods of other schedulers
        self._schedulers: frozenset[str] | None = None
        cluster.shared.setdefault(self.name, []).append(self)
        if self._counts:
            for pod in cluster.pods.values():
                if not pod.pod.spec.node_name:  # placed earlier in this run
                    self._assume(pod, pod.node)
            cluster.watch_pods(self._placed)

    # ---- the state of nodes

    def recall_pods(self, placed: Iterable[PodInfo], evicted: Iterable[tuple[PodInfo, bool]]) -> None:
        """Subtract the pods of this scheduler, also evicted ones, and mark the nodes of evicted pods of others."""
        if not self._counts:
            return
        self._stale()
        for pod in placed:
            self._assume(pod, pod.node)
        for pod, by_run in evicted:
            if by_run:
                self._assume(pod, pod.node)
            self._note_foreign(pod)

    def _placed(self, pod: PodInfo, placed: bool) -> None:
        if placed and self._schedulers is not None:
            self._note_foreign(pod)

    def _note_foreign(self, pod: PodInfo) -> None:
        """Mark the node of a pod of another scheduler."""
        detect = self.args.cache.foreign_pods_detect
        if detect == "None" or pod.pod.spec.scheduler_name in (self._schedulers or ()):
            return
        topology = self.cluster.node_topologies.get(pod.node)
        if topology is None:
            return
        listed = {resource.name for zone in topology.zones for resource in zone.resources}
        if detect != "OnlyExclusiveResources" or has_exclusive(pod.pod, listed):
            self._foreign.add(pod.node)

    def _stale(self) -> set[str]:
        """Return the nodes of which it is not known what is free."""
        if self._discards:
            return {node for node, pods in self._assumed.items() if pods}
        if self._counts and self._schedulers is None:
            sharing: list[fwk.Plugin] = self.cluster.shared[self.name]
            self._schedulers = frozenset(one.handle.profile.scheduler_name for one in sharing)
            for pod in self.cluster.pods.values():
                self._note_foreign(pod)
        return self._foreign

    def _assume(self, pod: PodInfo, node: str) -> None:
        if node in self.cluster.node_topologies:
            self._assumed.setdefault(node, {})[pod.key] = numa_zones.shape_of(pod.pod).requests
            self._changed.add(node)

    def _table(self) -> NumaTable:
        """Return the zones of all nodes, with a cache less what the pods of this scheduler request."""
        cluster = self.cluster
        versions = (cluster.node_topologies.version, cluster.nodes.version)
        if versions != self._versions:
            self._versions = versions
            topologies = [cluster.node_topologies.get(name) for name in cluster.nodes.names]
            self._zones = NumaTable(topologies, cluster.nodes.nodes)
            self._changed = set(self._assumed if self._counts else ())
        while self._changed:
            name = self._changed.pop()
            if (row := cluster.nodes.rows.get(name)) is not None:
                self._zones.subtract(row, self._assumed[name].values())
        return self._zones

    def _shape(self, state: fwk.CycleState, pod: PodInfo) -> Shape:
        return state.of_class((self.name, "shape"), lambda: numa_zones.shape_of(pod.pod))

    # ---- Filter

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Refuse nodes where the Topology Manager cannot align the pod, by the zones that their agents reported."""
        shape = self._shape(state, pod)
        if not numa_zones.looks(shape):
            return fwk.PASSES
        table, nodes = self._table(), self.cluster.nodes
        choices = [(nodes.mask(self._stale()), fwk.unschedulable(STALE))]
        if (crashes := table.too_high()).any():
            name = nodes.names[int(np.flatnonzero(crashes)[0])]
            choices.append((crashes, fwk.error(_inconsistent(name, numa_zones.TOO_HIGH))))
        choices += [(refused, fwk.unschedulable(message)) for message, refused in table.refusals(shape)]
        return fwk.Verdict.choose(*choices)

    def varies_with(self, pod: PodInfo) -> str:
        """With a cache, the results depend on pods; if a node has no valid score, on which nodes are feasible."""
        if self._counts or self._discards:
            return fwk.ANYTHING
        return fwk.ANYTHING if self._scores(numa_zones.shape_of(pod.pod), slice(None)).crashes else fwk.OBJECTS

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return what the zones of the node have of what the pod requests."""
        topology = context.cluster.node_topologies.get(context.nodes.names[row])
        plugin = context.plugin(NodeResourceTopologyMatch.name)
        if topology is None or status.message == STALE:
            return ""
        assumed = plugin._assumed.get(topology.name) if plugin is not None and plugin._counts else None
        zones = numa_zones.zones_of(topology, assumed)
        wanted = numa_zones.shape_of(context.pod.pod).requests
        parts = []
        for zone in zones[:4]:
            available = zone.available
            has = [_shown(name, available.get(name, 0)) for name, amount in wanted.items() if amount]
            parts.append(f"node-{zone.number} has {formatting.listing(has)}")
        more = f"; and {len(zones) - 4} more zones" if len(zones) > 4 else ""
        return f"{'; '.join(parts)}{more}" if parts else "it has no NUMA zones"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree | None:
        shape = numa_zones.shape_of(view.pod.pod)
        topology = self.cluster.node_topologies.get(view.node.name)
        if not numa_zones.looks(shape):
            return constant(False, "the pod requests nothing that zones hold").with_text("The plugin passes the pod")
        if view.node.name in self._stale():
            return constant(True, STALE).with_text(f"{view.node.name}: what its zones have free is not known")
        if topology is None:
            return constant(False, "the node has no NodeResourceTopology").with_text("The node reports no NUMA zones")
        manager = numa_zones.manager_of(topology)
        if manager.policy != numa_zones.SINGLE_NUMA_NODE:
            text = f"The policy of its Topology Manager is {manager.policy}"
            return constant(False, "the policy does not align pods").with_text(text)
        zones, offered = numa_zones.zones_of(topology, self._assumed.get(topology.name)), offered_by(view.node)
        try:
            parts = list(numa_zones.alignments(shape, manager, zones, offered))
        except InconsistentTopologyError as problem:
            return constant(True, _inconsistent(topology.name, problem))
        trees = [self._explain_part(view, topology, shape, part) for part in parts]
        tree = some(trees, "a part of the pod has no NUMA zone") if len(trees) > 1 else trees[0]
        text = "no NUMA zone holds it" if tree.value else "a NUMA zone holds it"
        return tree.with_text(f"{view.node.name}: {text}")

    def _explain_part(self, view: View, topology: NodeResourceTopology, shape: Shape, part: Alignment) -> Tree:
        """True if no zone holds this part of the pod."""
        name = "the pod" if part.part < 0 else _container_of(view.pod.pod, part.part)
        wanted = {one: amount for one, amount in part.requests.items() if amount}
        if missing := [one for one in wanted if one not in offered_by(view.node)]:
            return constant(True, f"the node does not offer {missing[0]}, which {name} requests")
        listed = [
            zone for zone in topology.zones if zone.type == "Node" and numa_zones.zone_number(zone.name) is not None
        ]
        zones = []
        for zone, (_, available) in zip(listed, part.left, strict=True):
            fits = []
            for resource, amount in wanted.items():
                if numa_zones.is_unlisted(resource, part.left):
                    continue
                if resource in available and shape.qos != GUARANTEED and numa_zones.is_bound_if_guaranteed(resource):
                    fits.append(constant(True, f"{resource}: the pod is not Guaranteed"))
                    continue
                reported = next(
                    (quantity.nano_value(one.available) for one in zone.resources if one.name == resource), 0
                )
                free = available.get(resource, 0)
                scale, unit = _unit(resource, amount, reported, free)
                request = constant(amount // scale, f"{resource} that {name} requests", unit)
                has = constant(0, f"{resource} is not in the zone", unit)
                if resource in available:
                    place = next(i for i, one in enumerate(zone.resources) if one.name == resource)
                    at = ("zones", topology.zones.index(zone), "resources", place, "available")
                    has = view.holds(topology, *at, label=f"{resource} available")
                    has.value, has.unit = reported // scale, unit
                if free != reported:
                    before = constant((reported - free) // scale, "of pods and containers placed before", unit)
                    has = subtract(has, before, f"{resource} left", unit)
                fits.append(opposite(less(has, request), f"{resource} fits"))
            zones.append(every(fits, f"{zone.name} holds {name}"))
        return opposite(some(zones, f"a zone holds {name}"), f"no zone holds {name}")

    # ---- Score

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the score of the zones by the strategy; 100 for pods that are not Guaranteed, 0 without topology."""
        shape = self._shape(state, pod)
        scores, wrong = self._scores(shape, rows)
        if shape.qos == GUARANTEED and (stale := self._stale()):
            known = ~self.cluster.nodes.mask(stale)[rows]
            scores, wrong = scores * known, {place: text for place, text in wrong.items() if known[place]}
        if wrong:
            raise fwk.ScoreError(wrong[min(wrong)])
        return scores

    def _scores(self, shape: Shape, rows: fwk.Rows) -> NumaScores:
        """Return the scores of these nodes for pods of a shape; `crashes` has the errors of invalid ones as well."""
        names = self.cluster.nodes.names
        if shape.qos != GUARANTEED:
            return NumaScores(np.full(len(np.arange(len(names))[rows]), fwk.MAX_NODE_SCORE, np.int64), {})
        scores, crashes = self._table().scores(self.args.scoring_strategy.type, shape, self.weights, rows)
        wrong = {}
        for place in sorted({*crashes, *np.flatnonzero((scores < 0) | (scores > fwk.MAX_NODE_SCORE)).tolist()}):
            wrong[place] = f'plugin "{self.name}" returns an invalid score {scores[place]}, it should in the range of '
            wrong[place] += f"[0, {fwk.MAX_NODE_SCORE}] after normalizing"
            if place in crashes:
                wrong[place] = _inconsistent(names[int(np.arange(len(names))[rows][place])], crashes[place])
        return NumaScores(scores, wrong)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree | None:
        shape, name = numa_zones.shape_of(view.pod.pod), view.node.name
        if shape.qos != GUARANTEED:
            return constant(100, "MaxNodeScore").with_text("100: the pod is not Guaranteed")
        topology = self.cluster.node_topologies.get(name)
        if topology is None or name in self._stale():
            return constant(0, "MinNodeScore").with_text(f"0: what the zones of {name} have is not known")
        manager, strategy, row = numa_zones.manager_of(topology), self.args.scoring_strategy.type, np.array([view.row])
        if strategy == numa_zones.FEWEST or manager.policy != numa_zones.SINGLE_NUMA_NODE:
            score = int(self._table().scores(strategy, shape, self.weights, row).scores[0])
            text = f"{score} by {strategy} on {name}"
            return constant(score, f"{strategy} with policy {manager.policy}").with_text(text)
        if manager.scope != numa_zones.POD and len(shape.containers) + len(shape.inits) > 1:
            return None
        scores = self._table().zone_scores(strategy, shape.requests, self.weights, row)[:, 0].tolist()
        zones = zip(numa_zones.zones_of(topology), scores, strict=False)  # the table has places for more zones
        counted = [constant(score, f"node-{zone.number} by {strategy}") for zone, score in zones if score]
        tree = lowest(counted, "lowest score of a zone") if counted else constant(0, "no zone fits")
        return tree.with_text(f"{tree.value} = the lowest score of a NUMA zone of {name} by {strategy}")

    # ---- Reserve to PostBind

    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Subtract the pod from every zone of the node from now on, if there is a cache."""
        if self._counts:
            self._assume(pod, node)
        elif self._discards:
            self._assumed.setdefault(node, {})[pod.key] = {}
        return None

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        if self._assumed.get(node, {}).pop(pod.key, None) is not None:
            self._changed.add(node)

    def explain_reserve(self, state: fwk.CycleState, view: View) -> Tree:
        return constant(False, "it refuses nothing").with_text("The requests count in every zone of the node")

    def post_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """End the time in which the node is left out."""
        if self._discards:
            self._assumed.get(node, {}).pop(pod.key, None)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.DELETE),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_ALLOCATABLE),
            events.registered("NodeResourceTopology", events.ADD, events.UPDATE),
        ]


def _inconsistent(name: str, problem: object) -> str:
    return f"NodeResourceTopology {name} is not consistent: {problem}"


def has_exclusive(pod: Pod, listed: set[str]) -> bool:
    """Return whether a container uses what others cannot: devices in zones, or whole cpus or memory if Guaranteed."""
    guaranteed = qos_class(pod) == GUARANTEED
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    for container in (*sidecars, *pod.spec.containers):
        for name, text in container.resources.requests.items():
            nano = quantity.nano_value(text)
            if not numa_zones.is_native(name):
                if name in listed:
                    return True
            elif guaranteed and nano > 0:
                if name == "cpu" and nano % 10**9 == 0:
                    return True
                if name == "memory" or name.startswith("hugepages-"):
                    return True
    return False


def _unit(resource: str, *amounts: int) -> tuple[int, str]:
    """Return by how much amounts in billionths are divided for an explanation, and the unit."""
    scale, unit = (10**6, MILLI) if resource == "cpu" else (10**9, BYTES if "/" not in resource else "")
    return (scale, unit) if not any(amount % scale for amount in amounts) else (1, "billionths")


def _container_of(pod: Pod, part: int) -> str:
    return f"container {[*pod.spec.init_containers, *pod.spec.containers][part].name}"


def _shown(name: str, nano: int) -> str:
    return f"{formatting.amount(name, nano // (10**6 if name == 'cpu' else 10**9))} of {name}"
