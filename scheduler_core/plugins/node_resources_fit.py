"""NodeResourcesFit: the node must have the requested resources free; scores nodes by their utilization.

Upstream: pkg/scheduler/framework/plugins/noderesources (fit.go).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from msgspec import structs

from scheduler_core.api.objects import Node
from scheduler_core.api.plugin_args import Complain, PluginArgs, check_qualified_name
from scheduler_core.api.syntax import shown
from scheduler_core.cluster import formatting, resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import on_rows
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra import extended_resources
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.resource_allocation import (
    ResourceScorer,
    ScoringStrategy,
    Strategy,
    check_scoring_strategy,
    column_of,
    explain_strategy,
    make_scorer,
    with_weights,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.requests import in_use, request, unit_of
from scheduler_core.provenance.tree import Tree, constant, equal, less, less_equal, some, subtract

_FIRST_RESOURCE = 4  # the bit of the first resource in a code
_MOST_BITS = 60
_FEW_BITS = 7  # the number of resources from which on a code has more than 8 bits
_FEW_ROWS = 512  # for which a matrix product is the fastest way to codes
_NEVER = np.iinfo(np.int64).min  # every node has this amount
_MOST = np.iinfo(np.int64).max

_COMMON = (resources.CPU, resources.MEMORY, resources.EPHEMERAL)

_Wanted = Sequence[tuple[str, int]]  # see `resources_needed`
_Limits = tuple[fwk.Int64, fwk.Integers, int, bool]  # see `_limits`
_Needs = tuple[_Wanted, _Limits | None]  # None if more resources are wanted than a code has bits

SIDECARS = fwk.unresolvable("Pod has a restartable init container and the SidecarContainers feature is disabled")

PODS = "pods"


def lacking(reasons: Sequence[str]) -> list[str]:
    """Return the resources in the reasons of NodeResourcesFit; `pods` for too many pods."""
    named = [r.removeprefix("Insufficient ") for r in reasons if r.startswith("Insufficient ")]
    return [*named, PODS] if "Too many pods" in reasons else named  # old releases: "Insufficient pods"


def lacks(names: Sequence[str]) -> str:
    """Return `lack cpu and a free pod slot`."""
    return f"lack {formatting.listing(['a free pod slot' if name == PODS else name for name in names])}"


def _sidecars(pod: PodInfo) -> list[int]:
    """Return the indices of the init containers that keep running."""
    return [i for i, container in enumerate(pod.pod.spec.init_containers) if container.restart_policy == "Always"]


def _beyond(name: str, request: int, there: bool) -> Obstacle:
    """Return the obstacle of nodes whose total is smaller than the request, or that do not have the resource."""
    if not there:
        return Obstacle(causes.RESOURCE_ABSENT, causes.NEVER, f"have no {name}", (name,))
    size = f"are smaller than the request of {formatting.amount(name, request)} {name}"
    size = "take no pods" if name == PODS else size
    return Obstacle(causes.REQUEST_EXCEEDS_NODES, causes.NEVER, size, (name,))


class NodeResourcesFitArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of NodeResourcesFit. `scoring_strategy` is never None after `finish`."""

    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("scoringStrategy",))

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None

    def finish(self, complain: Complain) -> Self:
        for i, name in enumerate(self.ignored_resources):
            check_qualified_name(complain, f"ignoredResources[{i}]", name)
        for i, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                complain(f"ignoredResourceGroups[{i}]", f"must not contain '/', got {shown(group)}")
            check_qualified_name(complain, f"ignoredResourceGroups[{i}]", group)
        strategy = self.scoring_strategy or ScoringStrategy(type="LeastAllocated")
        strategy = structs.replace(strategy, resources=with_weights(strategy.resources))
        check_scoring_strategy(complain, strategy)
        return structs.replace(self, scoring_strategy=strategy)


class NodeResourcesFit(fwk.PreFilterPlugin, fwk.UsageFilter, fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "NodeResourcesFit"
    cause = causes.INSUFFICIENT_RESOURCE
    effort = 1.2
    args_class = NodeResourcesFitArgs
    pod_fields = ("requests", "overhead")
    reasons_name_resources = True
    precise_node_updates = "once"
    kubelet_admits = True
    reads = "amounts"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.too_many_pods = "Too many pods" if cluster.release.too_many_pods_reason_reworded else "Insufficient pods"
        self.most_reasons = 1 if cluster.release.one_reason_per_node else None
        self.ignored = frozenset(args.ignored_resources)
        self.ignored_groups = frozenset(args.ignored_resource_groups)
        self.scorer: ResourceScorer = make_scorer(
            cluster, Strategy.of_fit(args.scoring_strategy), overhead=not cluster.release.fit_score_ignores_overhead
        )

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        if self.cluster.release.rejects_sidecars and _sidecars(pod):
            return SIDECARS
        state[self.name] = self._needs(pod)
        return None

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        leaves = [view.field(view.pod, "spec", "initContainers", i, "restartPolicy") for i in _sidecars(view.pod)]
        parts = [equal(leaf, constant("Always", "a sidecar's policy")) for leaf in leaves]
        return some(parts, "sidecars of the pod").with_text(f"The pod as a whole: {SIDECARS.message}")

    def _wanted(self, state: fwk.CycleState, pod: PodInfo) -> _Wanted:
        """Return `resources_needed`; computed here if the profile disables PreFilter."""
        needs: _Needs | None = state.get(self.name)
        return self.resources_needed(pod) if needs is None else needs[0]

    def _needs(self, pod: PodInfo) -> _Needs:
        wanted = self.resources_needed(pod)
        return wanted, self._limits(wanted) if len(wanted) <= _MOST_BITS else None

    def resources_needed(self, pod: PodInfo) -> _Wanted:
        """Return the (resource, amount) pairs that a node must have free."""
        requests = pod.requests
        others = [name for name in requests if name not in _COMMON and resources.is_scalar(name)]
        if not others and not any(requests.values()):
            return ()
        wanted: list[tuple[str, int]] = []
        zero_counts = not self.cluster.release.fit_skips_zero_requests
        for name in _COMMON:
            amount = requests.get(name, 0)
            if amount or zero_counts:
                wanted.append((name, amount))
        zero_counts = not self.cluster.release.fit_skips_zero_extended_requests
        for name in others:
            amount = requests[name]
            if not (amount or zero_counts):
                continue
            if resources.is_extended(name) and (name in self.ignored or name.split("/")[0] in self.ignored_groups):
                continue
            wanted.append((name, amount))
        return tuple(wanted)

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Report every resource that is insufficient. The status is unresolvable if the request exceeds the allocatable
        amount."""
        (wanted, limits), every = state.get(self.name) or self._needs(pod), slice(None)
        if limits is None:
            wanted = [
                one
                for one in wanted
                if self._codes([one], self._limits([one]), every).max(initial=0) >= _FIRST_RESOURCE
            ]
            limits = self._limits(wanted)
        return self._verdict(wanted, self._codes(wanted, limits, every))

    def varies_with(self, pod: PodInfo) -> str:
        # old releases want cpu, memory and ephemeral-storage of pods without them
        return fwk.USAGE if len(pod.requests) + 3 <= _MOST_BITS else fwk.ANYTHING

    def usage_codes(
        self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows, freed: fwk.Int64 | None = None
    ) -> fwk.Integers:
        wanted, limits = state.get(self.name) or self._needs(pod)
        assert limits is not None, "USAGE"
        return self._codes(wanted, limits, rows, freed)

    def additive_needs(self, pod: PodInfo) -> _Wanted | None:
        wanted = self.resources_needed(pod)
        by_devices = any(extended_resources.class_of(self.cluster, name) is not None for name, _ in wanted)
        return None if by_devices or len(wanted) > _MOST_BITS else wanted

    def verdict(self, pod: PodInfo, codes: fwk.Integers) -> fwk.Verdict:
        return self._verdict(self.resources_needed(pod), codes)

    def _limits(self, wanted: _Wanted) -> _Limits:
        """Return the least free amounts and their bits (in the rows of `NodeTable.free`), the bits that all nodes have,
        and whether a request exceeds the allocatable amount of a node. The bits are 2 for pods, and 4 and above for the
        wanted resources in order."""
        nodes = self.cluster.nodes
        beyond, places = int(self.cluster.release.fit_beyond_allocatable_unresolvable), nodes.places
        smallest = nodes.memo(
            (self.name, "smallest", len(nodes.capacity)), lambda: nodes.capacity.min(axis=1, initial=_MOST).tolist()
        )
        least, bits, everywhere, exceeds = [1], [2], 0, False
        for bit, (name, amount) in enumerate(wanted, 2):
            place = places.get(name)
            if place is None:
                nowhere = amount > 0 and extended_resources.class_of(self.cluster, name) is None
                everywhere |= (1 << bit | beyond) if nowhere else 0
                continue
            while place >= len(least):
                least.append(_NEVER)
                bits.append(0)
            least[place], bits[place] = amount, 1 << bit
            if beyond and amount > smallest[place]:
                exceeds = True
        return column_of(*least), np.array(bits, np.uint8 if len(wanted) < _FEW_BITS else np.int64), everywhere, exceeds

    def _codes(self, wanted: _Wanted, limits: _Limits, rows: fwk.Rows, freed: fwk.Int64 | None = None) -> fwk.Integers:
        """Return what each of the rows lacks as bits: 1 if a request exceeds the allocatable amount, and those of
        `_limits`. uint8 if it holds them, else int64."""
        nodes = self.cluster.nodes
        enough, bits, everywhere, exceeds = limits
        size = len(enough)
        free = nodes.free[:size]
        if not isinstance(rows, slice):
            free = free.take(rows, axis=-1)
        lacking = (free if freed is None else free + freed[:size]) < enough
        for name, _ in wanted if self.cluster.device_classes else ():
            if extended_resources.class_of(self.cluster, name) is not None and name in nodes.places:
                # on other nodes devices provide it; DynamicResources checks them
                lacking[nodes.places[name]] &= self._has(name)[rows]
        if not (everywhere or np.count_nonzero(lacking)):
            return np.zeros(lacking.shape[1], bits.dtype)
        ones = lacking.view(np.uint8)
        codes: fwk.Integers
        if ones.shape[1] <= _FEW_ROWS:
            codes = bits @ ones
        else:
            codes = np.bitwise_or.reduce(ones * bits[:, np.newaxis], axis=0)
        if everywhere:
            codes |= everywhere
        if exceeds:
            lacking &= on_rows(nodes.capacity[:size], rows) < enough
            codes |= np.logical_or.reduce(lacking[1:], axis=0)
        return codes

    def _has(self, name: str) -> fwk.Bool:
        """Return the nodes that have any of the resource as allocatable; bool over nodes."""
        allocatable = self.cluster.nodes.allocatable.get(name)
        return np.zeros(len(self.cluster.nodes), np.bool_) if allocatable is None else allocatable > 0

    def _verdict(self, wanted: _Wanted, codes: fwk.Integers) -> fwk.Verdict:
        """Create one status for each combination of insufficient resources that occurs."""
        refused = codes.nonzero()[0]
        if not len(refused):
            return fwk.PASSES
        few = codes[refused]
        if len(wanted) < 10:  # for few combinations a table is faster than sorting the nodes
            present = np.bincount(few).nonzero()[0]
            number = np.zeros(int(present[-1]) + 1, np.uint16)
            number[present] = np.arange(1, len(present) + 1)
            numbers = number[few]
        else:
            present, inverse = np.unique(few, return_inverse=True)
            numbers = inverse.astype(np.uint16) + np.uint16(1)
        statuses = []
        reasons = [self.too_many_pods, *(f"Insufficient {name}" for name, _ in wanted)]
        for key in present.tolist():
            code = fwk.UNRESOLVABLE if key & 1 else fwk.UNSCHEDULABLE
            messages = tuple(reason for bit, reason in enumerate(reasons) if key >> (bit + 1) & 1)
            statuses.append(fwk.Status(code, messages[: self.most_reasons]))
        column = np.zeros(len(codes), np.uint16)
        column[refused] = numbers
        return fwk.Verdict(column, tuple(statuses))

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        names = lacking(status.reasons)
        kind = causes.PODS_LIMIT if names == [PODS] else cls.cause
        return Obstacle(kind, cls.effort, lacks(names), tuple(names))

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        """Distinguish what a node has in use from what it never has."""
        usual = (cls.obstacle(context, status),)
        if context is None:
            return [usual] * len(rows)
        at = np.asarray(rows, np.intp)
        codes = np.zeros(len(at), np.int64)
        known = [usual]
        for name in reversed(lacking(status.reasons)):
            column = context.nodes.allowed_pods if name == PODS else context.nodes.allocatable.get(name)
            has = np.zeros(len(at), np.int64) if column is None else column[at]
            request = 1 if name == PODS else context.pod.requests.get(name, 0)
            for there, mask in ((True, has < request), (False, has == 0)):
                if there or (name != PODS and resources.is_scalar(name)):
                    codes[mask & (at >= 0)] = len(known)
                    known.append((_beyond(name, request, there),))
        return [known[code] for code in codes.tolist()]

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        nodes, row = self.cluster.nodes, change.row
        reasons: list[str] = []
        hopeless = False
        if nodes.pod_count[row] + len(change.added) - len(change.removed) >= nodes.allowed_pods[row]:
            reasons.append(self.too_many_pods)
        for name, amount in self._wanted(state, pod):
            column = nodes.allocatable.get(name)
            allocatable = int(column[row]) if column is not None else 0
            requested = int(nodes.requested[name][row]) if column is not None else 0
            for other in change.added:
                requested += other.held.get(name, 0)
            if change.freed is not None:
                requested -= change.freed.get(name, 0)
            else:
                requested -= sum(other.held.get(name, 0) for other in change.removed)
            if not allocatable and extended_resources.class_of(self.cluster, name) is not None:
                continue
            if amount > allocatable - requested:
                reasons.append(f"Insufficient {name}")
                hopeless = hopeless or amount > allocatable
        if not reasons:
            return None
        beyond = hopeless and self.cluster.release.fit_beyond_allocatable_unresolvable
        return fwk.Status(fwk.UNRESOLVABLE if beyond else fwk.UNSCHEDULABLE, tuple(reasons[: self.most_reasons]))

    @classmethod
    def describe_best(cls, args: Any) -> str:
        return Strategy.of_fit(args.scoring_strategy).best

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        return None

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Integers:
        return self.scorer(state, pod, rows)

    # ---- explanations

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node, name = view.node, view.node.name
        allowed = view.field(node, "status", "allocatable", "pods", unit="", missing=0)
        runs = [partial(view.runs_here, pod) for pod in view.pods_on(view.row)]
        here = view.long_count(runs, "pods", "pods on the node")
        parts = [less_equal(allowed, here, self.too_many_pods)]
        texts = [f"{here.value} of {allowed.value} pods run there"] if parts[0].value else []
        for resource, asks in self._wanted(state, view.pod):
            if extended_resources.class_of(self.cluster, resource) is not None and not self._has(resource)[view.row]:
                continue
            has = view.field(node, "status", "allocatable", resource, unit=unit_of(resource), missing=0)
            free = subtract(has, in_use(view, view.row, resource), f"{resource} free", unit_of(resource))
            short = less(free, request(view, view.pod, resource), f"Insufficient {resource}")
            parts.append(short)
            if short.value:
                texts.append(f"Insufficient {resource}: {formatting.balance(resource, asks, free.value, has.value)}")
        return some(parts).with_text(f"{name}: {'; '.join(texts) or 'has the requested resources'}")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        return explain_strategy(
            view,
            self.name,
            Strategy.of_fit(self.args.scoring_strategy),
            overhead=not self.cluster.release.fit_score_ignores_overhead,
        )

    sign = staticmethod(signers.requests)

    def events_to_register(self) -> list[events.EventHint]:
        pod_actions = [events.DELETE]
        if self.cluster.release.in_place_resize:
            pod_actions.append(events.UPDATE_POD_SCALE_DOWN)
        return [
            events.registered(events.POD, *pod_actions, hint=self._after_pod_event),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_ALLOCATABLE, hint=self._after_node_change),
        ]

    def _after_pod_event(self, pod: PodInfo, old: PodInfo, new: PodInfo | None) -> bool:
        """Return whether a placed or nominated pod was deleted, this pod was resized, or a placed pod reduced a request
        of a resource that this pod requests."""
        if new is None:
            return bool(old.node or (old.nominated_node and self.cluster.release.queueing_hint_nominated_pods))
        if new.key == pod.key:
            return True
        if not new.node:
            return False
        return any(amount and old.requests.get(r, 0) > new.requests.get(r, 0) for r, amount in pod.requests.items())

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """Return whether the empty node could run the pod, and has more of a requested resource than before."""
        now = resources.amounts(new.status.allocatable)
        if now.get("pods", 0) < 1 or any(
            now.get(name, 0) < amount for name, amount in self._wanted(fwk.CycleState(), pod)
        ):
            return False
        if old is None:
            return True
        before = resources.amounts(old.status.allocatable)
        requested = [name for name, amount in pod.requests.items() if amount]
        return any(now.get(name, 0) > before.get(name, 0) for name in ("pods", *requested))
