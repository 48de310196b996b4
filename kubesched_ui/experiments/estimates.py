"""Estimates of what an experiment costs before it starts: its cells and their seconds on one worker.

The seconds are the mean of the latest cells of the same question and scenario. Without any, they follow from the
estimate of a run (`runs/estimate.py`) and from how many runs a cell needs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as with_default

import msgspec

from kubesched_ui.experiments.models import ExperimentCell
from kubesched_ui.models import Scenario
from kubesched_ui.runs import estimate
from kubesched_ui.runs.services import default_release
from scheduler_core.api.objects import Node
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.experiments.loss import BATCH
from scheduler_core.metrics.groups import MAX_GROUPS, node_groups

LATEST = 50  # cells whose seconds are considered
GROWTH = 2.0  # assumed factor by which a workload can grow
PER_FILTER_AND_NODE = 0.0000001  # seconds of Filter for a node, in a search for moves
PER_FILTER = 0.00005

Cells = tuple[int, float]  # a number of cells, and the seconds of all of them


@dataclass(frozen=True)
class Cost:
    """The cells of a form, and their seconds. `choices`: the cells of each value of `field`, a field with one or more
    chosen values, or of two values with a space between them if `field` names two fields; `whole`: those of a form
    without such a field. Fields for configurations, releases, seeds, trials and orders multiply them. `word`: what a
    cell is. `adds`: a field whose number of seconds is added. `most`: whether the seconds are the most, rather than
    probable."""

    whole: Cells = (1, 0.0)
    field: str = ""
    choices: dict[str, Cells] = with_default(default_factory=dict)
    word: str = "computation"
    adds: str = ""
    most: bool = False

    @property
    def json(self) -> str:
        """All of it, for number_of_runs.js."""
        return msgspec.json.encode(self).decode()


def runs(scenario: Scenario) -> Cost:
    """Estimate a question whose cells are runs."""
    known = _mean(scenario, "compare", "noise", "tune")
    return Cost((1, known.get("", 0.0) or _run(scenario)), word="run")


def capacity(scenario: Scenario) -> Cost:
    """Estimate the whole cluster and each node group; each cell schedules about as many pods as there are."""
    groups = units_of(scenario)["group"]
    cells = 1 + min(groups, MAX_GROUPS) * (groups > 1)
    each = _mean(scenario, "capacity").get("") or _run(scenario, scenario.counts.get("Pod", 0))
    return Cost((cells, cells * each))


def loss(scenario: Scenario) -> Cost:
    """Estimate the losses of a scope: each cell runs the scenario, then schedules the pods of the lost nodes. A zone is
    also lost in virtual time."""
    nodes, pods = max(1, scenario.counts.get("Node", 0)), scenario.counts.get("Pod", 0)
    units = units_of(scenario) | {"node": nodes}
    known = _mean(scenario, "loss", label="scope")
    choices = {}
    for scope, number in units.items():
        cells = math.ceil(number / BATCH) if scope == "node" else number
        again = estimate.PER_POD + nodes * estimate.PER_POD_AND_NODE
        seconds = cells * (known.get(scope) or _run(scenario)) + pods * again * (not known.get(scope))
        choices[f"{scope} drain"] = (cells, seconds)
        choices[f"{scope} loss"] = (2 * cells, 2 * seconds) if scope == "zone" else (cells, seconds)
    return Cost(field="scope mode", choices=choices)


def moves(scenario: Scenario, effort: int) -> Cost:
    """Estimate the search for moves at most: `effort` runs of Filter over all nodes."""
    filters = effort * (PER_FILTER + scenario.counts.get("Node", 0) * PER_FILTER_AND_NODE)
    return Cost((1, _run(scenario) + filters), most=True)


def buy(scenario: Scenario) -> Cost:
    """Estimate a purchase at most: the time of the search, and two runs."""
    return Cost((1, 2 * _run(scenario)), adds="seconds", most=True)


def packing(scenario: Scenario) -> Cost:
    """Estimate each measure: bisection over the nodes, or over the number of pods, with a run from scratch at each
    step."""
    nodes = max(1, scenario.counts.get("Node", 0))
    pods = max(1, scenario.counts.get("Pod", 0) + estimate.waiting(scenario))
    known = _mean(scenario, "packing", label="measure")
    run = _run(scenario, pods)
    steps: dict[str, Callable[[], float]] = {
        "compaction": lambda: 1 + math.log2(nodes),
        "replicas": lambda: GROWTH * (2 + math.log2(pods)),
        "requests": lambda: 2 + math.log2(100),
    }
    return Cost(field="measures", choices={name: (1, known.get(name) or of() * run) for name, of in steps.items()})


def _run(scenario: Scenario, pods: int | None = None) -> float:
    """Return the seconds of a run that records nothing: `pods` are to be scheduled, None for all pending ones."""
    seconds = estimate.before(scenario, default_release(scenario), in_time=False, pods=pods).seconds
    return max(0.01, seconds - estimate.BEGIN)


def _mean(scenario: Scenario, *questions: str, label: str = "") -> dict[str, float]:
    """Return the mean seconds of the latest cells of questions about a scenario, by the value of a parameter or label;
    "" for all."""
    cells = ExperimentCell.objects.filter(experiment__scenario=scenario, experiment__question__in=questions)
    done = cells.filter(state=ExperimentCell.State.DONE, reused=False).order_by("-pk")
    found: dict[str, list[float]] = {}
    for labels, seconds in done.values_list("labels", "seconds")[:LATEST]:
        value = next((name for name in ("node", "group", "zone") if name in labels), "") if label == "scope" else ""
        found.setdefault(value or labels.get(label, ""), []).append(seconds)
    return {value: sum(of) / len(of) for value, of in found.items()}


def units_of(scenario: Scenario) -> dict[str, int]:
    """Return how many node groups and zones a scenario has."""
    nodes = [one for one in scenario.decoded(["Node"]) if isinstance(one, Node)]
    zones = {zone_key(node) for node in nodes} - {""}
    return {"group": len(set(node_groups(nodes).values())), "zone": len(zones)}
