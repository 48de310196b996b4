"""The cheapest set of nodes: the bound against all packings, on small instances and on random ones."""

import random
from functools import cache

import numpy as np
import pytest

from scheduler_core.experiments.purchase import Purchase, purchase
from scheduler_core.experiments.purchase_model import Offer, Problem

Vector = tuple[int, ...]


def instance(chance: random.Random, pods: int) -> Problem:
    """Return a random instance with at most this number of pods."""
    shapes, resources = chance.randint(1, 4), chance.randint(1, 3)
    offers = chance.randint(1, 3)
    existing = chance.choice((0, 0, 1, 2, 20))
    demand = [0] * shapes
    for _ in range(chance.randint(1, pods)):
        demand[chance.randrange(shapes)] += 1
    big = chance.choice((6, 20))
    return Problem(
        np.array(demand, np.int64),
        np.array([[chance.randint(0, big // 2) for _ in range(resources)] for _ in range(shapes)], np.int64),
        [
            Offer(
                chance.randint(0, 30),
                np.array([chance.randint(big // 3, big) for _ in range(resources)], np.int64),
                chance.choice((None, None, 0, 1, 2, 5)),
                np.array([chance.random() < 0.8 for _ in range(shapes)]),
            )
            for _ in range(offers)
        ],
        np.array([[chance.randint(-1, big // 2) for _ in range(resources)] for _ in range(existing)], np.int64).reshape(
            existing, resources
        ),
        np.array([[chance.random() < 0.7 for _ in range(shapes)] for _ in range(existing)], np.bool_).reshape(
            existing, shapes
        ),
    )


def optimum(problem: Problem) -> int | None:
    """Return the price of the cheapest set by trying all assignments; None if the pods do not fit."""
    shapes = [int(shape) for shape, count in enumerate(problem.demand) for _ in range(count)]
    requests = [tuple(map(int, row)) for row in problem.requests]
    offers = problem.offers
    kinds = [
        (tuple(map(int, row)), tuple(map(bool, use))) for row, use in zip(problem.existing, problem.usable, strict=True)
    ]

    @cache
    def best(at: int, bins: tuple[tuple[Vector, tuple[bool, ...]], ...], counts: Vector) -> float:
        if at == len(shapes):
            return 0.0
        shape, found = shapes[at], float("inf")
        tried = set()
        for number, (free, usable) in enumerate(bins):
            if (
                usable[shape]
                and (free, usable) not in tried
                and all(f >= r for f, r in zip(free, requests[shape], strict=True) if r)
            ):
                tried.add((free, usable))
                left = tuple(f - r for f, r in zip(free, requests[shape], strict=True))
                rest = tuple(sorted((*bins[:number], (left, usable), *bins[number + 1 :])))
                found = min(found, best(at + 1, rest, counts))
        for number, offer in enumerate(offers):
            able = offer.allowed[shape] and all(
                c >= r for c, r in zip(offer.capacity, requests[shape], strict=True) if r
            )
            if able and (offer.limit is None or counts[number] < offer.limit):
                left = tuple(int(c) - r for c, r in zip(offer.capacity, requests[shape], strict=True))
                rest = tuple(sorted((*bins, (left, tuple(map(bool, offer.allowed))))))
                more = (*counts[:number], counts[number] + 1, *counts[number + 1 :])
                found = min(found, offer.price + best(at + 1, rest, more))
        return found

    price = best(0, tuple(sorted(kinds)), (0,) * len(offers))
    return None if price == float("inf") else int(price)


def check_packing(problem: Problem, found: Purchase) -> None:
    """Check a packing without the solver: capacities, allowed shapes, limits, price and every pod once."""
    placed = found.on_existing.sum(axis=0)
    for row, pods in enumerate(found.on_existing):
        assert problem.usable[row][pods > 0].all()
        used, touched = pods @ problem.requests, (pods[:, None] * problem.requests).any(axis=0)
        assert (used <= np.where(touched, problem.existing[row], used)).all()
    counts = [0] * len(problem.offers)
    for packing in found.bought:
        offer = problem.offers[packing.offer]
        assert offer.allowed[packing.pods > 0].all()
        assert (packing.pods @ problem.requests <= offer.capacity).all()
        counts[packing.offer] += packing.nodes
        placed = placed + packing.nodes * packing.pods
    assert all(offer.limit is None or count <= offer.limit for offer, count in zip(problem.offers, counts, strict=True))
    assert found.price == sum(o.price * count for o, count in zip(problem.offers, counts, strict=True))
    assert (placed + found.unplaced == problem.demand).all()
    assert (found.unplaced >= 0).all()


def compare_with_optimum(seeds: range, pods: int) -> tuple[int, int]:
    """Return how often the answer, and how often the bound, equals the optimum."""
    answers = bounds = 0
    for seed in seeds:
        problem = instance(random.Random(f"buy/{seed}"), pods)
        found, best = purchase(problem, 20, lambda: None), optimum(problem)
        check_packing(problem, found)
        assert found.resource_bound <= found.bound, seed
        if best is None:
            assert found.unplaced.any(), seed
            continue
        assert found.bound <= best, seed
        if not found.unplaced.any():
            assert best <= found.price, seed
            assert found.first_fit is None or best <= found.price <= found.first_fit, seed
        answers += not found.unplaced.any() and found.price == best
        bounds += found.bound == best
    return answers, bounds


def test_bound_optimum_and_answer_on_small_instances() -> None:
    answers, bounds = compare_with_optimum(range(25), 4)
    assert answers >= 15
    assert bounds >= 10


@pytest.mark.long
def test_bound_optimum_and_answer_on_1000_instances() -> None:
    compare_with_optimum(range(1000), 6)


def test_existing_nodes_of_many_kinds_are_filled_better_than_by_first_fit() -> None:
    requests = np.array([[60, 10], [45, 45], [40, 55], [35, 20]], np.int64)
    existing = np.array([[100 + row, 100 + row // 2] for row in range(40)], np.int64)
    offer = Offer(7, np.array([100, 100], np.int64), None, np.ones(4, np.bool_))
    demand = np.array([40, 30, 40, 60], np.int64)
    problem = Problem(demand, requests, [offer], existing, np.ones((40, 4), np.bool_))
    found = purchase(problem, 20, lambda: None)
    check_packing(problem, found)
    assert found.first_fit is not None
    assert found.bound <= found.price < found.first_fit


def one_resource(unit: int, existing: list[int], capacity: int, requests: list[int], demand: list[int]) -> Problem:
    """Return a problem with one resource and one offer; all quantities are multiplied by the unit."""
    shapes = len(requests)
    return Problem(
        np.array(demand, np.int64),
        np.array([[request * unit] for request in requests], np.int64),
        [Offer(10, np.array([capacity * unit], np.int64), None, np.ones(shapes, np.bool_))],
        np.array([[free * unit] for free in existing], np.int64).reshape(-1, 1),
        np.ones((len(existing), shapes), np.bool_),
    )


@pytest.mark.parametrize(
    ("existing", "capacity", "requests", "demand", "price"),
    [
        (list(range(690, 710)), 700, [300, 200], [40, 40], 130),  # the sum of 20 pooled nodes exceeds int64
        # Two pods together exceed a node, but by less than the tolerance of the solver.
        ([], (1 << 23) - 1, [1 << 22, 1 << 22], [5, 5], 100),
    ],
)
def test_sums_above_int64_change_nothing(
    existing: list[int], capacity: int, requests: list[int], demand: list[int], price: int
) -> None:
    unit = 1 << (63 - capacity.bit_length())
    for problem in (one_resource(factor, existing, capacity, requests, demand) for factor in (1, unit)):
        found = purchase(problem, 20, lambda: None)
        assert not found.unplaced.any()
        assert found.price == price
        assert 0 < found.resource_bound <= found.bound <= price
        assert 2 * found.bound >= price
