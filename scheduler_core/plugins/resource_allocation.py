"""Scoring formulas of NodeResourcesFit: utilization of a node with the pod.

Upstream: pkg/scheduler/framework/plugins/noderesources (resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go), pkg/scheduler/framework/plugins/helper (BuildBrokenLinearFunction).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from msgspec import structs

from scheduler_core.api.plugin_args import (
    Complain,
    PluginArgs,
    ResourceSpec,
    Strict,
    UtilizationShapePoint,
    check_choice,
    check_range,
)
from scheduler_core.api.quantity import nano_value
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import exact
from scheduler_core.cluster.nodes import NodeTable, on_rows
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.requests import in_use, request, unit_of
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    divide,
    divide_int,
    either,
    highest,
    less,
    lowest,
    multiply,
    rest,
    rounded,
    subtract,
    total,
)


class RequestedToCapacityRatioParam(Strict, frozen=True, kw_only=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


class ScoringStrategy(Strict, frozen=True, kw_only=True):
    """The scoring of NodeResourcesFit: LeastAllocated, MostAllocated or RequestedToCapacityRatio."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


def with_weights(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Return cpu and memory if `resources` is empty; a weight of 0 becomes 1."""
    return tuple(structs.replace(r, weight=r.weight or 1) for r in resources) or CPU_AND_MEMORY


def checked_resources(complain: Complain, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Return the resources with weights, which must be in 1..100."""
    weighted = with_weights(resources)
    for i, resource in enumerate(weighted):
        check_range(complain, f"resources[{i}].weight", resource.weight, 1, 100)
    return weighted


def check_scoring_strategy(complain: Complain, strategy: ScoringStrategy) -> None:
    choices = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    check_choice(complain, "scoringStrategy.type", strategy.type, choices)
    for i, resource in enumerate(strategy.resources):
        check_range(complain, f"scoringStrategy.resources[{i}].weight", resource.weight, 1, 100)
    ratio, path = strategy.requested_to_capacity_ratio, "scoringStrategy.requestedToCapacityRatio"
    if strategy.type != "RequestedToCapacityRatio":
        if ratio is not None:
            complain(path, f"must not be given when type is {strategy.type}")
    elif ratio is None:
        complain(path, "must be given when type is RequestedToCapacityRatio")
    else:
        check_shape(complain, f"{path}.shape", ratio.shape)


def check_shape(complain: Complain, field: str, shape: tuple[UtilizationShapePoint, ...]) -> None:
    if not shape:
        complain(field, "must have at least one point")
    for i, point in enumerate(shape):
        check_range(complain, f"{field}[{i}].utilization", point.utilization, 0, 100)
        check_range(complain, f"{field}[{i}].score", point.score, 0, 10)
        if i and point.utilization <= shape[i - 1].utilization:
            complain(f"{field}[{i}].utilization", f"must be greater than the point before it, got {point.utilization}")


@dataclass(frozen=True, slots=True)
class Strategy:
    """A scoring strategy. `shape`: points of RequestedToCapacityRatio. `own`: the strategy belongs to a plugin of its
    own and is given by its arguments; otherwise it is part of NodeResourcesFit's arguments. `max_score`: the highest
    score."""

    type: str
    resources: tuple[ResourceSpec, ...]
    shape: tuple[UtilizationShapePoint, ...] = ()
    own: bool = False
    max_score: int = fwk.MAX_NODE_SCORE

    @staticmethod
    def of_fit(strategy: ScoringStrategy) -> Strategy:
        """Return the scoring strategy of NodeResourcesFit."""
        ratio = strategy.requested_to_capacity_ratio
        return Strategy(strategy.type, strategy.resources, ratio.shape if ratio is not None else ())

    @property
    def points(self) -> list[tuple[int, int]]:
        """The points of `shape` as (utilization, score of `max_score`)."""
        return [(p.utilization, p.score * self.max_score // _MAX_SHAPE_SCORE) for p in self.shape]

    @property
    def best(self) -> str:
        """The node with the highest score in words (`ScorePlugin.best`)."""
        if self.type != "RequestedToCapacityRatio":
            return "the fullest" if self.type == "MostAllocated" else "the emptiest"
        scores = [point.score for point in self.shape]
        if scores == sorted(scores):
            return "the fullest"
        return "the emptiest" if scores == sorted(scores, reverse=True) else "the one with the preferred utilization"

    def path(self, field: str) -> tuple[str, ...]:
        """Return the path of `resources` or `shape` in the plugin's arguments."""
        if self.own:
            return (field,)
        inner = ("requestedToCapacityRatio", field) if field == "shape" else (field,)
        return ("scoringStrategy", *inner)


ResourceScorer = Callable[[fwk.CycleState, PodInfo, fwk.Rows], fwk.Integers]
Formula = Callable[[fwk.Int64, fwk.Int64], fwk.Int64]  # (requested, allocatable > 0), int64 over rows -> 0..100

MAX_UTILIZATION = 100
# Requested amount, with an allocatable amount of 1, that is assumed for a resource that a node lacks. The node then
# gets no points, or those of the last point of the shape.
_ABSENT = {"LeastAllocated": 2, "MostAllocated": 0, "RequestedToCapacityRatio": 2}
FREE, REQUESTED = 0, 1
_MAX_SHAPE_SCORE = 10
_EXACT = 1 << 46
BELOW_HALF = math.nextafter(0.5, 0.0)

Float64 = npt.NDArray[np.float64]


def columns(
    cluster: Cluster,
    pod: PodInfo,
    name: str,
    rows: fwk.Rows,
    nonzero: bool,
    overhead: bool = True,
    absent: int | None = None,
) -> tuple[fwk.Int64, fwk.Int64, fwk.Bool | None] | None:
    """Return (allocatable, requested with the pod, nodes that have any of it) over the rows; None if the resource does
    not take part.

    The types are int64, int64 and bool (None for all nodes). A node without the resource gets allocatable 1, so that
    division is possible. `nonzero`: use default requests for containers without requests of cpu or memory. `overhead`:
    include the pod's overhead. `absent`: all resources take part, and a node without the resource gets this requested
    amount and allocatable 1.
    """
    nodes = cluster.nodes
    allocatable = nodes.allocatable.get(name)
    if name == resources.CPU:
        used = nodes.nonzero_cpu if nonzero else nodes.requested[name]
        amount = pod.nonzero_incoming[0] if nonzero else pod.requests.get(name, 0) + pod.slip
    elif name == resources.MEMORY:
        used = nodes.nonzero_memory if nonzero else nodes.requested[name]
        amount = pod.nonzero_incoming[1] if nonzero else pod.requests.get(name, 0)
    else:
        amount = pod.held.get(name, 0)  # 1.16 omits init containers
        if allocatable is None or (amount == 0 and name != resources.EPHEMERAL and absent is None):
            ones = np.ones(len(nodes), np.int64)[rows]
            return (ones, absent * ones, None) if absent is not None else None
        used = nodes.requested[name]
    if allocatable is None:
        return None
    if not overhead:
        amount -= scored_overhead(pod, name)
    owners = nodes.owners(name)
    if owners is None:
        return allocatable[rows], used[rows] + amount, None
    owners = owners[rows]
    if absent is not None:
        return np.where(owners, allocatable[rows], 1), np.where(owners, used[rows] + amount, absent), None
    return np.where(owners, allocatable[rows], 1), used[rows] + amount, owners


def shares_of_pair(cluster: Cluster, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows, which: int) -> Float64 | None:
    """Return 100 x the free share of cpu and memory with the pod, by the requests of scoring (`which` FREE), or the
    requested share (REQUESTED): float64 over [cpu or memory, rows], which the caller may change.

    None unless all nodes have both, each less than 2^46 (see `quotients`), and no amount of a pod can make a sum
    overflow or negative.
    """
    kept = state.shares
    if kept is not None and kept[0] is rows and kept[1] == which:
        state.shares = None
        return kept[2]
    nodes = cluster.nodes
    capacity, amounts = state.of_class("shares", lambda: (divisors(nodes), _amounts(pod)))
    if capacity is None or amounts is None or nodes.has_extreme_amounts:
        return None
    # in place: memory is slower than arithmetic
    both: Float64 = on_rows(nodes.numerators, rows).astype(np.float64)
    both += amounts
    both /= on_rows(capacity, rows)
    state.shares = rows, 1 - which, both[1 - which]  # for the other plugin of these rows
    return both[which]  # type: ignore[no-any-return]


def _amounts(pod: PodInfo) -> Float64 | None:
    """Return what a pod adds to `NodeTable.numerators`: float64 over [free or requested, cpu or memory, 1]. None if an
    amount is negative or may make a sum overflow."""
    cpu, memory = pod.requests.get(resources.CPU, 0) + pod.slip, pod.requests.get(resources.MEMORY, 0)
    if min(*pod.nonzero_incoming, cpu, memory) < 0 or max(*pod.nonzero_incoming, cpu, memory) >= _EXACT:
        return None
    scored_cpu, scored_memory = pod.nonzero_incoming
    return np.array([[[-100 * scored_cpu], [-100 * scored_memory]], [[cpu], [memory]]], np.float64)


def divisors(nodes: NodeTable) -> Float64 | None:
    """Return the allocatable cpu and memory of each node as two rows of float64; None unless all nodes have both, each
    less than 2^46."""

    def make() -> tuple[Float64 | None]:
        pair = nodes.capacity[1:3]
        plain = pair.size and int(pair.min()) > 0 and int(pair.max()) < _EXACT
        return (pair.astype(np.float64) if plain else None,)

    found: Float64 | None = nodes.memo("divisors", make)[0]
    return found


def column_of(*amounts: int) -> fwk.Int64:
    """Return an amount for each row of a matrix over nodes."""
    return np.array(amounts, np.int64)[:, np.newaxis]


def quotients(numerators: fwk.Int64, denominators: fwk.Int64) -> fwk.Int64:
    """Return numerators // denominators for 0 <= numerators <= 100 x denominators, denominators > 0; int64.

    Below 2^46, float64 gives the same result: a quotient that is not an integer is more than 1 / 2^46 away from the
    next integer, which is more than the rounding error near 100. Float division takes a quarter of the time of integer
    division.
    """
    if len(denominators) and int(denominators.max()) < _EXACT:
        return (numerators / denominators).astype(np.int64)
    return numerators // denominators


def least_allocated(requested: fwk.Int64, allocatable: fwk.Int64, max_score: int = fwk.MAX_NODE_SCORE) -> fwk.Int64:
    """Return max_score x free / allocatable; 0 where the node would be overcommitted."""
    free = allocatable - requested
    np.maximum(free, 0, out=free)
    free *= max_score
    return quotients(free, allocatable)


def most_allocated(requested: fwk.Int64, allocatable: fwk.Int64, max_score: int = fwk.MAX_NODE_SCORE) -> fwk.Int64:
    """Return max_score x requested / allocatable, at most max_score."""
    return quotients(np.minimum(requested, allocatable) * max_score, allocatable)


def most_requested(requested: fwk.Int64, allocatable: fwk.Int64, max_score: int) -> fwk.Int64:
    """Return `most_allocated`, but 0 where the node would be overcommitted."""
    return np.where(requested > allocatable, 0, most_allocated(requested, allocatable, max_score))


def broken_linear(shape: list[tuple[int, int]]) -> fwk.Int64:
    """Return the score of each utilization 0..100 for a shape of (utilization, score) points; int64[101]."""
    table = np.empty(MAX_UTILIZATION + 1, np.int64)
    for utilization in range(MAX_UTILIZATION + 1):
        table[utilization] = _interpolate(shape, utilization)
    return table


def _interpolate(shape: list[tuple[int, int]], utilization: int) -> int:
    for i, (x, y) in enumerate(shape):
        if utilization <= x:
            if i == 0:
                return y
            x0, y0 = shape[i - 1]
            rise = (y - y0) * (utilization - x0)
            step = abs(rise) // (x - x0)  # Go divides toward zero
            return y0 + (step if rise >= 0 else -step)
    return shape[-1][1]


def requested_to_capacity_ratio(shape: list[tuple[int, int]], rounds_up: bool = False) -> Formula:
    """Return a formula for the shape's score at the node's utilization in whole percent; 100 percent if it would be
    overcommitted."""
    table = broken_linear(shape)

    def formula(requested: fwk.Int64, allocatable: fwk.Int64) -> fwk.Int64:
        used = requested * MAX_UTILIZATION // allocatable
        if rounds_up:
            used = MAX_UTILIZATION - (allocatable - requested) * MAX_UTILIZATION // allocatable
        utilization = np.where(requested > allocatable, MAX_UTILIZATION, used)
        # the product may overflow, as in Go; outside 0..100 the ends of the shape apply
        points: fwk.Int64 = table[np.clip(utilization, 0, MAX_UTILIZATION)]
        return points

    return formula


def round_half_away(values: Any) -> fwk.Int64:
    """Return math.Round of the values, as int64."""
    # with 0.5 itself, the sum of 0.5 and the number before it would be 1
    rounded: fwk.Int64 = (values + np.copysign(BELOW_HALF, values)).astype(np.int64)
    return rounded


def scored_overhead(pod: PodInfo, name: str) -> int:
    """Return how much of the pod's overhead is included in the amount that it is scored by."""
    if name not in pod.pod.spec.overhead:
        return 0
    return resources.amount(name, nano_value(pod.pod.spec.overhead[name])) + (pod.slip if name == resources.CPU else 0)


def make_scorer(cluster: Cluster, strategy: Strategy, overhead: bool = True) -> ResourceScorer:
    """Return the scorer of a strategy: the weighted mean over the resources that the node has."""
    weights = [(spec.name, int(spec.weight)) for spec in strategy.resources]
    ratio = strategy.type == "RequestedToCapacityRatio"
    old = cluster.release.scores_absent_resources
    absent = _ABSENT[strategy.type] if old else None
    if ratio:
        formula = requested_to_capacity_ratio(strategy.points, rounds_up=old)
    else:
        most = most_requested if cluster.release.most_allocated_overcommitted_is_zero else most_allocated
        formula = partial(most if strategy.type == "MostAllocated" else least_allocated, max_score=strategy.max_score)

    pair = [name for name, _ in weights] == [resources.CPU, resources.MEMORY] and absent is None
    least = strategy.type == "LeastAllocated" and pair and strategy.max_score == fwk.MAX_NODE_SCORE

    def score(state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Integers:
        if least and (overhead or not pod.pod.spec.overhead):
            shares = shares_of_pair(cluster, state, pod, rows, FREE)
            if shares is not None:
                return least_of_pair(shares)
        total: Any = 0
        divisor: Any = 0
        for name, weight in weights:
            found = columns(cluster, pod, name, rows, True, overhead, absent)
            if found is None:
                continue
            allocatable, requested, counts = found
            points = formula(requested, allocatable)
            if ratio:  # for this strategy, resources with a score of 0 are also left out of the mean
                counts = points > 0 if counts is None else counts & (points > 0)
            if counts is None:
                total = total + points * weight
                divisor = divisor + weight
            else:
                total = total + np.where(counts, points * weight, 0)
                divisor = divisor + np.where(counts, weight, 0)
        if isinstance(total, int):
            return np.zeros(len(cluster.nodes), np.int64)[rows]
        if not isinstance(divisor, int):
            divisor = np.where(divisor == 0, 1, divisor)
        if ratio:
            return round_half_away(total / divisor)
        return total // divisor  # type: ignore[no-any-return]

    def least_of_pair(shares: Float64) -> fwk.Integers:
        """Return the same for both resources at once. `shares`: see `shares_of_pair`. They change."""
        cpu, memory = np.maximum(shares, 0.0, out=shares).astype(np.uint8)
        (_, of_cpu), (_, of_memory) = weights
        if of_cpu == of_memory:
            cpu += memory
            cpu >>= 1
            return cpu  # type: ignore[no-any-return]
        mean = (cpu.astype(np.int64) * of_cpu + memory.astype(np.int64) * of_memory) // (of_cpu + of_memory)
        return mean.astype(np.uint8)  # type: ignore[no-any-return]

    return score


# ---------------------------------------------------------------- explanations of scores


def filled(
    view: View, resource: str, nonzero: bool, overhead: bool = True, every: bool = False
) -> tuple[Tree, Tree] | None:
    """Return (allocatable, requested with the pod) as trees; None if the resource does not take part (see
    `columns`)."""
    common = (resources.CPU, resources.MEMORY, resources.EPHEMERAL)
    if not every and resource not in common and not view.pod.requests.get(resource):
        return None
    unit = unit_of(resource)
    has = view.field(
        view.node, "status", "allocatable", resource, unit=unit, label=f"allocatable {resource}", missing=0
    )
    if not has.value:
        return None
    with_pod = request(view, view.pod, resource, nonzero, incoming=True)
    if not overhead and (left_out := scored_overhead(view.pod, resource)):
        with_pod = total([with_pod, rest(-left_out, 0, "its overhead is not scored", unit=unit)], unit=unit)
    return has, in_use(view, view.row, resource, nonzero, also=with_pod)


def explain_strategy(view: View, plugin: str, strategy: Strategy, overhead: bool = True) -> Tree:
    """Return the tree of `make_scorer`."""
    points: list[Tree] = []
    weights: list[Tree] = []
    texts: list[str] = []
    old = view.cluster.release.scores_absent_resources
    for i, spec in enumerate(strategy.resources):
        found = filled(view, spec.name, True, overhead, every=old)
        if found is None and not old:
            continue
        if found is None:
            has, used = constant(1, f"no {spec.name}"), constant(_ABSENT[strategy.type], "requests that count")
        else:
            has, used = found
        own = _points(view, plugin, strategy, has, used).with_label(f"points for {spec.name}")
        if strategy.type == "RequestedToCapacityRatio" and own.value <= 0:
            continue
        points.append(own)
        path: tuple[str | int, ...] = (*strategy.path("resources"), i, "weight")
        weights.append(view.argument(plugin, *path, label=f"weight of {spec.name}", missing=spec.weight))
        texts.append(f"{spec.name} {own.value}: {_fullness(strategy, spec.name, has.value, used.value)}")
    name = view.node.name
    if not points:
        return constant(0, "no resource counts").with_text(f"0: {name} has none of the resources that count")
    if len(points) == 1:
        tree = points[0]  # the mean of one value is the value itself, whatever its weight
        resource = points[0].label.removeprefix("points for ")
        if strategy.type == "RequestedToCapacityRatio":
            tree = rounded(divide(multiply(points[0], weights[0]), weights[0]))
        return tree.with_text(
            f"{tree.value} = {texts[0].removeprefix(f'{resource} {points[0].value}: ')} ({resource} of {name})"
        )
    weighted = total([multiply(p, w, f"{p.label} x weight") for p, w in zip(points, weights, strict=True)])
    whole = total(weights, "weights")
    ratio = strategy.type == "RequestedToCapacityRatio"
    tree = rounded(divide(weighted, whole)) if ratio else divide_int(weighted, whole)
    return tree.with_text(f"{tree.value} = the mean of {', '.join(texts)} ({name})")


def _fullness(strategy: Strategy, resource: str, has: int, used: int) -> str:
    """Return `3,480m free of 4,000m after this pod`, or the used amount for the other strategies."""
    if strategy.type == "LeastAllocated":
        return f"{exact(resource, has - used)} free of {exact(resource, has)} after this pod"
    return f"{exact(resource, used)} of {exact(resource, has)} used with this pod"


def _points(view: View, plugin: str, strategy: Strategy, has: Tree, used: Tree) -> Tree:
    """Return the tree of the score 0..100 for one resource."""
    if strategy.type == "RequestedToCapacityRatio":
        return _shape_points(view, plugin, strategy, has, used)
    zero = view.cluster.release.most_allocated_overcommitted_is_zero
    if strategy.type == "MostAllocated" and zero and used.value > has.value:
        return either(less(has, used, "would be overcommitted"), constant(0), constant(0))
    if strategy.type == "MostAllocated":
        part = used if used.value <= has.value else lowest([used, has], "at most the allocatable amount", used.unit)
    else:
        part = subtract(has, used, "free after this pod", used.unit)
        if part.value < 0:
            part = highest([part, constant(0, "overcommitted")], "free after this pod", used.unit)
    return divide_int(multiply(part, max_node_score(strategy.max_score)), has)


def _shape_points(view: View, plugin: str, strategy: Strategy, has: Tree, used: Tree) -> Tree:
    """Return the tree of the score for one resource by the shape."""
    use = share_of(used, has)
    if view.cluster.release.scores_absent_resources and used.value <= has.value:
        full = constant(MAX_UTILIZATION, "maxUtilization")
        free = divide_int(multiply(subtract(has, used), full), has, "free in percent")
        use = subtract(full, free, "utilization in percent")
    return shape_score(view, plugin, strategy, use)


def share_of(used: Tree, has: Tree) -> Tree:
    """Return the tree of used / has in percent, at most 100. `has` is not 0."""
    full = constant(MAX_UTILIZATION, "maxUtilization")
    share = divide_int(multiply(used, full), has, "utilization in percent")
    return share if used.value <= has.value else lowest([share, full], "utilization in percent, overcommitted")


def shape_score(view: View, plugin: str, strategy: Strategy, use: Tree) -> Tree:
    """Return the tree of the score for a utilization in percent, interpolated between two points of the shape."""
    shape = strategy.shape

    def point(i: int, name: str) -> Tree:
        path: tuple[str | int, ...] = (*strategy.path("shape"), i, name)
        return view.argument(plugin, *path, label=f"{name} of point {i}", missing=getattr(shape[i], name))

    def score(i: int) -> Tree:
        scale = constant(strategy.max_score // _MAX_SHAPE_SCORE, "MaxNodeScore / MaxCustomPriorityScore")
        return multiply(point(i, "score"), scale, f"score of point {i}, of {strategy.max_score}")

    after = next((i for i, p in enumerate(shape) if use.value <= p.utilization), len(shape))
    if after in (0, len(shape)):
        return score(min(after, len(shape) - 1))
    rise = subtract(score(after), score(after - 1))
    run = subtract(point(after, "utilization"), point(after - 1, "utilization"))
    way = subtract(use, point(after - 1, "utilization"))
    return total([score(after - 1), divide_int(multiply(rise, way), run)])


class ResourcesArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of a plugin that scores some resources."""

    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        return structs.replace(self, resources=checked_resources(complain, self.resources))


class StrategyPlugin(fwk.ScorePlugin):
    """A plugin whose score is one scoring strategy, named by `strategy_type`. NodeResourcesFit replaced them all."""

    strategy_type: ClassVar[str]
    reads = "amounts"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        resources, shape = tuple(args.resources), tuple(getattr(args, "shape", ()))
        self.strategy = Strategy(self.strategy_type, resources, shape, own=True, max_score=self.max_score)
        self.scorer = make_scorer(cluster, self.strategy)

    @classmethod
    def describe_best(cls, args: Any) -> str:
        return Strategy(cls.strategy_type, (), tuple(getattr(args, "shape", ()))).best

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.USAGE

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Integers:
        """Return the weighted mean of the strategy's scores over the resources."""
        return self.scorer(state, pod, rows)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        return explain_strategy(view, self.name, self.strategy)
