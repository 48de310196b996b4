"""The cheapest set of nodes that holds pods: a proved lower bound, and a packing.

The modules, in the order of a purchase: `purchase_model` (offers and patterns), `first_fit` (a first packing),
`configuration_lp` (the bound, by column generation; its pricing problem is `pattern_search`) and `whole_nodes` (the
packing). Existing nodes of too many kinds are pooled for the bound, and filled before nodes are bought.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.configuration_lp import ConfigurationLP
from scheduler_core.experiments.first_fit import FirstFit
from scheduler_core.experiments.purchase_model import Int64, PackedNodes, Problem, PurchaseModel
from scheduler_core.experiments.whole_nodes import WholeNodes

SHARE = 0.6  # of the time, for the linear program
FILL_SHARE = 0.3  # of the rest, to fill pooled nodes


@dataclass
class Purchase:
    """The result. All prices are in the unit of the offers.

    `bound`: no set of nodes that holds all pods costs less. `resource_bound`: the same without the knapsack problems,
    from the sums of resources. `first_fit`: the price of first fit decreasing; None if it leaves pods. `price`,
    `bought`: the cheapest packing found, and `on_existing`: its pods on each existing node, nodes x shapes.
    `unplaced`: pods of each shape that it leaves. `complete`: whether the linear program was solved to its end.
    """

    bound: int
    resource_bound: int
    first_fit: int | None
    price: int
    bought: list[PackedNodes]
    on_existing: Int64
    unplaced: Int64
    complete: bool
    iterations: int = 0
    seconds: float = 0.0


def purchase(problem: Problem, seconds: float, check: Check) -> Purchase:
    """Return the cheapest set of nodes found within a time, and the bound that is proved by then.

    `seconds`: of processor time, so that other processes do not change the result; it is valid whenever it ends.
    """
    start = time.process_time()
    deadline = start + seconds
    model = PurchaseModel(problem, check)
    first_fit, lp = FirstFit(model), ConfigurationLP(model)
    resource_bound = lp.bound
    first, first_price, on_pooled = first_fit.best()
    for packing in first:
        model.add(packing.offer, packing.pods)
    lp.search.add_first(lp.y)
    now = time.process_time()
    solved = lp.solve(first_price, now + SHARE * (deadline - now))
    existing = np.zeros_like(on_pooled)
    if model.pools:
        now = time.process_time()
        fillings = [on_pooled, lp.search.fill_pooled(lp.y, now + FILL_SHARE * (deadline - now))]
        packings, existing = _after_filling(problem, fillings, deadline, check)
    else:
        packings = WholeNodes(model, first_fit, lp.bound, deadline).best(first, solved.amounts)
        model.place_existing(packings, existing)
    bought = [packing for packing in packings if packing.offer < model.bought]
    unplaced = model.demand - model.placed(bought) - existing.sum(axis=0)
    price, bound = model.price(bought), model.price_above(lp.bound)
    if not unplaced.any():
        bound = min(bound, price)
    return Purchase(
        bound=bound,
        resource_bound=min(model.price_above(resource_bound), bound),
        first_fit=first_price,
        price=price,
        bought=bought,
        on_existing=existing,
        unplaced=unplaced,
        complete=solved.complete,
        iterations=solved.iterations,
        seconds=time.process_time() - start,
    )


def _after_filling(
    problem: Problem, fillings: Sequence[Int64], deadline: float, check: Check
) -> tuple[list[PackedNodes], Int64]:
    """Return the cheapest nodes to buy for the pods that a filling of the existing nodes (nodes x shapes) leaves, and
    the filling. Each is a purchase without existing nodes."""
    found: list[tuple[tuple[int, int], list[PackedNodes], Int64]] = []
    for number, existing in enumerate(fillings):
        seconds = max(0.0, deadline - time.process_time()) / (len(fillings) - number)
        rest = purchase(problem.without_existing(problem.demand - existing.sum(axis=0)), seconds, check)
        found.append(((int(rest.unplaced.sum()), rest.price), rest.bought, existing))
    _, bought, existing = min(found, key=lambda one: one[0])
    return bought, existing


def first_fit(problem: Problem) -> list[PackedNodes]:
    """Return the nodes to buy for new pods by first fit decreasing; pods that no offer holds are left out."""
    return FirstFit(PurchaseModel(problem)).best()[0]
