"""Estimates the duration of a run from its pods, nodes and objects, and from the durations of other runs."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from kubesched_ui.ingest import preflight
from kubesched_ui.models import Run, Scenario

# Seconds on the machine of docs/performance.md, corrected by the durations of runs on this machine.
BEGIN = 0.3
PER_OBJECT = 0.00006
PER_POD = 0.00035
PER_POD_AND_NODE = 0.00000007
TRIES_IN_TIME = 3  # attempts per waiting pod on average
LATEST = 40  # runs that are considered
RECENT = 5
ENOUGH = 3  # minimum number of runs of other scenarios for a correction


class Estimate(NamedTuple):
    """Estimated duration of a run of `pods`. `seconds`: probable; `most`: if it is as slow as the slowest of the latest
    runs."""

    seconds: float
    pods: int
    nodes: int
    most: float

    @property
    def lane(self) -> str:
        """The queue for runs of this duration."""
        return Run.Lane.SHORT if self.seconds <= settings.RUN_SHORT_SECONDS else Run.Lane.LONG


def before(scenario: Scenario, release: str, in_time: bool, pods: int | None = None) -> Estimate:
    """Estimate a run before it is created. `pods`: number of pods to schedule; None for all pending ones."""
    pods = waiting(scenario) if pods is None else pods
    nodes = scenario.counts.get("Node", 0)
    expected, slowest = pace(scenario, release.partition(" ")[0], in_time)
    seconds = model(scenario, pods, in_time)
    return Estimate(round(seconds * expected, 1), pods, nodes, round(seconds * slowest, 1))


def pods_of(run: Run) -> int | None:
    """Return how many pods a run has to schedule; None for all pending ones."""
    if run.imported:
        return int(run.imported.get("cycles", 0))
    if run.adopts and run.parent is not None and not run.in_time:
        return max(0, run.parent.cycles_total - (run.fork_at or 1) + 1)
    if run.pods is None and not run.template:
        return None
    waits = waiting(run.scenario) if run.pods is None else len(run.pods)
    return waits + len(run.unbind) + max(run.copies, 1 if run.template else 0)


def cycles(run: Run) -> int:
    """Return the expected number of cycles of a single pass."""
    pods = pods_of(run)
    return waiting(run.scenario) if pods is None else pods


def waiting(scenario: Scenario) -> int:
    """Return the minimum number of pods that a run has to schedule: pods without a node, and pods that workloads
    create."""
    pods = scenario.counts.get("Pod", 0) if scenario.pending is None else scenario.pending
    remarks = preflight.snapshot_warnings(scenario.warnings)
    made = (sum(remark["counts"].values()) for remark in remarks if remark["code"] == "workloads")
    return int(pods + sum(made))


def model(scenario: Scenario, pods: int, in_time: bool) -> float:
    """Return the estimated seconds on the reference machine."""
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
    """Return the duration of each run relative to the model."""
    return [
        (run.finished_at - run.started_at).total_seconds() / model(run.scenario, run.cycles_done, run.in_time)
        for run in runs
        if run.started_at and run.finished_at and run.finished_at > run.started_at
    ]


def left(run: Run) -> float:
    """Return the estimated seconds until a waiting or running run finishes."""
    whole = run.estimate_s or 0.0
    if run.state != Run.State.RUNNING or run.started_at is None:
        return whole
    known = run.eta_s
    return known if known is not None else max(0.0, whole - (timezone.now() - run.started_at).total_seconds())
