"""Conformance cases cycle by cycle: every plugin at every point, for the cluster before the cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.provenance.tree import Tree
from scheduler_core.search.provenance import DISAGREES, UNEXPLAINED, Provenance, Question
from scheduler_core.simulation import Simulation
from tests.scheduler_core.provenance.evaluate import problems
from tests.scheduler_core.recording.core_states import simulation_of_case

BINDING = (("reserve", "VolumeBinding"), ("prebind", "VolumeBinding"), ("bind", "DefaultBinder"))


def cycles_of(case: dict[str, Any]) -> Iterator[tuple[Provenance, CycleTrace, list[str]]]:
    """Yield (provenance, trace, nodes) of every cycle."""
    traces = list(simulation_of_case(case).run())
    live = simulation_of_case(case)
    pods = {pod.key: pod for pod in live.pending}
    given = {("PersistentVolumeClaim", key): claim for key, claim in live.cluster.claims.items()}
    given |= {("PersistentVolume", key): volume for key, volume in live.cluster.volumes.items()}
    placed: dict[str, int] = {}
    steps = live.run()
    for trace in traces:
        framework = live.scheduler.profiles[trace.profile]
        yield Provenance(framework, pods[trace.pod], trace, placed, given), trace, live.nodes
        again = next(steps)
        assert again.pod == trace.pod
        if trace.result == "scheduled":
            placed[trace.pod] = trace.number


def explained(objects: list[Any], question: Question, **settings: Any) -> Tree:
    """Return the tree of the first pending pod's cycle."""
    traces = list(Simulation(objects, tie_break="name", **settings).run())
    before = Simulation(objects, tie_break="name", **settings)
    pod, framework = before.pending[0], before.scheduler.profiles["default-scheduler"]
    trace = next(trace for trace in traces if trace.pod == pod.key)
    return Provenance(framework, pod, trace, {}, {}).explain(question)


def nodes_to_ask(trace: CycleTrace, names: list[str]) -> list[int]:
    """Return the rows of the best, the worst and a few rejected nodes."""
    rows = trace.feasible_rows().tolist()
    rows_to_check: list[int] = []
    if trace.scores:
        total = trace.total()
        rows_to_check += [rows[int(total.argmax())], rows[int(total.argmin())], rows[len(rows) // 2]]
    elif rows:
        rows_to_check.append(rows[0])
    by_plugin = [v.codes.argmax() for v in trace.verdicts.values() if v.codes is not None]
    feasible = set(rows)
    if trace.postfilter is not None:
        rows_to_check += [names.index(node) for node in list(trace.postfilter.candidates)[:4]]
        rows_to_check += [names.index(node) for node in [trace.postfilter.nominated_node] if node]
    rows_to_check += [int(row) for row in by_plugin]
    rows_to_check += [row for row in range(len(names)) if row not in feasible][:2]
    return list(dict.fromkeys(rows_to_check))


def questions(trace: CycleTrace, names: list[str]) -> Iterator[tuple[Question, Any]]:
    """Yield each question with the recorded value."""
    if trace.preenqueue is not None:
        yield Question("preenqueue", "", trace.preenqueue.plugin), True
        return
    for point, plugin in BINDING if trace.node else ():
        if plugin == "VolumeBinding" and trace.verdicts and plugin not in {*trace.verdicts, *trace.skipped_filter}:
            continue  # not in the profile
        yield Question(point, trace.node, plugin), False
    old = not trace.verdicts.keys().isdisjoint(("PodToleratesNodeTaints", "CheckNodeCondition"))  # predicates
    feasible = trace.feasible_rows().tolist()
    for row in nodes_to_ask(trace, names):
        node = names[row]
        if trace.prefilter is not None and trace.prefilter.plugin:
            yield Question("filter", node, trace.prefilter.plugin), True
        for plugin, verdict in trace.verdicts.items():
            yield Question("filter", node, plugin), verdict.at(row) is not None
        if trace.postfilter is not None and not old:
            yield Question("preemption", node, "DefaultPreemption"), node == trace.postfilter.nominated_node
        if row not in feasible or not trace.scores:
            continue
        place = feasible.index(row)
        for plugin, score in trace.scores.items():
            yield Question("raw", node, plugin), int(score.raw[place])
            yield Question("normalized", node, plugin), int(score.normalized[place])
            yield Question("weighted", node, plugin), int(score.normalized[place]) * score.weight
        yield Question("total", node), int(trace.total()[place])


def check(case: dict[str, Any], every: int = 1, counts: Counter[str] | None = None) -> Iterator[str]:
    """Yield the problems of a case's trees. `every`: check one of so many cycles. `counts`: trees by point, plugin."""
    objects = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in case["objects"]}
    for number, (provenance, trace, names) in enumerate(cycles_of(case)):
        if number % every:
            continue
        for question, recorded in questions(trace, names):
            where = f"{case['name']} {trace.pod} {question.point} {question.plugin} {question.node}"
            try:
                tree = msgspec.to_builtins(provenance.explain(question))
            except Exception as problem:
                yield f"{where}: {type(problem).__name__} {problem}"
                continue
            if counts is not None:
                counts[f"{question.point} {question.plugin}".strip()] += 1
            if tree["value"] != recorded:
                yield f"{where}: root {tree['value']!r}, recorded {recorded!r}"
            if tree.get("label") in (DISAGREES, UNEXPLAINED):
                yield f"{where}: {tree['label']}"
            if not tree.get("text"):
                yield f"{where}: no sentence"
            yield from (f"{where}: {problem}" for problem in problems(tree, objects))
