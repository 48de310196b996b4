"""Backtracking search for devices on one node: claim by claim, request by request, device by device.

The first complete solution is used. Pools, slices and devices are tried in order, as are the alternatives of a
prioritized list.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go,
allocator_incubating.go: Allocate, allocateOne, allocateDevice).
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.api.devices import MAX_RESULTS, MAX_SUB_REQUESTS
from scheduler_core.api.objects import Node, Quantities
from scheduler_core.api.selectors import NO_SCHEDULE, first_untolerated
from scheduler_core.dra import constraints, consumable_capacity
from scheduler_core.dra.allocation_request import AllocationError, AllocationPlan, RequestData
from scheduler_core.dra.pools import DeviceID, Pool, PoolDevice, is_for_device
from scheduler_core.dra.selectors import Selectors
from scheduler_core.dra.shared_counters import Counters, InUse
from scheduler_core.releases import Release

Start = tuple[int, int]  # pool, index of the device in it
BEGINNING: Start = (0, 0)
NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"


@dataclass(slots=True)
class Taken:
    """A device that the search has selected."""

    request: RequestData
    entry: PoolDevice
    pool: Pool
    consumed: Quantities


@dataclass(slots=True)
class AllocationSolution:
    """A solution. `taken`: devices of each claim. `chosen`: (claim, request) -> index of the alternative that
    is used."""

    taken: list[list[Taken]]
    chosen: dict[tuple[int, int], int]

    def at(self, old: list[Pool], new: list[Pool]) -> AllocationSolution:
        """Return the same solution in other pools, which have the same devices in the same positions."""
        places = {entry.id: (p, d) for p, pool in enumerate(old) for d, entry in enumerate(pool.entries)}
        entries = [list(pool.entries) for pool in new]

        def moved(one: Taken) -> Taken:
            p, d = places[one.entry.id]
            return Taken(one.request, entries[p][d], new[p], one.consumed)

        return AllocationSolution([[moved(one) for one in taken] for taken in self.taken], self.chosen)

    @property
    def preference(self) -> int:
        """Score of the alternatives used from prioritized lists: higher if they are earlier in their lists."""
        return sum(MAX_SUB_REQUESTS - alternative for alternative in self.chosen.values())


class TooMany(Exception):
    """The claim would get more devices than allowed, whatever else is tried."""


class OutOfTime(Exception):
    """The search has exceeded its budget of steps."""


class Budget:
    """Limits the total number of steps of several searches."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OutOfTime


class Search:
    """The search on one node. `pools`: the pools visible to the node."""

    def __init__(
        self, release: Release, node: Node, plan: AllocationPlan, pools: list[Pool], in_use: InUse,
        selectors: Selectors, budget: Budget,
    ) -> None:  # fmt: skip
        self._release, self._node, self._plan, self._pools = release, node, plan, pools
        self._in_use, self._selectors, self._budget = in_use, selectors, budget
        self._entries = [[] if pool.incomplete and not pool.pieces else list(pool.entries) for pool in pools]
        self._numbers: dict[tuple[int, int, int], int] = {}  # (claim, request, alternative) -> number of devices
        self._all: dict[tuple[int, int, int], list[tuple[PoolDevice, Pool]]] = {}
        self._constraints: list[list[constraints.ClaimConstraint]] = []
        self._taking: dict[DeviceID, set[int]] = {}
        self._taking_of: dict[DeviceID, consumable_capacity.Consumed] = {}
        self._counters = Counters(in_use, release)
        self.taken: list[list[Taken]] = [[] for _ in plan.claims]
        self._chosen: dict[tuple[int, int], int] = {}

    def run(self) -> AllocationSolution | None:
        """Return devices for all claims; None if there are not enough. Raises AllocationError, OutOfTime."""
        for number in range(len(self._plan.claims)):
            self._prepare(number)
        try:
            return AllocationSolution(self.taken, self._chosen) if self._next(0, 0) else None
        except TooMany:
            raise AllocationError("allocation max size exceeded") from None

    # ---- needs of each request

    def _prepare(self, number: int) -> None:
        claim = self._plan.claims[number].spec.devices
        fewest = 0
        for j, alternatives in enumerate(self._plan.requests[number]):
            counts = [self._count(number, j, k, request) for k, request in enumerate(alternatives)]
            fewest += min(counts, default=0)
        if fewest > MAX_RESULTS:
            problem = f": number of requested devices {fewest} exceeds the claim limit of {MAX_RESULTS}"
            raise AllocationError(problem, number)
        made = []
        for i, constraint in enumerate(claim.constraints):
            one = constraints.make(constraint, self._release.consumable_capacity)
            if one is None:
                problem = f", constraint #{i}: empty constraint (unsupported constraint type?)"
                raise AllocationError(problem, number)
            made.append(one)
        self._constraints.append(made)

    def _count(self, number: int, j: int, k: int, request: RequestData) -> int:
        """Return how many devices the request needs. For a request of all devices, also store these devices."""
        if not self._release.consumable_capacity and request.spec.capacity is not None:
            kind = "subrequest" if request.parent else "request"
            text = f", {kind} {request.name}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
            raise AllocationError(text, number)
        if request.problem:
            raise AllocationError(f", request {request.name}{request.problem}", number)
        found = request.spec.count
        if request.wants_all:
            selecting = request
            if k == 1 and self._release.all_devices_alternatives_use_first and (number, j, 0) in self._all:
                selecting = self._plan.requests[number][j][0]  # upstream reused the first one's cached results
            everything = self._everything(number, request, selecting)
            self._all[number, j, k] = everything
            found = len(everything)
        self._numbers[number, j, k] = found
        return found

    def _everything(self, number: int, request: RequestData, selecting: RequestData) -> list[tuple[PoolDevice, Pool]]:
        found = []
        for pool, entries in zip(self._pools, self._entries, strict=True):
            text = f", request {request.name}: asks for all devices, but resource pool {pool.name} is currently "
            if pool.incomplete:
                raise AllocationError(f"{text}being updated", number)
            if pool.problem:
                raise AllocationError(f"{text}invalid", number)
            found += [
                (entry, pool)
                for entry in entries
                if self._selectable(selecting, entry) and self._has_capacity(request, entry)
            ]
        return found

    def _selectable(self, request: RequestData, entry: PoolDevice) -> bool:
        if entry.device.binding_conditions and not self._release.binding_conditions:
            return False
        if not request.selects(entry, self._selectors):
            return False
        return not entry.piece.spec.per_device_node_selection or is_for_device(entry.device, self._node)

    def _has_capacity(self, request: RequestData, entry: PoolDevice) -> bool:
        if not self._release.consumable_capacity:
            return True
        amounts = consumable_capacity.consumption(self._release, request.spec.capacity, entry.device.capacity)
        if amounts is None:
            return False
        used, taking = self._in_use.consumed.get(entry.id, {}), self._taking_of.get(entry.id, {})
        return consumable_capacity.fits(self._release, amounts, entry.device.capacity, used, taking)

    # ---- the search

    def _next(self, i: int, j: int) -> bool:
        """Continue with request j of claim i, or with the next claim. Raises TooMany."""
        self._budget.step()
        if i >= len(self._plan.claims):
            return True
        if j >= len(self._plan.requests[i]):
            try:
                return self._next(i + 1, 0)
            except TooMany:
                return False  # other alternatives for this claim may leave more for the next one
        alternatives = self._plan.requests[i][j]
        if not alternatives:
            return self._next(i, j + 1)
        if not alternatives[0].parent:
            return self._devices(i, j, 0, 0, BEGINNING)
        too_many = True
        for k in range(len(alternatives)):
            try:
                if self._devices(i, j, k, 0, BEGINNING):
                    self._chosen[i, j] = k
                    return True
                too_many = False
            except TooMany:
                continue
        if too_many:
            raise TooMany
        return False

    def _devices(self, i: int, j: int, k: int, found: int, start: Start) -> bool:
        """Select devices for alternative k of a request. `found` devices are selected; try those from `start` on.

        Raises TooMany.
        """
        self._budget.step()
        request, number = self._plan.requests[i][j][k], self._numbers[i, j, k]
        if request.wants_all and not number:
            return False
        if found >= number:
            return self._next(i, j + 1)
        if len(self.taken[i]) + number - found > MAX_RESULTS:
            raise TooMany
        if request.wants_all:
            entry, pool = self._all[i, j, k][found]
            # Old upstream releases lost the index of the alternative here and continued with the first.
            k = 0 if self._release.all_devices_alternatives_use_first else k
            return self._take(i, request, entry, pool, True) and self._go_on(i, j, k, found, BEGINNING)
        for p in range(start[0], len(self._pools)):
            pool, entries = self._pools[p], self._entries[p]
            if pool.problem or (pool.incomplete and not self._release.allocates_from_incomplete_pools):
                continue
            for d in range(start[1] if p == start[0] else 0, len(entries)):
                entry = entries[d]
                self._budget.step()
                if (
                    self._busy(i, request, entry)
                    or not self._selectable(request, entry)
                    or not self._has_capacity(request, entry)
                ):
                    continue
                if self._take(i, request, entry, pool, False) and self._go_on(i, j, k, found, (p, d + 1)):
                    return True
        return False

    def _go_on(self, i: int, j: int, k: int, found: int, start: Start) -> bool:
        """Continue with one more device; release it if that leads to no solution. Raises TooMany."""
        try:
            if self._devices(i, j, k, found + 1, start):
                return True
        except TooMany:
            self._give_back(i)
            raise
        self._give_back(i)
        return False

    # ---- one device

    def _busy(self, i: int, request: RequestData, entry: PoolDevice) -> bool:
        taking = self._taking.get(entry.id)
        return bool(taking and i in taking) if request.admin else bool(taking) or entry.id in self._in_use.devices

    def _take(self, i: int, request: RequestData, entry: PoolDevice, pool: Pool, must: bool) -> bool:
        """Select a matching device if it is free and satisfies all conditions. `must`: no other device is possible."""
        release, id_ = self._release, entry.id
        multiple = release.consumable_capacity and entry.multiple
        if self._busy(i, request, entry) and not (multiple and request.admin):
            return False
        if entry.consumes:
            if not release.shared_counters:
                return False
            partly = multiple and (id_ in self._in_use.consumed or id_ in self._taking_of)
            if not partly and must and release.all_devices_with_counters_crash:
                raise AllocationError(NIL_POINTER)  # upstream panics here
            if not partly and not self._counters.take(entry, pool):
                return False
        # Counters stay consumed if a later check rejects the device, as in upstream.
        if (
            release.device_taints
            and first_untolerated(entry.device.taints, request.spec.tolerations, NO_SCHEDULE) is not None
        ):
            return False
        concerned = [one for one in self._constraints[i] if one.concerns(request.base, request.sub)]
        for number, one in enumerate(concerned):
            if one.add(entry):
                continue
            if must:
                name = "/".join(id_)
                text = f"cannot add device {name} because a claim constraint would not be satisfied"
                raise AllocationError(f", request {request.name}: {text}", i)
            for earlier in concerned[:number]:
                earlier.remove(entry)
            return False
        if not multiple:
            self._taking.setdefault(id_, set()).add(i)
        amounts: Quantities = {}
        if release.consumable_capacity:
            if not self._has_capacity(request, entry):
                return False
            if multiple:
                amounts = (
                    consumable_capacity.consumption(self._release, request.spec.capacity, entry.device.capacity) or {}
                )
                consumable_capacity.add(self._taking_of.setdefault(id_, {}), amounts)
        self.taken[i].append(Taken(request, entry, pool, amounts))
        return True

    def _give_back(self, i: int) -> None:
        """Release the device that was last selected for claim i."""
        last = self.taken[i].pop()
        request, entry = last.request, last.entry
        for one in self._constraints[i]:
            if one.concerns(request.base, request.sub):
                one.remove(entry)
        self._taking.get(entry.id, set()).discard(i)
        if self._release.consumable_capacity and entry.multiple:
            left = self._taking_of[entry.id]
            consumable_capacity.add(left, last.consumed, -1)
            if not any(left.values()):
                del self._taking_of[entry.id]
        elif entry.consumes:
            self._counters.give_back(entry, last.pool)
