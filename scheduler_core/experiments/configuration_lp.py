"""The configuration LP of a purchase and lower bounds of its price.

The linear program chooses how many nodes of each offer get which pattern; a pod without a node costs a penalty. Its
patterns are generated as they are needed (`pattern_search`). Let y be the dual prices of the shapes and K an upper
bound of the value of a pattern of an offer with price c. The prices times min(1, c / K) allow no pattern that is worth
more than its node, so their value is a lower bound of every solution, at each iteration. An iteration solves a linear
program with a row for each shape and limited offer, and the pricing problem of each offer.

Source: Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961);
Farley, "A note on bounding a class of linear programming problems, including cutting stock problems", Operations
Research 38 (1990).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.linear_program import TOLERANCE, LinearProgram, run
from scheduler_core.experiments.pattern_search import PatternSearch
from scheduler_core.experiments.purchase_model import Bool, Float64, PurchaseModel

if TYPE_CHECKING:
    from scheduler_core.experiments.linear_program import Solver

CLOSE = 2e-5  # the bound is good enough at this distance from the linear program, relative
MAX_ITERATIONS = 2_000


class Fractions(NamedTuple):
    """The solution of the linear program: how many nodes get each pattern. `complete`: whether it is optimal."""

    complete: bool
    iterations: int
    amounts: list[float]


class ConfigurationLP:
    """`bound`: the best lower bound so far, in units. `y`: the dual price of each shape."""

    def __init__(self, model: PurchaseModel, check: Check) -> None:
        self._model, self._check = model, check
        self.search = PatternSearch(model, check)
        self.y = np.zeros(len(model.demand))
        self.bound = self._resource_bound()

    def _resource_bound(self) -> float:
        """Return the bound from sums of resources: pods may be cut in pieces, nodes bought in parts."""
        model, program = self._model, LinearProgram()
        demand = [program.row(float(d), math.inf) for d in model.demand]
        for number, offer in enumerate(model.offers):
            rows = [program.row(0.0, math.inf) for _ in offer.capacity]
            capacity = [(row, c / s) for row, c, s in zip(rows, offer.capacity, model.scale, strict=True) if c]
            program.column(float(model.cost[number]), model.limits[number], capacity)
            for shape in np.flatnonzero(model.most[number]):
                used = [(row, -float(size)) for row, size in zip(rows, model.sizes[shape], strict=True) if size]
                program.column(0.0, math.inf, [(demand[int(shape)], 1.0), *used])
        self._add_pools(program, demand)
        for row in demand:
            program.column(model.penalty, math.inf, [(row, 1.0)])
        highs = program.solver()
        if run(highs) != "Optimal":
            return 0.0
        self.y = np.maximum(np.array(highs.getSolution().row_dual[: len(demand)]), 0.0)
        return float(highs.getInfo().objective_function_value) * (1 - TOLERANCE)

    def _add_pools(self, program: LinearProgram, demand: Sequence[int]) -> list[list[int]]:
        """Add the pods on each pool. Return the rows of each pool's resources."""
        model, found = self._model, []
        for pool in model.pools:
            rows = [program.row(-math.inf, float(free)) for free in pool.free / model.scale]
            for shape in np.flatnonzero(pool.most):
                used = [(row, float(size)) for row, size in zip(rows, model.sizes[shape], strict=True) if size]
                program.column(0.0, float(pool.most[shape]), [(demand[int(shape)], 1.0), *used])
            found.append(rows)
        return found

    def _dual_bound(self, y: Float64, w: Sequence[Float64], values: Sequence[float]) -> float:
        """Return a lower bound. `y`: dual prices of shapes, `w`: of the pools' resources (at most 0), `values`: an
        upper bound of the value of a pattern of each offer at the prices `y`."""
        model, best = self._model, 0.0
        free = sum(
            float((pool.free / model.scale) @ prices) - float(pool.most @ np.maximum(0.0, y + model.sizes @ prices))
            for pool, prices in zip(model.pools, w, strict=True)
        )
        whole = float(model.demand @ y) + free
        for every in (False, True):
            share = 1.0
            for offer, cost, value in zip(model.offers, model.cost, values, strict=True):
                if (offer.limit is None or (every and cost)) and value > cost:
                    share = min(share, cost / value)
            bound = share * whole
            for offer, cost, value in zip(model.offers, model.cost, values, strict=True):
                if offer.limit is not None:
                    bound += min(offer.limit, model.total) * min(0.0, cost - share * value)
            best = max(best, bound)
        return best

    def solve(self, known_price: int | None, deadline: float) -> Fractions:
        """Generate patterns until the program is solved, the bound rounds up to a known price, or the processor time
        reaches the deadline."""
        model, amounts = self._model, list[float]()
        highs, demand, limits, pools, first = self._program()
        costless, sent = self._costless(), 0
        for iteration in range(1, MAX_ITERATIONS + 1):
            self._check()
            self._send(highs, sent, demand, limits)
            sent = len(model.patterns)
            if run(highs) != "Optimal":
                return Fractions(False, iteration, amounts)
            solution, value = highs.getSolution(), float(highs.getInfo().objective_function_value)
            dual = np.array(solution.row_dual)
            self.y = np.maximum(dual[demand], 0.0)
            self.y[costless] = 0.0
            w = [np.minimum(dual[rows], 0.0) for rows in pools]
            amounts = list(solution.col_value[first:])
            if self._closed(value, known_price):
                return Fractions(True, iteration, amounts)
            prices = np.array([min(0.0, float(dual[row])) if row >= 0 else 0.0 for row in limits])
            worth = model.cost - prices
            late = time.process_time() >= deadline
            if not late and self.search.search_quickly(self.y, worth):
                continue
            # Far from the end, knapsack problems need not be solved to the end either.
            for gap in (min(1e-3, 0.1 * (value - self.bound) / max(value, 1.0)), TOLERANCE / 10):
                values, new = self.search.search_exactly(self.y, worth, gap)
                self.bound = max(self.bound, self._dual_bound(self.y, w, values))
                if new or late:
                    break
            else:
                return Fractions(True, iteration, amounts)
            if late:
                return Fractions(False, iteration, amounts)
        return Fractions(False, MAX_ITERATIONS, amounts)

    def _closed(self, value: float, known_price: int | None) -> bool:
        """Whether the bound cannot become better: it rounds to the value of the program or to a known price."""
        price = self._model.price_above(self.bound)
        if known_price is not None and price >= known_price:
            return True
        return value - self.bound <= CLOSE * value or price >= self._model.price_above(value)

    def _costless(self) -> Bool:
        """Return the shapes that an offer without price and limit holds."""
        found = np.zeros(len(self._model.demand), np.bool_)
        for offer in self._model.offers:
            if not offer.price and offer.limit is None:
                found |= offer.allowed
        return found

    def _program(self) -> tuple[Solver, list[int], list[int], list[list[int]], int]:
        """Return the program without patterns: its solver, the rows of the demand, of the limits (-1 for none) and of
        the pools, and the column of the first pattern."""
        model, program = self._model, LinearProgram()
        demand = [program.row(float(d), math.inf) for d in model.demand]
        limits = limit_rows(program, model)
        for row in demand:
            program.column(model.penalty, math.inf, [(row, 1.0)])
        pools = self._add_pools(program, demand)
        return program.solver(), demand, limits, pools, program.columns

    def _send(self, highs: Solver, sent: int, demand: Sequence[int], limits: Sequence[int]) -> None:
        """Add the patterns from `sent` on to the program."""
        for offer, pods in self._model.patterns[sent:]:
            shapes = np.flatnonzero(pods)
            rows = [demand[int(shape)] for shape in shapes]
            values = [float(pods[shape]) for shape in shapes]
            if limits[offer] >= 0:
                rows.append(limits[offer])
                values.append(1.0)
            cost = float(self._model.cost[offer])
            highs.addCol(cost, 0.0, math.inf, len(rows), np.array(rows, np.int32), np.array(values))


def limit_rows(program: LinearProgram, model: PurchaseModel) -> list[int]:
    """Add a row for each offer with a limit. Return the row of each offer, -1 for none."""
    return [program.row(-math.inf, limit) if limit < math.inf else -1 for limit in model.limits]
