"""The devices of a cluster and their use, shared by the plugins of all profiles.

The results of searches are cached by the specs of the claims. A result for a node is valid until devices in one of its
pools are allocated or released, or a slice, class or node changes, so each cycle searches only on nodes with changes.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (dra_manager.go, allocateddevices.go).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np

from scheduler_core.api.devices import Allocation, ResourceClaim
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.dra import allocation_result, consumable_capacity
from scheduler_core.dra.allocation_request import AllocationError, AllocationPlan, make_plan
from scheduler_core.dra.allocator import AllocationSolution, Budget, OutOfTime, Search
from scheduler_core.dra.claims import uid_of
from scheduler_core.dra.pools import Inventory, Pool, PoolID
from scheduler_core.dra.selectors import Selectors
from scheduler_core.dra.shared_counters import InUse
from scheduler_core.framework.interface import Codes

STEPS = 1_000_000  # total steps of all searches in one cycle; upstream stops each search after ten seconds
REMEMBERED = 64  # maximum number of cached columns

CANNOT, TIMED_OUT, INVALID_POOLS = 1, 2, 3  # codes of a Column; each code from ERROR on is an error
ERROR = 4
_KEY = msgspec.json.Encoder()


Shape = tuple[int, bytes]  # of a node: number of its kind, and which of its devices are in use


@dataclass(slots=True)
class Column:
    """Search results for some claims on each node.

    `codes`: uint16 over nodes, 0 where the claims can be allocated. `found`: row -> the solution there, or on an
    equivalent node. `errors`: the errors for codes from ERROR on. `seen`: length of the log that is already included.
    `alike`: results for each shape of node, with the row of the first such node.
    """

    codes: Codes
    found: dict[int, AllocationSolution] = field(default_factory=dict)
    errors: list[AllocationError] = field(default_factory=list)
    seen: int = 0
    alike: dict[Shape, tuple[AllocationSolution | None, int]] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)  # row -> row of the node on which its solution was first found


class Devices:
    """Devices of a cluster, created once when a plugin first needs them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.selectors = Selectors(cluster.release)
        self.in_use = InUse({}, {})
        self.pending: dict[str, ResourceClaim] = {}  # allocated in a cycle whose pod is not bound yet
        self.timed_out: set[str] = set()  # uids of claims whose devices did not become ready in time
        self._made = 0  # number of claims that the scheduler has created
        self._inventory = Inventory(cluster.release, ())
        self._versions: tuple[int, ...] = ()
        self._pools: dict[int, list[Pool]] = {}
        self._kinds: dict[int, int] = {}  # row -> number of its shape, -1 for none
        self._numbers: dict[tuple[tuple[bytes, ...] | None, ...], int] = {}
        self._viewers: dict[PoolID, set[int]] | None = None
        self._columns: dict[bytes, Column] = {}
        self._log: list[PoolID] = []  # pools of which a device was allocated or released
        for claim in cluster.device_claims.values():
            self._count(claim, 1)
        cluster.device_claims.watch(self._claim_changed)

    @staticmethod
    def of_cluster(cluster: Cluster) -> Devices:
        """Return the devices of the cluster."""
        found = cluster.shared.get("devices")
        if found is None:
            found = cluster.shared["devices"] = Devices(cluster)
        assert isinstance(found, Devices)
        return found

    # ---- devices in use

    def _claim_changed(self, key: str, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if old is not None and new is not None and old.status.allocation is new.status.allocation:
            return
        for claim, sign in ((old, -1), (new, 1)):
            if claim is not None:
                self._count(claim, sign)

    def _count(self, claim: ResourceClaim, sign: int) -> None:
        allocation = claim.status.allocation
        for given in allocation.devices.results if allocation is not None else ():
            if given.admin_access:
                continue
            self._log.append((given.driver, given.pool))
            if given.share_id is not None and self.cluster.release.consumable_capacity:
                consumed = self.in_use.consumed.setdefault(given.id, {})
                consumable_capacity.add(consumed, given.consumed_capacity, sign)
                consumed[""] = consumed.get("", 0) + sign  # number of allocations that share the device
                if not consumed[""]:
                    del self.in_use.consumed[given.id]
                continue
            number = self.in_use.devices.get(given.id, 0) + sign
            if number:
                self.in_use.devices[given.id] = number
            else:
                del self.in_use.devices[given.id]

    def promise(self, claim: ResourceClaim) -> None:
        """Count the devices of an allocated claim as in use, although it is not written yet."""
        self.pending[uid_of(claim)] = claim
        self._count(claim, 1)

    def is_pending(self, claim: ResourceClaim) -> bool:
        return bool(self.pending) and (uid_of(claim)) in self.pending

    def end_promise(self, claim: ResourceClaim) -> None:
        """Stop counting the devices of a claim passed to `promise`: it is written now, or will not be."""
        promised = self.pending.pop(uid_of(claim), None)
        if promised is not None:
            self._count(promised, -1)

    def next_number(self) -> int:
        """Return the number of the next claim that the scheduler creates."""
        self._made += 1
        return self._made

    # ---- available devices

    def pools(self, row: int) -> list[Pool]:
        """Return the pools visible to a node."""
        self._refresh()
        found = self._pools.get(row)
        if found is None:
            found = self._pools[row] = self._inventory.pools(self.cluster.nodes.nodes[row])
        return found

    def plan(self, claims: list[ResourceClaim]) -> AllocationPlan:
        return make_plan(claims, self.cluster.device_classes)

    def search(self, row: int, plan: AllocationPlan, budget: Budget | None = None) -> Search:
        """Return a search on one node; it has not run yet."""
        node, release = self.cluster.nodes.nodes[row], self.cluster.release
        return Search(release, node, plan, self.pools(row), self.in_use, self.selectors, budget or Budget(STEPS))

    def column(self, claims: list[ResourceClaim]) -> Column:
        """Return what these unallocated claims can get on each node."""
        self._refresh()
        key = _KEY.encode([claim.spec for claim in claims])
        column = self._columns.get(key)
        size = len(self.cluster.nodes)
        rows: set[int] | range
        if column is None:
            if len(self._columns) >= REMEMBERED:
                del self._columns[next(iter(self._columns))]
            column = self._columns[key] = Column(np.zeros(size, np.uint16))
            rows = range(size)
        else:
            rows = {row for pool in set(self._log[column.seen :]) for row in self._seen_by(pool)}
        column.seen = len(self._log)
        if rows:
            plan, budget = self.plan(claims), Budget(STEPS)
            for row in rows:
                self._evaluate(column, row, plan, budget)
        return column

    def _evaluate(self, column: Column, row: int, plan: AllocationPlan, budget: Budget) -> None:
        column.found.pop(row, None)
        shape = self._shape(row)
        known = column.alike.get(shape) if shape is not None else None
        try:
            found, column.rows[row] = known or (self.search(row, plan, budget).run(), row)
        except OutOfTime:
            budget.left = STEPS // 1000  # the remaining searches get a small budget
            column.codes[row] = TIMED_OUT
            return
        except AllocationError as error:
            known_errors = [(known.problem, known.claim) for known in column.errors]
            if (error.problem, error.claim) not in known_errors:
                column.errors.append(error)
                known_errors.append((error.problem, error.claim))
            column.codes[row] = ERROR + known_errors.index((error.problem, error.claim))
            return
        if shape is not None:
            column.alike[shape] = found, column.rows[row]
        if found is not None:
            column.found[row] = found
            column.codes[row] = 0
        else:
            invalid = any(pool.problem for pool in self.pools(row)) and self.cluster.release.reports_invalid_pools
            column.codes[row] = INVALID_POOLS if invalid else CANNOT

    def _shape(self, row: int) -> Shape | None:
        """Return the shape of a node; None if no other node can have it.

        Nodes of one shape have the same devices in the same positions, with the same ones in use.
        """
        kind = self._kinds.get(row)
        if kind is None:
            shapes = tuple(pool.shape for pool in self.pools(row))
            kind = self._kinds[row] = -1 if None in shapes else self._numbers.setdefault(shapes, len(self._numbers))
        if kind < 0:
            return None
        used = self.in_use.devices
        return kind, bytes(entry.id in used for pool in self.pools(row) for entry in pool.entries)

    def allocate(self, column: Column, row: int, claims: list[ResourceClaim]) -> list[Allocation]:
        """Return the allocations of these claims from the solution on a node."""
        plan, name, found = self.plan(claims), self.cluster.nodes.names[row], column.found[row]
        if column.rows[row] != row:
            found = found.at(self.pools(column.rows[row]), self.pools(row))
        return allocation_result.allocations(self.cluster.release, plan, found, name)

    # ---- cache invalidation

    def _refresh(self) -> None:
        cluster = self.cluster
        slices = cluster.resource_slices.version + cluster.device_taint_rules.version
        versions = (slices, cluster.device_classes.version, cluster.nodes.version)
        if versions == self._versions:
            if len(self._log) > 100_000:
                self._columns.clear()
                self._log.clear()
            return
        if versions[:1] != self._versions[:1]:
            self._inventory = Inventory(
                cluster.release, cluster.resource_slices.values(), cluster.device_taint_rules.values()
            )
            self.selectors.forget()
        self._versions = versions
        for remembered in (self._pools, self._kinds, self._numbers, self._columns):
            remembered.clear()
        self._log.clear()
        self._viewers = None

    def _seen_by(self, pool: PoolID) -> set[int]:
        """Return the rows of the nodes to which a pool is visible."""
        if self._viewers is None:
            self._viewers = {}
            for row in range(len(self.cluster.nodes)):
                for one in self.pools(row):
                    self._viewers.setdefault(one.id, set()).add(row)
        return self._viewers.get(pool, set())
