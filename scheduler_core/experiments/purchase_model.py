"""The model in which nodes are bought: shapes of pods, offers of nodes, and patterns.

A shape stands for pods with equal requests that may use the same nodes. An offer is a kind of node, new or existing. A
pattern is a number of pods of each shape that fit into one node of an offer together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.linear_program import TOLERANCE

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

EXACT_KINDS = 16  # nodes that exist get patterns of their own up to this number of kinds; more are pooled
MAX_POOL_COLUMNS = 20_000
NO_LIMIT = 1 << 60


class Offer(NamedTuple):
    """A kind of node. `price`: of one, a whole number. `capacity`: per resource. `limit`: the most of them, None for
    any number. `allowed`: the shapes that may use it."""

    price: int
    capacity: Int64
    limit: int | None
    allowed: Bool


class PackedNodes(NamedTuple):
    """`nodes` nodes of an offer, each with `pods` of each shape."""

    offer: int
    pods: Int64
    nodes: int


@dataclass(frozen=True)
class Problem:
    """`demand`: pods of each shape. `requests`: shapes x resources. `existing`: free resources of the nodes that exist,
    nodes x resources, and `usable`: nodes x shapes. Existing nodes cost nothing."""

    demand: Int64
    requests: Int64
    offers: Sequence[Offer]
    existing: Int64
    usable: Bool

    def without_existing(self, demand: Int64) -> Problem:
        """Return the problem of other pods without nodes that exist."""
        return replace(self, demand=demand, existing=self.existing[:0], usable=self.usable[:0])


class PooledNodes(NamedTuple):
    """Existing nodes together. `free`: per resource, their sum, as float64 since it may exceed int64. `most`: of each
    shape, the sum of what fits alone."""

    free: Float64
    most: Int64


def fitting_alone(requests: Int64, free: Int64) -> Int64:
    """Return how many pods of each shape fit alone: rows of `free` x shapes. Free space below 0 holds none."""
    found = np.full((len(free), len(requests)), NO_LIMIT)
    for resource in range(requests.shape[1]):
        shapes = np.flatnonzero(requests[:, resource] > 0)
        fits = np.maximum(free[:, resource, None], 0) // requests[shapes, resource]
        found[:, shapes] = np.minimum(found[:, shapes], fits)
    return found


class PurchaseModel:
    """A problem with all nodes as offers, and the patterns found so far.

    `offers`: those to buy, `bought` in number, then the kinds of existing nodes, which cost nothing; `kind_rows`: the
    nodes of each kind. `pools`: instead, if there are too many kinds. `used_rows`: the existing nodes that hold a pod.
    `alone`: how many pods of each shape a node of each offer holds, allowed or not; `most`: the most in a pattern.
    `unit`: all prices are multiples of it; `cost`: the price of each offer in units. `scale`: the largest capacity of
    each resource; `sizes`: the requests as shares of it. `patterns`: (offer, pods of each shape).
    """

    def __init__(self, problem: Problem, check: Check = lambda: None) -> None:
        self.problem, self.check = problem, check
        self.demand, self.requests = problem.demand, problem.requests
        self.total = int(self.demand.sum())
        fits = self._fitting(problem.offers) > 0
        offers = [one._replace(allowed=one.allowed & mine) for one, mine in zip(problem.offers, fits, strict=True)]
        self.offers = _without_dominated(offers)
        self.bought = len(self.offers)
        self.unit = math.gcd(*(offer.price for offer in self.offers)) or 1
        most = np.where(problem.usable, np.minimum(fitting_alone(self.requests, problem.existing), self.demand), 0)
        self.used_rows = np.flatnonzero(most.any(axis=1))
        self.pools: list[PooledNodes] = []
        self.kind_rows: list[Int64] = []
        if len(self.used_rows):
            self._add_existing(most)
        self.alone = self._fitting(self.offers)
        self.most = np.where([one.allowed for one in self.offers], np.minimum(self.alone, self.demand), 0)
        self.cost = np.array([offer.price / self.unit for offer in self.offers])
        self.scale = np.maximum(np.max([o.capacity for o in self.offers], axis=0, initial=1), 1).astype(np.float64)
        self.sizes: Float64 = self.requests / self.scale
        self.patterns: list[tuple[int, Int64]] = []
        self._known: set[tuple[int, bytes]] = set()

    def _fitting(self, offers: Sequence[Offer]) -> Int64:
        capacities = np.array([offer.capacity for offer in offers], np.int64)
        return fitting_alone(self.requests, capacities.reshape(len(offers), self.requests.shape[1]))

    def _add_existing(self, most: Int64) -> None:
        """Turn existing nodes into offers without a price, one for each kind, or into pools."""
        existing, rows = np.maximum(self.problem.existing, 0), self.used_rows
        mask = np.hstack((existing[rows], (most[rows] > 0).astype(np.int64)))
        _, kind = np.unique(mask, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        if kind.max() < EXACT_KINDS:
            for number in range(kind.max() + 1):
                members = rows[kind == number]
                self.offers.append(Offer(0, existing[members[0]], len(members), most[members[0]] > 0))
                self.kind_rows.append(members)
            return
        signatures, group = np.unique(most[rows] > 0, axis=0, return_inverse=True)
        group = group.reshape(-1)
        if signatures.sum() > MAX_POOL_COLUMNS:
            group = np.zeros(len(rows), np.int64)
        for number in range(group.max() + 1):
            members = rows[group == number]
            free = existing[members].sum(axis=0, dtype=np.float64)
            self.pools.append(PooledNodes(free, np.minimum(most[members].sum(axis=0), self.demand)))

    def add(self, offer: int, pods: Int64) -> bool:
        """Add a pattern. Return whether it is new."""
        key = offer, pods.tobytes()
        if not pods.any() or key in self._known:
            return False
        self._known.add(key)
        self.patterns.append((offer, pods))
        return True

    @property
    def penalty(self) -> float:
        """What a pod without a node costs in a program, so that it has a solution."""
        return 3.0 * float(self.cost.max(initial=0.0)) + 1.0

    @property
    def limits(self) -> list[float]:
        """The most nodes of each offer."""
        return [math.inf if offer.limit is None else float(offer.limit) for offer in self.offers]

    def price_above(self, bound: float) -> int:
        """Return the lowest price that is not below a bound in units: every set costs a multiple of the unit."""
        return max(0, math.ceil(bound - TOLERANCE * max(1.0, abs(bound)))) * self.unit

    def price(self, packings: Iterable[PackedNodes]) -> int:
        """Return the price of nodes."""
        return sum(self.offers[packing.offer].price * packing.nodes for packing in packings)

    def placed(self, packings: Iterable[PackedNodes]) -> Int64:
        """Return the pods of each shape on nodes."""
        return sum((packing.pods * packing.nodes for packing in packings), np.zeros(len(self.demand), np.int64))

    def place_existing(self, packings: Iterable[PackedNodes], existing: Int64) -> None:
        """Write the pods of existing nodes into a matrix of nodes x shapes."""
        for packing in packings:
            if packing.offer >= self.bought:
                rows = self.kind_rows[packing.offer - self.bought]
                empty = [row for row in rows if not existing[row].any()][: packing.nodes]
                existing[empty] = packing.pods


def _without_dominated(offers: list[Offer]) -> list[Offer]:
    """Let no shape use an offer for which another one is as large, not dearer, and without limit."""
    for number, one in enumerate(offers):
        for other, better in enumerate(offers):
            if number == other or better.limit is not None or (one.allowed & ~better.allowed).any():
                continue
            large = bool((better.capacity >= one.capacity).all())
            equal = better.price == one.price and bool((better.capacity == one.capacity).all())
            if large and better.price <= one.price and (not equal or other < number) and better.allowed.any():
                offers[number] = one._replace(allowed=np.zeros_like(one.allowed))
                break
    return offers
