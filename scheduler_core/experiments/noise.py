"""Noise: what depends on the seed, which breaks ties between nodes of equal score.

The cells of a variant (scenario, release, configuration and changes) differ in the seed only. A pod depends on luck if
its outcome is not the same in all of them. The entropy of a pod's outcomes is -sum p log2 p over the shares p of its
outcomes: 0 bits if it is always the same, 1 bit for two equally frequent nodes.

Source: Shannon, "A Mathematical Theory of Communication", 1948, section 6.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.compare import (
    Compare,
    Metrics,
    Variant,
    lowest_mean_highest,
    metrics_of,
    summary_of,
    variants_of,
)
from scheduler_core.experiments.document import OUTCOMES_UP_TO, Experiment
from scheduler_core.experiments.parameters import NoiseParameters
from scheduler_core.experiments.placements import KINDS, MAX_STORED_PODS, PLACED, SAME, Placements, placements_of
from scheduler_core.experiments.scenario_input import ScenarioInput

MAX_CELLS = OUTCOMES_UP_TO  # all store the outcomes of their pods
MAX_WORKLOADS = 200
MAX_PODS = 20  # of a workload
MAX_OUTCOMES = 5  # of a pod


class Noise(Compare):
    """The question noise: compares the seeds of each variant instead of the variants."""

    name = "noise"
    section = NoiseParameters

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        spec = experiment.spec
        if len(spec.each_seed) < 2:
            raise InputError("", "spec.seeds", "must be at least 2 seeds, because noise is the difference between them")
        if spec.size > MAX_CELLS:
            raise InputError("", "spec", f"would have {spec.size:,} cells; noise allows at most {MAX_CELLS:,}")
        if spec.outcomes is False:
            raise InputError("", "spec.outcomes", "must not be false, because noise compares the outcomes of pods")
        return super().plan(experiment, scenarios)

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        """Return the answer: for each of `variants`, the metrics over the seeds, the number of pods by how they depend
        on the seed, and the workloads, the most important first."""
        metrics = metrics_of(done)
        variants = [noise_of(variant, done, metrics) for variant in variants_of(done)]
        return {"answer": sentence(variants), "variants": variants}


def noise_of(variant: Variant, done: Sequence[Done], metrics: Mapping[int, Metrics]) -> dict[str, Any]:
    """Return how the results of a variant depend on the seed. `metrics`: of all cells."""
    found = summary_of(variant, metrics)
    found["seeds"] = len(variant.cells) - found["failed"]
    placements = placements_of(done, variant.cells)
    if placements is None:
        return found
    workloads = [_workload(placements, number, rows) for number, rows in placements.by_workload()]
    lucky = [one for one in workloads if one["kind"] != SAME]
    lucky.sort(key=lambda one: (-one["unsure"], -KINDS.index(one["kind"]), -one["priority"], -one["pods"]))
    return found | {
        "pods": pods_by_luck(placements.where),
        "outcomes": pods_by_outcomes(placements.where),
        "workloads": lucky[:MAX_WORKLOADS],
        "more_workloads": max(0, len(lucky) - MAX_WORKLOADS),
        "varying_workloads": sum(one["kind"] == PLACED for one in lucky),
        "same_workloads": len(workloads) - len(lucky),
    }


def pods_by_luck(where: npt.NDArray[np.int32]) -> dict[str, int]:
    """Count the pods: `fixed` (always on the same node), `moving` (always placed, on several nodes), `unsure` (placed
    with some seeds only) and `pending` (never placed). `where`: as in Placements."""
    masks = _by_placement(where)
    fixed = masks["always"] & (where == where[:, :1]).all(axis=1)
    masks = {"fixed": fixed, "moving": masks.pop("always") & ~fixed, **masks}
    return {name: int(mask.sum()) for name, mask in masks.items()}


def _by_placement(where: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[np.bool_]]:
    """Return the masks of the pods that are placed always, with some seeds only, and never."""
    placed = (where >= 0).sum(axis=1)
    seeds = where.shape[1]
    return {"always": placed == seeds, "unsure": (placed > 0) & (placed < seeds), "pending": placed == 0}


def pods_by_outcomes(where: npt.NDArray[np.int32]) -> list[dict[str, int]]:
    """Return, for each number of distinct outcomes of a pod, how many pods have it: `always` placed, `unsure`, and
    `pending` (never placed), with `outcomes` nodes, pending counting as one."""
    masks = _by_placement(where)
    ordered = np.sort(where, axis=1)
    distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    return [
        {"outcomes": int(number), **{name: int((mask & (distinct == number)).sum()) for name, mask in masks.items()}}
        for number in np.unique(distinct)
    ]


def entropy(outcomes: Iterable[int]) -> float:
    """Return the entropy in bits of outcomes that occur so many times."""
    times = np.array(list(outcomes), np.float64)
    shares = times[times > 0] / times.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _workload(placements: Placements, number: int, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    counts = placements.counts(rows)
    placed = (counts.where >= 0).sum(axis=1)
    outcomes = [Counter(row) for row in counts.where.tolist()]
    entropies = [entropy(of.values()) for of in outcomes]
    lucky = [row for row in range(len(rows)) if len(outcomes[row]) > 1]
    lucky.sort(key=lambda row: (placed[row] == len(counts.placed), -entropies[row]))
    return {
        "workload": placements.workloads[number],
        "priority": int(placements.priority[rows].max()),
        "pods": len(rows),
        "kind": counts.kind,
        "placed": lowest_mean_highest(counts.placed),
        "unsure": int(((placed > 0) & (placed < len(counts.placed))).sum()),
        "nodes": int((np.unique(counts.where) >= 0).sum()),
        "entropy": float(np.mean(entropies)),
        "groups": {name: lowest_mean_highest(row) for name, row in counts.by_group.items()},
        "shown": [
            {
                "pod": placements.pods[int(rows[row])],
                "placed": int(placed[row]),
                "nodes": sum(code >= 0 for code in outcomes[row]),
                "entropy": entropies[row],
                "outcomes": [
                    [placements.outcome(code), seeds] for code, seeds in outcomes[row].most_common(MAX_OUTCOMES)
                ],
            }
            for row in lucky[:MAX_PODS]
        ],
        "more_pods": max(0, len(lucky) - MAX_PODS),
    }


def sentence(variants: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer, for the variant that depends on luck most."""
    known = [variant for variant in variants if "pods" in variant]
    if not known:
        problem = f"The runs have more than {MAX_STORED_PODS:,} pods, so only the metrics are compared."
        return problem if any(variant["seeds"] for variant in variants) else "No run succeeded."
    one = max(known, key=lambda variant: (variant["pods"]["unsure"], variant["pods"]["moving"]))
    pods, seeds = one["pods"], count(one["seeds"], "seed")
    total, always = count(sum(pods.values()), "pod"), pods["fixed"] + pods["moving"]
    prefix = f"{one['title']}: " if len(variants) > 1 else ""
    if not any(pods.values()):
        return f"{prefix}No pod waits for a node, so no seed decides anything."
    if not pods["unsure"] and not pods["moving"]:
        return f"{prefix}Nothing is luck: every pod has the same outcome with {seeds}."
    if not pods["unsure"]:
        moving = f"{pods['moving']:,} of them {'changes its' if pods['moving'] == 1 else 'change their'} node"
        return f"{prefix}The same {always:,} of {total} are placed with each of {seeds}; {moving}."
    luck = f"Whether {pods['unsure']:,} of {total} {'is' if pods['unsure'] == 1 else 'are'} placed depends on the seed"
    changes = "changes its" if pods["moving"] == 1 else "change their"
    moving = f"of the {always:,} that are always placed, {pods['moving']:,} {changes} node"
    varying = one["varying_workloads"]
    if varying:
        placed = f"The number of placed pods changes in {count(varying, 'workload')}."
    else:
        placed = "Equal pods exchange places: each workload always has the same number of placed pods."
    return f"{prefix}{luck} ({seeds}); {moving}. {placed}"
