"""Whole nodes from the fractions of the configuration LP: rounding, and an integer program over the known patterns.

The integer program is NP-hard. It begins at the best packing found before and ends at the deadline, so its result is
never dearer. A cheaper set may need a pattern that was not generated; the bound of the linear program limits what it
would save.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.configuration_lp import limit_rows
from scheduler_core.experiments.first_fit import FirstFit, grouped
from scheduler_core.experiments.linear_program import TOLERANCE, LinearProgram, start_from
from scheduler_core.experiments.purchase_model import Float64, Int64, PackedNodes, PurchaseModel, fitting_alone

if TYPE_CHECKING:
    from scheduler_core.experiments.linear_program import Solver

GOOD = 2e-4  # a packing at this distance from the bound is not improved
MOST_SHARED = 20  # HiGHS measures the time of the clock: its limit for a processor that this many processes share


class WholeNodes:
    """`deadline`: of the processor time. `bound`: of the price, in units. `y`: the dual prices of shapes."""

    def __init__(
        self, model: PurchaseModel, first_fit: FirstFit, deadline: float, check: Check, bound: float, y: Float64
    ) -> None:
        self._model, self._first_fit, self._deadline, self._check = model, first_fit, deadline, check
        self._bound, self._y = bound, y

    def best(
        self, first: Sequence[PackedNodes], on_pooled: Int64, amounts: Sequence[float]
    ) -> tuple[list[PackedNodes], Int64, Int64]:
        """Return the cheapest packing found, its pods on existing nodes and the pods that it leaves. `first`,
        `on_pooled`: that of first fit. `amounts`: how many nodes the linear program gives each pattern."""
        model = self._model
        starts = [on_pooled, self._fill_pooled()] if model.pools else [on_pooled]
        found: list[tuple[tuple[int, int], int, list[PackedNodes], Int64, Int64]] = []
        for existing in starts:
            demand = model.demand - existing.sum(axis=0)
            candidates = [self._trimmed(first, demand)]
            if not model.pools:
                candidates.append(self._rounded(amounts, demand))
            candidates += self._first_fit.packings(demand, model.limits)
            best = min(candidates, key=lambda packings: self._rank(packings, demand))
            found.append((self._rank(best, demand), len(found), best, existing, demand))
        _, _, best, existing, demand = min(found, key=lambda one: one[:2])
        if self._rank(best, demand) > (0, model.price_above(self._bound)) and not self._late:
            solved = self._integer_program(best, demand)
            best = min((best, solved), key=lambda packings: self._rank(packings, demand))
        for packing in best:
            if packing.offer >= model.bought:  # existing nodes of one kind
                rows = model.kind_rows[packing.offer - model.bought]
                empty = [row for row in rows if not existing[row].any()][: packing.nodes]
                existing[empty] = packing.pods
        return best, existing, demand - model.placed(best)

    @property
    def _late(self) -> bool:
        return time.process_time() >= self._deadline

    def _rank(self, packings: Iterable[PackedNodes], demand: Int64) -> tuple[int, int]:
        """Return (pods without a node, price)."""
        known = list(packings)
        return int(np.maximum(demand - self._model.placed(known), 0).sum()), self._model.price(known)

    def _trimmed(self, packings: Iterable[PackedNodes], demand: Int64) -> list[PackedNodes]:
        """Take out pods beyond the demand, and nodes that then have none."""
        left = demand.copy()

        def nodes() -> Iterator[tuple[int, Int64]]:
            for packing in packings:
                for _ in range(packing.nodes):
                    pods = np.minimum(packing.pods, left)
                    np.subtract(left, pods, out=left)
                    yield packing.offer, pods

        return grouped(self._model, nodes(), self._model.limits)

    def _rounded(self, amounts: Sequence[float], demand: Int64) -> list[PackedNodes]:
        """Round the amounts of the linear program down, and pack the rest by first fit decreasing."""
        model = self._model
        # A packing may be of more patterns than the program knew.
        whole = [PackedNodes(*one, int(n + TOLERANCE)) for one, n in zip(model.patterns, amounts, strict=False)]
        kept = self._trimmed(whole, demand)
        left = demand - model.placed(kept)
        limits = model.limits
        for packing in kept:
            limits[packing.offer] -= packing.nodes
        rest = self._first_fit.packings(left, [max(0.0, limit) for limit in limits])
        return [*kept, *min(rest, key=lambda packings: self._rank(packings, left), default=[])]

    def _fill_pooled(self) -> Int64:
        """Put the pods that are worth most at the dual prices on the existing nodes, fullest nodes first. Return the
        pods, nodes x shapes."""
        model, free = self._model, self._model.problem.existing
        found = np.zeros((len(free), len(model.demand)), np.int64)
        left = model.demand.copy()
        density = self._y / np.maximum(model.sizes.sum(axis=1), 1e-9) + 1e-9
        order = np.argsort(-density, kind="stable")
        for row in sorted(model.used_rows, key=lambda row: (float((free[row] / model.scale).sum()), row)):
            self._check()
            here = free[row].copy()
            shapes = order[(model.problem.usable[row] & (left > 0))[order]]
            while len(shapes):
                fits = fitting_alone(model.requests[shapes], here[None, :])[0]
                shapes, fits = shapes[fits > 0], fits[fits > 0]
                if len(shapes):
                    count = min(int(fits[0]), int(left[shapes[0]]))
                    found[row, shapes[0]] += count
                    left[shapes[0]] -= count
                    here -= count * model.requests[shapes[0]]
                    shapes = shapes[1:]
        return found

    def _integer_program(self, start: list[PackedNodes], demand: Int64) -> list[PackedNodes]:
        """Choose among all patterns by an integer program that begins at a known packing."""
        model, program, counts = self._model, LinearProgram(), Counter[tuple[int, bytes]]()
        for packing in start:
            model.add(packing.offer, packing.pods)
            counts[packing.offer, packing.pods.tobytes()] += packing.nodes
        rows = [program.row(float(d), math.inf) for d in demand]
        limits = limit_rows(program, model)
        for offer, pods in model.patterns:
            entries = [(rows[shape], float(pods[shape])) for shape in np.flatnonzero(pods)]
            if limits[offer] >= 0:
                entries.append((limits[offer], 1.0))
            program.column(float(model.cost[offer]), math.inf, entries, whole=True)
        for row in rows:
            program.column(model.penalty, math.inf, [(row, 1.0)], whole=True)
        target = max(model.price_above(self._bound) / model.unit, self._bound * (1 + GOOD))
        seconds = max(0.1, self._deadline - time.process_time()) * MOST_SHARED
        highs = program.solver(mip_rel_gap=TOLERANCE, time_limit=seconds, objective_target=target)
        left = np.maximum(demand - model.placed(start), 0)
        start_from(
            highs, [*(float(counts[offer, pods.tobytes()]) for offer, pods in model.patterns), *map(float, left)]
        )
        self._run(highs)
        solution = highs.getSolution()
        if not solution.value_valid:
            return start
        amounts = np.rint(np.array(solution.col_value)).astype(np.int64)
        chosen = [PackedNodes(*pattern, int(n)) for pattern, n in zip(model.patterns, amounts, strict=False)]
        return self._trimmed(chosen, demand)

    def _run(self, highs: Solver) -> None:
        """Run an integer program until the deadline. `check` is called meanwhile; what it raises stops the program."""
        raised: list[BaseException] = []

        def interrupt(event: Any) -> None:
            try:
                self._check()
            except BaseException as problem:
                raised.append(problem)
                event.interrupt()
            if self._late:
                event.interrupt()

        highs.cbMipInterrupt.subscribe(interrupt)
        highs.run()
        highs.cbMipInterrupt.unsubscribe(interrupt)
        if raised:
            raise raised[0]
