"""First fit decreasing: packs pods into nodes, large ones first, and opens a new node if none fits.

Nodes are columns, so placing all pods of a shape is one step: O(shapes x nodes x resources).

Source: Johnson, "Near-optimal bin packing algorithms", 1973.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_core.experiments.purchase_model import Bool, Int64, PackedNodes, PurchaseModel, fitting_alone

MAX_ROW_SHAPES = 20_000_000  # existing nodes times shapes, up to which pooled nodes are used


class _OpenNodes:
    """Open nodes while packing. `offer`: of each; `free`: its free resources, `pods`: its pods of each shape."""

    def __init__(self, shapes: int, resources: int) -> None:
        self.offer: list[int] = []
        self._free, self._pods = np.zeros((64, resources), np.int64), np.zeros((64, shapes), np.int64)

    @property
    def free(self) -> Int64:
        return self._free[: len(self.offer)]

    @property
    def pods(self) -> Int64:
        return self._pods[: len(self.offer)]

    def open(self, offer: int, free: Int64, count: int) -> None:
        """Open equal nodes."""
        size = len(self.offer)
        if size + count > len(self._free):
            more = size + 2 * count
            self._free = np.vstack((self._free, np.zeros((more, self._free.shape[1]), np.int64)))
            self._pods = np.vstack((self._pods, np.zeros((more, self._pods.shape[1]), np.int64)))
        self._free[size : size + count] = free
        self.offer += [offer] * count


class FirstFit:
    """First fit decreasing in a model."""

    def __init__(self, model: PurchaseModel) -> None:
        self._model = model

    def best(self) -> tuple[list[PackedNodes], int | None, Int64]:
        """Return the cheapest packing of all pods over the preferred offers, its price (None if it leaves pods) and its
        pods on pooled nodes, existing nodes x shapes."""
        model = self._model
        best, price = list[PackedNodes](), None
        existing = np.zeros((len(model.problem.existing), len(model.demand)), np.int64)
        for preferred in range(model.bought):
            nodes, unplaced = self._pack(model.demand, preferred, model.limits, pooled=True)
            packings = self._packings(nodes, model.limits)
            better = not unplaced.any() and (price is None or model.price(packings) < price)
            if better or (price is None and not preferred):
                best, existing = packings, self._on_pooled(nodes)
            if better:
                price = model.price(packings)
        return best, price, existing

    def packings(self, demand: Int64, limits: Sequence[float]) -> list[list[PackedNodes]]:
        """Return a packing for each preferred offer. `limits`: the most nodes of each offer."""
        preferred = range(self._model.bought)
        return [self._packings(self._pack(demand, one, limits)[0], limits) for one in preferred]

    def _pack(
        self, demand: Int64, preferred: int, limits: Sequence[float], pooled: bool = False
    ) -> tuple[_OpenNodes, Int64]:
        """Return the packed nodes and the pods that none holds. A new node is of the preferred offer where it can.
        `pooled`: whether pooled nodes are open at first; they have numbers after those of the offers."""
        model = self._model
        offers, shapes = model.offers, len(model.demand)
        nodes = _OpenNodes(shapes, model.requests.shape[1])
        left = demand.copy()
        counts = [int(limit) if limit < math.inf else model.total for limit in limits]
        fits = np.array([offer.allowed for offer in offers]).reshape(-1, shapes)
        if pooled and model.pools and len(model.used_rows) * shapes <= MAX_ROW_SHAPES:
            fits = np.vstack((fits, model.problem.usable[model.used_rows]))
            for place, row in enumerate(model.used_rows):
                nodes.open(len(offers) + place, model.problem.existing[row], 1)
        for number in range(model.bought, len(offers)):
            nodes.open(number, offers[number].capacity, counts[number])
        for shape in np.lexsort((-model.sizes.sum(axis=1), -model.sizes.max(axis=1, initial=0.0))):
            self._model.check()
            if nodes.offer and left[shape]:
                self._put(nodes, shape, left, fits)
            while left[shape]:
                able = [n for n in range(model.bought) if offers[n].allowed[shape] and counts[n] > 0]
                if not able:
                    break
                alone = {n: max(1, int(model.alone[n, shape])) for n in able}
                number = preferred if preferred in able else min(able, key=lambda n: model.cost[n] / alone[n])
                new = min(-(-int(left[shape]) // alone[number]), counts[number])
                counts[number] -= new
                nodes.open(number, offers[number].capacity, new)
                self._put(nodes, shape, left, fits)
        return nodes, left

    def _put(self, nodes: _OpenNodes, shape: int, left: Int64, fits: Bool) -> None:
        """Put pods of a shape into the first open nodes that hold them."""
        request = self._model.requests[shape]
        most = fitting_alone(request[None, :], nodes.free)[:, 0]
        most[~fits[np.array(nodes.offer), shape]] = 0
        np.minimum(most, left[shape], out=most)
        before = np.concatenate(([0], np.cumsum(most)[:-1]))
        taken = np.clip(left[shape] - before, 0, most)
        nodes.free[:] -= taken[:, None] * request
        nodes.pods[:, shape] += taken
        left[shape] -= taken.sum()

    def _on_pooled(self, nodes: _OpenNodes) -> Int64:
        """Return the pods on pooled nodes, existing nodes x shapes."""
        model = self._model
        found = np.zeros((len(model.problem.existing), len(model.demand)), np.int64)
        for number, pods in zip(nodes.offer, nodes.pods, strict=True):
            if number >= len(model.offers):
                found[model.used_rows[number - len(model.offers)]] = pods
        return found

    def _packings(self, nodes: _OpenNodes, limits: Sequence[float]) -> list[PackedNodes]:
        """Return the nodes of offers that have pods."""
        found, offers = zip(nodes.offer, nodes.pods, strict=True), len(self._model.offers)
        return grouped(self._model, ((number, pods) for number, pods in found if number < offers), limits)


def grouped(model: PurchaseModel, nodes: Iterable[tuple[int, Int64]], limits: Sequence[float]) -> list[PackedNodes]:
    """Return the nodes (offer, pods) that have pods by equal content, each of the cheapest offer that holds its pods
    within the limits."""
    counts = Counter((number, pods.tobytes()) for number, pods in nodes if pods.any())
    packings = [PackedNodes(number, np.frombuffer(pods, np.int64), count) for (number, pods), count in counts.items()]
    left = list(limits)
    for packing in packings:
        left[packing.offer] -= packing.nodes
    found = []
    for packing in sorted(packings, key=lambda p: (-model.cost[p.offer], p.offer)):
        number, used, rest = packing.offer, packing.pods @ model.requests, packing.nodes
        able = [
            n
            for n in range(model.bought)
            if model.cost[n] < model.cost[number]
            and (used <= model.offers[n].capacity).all()
            and model.offers[n].allowed[packing.pods > 0].all()
        ]
        for other in sorted(able, key=lambda n: model.cost[n]) if number < model.bought else ():
            moved = int(min(rest, left[other]))
            if moved > 0:
                found.append(packing._replace(offer=other, nodes=moved))
                left[other] -= moved
                left[number] += moved
                rest -= moved
        if rest:
            found.append(packing._replace(nodes=rest))
    return found
