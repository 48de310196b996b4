"""DynamicResources: allocates devices for the resource claims of a pod.

Upstream: pkg/scheduler/framework/plugins/dynamicresources.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from scheduler_core.api.devices import ResourceClaim
from scheduler_core.api.plugin_args import Complain, PluginArgs
from scheduler_core.api.syntax import go_duration, shown
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra import binding_conditions, claims, extended_resources
from scheduler_core.dra.cycle import ELSEWHERE, REFUSALS, ClaimCycle
from scheduler_core.dra.devices import CANNOT, Devices
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.dynamic_resources_explain import missing_claims, preference, refused_claims, refused_node
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant

NOTHING_TO_FREE = fwk.unschedulable("no new claims to deallocate")
NO_STATE = fwk.error("not found")
STILL_NOT = fwk.unschedulable("still not schedulable")
DEALLOCATED = fwk.unschedulable("deallocation of ResourceClaim completed")
DELETED = fwk.unschedulable("deletion of ResourceClaim completed")
TIMEOUT = fwk.error("device binding timeout")


class DynamicResourcesArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of DynamicResources, as Go durations.

    `filter_timeout`: zero means no limit. `binding_timeout`: how long a pod waits for its devices to become ready.
    """

    since = {"bindingTimeout": "1.36"}

    filter_timeout: str = "10s"
    binding_timeout: str = "10m0s"

    def finish(self, complain: Complain) -> Self:
        for name, text, least, problem in (
            ("filterTimeout", self.filter_timeout, 0, "must not be negative"),
            ("bindingTimeout", self.binding_timeout, 1, "must be at least 1 second"),
        ):
            seconds = go_duration(text)
            if seconds is None:
                complain(name, f"must be a duration such as 10s, got {shown(text)}")
            if seconds < least:
                complain(name, f"{problem}, got {shown(text)}")
        return self


def _claim_names(context: RejectionContext) -> tuple[str, ...]:
    """Return the claims, or templates of claims, that the pod uses."""
    used = context.pod.pod.spec.resource_claims
    return tuple(one.resource_claim_name or one.resource_claim_template_name or one.name for one in used)


class DynamicResources(
    fwk.PreEnqueuePlugin, fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.PostFilterPlugin,
    fwk.HighestNormalized, fwk.ReservePlugin, fwk.PreBindPlugin,
):  # fmt: skip
    name = "DynamicResources"
    cause = causes.DEVICE_CLAIM
    effort = 1.2
    best = "the one with the devices that the pod's claims prefer"
    args_class = DynamicResourcesArgs
    pod_fields = ("resourceClaims",)
    reads = "device_requests"
    phrases = {
        REFUSALS[CANNOT].message: "lack devices that the pod's claims request",
        ELSEWHERE.message: "cannot use the devices of its claim",
    }

    @property
    def devices(self) -> Devices:
        return Devices.of_cluster(self.cluster)

    def pre_enqueue(self, pod: PodInfo) -> fwk.Status | None:
        """Hold the pod back until its claims exist and belong to it."""
        if not pod.pod.spec.resource_claims:
            return None
        try:
            list(claims.claims_of(pod, self.cluster.device_claims))
        except claims.ClaimProblem as problem:
            return fwk.unresolvable(str(problem))
        return None

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        reasons = "; ".join(status.reasons)
        absent = "device class" in reasons and "does not exist" in reasons
        kind = causes.DEVICE_ABSENT if absent else cls.cause
        keys = _claim_names(context) if context is not None else ()
        if absent:
            name = reasons.rpartition("device class ")[2].partition(" ")[0]
            text = f"Its ResourceClaim {formatting.listing(keys)} needs the device class {name}, which does not exist."
            return Obstacle(kind, 1.0, text, keys)
        return Obstacle(kind, 1.0, f"It waits for its ResourceClaim {formatting.listing(keys)}: {reasons}.", keys)

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        """Distinguish nodes with devices in use from nodes without any device."""
        keys = _claim_names(context) if context is not None else ()
        if status.reasons == ELSEWHERE.reasons:
            phrase = cls.phrases[ELSEWHERE.message]
            return [(Obstacle(cls.cause, causes.NEVER, phrase, keys),)] * len(rows)
        used = (Obstacle(cls.cause, cls.effort, cls.obstacle(context, status).phrase, keys),)
        if context is None or status.reasons != REFUSALS[CANNOT].reasons:
            return [used] * len(rows)
        names = formatting.listing(keys)
        wanted = f"that its claims {names} request" if len(keys) > 1 else f"that its claim {names} requests"
        used = (Obstacle(cls.cause, cls.effort, f"have no free device {wanted}", keys),)
        absent = (Obstacle(causes.DEVICE_ABSENT, causes.NEVER, f"have no device {wanted}", keys),)
        devices = Devices.of_cluster(context.cluster)
        return [used if any(pool.entries for pool in devices.pools(row)) else absent for row in rows]

    # ---- PreFilter, Filter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject the pod if a claim to be allocated names a missing device class. Any number of pods may
        share a claim."""
        state[self.name] = None  # PostFilter fails without an entry
        extended = extended_resources.requested(self.cluster, pod)
        if not pod.pod.spec.resource_claims and not extended:
            return fwk.SKIPPED
        try:
            found = list(claims.claims_of(pod, self.cluster.device_claims))
        except claims.ClaimProblem as problem:
            return fwk.unresolvable(str(problem))
        special = extended_resources.claim_of(pod, self.cluster.device_claims.values()) if extended else None
        cycle = ClaimCycle(self.devices, pod, [*found, special] if special is not None else found, special, extended)
        if not cycle.claims:
            return fwk.SKIPPED
        for claim in cycle.unallocated:
            if (refused := self._allocatable(claim)) is not None:
                return refused
        state[self.name] = cycle
        return None

    def varies_with(self, pod: PodInfo) -> str:
        wants_devices = pod.pod.spec.resource_claims or extended_resources.requested(self.cluster, pod)
        return fwk.ANYTHING if wants_devices else fwk.OBJECTS

    def _allocatable(self, claim: ResourceClaim) -> fwk.Status | None:
        if self.devices.is_pending(claim):
            return fwk.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        for request in claim.spec.devices.requests:
            wanted = [(request.name, request.exactly)] if request.exactly is not None else []
            wanted += [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
            if not wanted:
                return fwk.unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
            for name, device_request in wanted:
                class_name = device_request.device_class_name
                if class_name not in self.cluster.device_classes:
                    return fwk.unresolvable(f"request {name}: device class {class_name} does not exist")
        return None

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Return the nodes where allocated claims are available and devices can be allocated for all other claims."""
        cycle: ClaimCycle | None = state.get(self.name)
        return cycle.verdict() if cycle is not None else fwk.PASSES

    # ---- PostFilter

    def post_filter(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[fwk.PostFilterResult | None, fwk.Status]:
        """Deallocate a claim that excludes the pod from some node and that no other pod uses.

        As upstream, this is an error if another plugin rejected the pod before PreFilter of this one; then preemption
        is not tried.
        """
        if self.name not in state:
            return None, NO_STATE
        cycle: ClaimCycle | None = state[self.name]
        if cycle is None:
            return None, NOTHING_TO_FREE
        for claim in self._unavailable_claims(cycle, filtered):
            if claim is not cycle.special and not claims.of_others(claim, pod):
                self.cluster.device_claims[claim.key] = claims.deallocated(claim)
                return None, DEALLOCATED
        if cycle.special is not None and cycle.stale:
            del self.cluster.device_claims[cycle.special.key]
            return None, DELETED
        return None, STILL_NOT

    def _unavailable_claims(self, cycle: ClaimCycle, filtered: fwk.Filtered) -> Iterator[ResourceClaim]:
        """Yield the claims that caused this plugin to reject a node."""
        for claim, away in zip(cycle.claims, cycle.elsewhere, strict=False):
            for row in np.flatnonzero(away).tolist() if away is not None else ():
                status = filtered.status_at(row)
                if status is not None and status.plugin == self.name and status.reasons == ELSEWHERE.reasons:
                    yield claim
                    break

    # ---- Score

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Prefer nodes that satisfy earlier alternatives of prioritized lists: the score is the sum, over requests, of
        8 minus the index of the alternative that is used."""
        cycle: ClaimCycle | None = state.get(self.name)
        scores = cycle.preferences() if cycle is not None else np.zeros(len(self.cluster.nodes), np.int64)
        return scores[rows]

    # ---- Reserve to PreBind

    @fwk.without_skipped
    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Reserve the allocated devices in memory for the pod's claims."""
        cycle: ClaimCycle | None = state.get(self.name)
        row = self.cluster.nodes.rows.get(node)
        if cycle is None or row is None:
            return None
        group = cycle.group_at(row)
        if group is None:
            return fwk.error("claim allocation not found for node") if cycle.unallocated else None
        if row not in group.column.found:
            return fwk.error("claim allocation not found for node")
        given = self.devices.allocate(group.column, row, group.claims)
        for claim, allocation in zip(group.claims, given, strict=True):
            cycle.given[claims.uid_of(claim)] = claim, allocation
            self.devices.promise(claims.allocated(claim, allocation))
        return None

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Drop the in-memory reservations. A claim that was reserved for the pod no longer is, but stays allocated. The
        claim that the scheduler created itself is deleted."""
        cycle: ClaimCycle | None = state.get(self.name)
        if cycle is None:
            return
        for claim in cycle.claims:
            self.devices.end_promise(claim)
            known = self.cluster.device_claims.get(claim.key)
            if known is None or not claims.reserved_for(known, pod):
                continue
            if claim is cycle.special:
                del self.cluster.device_claims[claim.key]
            else:
                self.cluster.device_claims[claim.key] = claims.released(known, pod)

    @fwk.without_skipped
    def pre_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Write the allocations and reserve the claims for the pod. Waiting for devices that are not ready always times
        out, because no driver is simulated."""
        cycle: ClaimCycle | None = state.get(self.name)
        if cycle is None:
            return None
        for place, claim in enumerate(cycle.claims):
            given = cycle.given.get(claims.uid_of(claim))
            known = self.cluster.device_claims.get(claim.key)
            if claim is cycle.special and given is not None:
                known = extended_resources.written(given[0], pod, self.devices.next_number())
                cycle.claims[place] = cycle.special = known
            if known is None or claims.reserved_for(known, pod):
                continue
            if given is not None and known.status.allocation is not None:
                return fwk.error(f"claim {claim.key} got allocated elsewhere in the meantime")
            self.devices.end_promise(claim)
            allocation = given[1] if given is not None else None
            self.cluster.device_claims[known.key] = claims.reserved(known, pod, allocation)
        return self._ready(cycle) if self.cluster.release.binding_conditions else None

    def _ready(self, cycle: ClaimCycle) -> fwk.Status | None:
        for claim in cycle.claims:
            known = self.cluster.device_claims.get(claim.key)
            problem = binding_conditions.problem(known) if known is not None else None
            if problem:
                return fwk.error(problem)
            if problem is not None and known is not None:
                self.devices.timed_out.add(claims.uid_of(known))
                return TIMEOUT
        return None

    # ---- events that may make a pod schedulable

    def events_to_register(self) -> list[events.EventHint]:
        node = [events.ADD, events.UPDATE_NODE_LABEL]
        if self.cluster.release.extended_resources:
            node.append(events.UPDATE_NODE_ALLOCATABLE)
        either = (events.ADD, events.UPDATE)
        return [
            events.registered(events.NODE, *node),
            events.registered("ResourceClaim", *either, hint=self._after_claim_change),
            events.registered("DeviceClass", *either),
            events.registered("ResourceSlice", *either),
        ]

    def _after_claim_change(self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        """Return whether a claim was deallocated, or a claim of the pod was added or changed its status. False while
        any claim of the pod is missing."""
        try:
            mine = [claim.key for claim in claims.claims_of(pod, self.cluster.device_claims)]
        except claims.ClaimProblem:
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        return new.key in mine and (old is None or old.status != new.status)

    # ---- explanations

    def explain_pre_enqueue(self, view: View) -> Tree:
        return missing_claims(view)

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        status = self.pre_filter(fwk.CycleState(), view.pod)
        return refused_claims(view, status if isinstance(status, fwk.Status) and status.rejected else None)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        cycle: ClaimCycle | None = state.get(self.name)
        if cycle is None:
            return constant(False, "the pod uses no claims").with_text("DynamicResources refuses no node")
        refused = self.filter(state, view.pod).at(view.row)
        group = cycle.group_at(view.row)
        return refused_node(view, cycle.claims, group.claims if group is not None else [], refused)

    def explain_post_filter(
        self, state: fwk.CycleState, view: View, filtered: fwk.Filtered, found: fwk.PostFilterResult
    ) -> Tree:
        return constant(False, "no claim is deallocated for this node").with_text(
            "DynamicResources deallocates no claims here"
        )

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        self.pre_filter(state, view.pod)
        cycle: ClaimCycle | None = state.get(self.name)
        group = cycle.group_at(view.row) if cycle is not None else None
        return preference(view, group.claims if group is not None else [])

    def explain_reserve(self, state: fwk.CycleState, view: View) -> Tree:
        text = "the devices that Filter found are still free"
        return constant(False, text).with_text(f"DynamicResources takes {view.node.name}: {text}")

    def explain_pre_bind(self, state: fwk.CycleState, view: View) -> Tree:
        text = "the claims are written as allocated, and reserved for the pod"
        return constant(False, text).with_text(f"DynamicResources takes {view.node.name}: {text}")

    def sign(self, pod: PodInfo) -> signers.Fragments | None:
        return None if pod.pod.spec.resource_claims or extended_resources.requested(self.cluster, pod) else {}
