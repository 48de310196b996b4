"""The pricing problem of column generation: patterns that are worth more than their node at given prices of shapes.

For one offer it is a bounded knapsack problem with several resources, which is NP-hard. `search_quickly` tries many
greedy orders at once: O(offers x TRIALS x shapes x resources). `search_exactly` solves an integer program for each
offer, whose bound also limits the value of the patterns that were not found.

Source: Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961).
"""

import math
import time

import numpy as np

from scheduler_core.experiments import linear_program as lp
from scheduler_core.experiments.purchase_model import NO_LIMIT, Float64, Int64, PurchaseModel, fitting_alone

MANY_SHAPES = 200  # of more, quick searches use only the important ones
TRIALS, KEPT = 256, 8  # greedy searches for patterns of an offer, and the best that are used
KNAPSACK_SECONDS = 1.0  # for one knapsack problem; then its own upper bound counts


class PatternSearch:
    """Adds patterns to a model."""

    def __init__(self, model: PurchaseModel) -> None:
        self._model = model
        self._knapsacks: dict[int, lp.Solver] = {}
        self._random = np.random.default_rng(0)

    def add_first(self, y: Float64) -> None:
        """Add a pattern for each offer and shape: as many pods of it as fit, then others. `y`: prices of shapes, by
        which the important ones of many are chosen."""
        model = self._model
        few = len(model.demand) <= MANY_SHAPES
        for number, most in enumerate(model.most):
            self._model.check()
            for shape in np.flatnonzero(most) if few else self._important(np.flatnonzero(most), y):
                pattern = np.zeros(len(most), np.int64)
                pattern[shape] = most[shape]
                model.add(number, self._filled(number, pattern) if few else pattern)

    def _filled(self, number: int, pods: Int64) -> Int64:
        """Fill the node of a pattern with further pods, large ones first."""
        model = self._model
        free = model.offers[number].capacity - pods @ model.requests
        for shape in np.argsort(-model.sizes.max(axis=1, initial=0.0), kind="stable"):
            fits = int(fitting_alone(model.requests[shape : shape + 1], free[None, :])[0, 0])
            more = min(fits, int(model.most[number][shape] - pods[shape]))
            pods[shape] += more
            free -= more * model.requests[shape]
        return pods

    def _important(self, shapes: Int64, y: Float64) -> Int64:
        """Return the shapes with the highest value for their size, at most MANY_SHAPES."""
        size = np.maximum(self._model.sizes[shapes].sum(axis=1), 1e-9)
        return shapes[np.argsort(-y[shapes] / size, kind="stable")[:MANY_SHAPES]]

    def search_quickly(self, y: Float64, worth: Float64) -> bool:
        """Add patterns that many greedy searches find, each with its own order of the shapes. Return whether a pattern
        is new. `y`: prices of shapes. `worth`: of each offer."""
        model, new = self._model, False
        least = lp.TOLERANCE * max(1.0, float(model.cost.max()))
        for number, most in enumerate(model.most):
            self._model.check()
            shapes = self._important(np.flatnonzero((most > 0) & (y > 0)), y)
            if not len(shapes):
                continue
            pods = self._tried(model.offers[number].capacity, most, shapes, y)
            values = pods @ y
            for trial in np.argsort(-values, kind="stable")[:KEPT]:
                if values[trial] > worth[number] + least:
                    new |= model.add(number, pods[trial].copy())
        return new

    def _tried(self, capacity: Int64, most: Int64, shapes: Int64, y: Float64) -> Int64:
        """Return the pods of TRIALS patterns of a node, each filled with these shapes in its own order: the highest
        price for a random mix of the resources first, with some noise."""
        model, random = self._model, self._random
        resources = model.sizes.shape[1]
        weights = random.dirichlet(np.full(resources, 0.5), TRIALS) if resources else np.ones((1, 0))
        density = y[shapes] / np.maximum(weights @ model.sizes[shapes].T, 1e-9)
        density *= np.exp(random.normal(0.0, 0.4, density.shape))
        order = np.argsort(-density, axis=1)
        trials = np.arange(len(order))
        free = np.tile(capacity, (len(order), 1))
        pods = np.zeros((len(order), len(y)), np.int64)
        for thrifty in (True, False):  # the first time, some shapes get less than fits
            for place in range(len(shapes)):
                shape = shapes[order[:, place]]
                needed = model.requests[shape]
                fits = np.where(needed > 0, free // np.maximum(needed, 1), NO_LIMIT).min(axis=1, initial=NO_LIMIT)
                more = np.minimum(fits, most[shape] - pods[trials, shape])
                if thrifty:
                    less = random.random(len(order)) < 0.2
                    more = np.where(less, (more * random.random(len(order))).astype(np.int64), more)
                pods[trials, shape] += more
                free -= more[:, None] * needed
        return pods

    def fill_pooled(self, y: Float64, deadline: float) -> Int64:
        """Give each pooled node the pods that are worth most of those found by greedy searches, fullest nodes first,
        until the processor time reaches the deadline. Return the pods, existing nodes x shapes."""
        model = self._model
        free = np.maximum(model.problem.existing, 0)
        found = np.zeros((len(free), len(model.demand)), np.int64)
        left = model.demand.copy()
        values = y + lp.TOLERANCE * model.sizes.sum(axis=1)  # of equally worth pods, the larger ones
        for row in sorted(model.used_rows, key=lambda row: (float((free[row] / model.scale).sum()), row)):
            self._model.check()
            if time.process_time() >= deadline:
                break
            able = model.problem.usable[row]
            most = np.where(able, np.minimum(left, fitting_alone(model.requests, model.problem.existing[[row]])[0]), 0)
            shapes = self._important(np.flatnonzero(most), y)
            if len(shapes):
                pods = self._tried(free[row], most, shapes, values)
                found[row] = pods[np.argmax(pods @ values)]
                left -= found[row]
        return found

    def search_exactly(self, y: Float64, worth: Float64, gap: float) -> tuple[list[float], bool]:
        """Add the best pattern of each offer, within a relative gap. Return upper bounds of the values of all patterns
        of each offer, and whether a pattern is new."""
        values, new = [], False
        for number, price in enumerate(worth):
            self._model.check()
            value, pods = self._knapsack(number, y, gap)
            values.append(value)
            if pods is not None and float(pods @ y) > price + lp.TOLERANCE * max(1.0, price):
                new |= self._model.add(number, pods)
        return values, new

    def _knapsack(self, number: int, y: Float64, gap: float) -> tuple[float, Int64 | None]:
        """Return an upper bound of the value of a pattern of an offer, and the best pattern found."""
        most = self._model.most[number]
        shapes = np.flatnonzero(most)
        if not (y[shapes] > 0).any():
            return 0.0, None
        if number not in self._knapsacks:
            self._knapsacks[number] = self._program(number, shapes)
        highs = self._knapsacks[number]
        size = max(float(y[shapes].max()), 1e-12)
        highs.changeColsCost(len(shapes), np.arange(len(shapes), dtype=np.int32), -y[shapes] / size)
        highs.setOptionValue("mip_rel_gap", gap)
        status = lp.run(highs)
        value = -float(highs.getInfo().mip_dual_bound) * size
        if status not in ("Optimal", "Time limit reached") or not math.isfinite(value):
            return float(y @ most), None
        pods = np.zeros(len(most), np.int64)
        solution = highs.getSolution()
        if solution.value_valid:
            pods[shapes] = np.rint(np.array(solution.col_value)).astype(np.int64)
            self._repair(number, pods, y)
        return value * (1 + lp.TOLERANCE / 10), pods

    def _program(self, number: int, shapes: Int64) -> lp.Solver:
        """Return the program of the pods of a node, whose costs are not set."""
        model, program = self._model, lp.new_program(time_limit=KNAPSACK_SECONDS, mip_detect_symmetry=False)
        rows = [lp.add_row(program, -math.inf, amount) for amount in model.offers[number].capacity / model.scale]
        for shape in shapes:
            lp.add_column(program, 0.0, model.most[number][shape], lp.entries_of(rows, model.sizes[shape]))
        lp.make_whole(program)
        return program

    def _repair(self, number: int, pods: Int64, y: Float64) -> None:
        """Take pods out of a pattern that exceeds the capacity by the solver's tolerance."""
        model = self._model
        np.clip(pods, 0, model.most[number], out=pods)
        # The sums may exceed int64, but not uint64: they exceed the capacity only slightly.
        requests, capacity = model.requests.astype(np.uint64), model.offers[number].capacity.astype(np.uint64)
        while (over := pods.astype(np.uint64) @ requests > capacity).any():
            inside = np.flatnonzero((pods > 0) & model.requests[:, over].any(axis=1))
            pods[inside[np.argmin(y[inside])]] -= 1
