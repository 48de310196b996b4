"""Distributions of a run, or of two runs, as histograms."""

from collections.abc import Mapping

import numpy as np

from kubesched_ui.models import Run
from kubesched_ui.presenters import charts, queue_timeline
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.queries.recording_cache import recording_of
from scheduler_core.cluster.resources import CPU
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import Recording

GAPS, WAITED, FULLNESS = "gaps", "waited", "fullness"
LABELS = {
    FULLNESS: "CPU requested on each node, before and after the run",
    GAPS: "Score of the chosen node minus that of the second-best node",
    WAITED: "Time from the creation of a pod until it was bound",
}


def offered(run: Run) -> list[tuple[str, str]]:
    """Return (key, label) of the charts of a run."""
    return [(key, label) for key, label in LABELS.items() if key != WAITED or run.in_time]


def chart(run: Run, key: str) -> Figure | None:
    """Return a chart of a run, None if the run has no such chart. Raises NotRecorded."""
    if key == GAPS:
        margins = run.pod_results.exclude(margin=None).values_list("margin", flat=True)
        return charts.histogram({"pods": [margin or 0 for margin in margins]}, "points", "pods")
    if key == WAITED and run.in_time:
        waited = [time for time in queue_timeline.waited(run).values() if time is not None]
        return charts.histogram({"pods": waited}, "seconds", "pods", " s", least=0.1)
    if key == FULLNESS:
        recording = recording_of(run)
        return fullness({"before": (recording, 0), "after": (recording, recording.end)})
    return None


def compared(a: Run, b: Run) -> Figure:
    """Return how full the nodes of two runs are at their ends. Raises NotRecorded."""
    recordings = {"A": recording_of(a), "B": recording_of(b)}
    return fullness({name: (found, found.end) for name, found in recordings.items()})


def fullness(sides: Mapping[str, tuple[Recording, int]]) -> Figure:
    """Return a histogram of the requested share of cpu of each node. `sides`: name -> (recording, timepoint)."""
    series = {}
    for name, (recording, moment) in sides.items():
        state = StateAtTimepoint(recording, moment)
        has = state.allocatable(CPU)
        share = 100 * state.used(CPU)[has > 0] / has[has > 0]
        series[name] = np.minimum(share, 1000).tolist()
    return charts.histogram(series, "cpu requested", "nodes", "%", least=5)
