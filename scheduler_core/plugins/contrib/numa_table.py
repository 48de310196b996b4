"""The NUMA zones of all nodes as columns: which nodes hold a pod, and their scores. Quantities are exact.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesourcetopology (filter.go, score.go, least_numa.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import Node
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cluster.resources import CPU
from scheduler_core.framework.interface import MAX_NODE_SCORE, Bool, Int64
from scheduler_core.plugins.contrib.numa_zones import (
    BALANCED,
    CANNOT_ALIGN_CONTAINER,
    CANNOT_ALIGN_POD,
    CRASH,
    FEWEST,
    GUARANTEED,
    MAX_ZONES,
    MOST,
    POD,
    SINGLE_NUMA_NODE,
    TOO_HIGH,
    UNIT,
    UNKNOWN_DISTANCE,
    Manager,
    Nano,
    Shape,
    counts_on_whole_node,
    is_bound_if_guaranteed,
    manager_of,
    offered_by,
    parts_of,
    zones_of,
)

MOST_COMBINED = 12  # zones whose combinations are tried

_Bits = npt.NDArray[np.uint64]  # a bit for the number of each zone
_Numbers = npt.NDArray[Any]  # int64, or Python's integers if they may not suffice
_ALL = np.uint64((1 << MAX_ZONES) - 1)
_EXACT = 1 << 53  # from here on, products with scores may not fit in int64
_ANY = 1 << 62  # more than any zone has of a resource in int64
_NOT_A_NUMBER = -(1 << 63)  # what Go converts NaN to

_BEYOND = CRASH + "it has a zone node-{}, but only {} zones"


class NumaScores(NamedTuple):
    """`scores`: int64 over the nodes. `crashes`: place among them -> why upstream crashes on the object, and the node
    has no score."""

    scores: Int64
    crashes: dict[int, str]


class _ZoneQuantities(NamedTuple):
    """A resource. `left`: what zones have of it, in `scale` billionths; zones x nodes. `listed`: which zones list it.
    `anywhere`: whether a zone of the node does; over nodes."""

    left: _Numbers
    listed: Bool
    anywhere: Bool
    scale: int

    def exact(self, nano: int) -> _ZoneQuantities:
        """Return the column in a scale in which the quantity is an integer."""
        if not nano % self.scale:
            return self
        return self._replace(left=self.left.astype(object) * self.scale, scale=1)

    def amount(self, nano: int) -> int:
        """Return a quantity in the scale of `exact`; at most what no zone has."""
        amount = nano // self.scale
        return amount if self.left.dtype == object else min(amount, _ANY)

    def at_rows(self, rows: slice | npt.NDArray[np.intp]) -> _ZoneQuantities:
        return _ZoneQuantities(self.left[:, rows], self.listed[:, rows], self.anywhere[rows], self.scale)

    def units(self) -> _Numbers:
        """Return what zones have in whole units, rounded up."""
        return self.left if self.scale == UNIT else -(-self.left // UNIT)


def _numbers(values: Sequence[int]) -> type:
    """Return a dtype that holds the values, their products with 100 and the sums of a few."""
    return np.int64 if max(map(abs, values), default=0) < _EXACT else object


class NumaTable:
    """The zones of nodes: arrays of zones x nodes, where a node has its zones in the order of its object."""

    def __init__(self, topologies: Sequence[NodeResourceTopology | None], nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        managers = [Manager() if one is None else manager_of(one) for one in topologies]
        self._zones = [() if one is None else zones_of(one) for one in topologies]
        self._counts = np.array([len(zones) for zones in self._zones], np.int64)
        shape = max(map(len, self._zones), default=0), len(nodes)
        self._numbers = np.full(shape, -1, np.int64)
        listed: dict[str, dict[tuple[int, int], int]] = {}
        for row, zones in enumerate(self._zones):
            for place, zone in enumerate(zones):
                self._numbers[place, row] = zone.number
                for name, nano in zone.amounts:
                    listed.setdefault(name, {})[place, row] = nano
        self._bits: _Bits = np.zeros(shape, np.uint64)
        usual = (self._numbers >= 0) & (self._numbers < MAX_ZONES)
        self._bits[usual] = np.uint64(1) << self._numbers[usual].astype(np.uint64)
        self._known = np.array([one is not None for one in topologies], np.bool_)
        self._aligns = np.array([one.policy == SINGLE_NUMA_NODE for one in managers], np.bool_)
        self._whole = np.array([one.scope == POD for one in managers], np.bool_)  # otherwise by container
        self._most = np.array([one.most for one in managers], np.int64)
        self._too_high = _any(self._numbers == MAX_ZONES)
        self._beyond = _any(self._numbers >= self._counts)
        self._reported = {name: _column(name, shape, amounts) for name, amounts in listed.items()}
        self._columns = {name: one._replace(left=one.left.copy()) for name, one in self._reported.items()}
        self._offered: dict[str, Bool] = {}
        self._costs: _Numbers | None = None

    def subtract(self, row: int, pods: Iterable[Nano]) -> None:
        """Let every zone of a node have what it reports less the requests of these pods, at least 0."""
        requests = list(pods)
        for name, reported in self._reported.items():
            amounts = [one[name] for one in requests if name in one]
            column = self._columns[name] = self._columns[name].exact(sum(amounts))
            left = reported.left[:, row].astype(column.left.dtype) * (reported.scale // column.scale)
            if amounts:
                left = np.maximum(left - column.amount(sum(amounts)), 0)
            column.left[:, row] = left

    # ---- Filter

    def too_high(self) -> Bool:
        """Return the nodes that align pods and have a zone with a number on which upstream crashes."""
        return self._too_high & self._aligns

    def refusals(self, shape: Shape) -> Iterator[tuple[str, Bool]]:
        """Yield the messages of nodes that refuse the pod, and which nodes; the first message of a node counts."""
        if (whole := self._aligns & self._whole).any():
            yield CANNOT_ALIGN_POD, whole & (self._holding(shape.qos, shape.requests, self._columns) == 0)
        if not (by_container := self._aligns & ~self._whole).any():
            return
        left = dict(self._columns)
        for message, requests in parts_of(shape):
            holding = self._holding(shape.qos, requests, left)
            yield message, by_container & (holding == 0)
            if message != CANNOT_ALIGN_CONTAINER:
                continue
            lowest: Bool = self._bits == (holding & (~holding + np.uint64(1)))
            for name in left.keys() & requests.keys():
                if shape.qos == GUARANTEED or not is_bound_if_guaranteed(name):
                    column = left[name].exact(requests[name])
                    less = column.left - column.amount(requests[name])
                    left[name] = column._replace(left=np.where(lowest, less, column.left))

    def _holding(self, qos: str, requests: Nano, left: Mapping[str, _ZoneQuantities]) -> _Bits:
        """Return the zones of each node that hold the requests; all bits for a pod that no zone has to hold."""
        holding = np.full(len(self._nodes), _ALL)
        for name, wanted in requests.items():
            if not wanted:
                continue
            offered, column, on_whole_node = self._offers(name), left.get(name), counts_on_whole_node(name)
            if column is not None:
                fits = column.listed
                if qos == GUARANTEED or not is_bound_if_guaranteed(name):
                    fits = fits & (column.left >= -(-wanted // column.scale))
                bits = np.bitwise_or.reduce(self._bits * fits, axis=0)
                if on_whole_node:
                    bits[~column.anywhere] = _ALL
                holding &= bits
            elif not on_whole_node:
                holding[:] = 0
            holding *= offered
        return holding

    def _offers(self, name: str) -> Bool:
        """Return the nodes that offer a resource."""
        offered = self._offered.get(name)
        if offered is None:
            offered = self._offered[name] = np.array([name in offered_by(node) for node in self._nodes], np.bool_)
        return offered

    # ---- Score

    def scores(
        self, strategy: str, shape: Shape, weights: Mapping[str, int], rows: slice | npt.NDArray[np.intp]
    ) -> NumaScores:
        """Return the scores of nodes for a Guaranteed pod; 0 for nodes that align no pods unless by LeastNUMANodes."""
        if strategy == FEWEST:
            return self._fewest(shape, rows)
        aligns, whole = self._aligns[rows], self._whole[rows]
        scores, crashes = np.zeros(len(aligns), np.int64), self._crashes(rows, aligns & self._beyond[rows])
        if (by_pod := aligns & whole).any():
            scores[by_pod] = self._lowest(strategy, shape.requests, weights, rows)[by_pod]
            if not shape.requests and strategy != BALANCED:
                crashes |= self._empty(rows, by_pod)
        if (by_container := aligns & ~whole).any():
            parts = [requests for _, requests in parts_of(shape)]
            every = [self._lowest(strategy, requests, weights, rows).astype(np.float64) for requests in parts]
            scores[by_container] = np.trunc(sum(every) / len(every)).astype(np.int64)[by_container]
            if strategy != BALANCED and not all(parts):
                crashes |= self._empty(rows, by_container)
        return NumaScores(scores, crashes | self._crashes(rows, aligns & self._too_high[rows]))

    def _empty(self, rows: slice | npt.NDArray[np.intp], nodes: Bool) -> dict[int, str]:
        places = np.flatnonzero(nodes & (self._counts[rows] > 0)).tolist()
        return dict.fromkeys(places, CRASH + "a container requests nothing")

    def _crashes(self, rows: slice | npt.NDArray[np.intp], nodes: Bool) -> dict[int, str]:
        """Return why upstream crashes on these nodes because of the numbers of their zones."""
        crashes = {}
        for place in np.flatnonzero(nodes).tolist():
            numbers, count = self._numbers[:, rows][:, place].tolist(), int(self._counts[rows][place])
            if MAX_ZONES in numbers:
                crashes[place] = TOO_HIGH
            else:
                crashes[place] = _BEYOND.format(next(one for one in numbers if one >= count), count)
        return crashes

    def _lowest(
        self, strategy: str, requests: Nano, weights: Mapping[str, int], rows: slice | npt.NDArray[np.intp]
    ) -> Int64:
        """Return the lowest score of a zone that is not 0; 0 if all are."""
        scores = self.zone_scores(strategy, requests, weights, rows)
        highest = np.iinfo(np.int64).max
        lowest = np.where(scores == 0, highest, scores).min(axis=0, initial=highest)
        return np.where(lowest == highest, 0, lowest)

    def zone_scores(
        self, strategy: str, requests: Nano, weights: Mapping[str, int], rows: slice | npt.NDArray[np.intp]
    ) -> Int64:
        """Return the scores of the zones; zones x nodes. Zones that a node lacks have 0."""
        there = self._numbers[:, rows] >= 0
        if strategy == BALANCED:
            return self._balanced(requests, there, rows)
        weight_of = {name: max(weights.get(name, 1), 1) for name in requests}
        points: _Numbers = np.zeros(there.shape, _numbers([sum(weight_of.values())]))
        for name, wanted in requests.items():
            if name not in self._columns:
                continue
            column = self._columns[name].at_rows(rows)
            holds = (column.left != 0) & (column.left >= -(-wanted // column.scale))
            if holds.any():
                units, taken = np.where(holds, column.units(), 1), -(-wanted // UNIT)
                share = (taken if strategy == MOST else units - taken) * MAX_NODE_SCORE // units
                points += np.where(holds, share, 0).astype(points.dtype) * weight_of[name]
        return (points // max(sum(weight_of.values()), 1)).astype(np.int64)

    def _balanced(self, requests: Nano, there: Bool, rows: slice | npt.NDArray[np.intp]) -> Int64:
        fractions, excess = [], ~there
        for name, wanted in requests.items():
            fraction = np.ones(there.shape)
            if name in self._columns:
                units = self._columns[name].at_rows(rows).units().astype(np.float64)
                np.divide(float(-(-wanted // UNIT)), units, out=fraction, where=units != 0)
            excess = excess | (fraction > 1)
            fractions.append(fraction)
        if len(fractions) < 2:
            return np.where(excess, 0, _NOT_A_NUMBER)
        mean = sum(fractions) / len(fractions)
        squares = sum((one - mean) ** 2 for one in fractions)
        compensation = sum(one - mean for one in fractions)
        variance = (squares - compensation * compensation / len(fractions)) / (len(fractions) - 1)
        return np.where(excess, 0, np.trunc((1 - variance) * MAX_NODE_SCORE)).astype(np.int64)

    # ---- LeastNUMANodes

    def _fewest(self, shape: Shape, rows: slice | npt.NDArray[np.intp]) -> NumaScores:
        """Return the scores for the smallest number of zones that hold the requests together."""
        whole, counts = self._whole[rows], self._counts[rows]
        scores, crashes = np.zeros(len(counts), np.int64), self._crashes(rows, self._too_high[rows])
        for by_container in (False, True):
            active = self._known[rows] & (whole != by_container) & ~self._too_high[rows]
            if not active.any():
                continue
            left = {name: column.at_rows(rows) for name, column in self._columns.items()}
            used, nearest = np.zeros(len(counts), np.int64), np.ones(len(counts), np.bool_)
            every = [requests for _, requests in parts_of(shape)] if by_container else [shape.requests]
            for requests in every:
                listed = [left[name].anywhere for name in requests if name in left]
                bound = active & np.logical_or.reduce(listed) if listed else np.zeros(len(counts), np.bool_)
                for place in np.flatnonzero(bound & (counts > MOST_COMBINED)).tolist():
                    text = f"it has {counts[place]} zones, and no more than {MOST_COMBINED} are combined"
                    crashes[place], active[place], bound[place] = text, False, False
                if not bound.any():
                    continue
                chosen, near = self._combinations(requests, left, rows, bound)
                active &= ~bound | (chosen != 0)
                bound &= active
                nearest &= ~bound | near
                used = np.where(bound, np.maximum(used, np.bitwise_count(chosen)), used)
                if by_container:
                    for place, number in self._take(requests, left, chosen * bound, counts).items():
                        crashes.setdefault(place, _BEYOND.format(number, counts[place]))
                        active[place] = False
            part = MAX_NODE_SCORE // self._most[rows]
            least = MAX_NODE_SCORE - used * part + np.where(nearest, part // 2, 0)
            scores[active] = np.where(used > 0, least, MAX_NODE_SCORE)[active]
        return NumaScores(scores, crashes)

    def _combinations(
        self, requests: Nano, left: Mapping[str, _ZoneQuantities], rows: slice | npt.NDArray[np.intp], nodes: Bool
    ) -> tuple[_Bits, Bool]:
        """Return the fewest zones of each of these nodes that hold the requests, the nearest of them, as the bits of
        their numbers; 0 if none do. And whether no others of that number are nearer."""
        there, bits = self._numbers[:, rows] >= 0, self._bits[:, rows]
        chosen, near = np.zeros(len(nodes), np.uint64), np.zeros(len(nodes), np.bool_)
        amounts = []
        for name, wanted in requests.items():
            if name not in left:
                return chosen, near
            there = there & left[name].listed
            if wanted:
                amounts.append((left[name].left, -(-wanted // left[name].scale)))
        most = int(self._counts[rows][nodes].max())
        for size in range(1, most + 1):
            open_ = nodes & (chosen == 0)
            if not open_.any():
                break
            every = [list(one) for one in combinations(range(most), size)]
            distances = [self._distance(one, rows) for one in every]
            nearest = np.minimum.reduce([np.full(len(nodes), UNKNOWN_DISTANCE, np.float32), *distances])
            best, shortest = np.zeros(len(nodes), np.uint64), np.full(len(nodes), 256, np.float32)
            for one, distance in zip(every, distances, strict=True):
                fits = open_ & there[one].all(axis=0)
                for amount, wanted in amounts:
                    fits &= amount[one].sum(axis=0) >= wanted
                better = fits & (distance < shortest) & ~near
                exact = fits & (distance == nearest) & ~near
                taken = better | exact
                best[taken] = np.bitwise_or.reduce(bits[one], axis=0)[taken]
                shortest[better] = distance[better]
                near |= exact
            chosen[open_] = best[open_]
        return chosen, near

    def _distance(self, places: list[int], rows: slice | npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """Return the mean distance between zones of each node; infinite if it lacks one of them."""
        if self._costs is None:
            self._costs = self._distances()
        apart = self._costs[np.ix_(places, places)][:, :, rows].sum(axis=(0, 1)).astype(np.float32)
        mean = apart / np.float32(len(places) ** 2)
        return np.where((self._numbers[places][:, rows] >= 0).all(axis=0), mean, np.float32(np.inf))

    def _distances(self) -> _Numbers:
        """Return the distance between places of zones; zones x zones x nodes."""
        values = [cost for zones in self._zones for zone in zones for _, cost in zone.costs]
        depth = len(self._numbers)
        distances: _Numbers = np.full((depth, depth, len(self._zones)), UNKNOWN_DISTANCE, _numbers(values))
        for row, zones in enumerate(self._zones):
            for place, zone in enumerate(zones):
                costs = dict(zone.costs)
                for other, at in enumerate(zones):
                    distances[place, other, row] = costs.get(at.number, UNKNOWN_DISTANCE)
        return distances

    def _take(self, requests: Nano, left: dict[str, _ZoneQuantities], chosen: _Bits, counts: Int64) -> dict[int, int]:
        """Subtract the requests from the chosen zones. As upstream, a zone's number is its place in the list; return
        place of the node -> the number that is beyond the list."""
        beyond: dict[int, int] = {}
        for name, wanted in requests.items():
            column = left[name].exact(wanted) if name in left else None
            scale = 1 if column is None else column.scale
            remaining: _Numbers = np.full(len(chosen), wanted // scale, _numbers([wanted // scale]))
            if column is not None:
                left[name] = column = column._replace(left=column.left.copy())
            for number in np.unique(self._numbers[self._bits > 0]).tolist():
                takes = ((chosen >> np.uint64(number)) & np.uint64(1)).astype(np.bool_) & (remaining != 0)
                for place in np.flatnonzero(takes & (number >= counts)).tolist():
                    beyond.setdefault(place, number)
                if column is not None and number < len(column.left):
                    taken = np.where(takes & column.listed[number], np.minimum(remaining, column.left[number]), 0)
                    column.left[number] -= taken.astype(column.left.dtype)
                    remaining = remaining - taken
        return beyond


def _any(zones: Bool) -> Bool:
    """Return the nodes of which some zone is true."""
    found: Bool = np.logical_or.reduce(zones, axis=0)
    return found


def _column(name: str, shape: tuple[int, int], amounts: Mapping[tuple[int, int], int]) -> _ZoneQuantities:
    scale = 1 if name == CPU or any(nano % UNIT for nano in amounts.values()) else UNIT
    values = [nano // scale for nano in amounts.values()]
    left: _Numbers = np.zeros(shape, _numbers(values))
    listed = np.zeros(shape, np.bool_)
    places, rows = map(list, zip(*amounts, strict=True))
    left[places, rows] = values
    listed[places, rows] = True
    return _ZoneQuantities(left, listed, _any(listed), scale)
