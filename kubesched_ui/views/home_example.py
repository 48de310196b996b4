"""The sample result on the home page: the outcome of a sample scenario's pods, with diagrams."""

from datetime import datetime
from functools import lru_cache
from typing import Any

from kubesched_ui.models import ClusterObject, Run, Scenario
from kubesched_ui.presenters import capacity_bars
from kubesched_ui.presenters.cycle_rows import on_node
from kubesched_ui.runs import build_simulation
from kubesched_ui.scenarios.cluster_columns import CODES, columns_of, view_at
from kubesched_ui.scenarios.cluster_overview import cluster_view
from scheduler_core.api.objects import Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import explain
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import MOVES_PART, Recorder, Recording
from scheduler_core.releases import NEWEST
from scheduler_core.suggestions.answers import answers_of

NODES, PODS = 6, 8  # upper limits that keep the example small and fast
WORDS = {"fits": "fits", "chosen": "chosen", "unseen": "not evaluated"}
LACKS = "Insufficient"


@lru_cache(maxsize=2)
def example_of(sample_id: int) -> dict[str, Any] | None:
    """Return the example {release, telling: name, pods: [{namespace, name, result, node, sentence, shelf}]}.

    The shelf of a pod shows the cluster before its cycle, with the verdict on each node. `telling`: the pod shown
    first, which found no node. The sample is simulated as a single pass with the default configuration; nothing is
    stored.

    Returns None if the sample is too large or has no pending pods. The result can be cached because a changed
    sample is a new scenario.
    """
    sample = Scenario.objects.get(pk=sample_id)
    if not 0 < sample.counts.get("Node", 0) <= NODES or sample.time:
        return None
    begun = build_simulation.start(Run(scenario=sample, release=NEWEST))
    simulation, pods = begun.simulation, {obj.key: obj for obj in begun.prepared.objects if isinstance(obj, Pod)}
    names, decided, recorder = list(simulation.nodes), [], Recorder(simulation)
    sentences = {}
    for trace in simulation.run():
        recorder.cycle(trace)
        why = explain(trace, simulation, PodInfo(pods[trace.pod], simulation.cluster.release))
        decided.append(trace)
        sentences[trace.pod] = why.sentence
    recorder.rest()
    recording = Recording([block.data for block in recorder.drain() if block.part == MOVES_PART])
    if not 0 < len(decided) <= PODS:
        return None
    nominated = {trace.pod: trace for trace in decided if trace.nominated_node}
    for alike in answers_of(simulation, None, nominated, fixes=False):  # as on the pages of a run
        sentences |= dict.fromkeys(alike.pods, alike.answer.sentence)
    shown = [_shown(recording, number, trace, names, sentences[trace.pod]) for number, trace in enumerate(decided, 1)]
    nowhere = [pod["name"] for pod in shown if pod["result"] == "unschedulable"]
    return {"release": NEWEST, "telling": (nowhere or [shown[-1]["name"]])[-1], "pods": shown}


def _shown(recording: Recording, number: int, trace: CycleTrace, names: list[str], sentence: str) -> dict[str, Any]:
    view = view_at(StateAtTimepoint(recording, recording.before_cycle(number)))
    nodes, asks = list(view.nodes.values()), view.requests_of(trace.pod)
    short = capacity_bars.short_of(nodes, asks)
    marks = {name: mark_of(on_node(trace, row), short.get(name, "")) for row, name in enumerate(names)}
    namespace, _, name = trace.pod.partition("/")
    shelf = capacity_bars.bar_row(nodes, asks).marked(marks)
    pod = {"namespace": namespace, "name": name, "result": trace.result, "node": trace.node}
    return pod | {"sentence": sentence, "shelf": shelf}


def mark_of(verdict: dict[str, Any], short: str) -> tuple[str, str]:
    """Return the mark and text of a verdict of `on_node`. `short`: the missing quantity, or ""."""
    kind, total = verdict["kind"], verdict["total"]
    if kind == "refused":
        reason = (verdict["reasons"] or [verdict["plugin"]])[0]
        return kind, f"{short} short" if short and reason.startswith(LACKS) else reason
    sentence = WORDS.get(kind, "")
    return kind, f"{sentence}, {total:,} points" if total is not None else sentence


def clusters(samples: list[Scenario]) -> dict[str, Any]:
    """Return for each sample its cluster in the format of the map (`maps`), and the number of its pending pods
    (`pending`)."""
    maps = _maps(tuple((sample.pk, sample.created_at) for sample in samples))
    pending = CODES.index("pending")
    return {"maps": maps, "pending": {number: found["pods"]["state"].count(pending) for number, found in maps.items()}}


@lru_cache(maxsize=2)
def _maps(samples: tuple[tuple[int, datetime], ...]) -> dict[int, dict[str, Any]]:
    # The creation times are part of the key, because a database may reuse the number of a deleted scenario.
    objects: dict[int, list[Any]] = {number: [] for number, _ in samples}
    kinds = ("Node", "Pod", "PriorityClass")
    rows = ClusterObject.objects.filter(scenario__in=objects, kind__in=kinds).order_by("position")
    for number, data in rows.values_list("scenario_id", "data"):
        objects[number].append(data)
    return {number: columns_of(cluster_view(found)) for number, found in objects.items()}
