"""DynamicResources: devices for a pod's resource claims.

Upstream: pkg/scheduler/framework/plugins/dynamicresources.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.devices import Allocation, ResourceClaim
from scheduler_core.cluster.node_matching import terms_mask
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.devices import claims
from scheduler_core.devices.devices import CANNOT, ERROR, INVALID_POOLS, TIMED_OUT, Column, Devices
from scheduler_core.framework import signers
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    Bool,
    CycleState,
    Filtered,
    FilterPlugin,
    Int64,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Rows,
    ScorePlugin,
    Status,
    Verdict,
    default_normalize,
    error,
    unresolvable,
    unschedulable,
)
from scheduler_core.plugins.claims_told import missing_claims, preference, refused_claims, refused_node
from scheduler_core.provenance.scores import by_highest
from scheduler_core.provenance.tree import Tree, constant
from scheduler_core.provenance.view import View

NOTHING_TO_FREE = unschedulable("no new claims to deallocate")
STILL_NOT = unschedulable("still not schedulable")
DEALLOCATED = unschedulable("deallocation of ResourceClaim completed")
ELSEWHERE = unresolvable("resourceclaim not available on the node")
REFUSALS = {
    CANNOT: unresolvable("cannot allocate all claims"),
    TIMED_OUT: unresolvable("timed out trying to allocate devices"),
    INVALID_POOLS: unresolvable("invalid resource pools were encountered"),
}


@dataclass(slots=True)
class _Cycle:
    """`claims`: the pod's. `missing`: places of those to be allocated. `column`: what they can be given, if there are
    any. `elsewhere`: per claim the nodes that its allocation does not suit, None for no node. `given`: place -> what
    Reserve chose for it."""

    claims: list[ResourceClaim]
    missing: list[int]
    column: Column | None = None
    elsewhere: list[Bool | None] = field(default_factory=list)
    given: dict[int, Allocation] = field(default_factory=dict)

    @property
    def unallocated(self) -> list[ResourceClaim]:
        return [self.claims[place] for place in self.missing]


class DynamicResources(
    PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, PostFilterPlugin, ScorePlugin, ReservePlugin, PreBindPlugin
):  # fmt: skip
    name = "DynamicResources"

    @property
    def devices(self) -> Devices:
        return Devices.of(self.cluster)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Pods wait until their claims are there, and theirs."""
        if not pod.pod.spec.resource_claims:
            return None
        try:
            list(claims.claims_of(pod, self.cluster.device_claims))
        except claims.ClaimProblem as problem:
            return unresolvable(str(problem))
        return None

    # ---- PreFilter, Filter

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """What is to be allocated must name classes that exist; any number of pods may share a claim."""
        if not pod.pod.spec.resource_claims:
            return SKIPPED
        try:
            found = list(claims.claims_of(pod, self.cluster.device_claims))
        except claims.ClaimProblem as problem:
            return unresolvable(str(problem))
        if not found:
            return SKIPPED
        cycle = _Cycle(found, [])
        for place, claim in enumerate(found):
            if claim.status.allocation is None:
                cycle.missing.append(place)
                if (refused := self._allocatable(claim)) is not None:
                    return refused
        state[self.name] = cycle
        return None

    def _allocatable(self, claim: ResourceClaim) -> Status | None:
        if self.devices.is_pending(claim):
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        for request in claim.spec.devices.requests:
            wanted = [(request.name, request.exactly)] if request.exactly is not None else []
            wanted += [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
            if not wanted:
                return unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
            for name, asked in wanted:
                if asked.device_class_name not in self.cluster.device_classes:
                    return unresolvable(f"request {name}: device class {asked.device_class_name} does not exist")
        return None

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        """Nodes where all claims can be had: those allocated already, and devices for the others."""
        cycle: _Cycle | None = state.get(self.name)
        if cycle is None:
            return PASSES
        codes = np.zeros(len(self.cluster.nodes), np.uint16)
        statuses: list[Status] = []
        unallocated = cycle.unallocated
        if unallocated:
            cycle.column = self.devices.column(unallocated)
            codes = cycle.column.codes.copy()
            errors = [error(problem.told(unallocated)) for problem in cycle.column.errors]
            statuses = [REFUSALS[code] for code in range(1, ERROR)] + errors
        cycle.elsewhere = [self._elsewhere(claim) for claim in cycle.claims]
        for away in cycle.elsewhere:
            if away is not None:
                codes[away & (codes == 0)] = len(statuses) + 1
        if not codes.any():
            return PASSES
        return Verdict(codes, (*statuses, ELSEWHERE))

    def _elsewhere(self, claim: ResourceClaim) -> Bool | None:
        """The nodes on which an allocated claim cannot be used."""
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            return None
        there = terms_mask(self.cluster.nodes, allocation.node_selector.node_selector_terms)
        return None if there.all() else ~there

    # ---- PostFilter

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[PostFilterResult | None, Status]:
        """Takes the allocation away from a claim that keeps the pod off some node and that nobody else uses."""
        cycle: _Cycle | None = state.get(self.name)
        if cycle is None:
            return None, NOTHING_TO_FREE
        for place in self._in_the_way(cycle, filtered):
            claim = cycle.claims[place]
            if all(consumer.uid == pod.pod.metadata.uid for consumer in claim.status.reserved_for):
                self.cluster.device_claims[claim.key] = claims.deallocated(claim)
                return None, DEALLOCATED
        return None, STILL_NOT

    def _in_the_way(self, cycle: _Cycle, filtered: Filtered) -> list[int]:
        """Places of the claims for which some node was refused here."""
        found = []
        for place, away in enumerate(cycle.elsewhere):
            for row in np.flatnonzero(away).tolist() if away is not None else ():
                status = filtered.status_at(row)
                if status is not None and status.plugin == self.name and status.reasons == ELSEWHERE.reasons:
                    found.append(place)
                    break
        return found

    # ---- Score

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """Nodes that offer what prioritized lists name first are better: 8 less the number of each alternative had."""
        scores = np.zeros(len(self.cluster.nodes), np.int64)
        cycle: _Cycle | None = state.get(self.name)
        if cycle is not None and cycle.column is not None:
            for row, found in cycle.column.found.items():
                scores[row] = found.preference
        return scores[rows]

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        return default_normalize(scores, reverse=False)

    # ---- Reserve to PreBind

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """The devices found are promised to the pod's claims."""
        cycle: _Cycle | None = state.get(self.name)
        row = self.cluster.nodes.rows.get(node)
        if cycle is None or cycle.column is None or row is None:
            return None
        if row not in cycle.column.found:
            return error("claim allocation not found for node")
        given = self.devices.allocate(cycle.column, row, cycle.unallocated)
        for place, allocation in zip(cycle.missing, given, strict=True):
            cycle.given[place] = allocation
            self.devices.promise(claims.allocated(cycle.claims[place], allocation))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """Promises are taken back; a claim that was reserved for the pod is not any more, but stays allocated."""
        cycle: _Cycle | None = state.get(self.name)
        if cycle is None:
            return
        for claim in cycle.claims:
            self.devices.end_promise(claim)
            known = self.cluster.device_claims.get(claim.key)
            if known is not None and claims.reserved_for(known, pod):
                self.cluster.device_claims[claim.key] = claims.released(known, pod.pod.metadata.uid)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Writes what was promised, and that the pod uses it."""
        cycle: _Cycle | None = state.get(self.name)
        if cycle is None:
            return None
        for place, claim in enumerate(cycle.claims):
            known = self.cluster.device_claims.get(claim.key)
            if known is None or claims.reserved_for(known, pod):
                continue
            given = cycle.given.get(place)
            if given is not None and known.status.allocation is not None:
                return error(f"claim {claim.key} got allocated elsewhere in the meantime")
            self.devices.end_promise(claim)
            self.cluster.device_claims[claim.key] = claims.reserved(known, pod, given)
        return None

    # ---- where it comes from

    def explain_pre_enqueue(self, view: View) -> Tree:
        return missing_claims(view)

    def explain_pre_filter(self, state: CycleState, view: View) -> Tree:
        said = self.pre_filter(CycleState(), view.pod)
        return refused_claims(view, said if isinstance(said, Status) and said.rejected else None)

    def explain_filter(self, state: CycleState, view: View) -> Tree:
        cycle: _Cycle | None = state.get(self.name)
        if cycle is None:
            return constant(False, "the pod uses no claims").tells("DynamicResources refuses no node")
        return refused_node(view, cycle.claims, self.filter(state, view.pod).at(view.row))

    def explain_post_filter(self, state: CycleState, view: View, filtered: Filtered, found: PostFilterResult) -> Tree:
        return constant(False, "no allocation is taken away for a node").tells("DynamicResources makes no room here")

    def explain_score(self, state: CycleState, view: View) -> Tree:
        cycle: _Cycle | None = state.get(self.name)
        return preference(view, cycle.unallocated if cycle is not None else [])

    def explain_normalize(self, state: CycleState, view: View, raw: Tree, scores: Int64) -> Tree:
        return by_highest(view, raw, scores, reverse=False)

    def explain_reserve(self, state: CycleState, view: View) -> Tree:
        told = "the devices that Filter found are there still"
        return constant(False, told).tells(f"DynamicResources takes {view.node.name}: {told}")

    def explain_pre_bind(self, state: CycleState, view: View) -> Tree:
        told = "the claims are written as allocated, and reserved for the pod"
        return constant(False, told).tells(f"DynamicResources takes {view.node.name}: {told}")

    def sign(self, pod: PodInfo) -> signers.Fragments | None:
        return None if pod.pod.spec.resource_claims else {}
