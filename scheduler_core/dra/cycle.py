"""The claims of one pod in a scheduling cycle: the nodes where they can be allocated, and the devices."""

from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.devices import Allocation, ResourceClaim
from scheduler_core.cluster.node_matching import terms_mask
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra import binding_conditions, extended_resources
from scheduler_core.dra.devices import CANNOT, ERROR, INVALID_POOLS, TIMED_OUT, Column, Devices
from scheduler_core.framework.interface import PASSES, Bool, ScoreError, Status, Verdict, error, unresolvable

ELSEWHERE = unresolvable("resourceclaim not available on the node")
STALE = unresolvable("cannot schedule extended resource claim")
NOT_THERE = unresolvable("cannot fit resource")
REFUSALS = {
    CANNOT: unresolvable("cannot allocate all claims"),
    TIMED_OUT: unresolvable("timed out trying to allocate devices"),
    INVALID_POOLS: unresolvable("invalid resource pools were encountered"),
}


@dataclass(slots=True)
class ClaimNodeGroup:
    """Nodes that require the same content of the scheduler's own claim. `rows`: bool over nodes, None for all.
    `claims`: the claims to be allocated there."""

    rows: Bool | None
    claims: list[ResourceClaim]
    column: Column


@dataclass(slots=True)
class ClaimCycle:
    """The claims of a pod in its cycle.

    `claims`: claims of the pod; the claim that the scheduler creates is last (`special`, None for none). `elsewhere`:
    for each claim the nodes on which its allocation cannot be used, None for no node. `given`: uid of a claim -> the
    claim and the allocation that Reserve chose.
    """

    devices: Devices
    pod: PodInfo
    claims: list[ResourceClaim]
    special: ResourceClaim | None = None
    extended: dict[str, int] = field(default_factory=dict)
    groups: list[ClaimNodeGroup] = field(default_factory=list)
    elsewhere: list[Bool | None] = field(default_factory=list)
    given: dict[str, tuple[ResourceClaim, Allocation]] = field(default_factory=dict)
    judged: bool = False

    @property
    def stale(self) -> bool:
        """True if an earlier attempt created the scheduler's own claim; that claim must be deleted first."""
        return self.special is not None and not extended_resources.is_temporary(self.special)

    @property
    def unallocated(self) -> list[ResourceClaim]:
        """The pod's own claims that are not allocated yet."""
        return [claim for claim in self.claims if claim.status.allocation is None and claim is not self.special]

    def verdict(self) -> Verdict:
        """Return the verdict of Filter for all nodes."""
        cluster, self.judged = self.devices.cluster, True
        codes = np.zeros(len(cluster.nodes), np.uint16)
        statuses: list[Status] = []
        if self.stale:
            return Verdict(codes + np.uint16(1), (STALE,))
        for group in self._grouped(codes):
            inside = slice(None) if group.rows is None else group.rows
            offset = len(statuses)
            statuses += [REFUSALS[code] for code in range(1, ERROR)]
            statuses += [error(problem.message_for(group.claims)) for problem in group.column.errors]
            found = group.column.codes[inside]
            codes[inside] = np.where(found > 0, found + np.uint16(offset), 0)
            self.groups.append(group)
        statuses += [NOT_THERE, ELSEWHERE]
        codes[codes == _UNFIT] = len(statuses) - 1
        self.elsewhere = [self._elsewhere(claim) for claim in self.claims]
        for away in self.elsewhere:
            if away is not None:
                codes[away & (codes == 0)] = len(statuses)
        return Verdict(codes, tuple(statuses)) if codes.any() else PASSES

    def _grouped(self, codes: np.ndarray[tuple[int], np.dtype[np.uint16]]) -> list[ClaimNodeGroup]:
        """Group the nodes by the claims to be allocated on them.

        Marks nodes in `codes` that lack a resource which no device class provides.
        """
        self.groups = []
        own = self.unallocated
        if self.special is None:
            return [ClaimNodeGroup(None, own, self.devices.column(own))] if own else []
        cluster = self.devices.cluster
        wanted = np.zeros(len(cluster.nodes), np.int64)  # bit i: devices must provide the i-th resource
        names = sorted(self.extended)
        for bit, name in enumerate(names):
            allocatable = cluster.nodes.allocatable.get(name)
            lacking = np.ones(len(wanted), np.bool_) if allocatable is None else allocatable == 0
            if extended_resources.class_of(cluster, name) is not None:
                wanted |= lacking.astype(np.int64) << bit
            else:
                nodes = cluster.nodes.nodes
                absent = [row for row in np.flatnonzero(lacking).tolist() if name not in nodes[row].status.allocatable]
                codes[absent] = _UNFIT
        found = []
        for key in np.unique(wanted[codes == 0]).tolist():
            delegated = [name for bit, name in enumerate(names) if key >> bit & 1]
            claims = list(own)
            if delegated:
                claims.append(
                    extended_resources.with_requests(
                        self.special, extended_resources.requests_for(cluster, self.pod, delegated)
                    )
                )
            if claims:
                found.append(ClaimNodeGroup((wanted == key) & (codes == 0), claims, self.devices.column(claims)))
        return found

    def _elsewhere(self, claim: ResourceClaim) -> Bool | None:
        """Return the nodes on which an allocated claim cannot be used; bool over nodes, None for no node."""
        allocation = claim.status.allocation
        if allocation is None:
            return None
        if self.devices.cluster.release.binding_conditions and binding_conditions.failed(claim, self.devices.timed_out):
            return np.ones(len(self.devices.cluster.nodes), np.bool_)
        if allocation.node_selector is None:
            return None
        there = terms_mask(self.devices.cluster.nodes, allocation.node_selector.node_selector_terms)
        return None if there.all() else ~there

    def group_at(self, row: int) -> ClaimNodeGroup | None:
        """Return the group of a node; None if nothing is to be allocated there."""
        if not self.judged:
            self.verdict()  # Filter has not run: the profile disables it, or the caller only explains a score
        return next((group for group in self.groups if group.rows is None or group.rows[row]), None)

    def preferences(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the preference score of the solution on each node; int64 over nodes.

        Raises ScoreError in 1.35 if some of the claims were allocated before, because upstream finds fewer allocations
        than claims (kubernetes/kubernetes#139016).
        """
        allocated = len(self.claims) - len(self.unallocated)
        if self.groups and allocated and self.devices.cluster.release.mixed_claims_score_fails:
            raise ScoreError(
                f'running Score plugins: plugin "DynamicResources" failed with: number of allocations '
                f"{len(self.unallocated)} is smaller than number of claims"
            )
        scores = np.zeros(len(self.devices.cluster.nodes), np.int64)
        for group in self.groups:
            for row, found in group.column.found.items():
                if group.rows is None or group.rows[row]:
                    scores[row] = found.preference
        return scores


_UNFIT = np.uint16(0xFFFF)
