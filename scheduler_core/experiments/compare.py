"""Compare: which configuration, release or set of changes gives which result, and which pods make the difference.

A variant is a combination of scenario, release, configuration and changes; its cells differ in the seed. A difference
between variants is clear if the seeds do not explain it: for some two variants, the highest value of one is below the
lowest value of the other.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import count, listing
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import Experiment, cells_of
from scheduler_core.experiments.placements import (
    EXCHANGED,
    KINDS,
    PLACED,
    SAME,
    Placements,
    WorkloadCounts,
    placements_of,
    run_with_kinds,
)
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.metrics.catalog import metric_of, with_counts
from scheduler_core.metrics.pareto import pareto_front

DIMENSIONS = {"configuration": "configurations", "release": "releases", "changes": "changes", "scenario": "scenarios"}
"""Label of a cell -> what variants that differ in it are called."""
MAX_VARIANTS = 1000
MAX_WORKLOADS = 200
MAX_PODS = 20  # of a workload
MAX_LISTED = 24  # variants whose outcomes of a workload are listed, the first ones
MAX_OUTCOMES = 3  # of a pod in a variant

PENDING_PODS, NODES_USED = "pending", "nodes_used"
# The metrics of the plot, best first; the first two that differ between the variants.
AXES = (
    *(PENDING_PODS, NODES_USED, "disturbed", "hole_filling", "stranded:cpu", "stranded:memory"),
    *("requested_share:cpu:stddev", "requested_share:memory:stddev", "wait:p95", "drain_seconds"),
)

Metrics = Mapping[str, float | None]


class Variant(NamedTuple):
    """A variant: `title`: what distinguishes it; `labels`: of its cells, without the seed; `cells`: their positions."""

    title: str
    labels: dict[str, str]
    cells: list[int]


class Compare(ExperimentQuestion):
    """The question compare."""

    name = "compare"
    in_virtual_time = True

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        spec = experiment.spec
        variants = spec.size // len(spec.each_seed)
        if variants > MAX_VARIANTS:
            problem = f"would compare {variants:,} variants; at most {MAX_VARIANTS:,} are allowed"
            raise InputError("", "spec", problem)
        return cells_of(experiment)

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        return run_with_kinds(cell, scenario, check)

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        """Return the answer: `variants` with the mean, standard deviation and range of each metric over the seeds,
        `best` per metric, and `workloads` whose pods make the difference."""
        found, metrics = variants_of(done), metrics_of(done)
        rows = [summary_of(variant, metrics) for variant in found]
        for row in rows:
            results = [result for cell in row["cells"] if (result := done[cell].result) is not None]
            row["fullness"] = mean_fullness([result["fullness"] for result in results])
        placements = placements_of(done, range(len(done)))
        differing = differences(placements, found) if placements else []
        data: Result = {
            "dimensions": dimensions_of(found),
            "variants": rows,
            "best": best_of(rows),
            "workloads": differing[:MAX_WORKLOADS],
            "more_workloads": max(0, len(differing) - MAX_WORKLOADS),
            "seeds": max((len(variant.cells) for variant in found), default=0),
            "outcomes": placements is not None,
            "axes": default_axes(rows),
        }
        return {"answer": sentence(data)} | data


# ---- variants


def variants_of(done: Sequence[Done]) -> list[Variant]:
    """Return the variants in the order of the plan. A title names the labels that are not the same for all."""
    cells: dict[tuple[str, ...], list[int]] = {}
    for position, one in enumerate(done):
        cells.setdefault(tuple(one.cell.labels.get(name, "") for name in DIMENSIONS), []).append(position)
    varying = [index for index in range(len(DIMENSIONS)) if len({key[index] for key in cells}) > 1]
    return [
        Variant(", ".join(key[index] for index in varying or [0]), dict(zip(DIMENSIONS, key, strict=True)), positions)
        for key, positions in cells.items()
    ]


def dimensions_of(variants: Sequence[Variant]) -> list[str]:
    """Return the labels that differ between variants."""
    return [name for name in DIMENSIONS if len({variant.labels[name] for variant in variants}) > 1]


def metrics_of(done: Sequence[Done]) -> dict[int, Metrics]:
    """Map the positions of the cells that did not fail to their metrics."""
    known = {position: one.result["metrics"] for position, one in enumerate(done) if one.result is not None}
    return dict(zip(known, with_counts(list(known.values())), strict=True))


def summary_of(variant: Variant, metrics: Mapping[int, Metrics]) -> dict[str, Any]:
    """Return a variant with its metrics over the seeds. `metrics`: of all cells that succeeded."""
    known = [metrics[cell] for cell in variant.cells if cell in metrics]
    return {**variant._asdict(), "failed": len(variant.cells) - len(known), "metrics": statistics_of(known)}


def statistics_of(metrics: Sequence[Metrics]) -> dict[str, dict[str, float]]:
    """Return the mean, sample standard deviation (0 for one value), minimum and maximum of each metric. Values of None
    are left out."""
    found = {}
    for name in dict.fromkeys(name for of in metrics for name in of):
        values = np.array([value for of in metrics if (value := of.get(name)) is not None], np.float64)
        if len(values):
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            # rounded, so that equal values in another order have equal means
            numbers = (round(float(values.mean()), 9), round(deviation, 9), float(values.min()), float(values.max()))
            found[name] = dict(zip(("mean", "stddev", "min", "max"), numbers, strict=True))
    return found


def mean_fullness(fullness: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """Return, for each resource, the mean number of nodes in each bin."""
    names = dict.fromkeys(name for of in fullness for name in of)
    return {name: np.mean([of[name] for of in fullness if name in of], axis=0).tolist() for name in names}


def best_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return, for each metric with a direction in which not all variants are equal, the positions of the best variants
    by their mean. `clear`: whether their worst seed is better than the best seed of all others."""
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row["metrics"]):
        direction = metric_of(name).better
        known = {index: row["metrics"][name] for index, row in enumerate(rows) if name in row["metrics"]}
        means = {of["mean"] for of in known.values()}
        if direction is None or len(means) < 2:
            continue
        sign = 1 if direction == "higher" else -1
        best = max(sign * mean for mean in means)
        winners = [index for index, of in known.items() if sign * of["mean"] == best]
        lowest, highest = ("min", "max") if sign > 0 else ("max", "min")
        worst = min(sign * known[index][lowest] for index in winners)
        others = max(sign * of[highest] for index, of in known.items() if index not in winners)
        found[name] = {"direction": direction, "variants": winners, "clear": worst > others}
    return found


def default_axes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return two metrics to plot: the first of AXES that differ between the variants."""
    known = {name: {row["metrics"].get(name, {}).get("mean") for row in rows} for name in AXES}
    order = sorted(AXES, key=lambda name: (len(known[name]) < 2, known[name] == {None}))
    return order[1::-1]


def front_of(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[int]:
    """Return the positions of the variants in the Pareto front of these metrics, by their means. It is empty if neither
    high nor low values of a metric are better."""
    directions = [better for name in axes if (better := metric_of(name).better) is not None]
    if len(directions) < len(axes):
        return []
    return pareto_front([[row["metrics"].get(name, {}).get("mean") for name in axes] for row in rows], directions)


# ---- the pods that make the difference


def differences(placements: Placements, variants: Sequence[Variant]) -> list[dict[str, Any]]:
    """Return the workloads that differ between variants, the most important first: clear differences, then another
    number of placed pods, then other node groups, then other nodes; each by priority and number of pods.

    Workloads whose pods only exchange their nodes are left out.
    """
    columns = {cell: column for column, cell in enumerate(placements.cells)}
    cells = [[columns[cell] for cell in variant.cells if cell in columns] for variant in variants]
    if sum(map(bool, cells)) < 2:
        return []
    found = []
    for number, rows in placements.by_workload():
        counts = placements.counts(rows)
        if counts.kind not in (SAME, EXCHANGED):
            found.append(_difference(placements, number, rows, counts, cells))
    found = [one for one in found if one["kind"] not in (SAME, EXCHANGED)]
    found.sort(key=lambda one: (-one["clear"], -KINDS.index(one["kind"]), -one["priority"], -one["size"]))
    return found


def _difference(
    placements: Placements,
    number: int,
    rows: npt.NDArray[np.int64],
    counts: WorkloadCounts,
    cells: Sequence[list[int]],
) -> dict[str, Any]:
    """Return a workload. `cells`: the columns of each variant; none if all its cells failed."""
    some = [of for of in cells if of]
    kind, clear = counts.kind_between(some)
    placed = [counts.placed[of].mean() for of in some]
    return {
        "workload": placements.workloads[number],
        "priority": int(placements.priority[rows].max()),
        "pods": len(rows),
        "kind": kind,
        "clear": clear,
        "size": float(max(placed) - min(placed)),
        "variants": [
            {
                "placed": lowest_mean_highest(counts.placed[of]),
                "groups": {name: float(row[of].mean()) for name, row in counts.by_group.items() if row[of].any()},
            }
            if of
            else None
            for of in cells[:MAX_LISTED]
        ],
        **_pods(placements, rows, counts, cells),
    }


def lowest_mean_highest(values: npt.NDArray[np.int64]) -> list[float]:
    """Return the minimum, the mean and the maximum."""
    return [int(values.min()), float(values.mean()), int(values.max())]


def _pods(
    placements: Placements, rows: npt.NDArray[np.int64], counts: WorkloadCounts, cells: Sequence[list[int]]
) -> dict[str, Any]:
    """Return the pods whose outcomes differ between variants: first those that every seed of a variant places and no
    seed of another one. An outcome is [node or "" if pending, number of seeds]."""
    bound = counts.where >= 0
    shares = np.array([bound[:, of].mean(axis=1) for of in cells if of])
    certain = shares.max(axis=0) - shares.min(axis=0)
    listed = cells[:MAX_LISTED]
    varying = np.flatnonzero((counts.where != counts.where[:, :1]).any(axis=1)).tolist()
    outcomes = {row: [Counter(counts.where[row, of].tolist()) for of in listed] for row in varying}
    differing = [
        row
        for row, of in outcomes.items()
        if len(cells) > MAX_LISTED or len({frozenset(one.items()) for one in of if one}) > 1
    ]
    differing.sort(key=lambda row: -certain[row])
    shown = [
        {
            "pod": placements.pods[int(rows[row])],
            "outcomes": [
                [[placements.outcome(code), seeds] for code, seeds in of.most_common(MAX_OUTCOMES)]
                for of in outcomes[row]
            ],
        }
        for row in differing[:MAX_PODS]
    ]
    return {
        "shown": shown,
        "more_pods": len(differing) - len(shown),
        "certain": int((certain == 1).sum()),
    }


# ---- the answer


def sentence(data: Mapping[str, Any]) -> str:
    """Return the answer: who leaves the fewest pods pending, who of these uses the fewest nodes, and how many pods make
    the difference."""
    rows = [row for row in data["variants"] if row["metrics"]]
    if not rows:
        return "No run succeeded."
    every = _called(data["dimensions"], len(rows))
    if len(rows) == 1:
        pending, nodes = (rows[0]["metrics"][name]["mean"] for name in (PENDING_PODS, NODES_USED))
        both = f"leaves {_number(pending)} pods pending and uses {_number(nodes)} nodes"
        return f"{rows[0]['title']} {both}. There is nothing to compare."
    first, best = _fewest(rows, PENDING_PODS, ("pod pending", "pods pending"), "leave", every)
    second, _ = _fewest(best, NODES_USED, ("node", "nodes"), "use", "they")
    return f"{_capitalized(first)}; {second}. {_workload_sentence(data)}".rstrip()


def _workload_sentence(data: Mapping[str, Any]) -> str:
    """Return how many workloads make the difference, if the cells stored outcomes."""
    if not data["outcomes"]:
        return ""
    workloads = data["workloads"]
    clear = [one["kind"] for one in workloads if one["clear"]]
    placed, moved = clear.count(PLACED), len(clear) - clear.count(PLACED)
    if not workloads:
        return "No workload differs."
    if not clear:
        return "No workload differs by more than the seeds explain."
    parts = []
    if placed:
        parts.append(f"{count(placed, 'workload')} {'has' if placed == 1 else 'have'} another number of placed pods")
    if moved:
        parts.append(
            f"{count(moved, 'workload') if not placed else moved} {'is' if moved == 1 else 'are'} on other nodes"
        )
    luck = "; with a single seed, some of this may be luck" if data["seeds"] == 1 else ""
    return f"{listing(parts)}{luck}."


def _capitalized(text: str) -> str:
    """Return a text that begins with "all" or "both" as a sentence; names keep their case."""
    return text[0].upper() + text[1:] if text.startswith(("all ", "both ")) else text


def _fewest(
    rows: Sequence[Mapping[str, Any]], metric: str, what: tuple[str, str], verb: str, every: str
) -> tuple[str, list[Mapping[str, Any]]]:
    """Return a clause about the variants with the lowest mean of a metric, and these variants. `what`: the singular and
    the plural; `every`: the subject if all are equal."""
    means = [row["metrics"][metric]["mean"] for row in rows]
    lowest = min(means)
    best = [row for row, mean in zip(rows, means, strict=True) if mean == lowest]
    one, many = what
    some = f"{_number(lowest)} {one if lowest == 1 else many}" if lowest else f"no {many}"
    if len(rows) == 1:
        return f"it {verb}s {some}", best
    if len(best) == len(rows):
        return f"{every} {verb} {some}", best
    others = [mean for mean in means if mean != lowest]
    span = " to ".join(dict.fromkeys((_number(min(others)), _number(max(others)))))
    names = listing([row["title"] for row in best[:3]]) + (" and others" if len(best) > 3 else "")
    return (
        f"{names} {verb if len(best) > 1 else verb + 's'} the fewest {many}: {_number(lowest)} instead of {span}",
        best,
    )


def _called(dimensions: Sequence[str], number: int) -> str:
    kind = DIMENSIONS[dimensions[0]] if len(dimensions) == 1 else "variants"
    return f"both {kind}" if number == 2 else f"all {number} {kind}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
