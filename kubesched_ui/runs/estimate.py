"""How long a run will take, said before it begins: from its pods, nodes and objects, and from how long others took."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from kubesched_ui.ingest import preflight
from kubesched_ui.models import Run, Scenario

# Seconds on the machine of docs/performance.md. What others took corrects them for this one.
BEGIN = 0.3
PER_OBJECT = 0.00006
PER_POD = 0.00035
PER_POD_AND_NODE = 0.00000007
TRIES_IN_TIME = 3  # of a pod that waits, on average
LATEST = 40  # runs that are looked at
RECENT = 5
ENOUGH = 3  # of another scenario, to be compared with


class Estimate(NamedTuple):
    """How long a run of `pods` takes: `seconds` probably, `most` if it goes as the slowest of the latest runs."""

    seconds: float
    pods: int
    nodes: int
    most: float

    @property
    def lane(self) -> str:
        """Where it waits."""
        return Run.Lane.SHORT if self.seconds <= settings.RUN_SHORT_SECONDS else Run.Lane.LONG


def before(scenario: Scenario, release: str, in_time: bool, pods: int | None = None) -> Estimate:
    """Of a run that is not there yet. `pods`: how many are to be placed; None for all that wait."""
    pods = waiting(scenario) if pods is None else pods
    nodes = scenario.counts.get("Node", 0)
    expected, slowest = pace(scenario, release.partition(" ")[0], in_time)
    seconds = model(scenario, pods, in_time)
    return Estimate(round(seconds * expected, 1), pods, nodes, round(seconds * slowest, 1))


def of_run(run: Run) -> Estimate:
    """Of a run as it was asked for."""
    return before(run.scenario, run.release, run.in_time, pods_of(run))


def pods_of(run: Run) -> int | None:
    """How many pods a run is to place; None for all that wait."""
    if run.imported:
        return int(run.imported.get("cycles", 0))
    if run.adopts and run.parent is not None and not run.in_time:
        return max(0, run.parent.cycles_total - (run.fork_at or 1) + 1)
    if run.pods is None and not run.template:
        return None
    waits = waiting(run.scenario) if run.pods is None else len(run.pods)
    return waits + len(run.unbind) + max(run.copies, 1 if run.template else 0)


def waiting(scenario: Scenario) -> int:
    """The pods that a run has to place at least: those without a node, and those that its workloads make."""
    pods = scenario.counts.get("Pod", 0) if scenario.pending is None else scenario.pending
    told = preflight.of_snapshot(scenario.warnings)
    made = (sum(remark["counts"].values()) for remark in told if remark["code"] == "workloads")
    return int(pods + sum(made))


def model(scenario: Scenario, pods: int, in_time: bool) -> float:
    """Seconds on the machine that was measured."""
    nodes, objects = scenario.counts.get("Node", 0), sum(scenario.counts.values())
    tries = TRIES_IN_TIME if in_time else 1
    return BEGIN + objects * PER_OBJECT + pods * tries * (PER_POD + nodes * PER_POD_AND_NODE)


def pace(scenario: Scenario, release: str, in_time: bool) -> tuple[float, float]:
    """Return how much slower than the model a run will be, probably and at most.

    The first is the median of the scenario's latest runs; without any, of the release's. The second is the slowest of
    these and of the latest runs of any scenario, which show how busy the machine is.
    """
    done = Run.everything.filter(state=Run.State.DONE, starts=1, fork_at=None, in_time=in_time).order_by("-pk")
    mine = ratios(done.filter(scenario=scenario).select_related("scenario").defer("node_names")[:RECENT])
    others = list(done.exclude(cycles_done=0).select_related("scenario").defer("node_names")[:LATEST])
    busy = ratios(others[:RECENT])
    if mine:
        return median(mine), max([*mine, *busy])
    same = ratios(run for run in others if run.release_number == release)
    found = same if len(same) >= ENOUGH else ratios(others)
    expected = median(found) if len(found) >= ENOUGH else 1.0
    return expected, max([expected, *busy])


def ratios(runs: Iterable[Run]) -> list[float]:
    """What each took, as a multiple of the model's."""
    return [
        (run.finished_at - run.started_at).total_seconds() / model(run.scenario, run.cycles_done, run.in_time)
        for run in runs
        if run.started_at and run.finished_at and run.finished_at > run.started_at
    ]


def left(run: Run) -> float:
    """Seconds until a run that waits or is under way is over, if it goes as it was estimated."""
    whole = run.estimate_s or 0.0
    if run.state != Run.State.RUNNING or run.started_at is None:
        return whole
    known = run.eta_s
    return known if known is not None else max(0.0, whole - (timezone.now() - run.started_at).total_seconds())
