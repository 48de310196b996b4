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

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler_core.experiments import linear_program as lp
from scheduler_core.experiments.pattern_search import PatternSearch
from scheduler_core.experiments.purchase_model import Bool, Float64, Int64, PurchaseModel

CLOSE = 2e-5  # the bound is good enough at this distance from the linear program, relative
MAX_ITERATIONS = 2_000


class Fractions(NamedTuple):
    """The solution of the linear program: how many nodes get each pattern. `complete`: whether it is optimal."""

    complete: bool
    iterations: int
    amounts: list[float]


class ConfigurationLP:
    """`bound`: the best lower bound so far, in units. `y`: the dual price of each shape."""

    def __init__(self, model: PurchaseModel) -> None:
        self._model = model
        self.search = PatternSearch(model)
        self.y = np.zeros(len(model.demand))
        self.bound = self._resource_bound()

    def _resource_bound(self) -> float:
        """Return the bound from sums of resources: pods may be cut in pieces, nodes bought in parts."""
        model, program = self._model, lp.new_program()
        demand = demand_rows(program, model)
        for number, offer in enumerate(model.offers):
            rows = [lp.add_row(program, 0.0, math.inf) for _ in offer.capacity]
            capacity = lp.entries_of(rows, offer.capacity / model.scale)
            lp.add_column(program, model.cost[number], model.limits[number], capacity)
            for shape in np.flatnonzero(model.most[number]):
                used = [(row, -size) for row, size in lp.entries_of(rows, model.sizes[shape])]
                lp.add_column(program, 0.0, math.inf, [(demand[shape], 1.0), *used])
        self._add_pools(program, demand)
        add_penalties(program, model, demand)
        if lp.run(program) != "Optimal":
            return 0.0
        self.y = np.maximum(np.array(program.getSolution().row_dual[: len(demand)]), 0.0)
        return float(program.getInfo().objective_function_value) * (1 - lp.TOLERANCE)

    def _add_pools(self, program: lp.Solver, demand: Sequence[int]) -> list[list[int]]:
        """Add the pods on each pool. Return the rows of each pool's resources."""
        model, found = self._model, []
        for pool in model.pools:
            rows = [lp.add_row(program, -math.inf, free) for free in pool.free / model.scale]
            for shape in np.flatnonzero(pool.most):
                used = lp.entries_of(rows, model.sizes[shape])
                lp.add_column(program, 0.0, pool.most[shape], [(demand[int(shape)], 1.0), *used])
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
        program = lp.new_program()
        demand, limits = demand_rows(program, model), limit_rows(program, model)
        add_penalties(program, model, demand)
        pools, first = self._add_pools(program, demand), program.getNumCol()
        costless, sent = self._costless(), 0
        for iteration in range(1, MAX_ITERATIONS + 1):
            self._model.check()
            for pattern in model.patterns[sent:]:
                add_pattern(program, model, pattern, demand, limits)
            sent = len(model.patterns)
            if lp.run(program) != "Optimal":
                return Fractions(False, iteration, amounts)
            solution, value = program.getSolution(), float(program.getInfo().objective_function_value)
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
            for gap in (min(1e-3, 0.1 * (value - self.bound) / max(value, 1.0)), lp.TOLERANCE / 10):
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


def demand_rows(program: lp.Solver, model: PurchaseModel) -> list[int]:
    """Add a row for each shape. Return the rows."""
    return [lp.add_row(program, pods, math.inf) for pods in model.demand]


def limit_rows(program: lp.Solver, model: PurchaseModel) -> list[int]:
    """Add a row for each offer with a limit. Return the row of each offer, -1 for none."""
    return [lp.add_row(program, -math.inf, limit) if limit < math.inf else -1 for limit in model.limits]


def add_penalties(program: lp.Solver, model: PurchaseModel, demand: Sequence[int]) -> None:
    """Add a column for the pods of each shape without a node. `demand`: the rows of the shapes."""
    for row in demand:
        lp.add_column(program, model.penalty, math.inf, [(row, 1.0)])


def add_pattern(
    program: lp.Solver, model: PurchaseModel, pattern: tuple[int, Int64], demand: Sequence[int], limits: Sequence[int]
) -> None:
    """Add a column for the nodes with a pattern (offer, pods). `limits`: the rows of the offers."""
    offer, pods = pattern
    limit = [(limits[offer], 1.0)] if limits[offer] >= 0 else []
    lp.add_column(program, model.cost[offer], math.inf, [*lp.entries_of(demand, pods), *limit])
