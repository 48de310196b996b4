"""Whole nodes from the fractions of the configuration LP: rounding, and an integer program over the known patterns.

The integer program is NP-hard. It begins at the best packing found before and ends at the deadline, so its result is
never dearer. A cheaper set may need a pattern that was not generated; the bound of the linear program limits what it
would save.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scheduler_core.experiments import linear_program as lp
from scheduler_core.experiments.configuration_lp import add_pattern, add_penalties, demand_rows, limit_rows
from scheduler_core.experiments.first_fit import FirstFit, grouped
from scheduler_core.experiments.purchase_model import Int64, PackedNodes, PurchaseModel

GOOD = 2e-4  # a packing at this distance from the bound is not improved
MOST_SHARED = 20  # HiGHS measures the time of the clock: its limit for a processor that this many processes share


class WholeNodes:
    """Packings of a model without pools. `bound`: of the price, in units. `deadline`: of the processor time."""

    def __init__(self, model: PurchaseModel, first_fit: FirstFit, bound: float, deadline: float) -> None:
        self._model, self._first_fit, self._bound, self._deadline = model, first_fit, bound, deadline

    def best(self, first: Sequence[PackedNodes], amounts: Sequence[float]) -> list[PackedNodes]:
        """Return the cheapest packing found. `first`: that of first fit. `amounts`: how many nodes the linear program
        gives each pattern."""
        model, demand = self._model, self._model.demand
        candidates = [self._trimmed(first), self._rounded(amounts)]
        candidates += self._first_fit.packings(demand, model.limits)
        best = min(candidates, key=lambda packings: self._rank(packings, demand))
        if self._rank(best, demand) > (0, model.price_above(self._bound)) and not self._late:
            solved = self._integer_program(best)
            best = min((best, solved), key=lambda packings: self._rank(packings, demand))
        return best

    @property
    def _late(self) -> bool:
        return time.process_time() >= self._deadline

    def _rank(self, packings: Sequence[PackedNodes], demand: Int64) -> tuple[int, int]:
        """Return (pods without a node, price)."""
        return int(np.maximum(demand - self._model.placed(packings), 0).sum()), self._model.price(packings)

    def _trimmed(self, packings: Iterable[PackedNodes]) -> list[PackedNodes]:
        """Take out pods beyond the demand, and nodes that then have none."""
        left = self._model.demand.copy()

        def nodes() -> Iterator[tuple[int, Int64]]:
            for packing in packings:
                for _ in range(packing.nodes):
                    pods = np.minimum(packing.pods, left)
                    np.subtract(left, pods, out=left)
                    yield packing.offer, pods

        return grouped(self._model, nodes(), self._model.limits)

    def _rounded(self, amounts: Sequence[float]) -> list[PackedNodes]:
        """Round the amounts of the linear program down, and pack the rest by first fit decreasing."""
        model = self._model
        # A packing may be of more patterns than the program knew.
        whole = [PackedNodes(*one, int(n + lp.TOLERANCE)) for one, n in zip(model.patterns, amounts, strict=False)]
        kept = self._trimmed(whole)
        left = model.demand - model.placed(kept)
        limits = model.limits
        for packing in kept:
            limits[packing.offer] -= packing.nodes
        rest = self._first_fit.packings(left, [max(0.0, limit) for limit in limits])
        return [*kept, *min(rest, key=lambda packings: self._rank(packings, left), default=[])]

    def _integer_program(self, start: list[PackedNodes]) -> list[PackedNodes]:
        """Choose among all patterns by an integer program that begins at a known packing."""
        model, counts = self._model, Counter[tuple[int, bytes]]()
        for packing in start:
            model.add(packing.offer, packing.pods)
            counts[packing.offer, packing.pods.tobytes()] += packing.nodes
        target = max(model.price_above(self._bound) / model.unit, self._bound * (1 + GOOD))
        seconds = max(0.1, self._deadline - time.process_time()) * MOST_SHARED
        program = lp.new_program(mip_rel_gap=lp.TOLERANCE, time_limit=seconds, objective_target=target)
        demand, limits = demand_rows(program, model), limit_rows(program, model)
        for pattern in model.patterns:
            add_pattern(program, model, pattern, demand, limits)
        add_penalties(program, model, demand)
        lp.make_whole(program)
        left = np.maximum(model.demand - model.placed(start), 0)
        known = [*(counts[offer, pods.tobytes()] for offer, pods in model.patterns), *left]
        program.setSolution(len(known), np.arange(len(known), dtype=np.int32), np.array(known, np.float64))
        self._run(program)
        solution = program.getSolution()
        if not solution.value_valid:
            return start
        amounts = np.rint(np.array(solution.col_value)).astype(np.int64)
        chosen = [PackedNodes(*pattern, int(n)) for pattern, n in zip(model.patterns, amounts, strict=False)]
        return self._trimmed(chosen)

    def _run(self, program: lp.Solver) -> None:
        """Run an integer program until the deadline. `check` is called meanwhile; what it raises stops the program."""
        raised: list[BaseException] = []

        def interrupt(event: Any) -> None:
            try:
                self._model.check()
            except BaseException as problem:
                raised.append(problem)
                event.interrupt()
            if self._late:
                event.interrupt()

        program.cbMipInterrupt.subscribe(interrupt)
        program.run()
        program.cbMipInterrupt.unsubscribe(interrupt)
        if raised:
            raise raised[0]
