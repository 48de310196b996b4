"""Explanations of every conformance case outside the tests: complete, with the deciding quantities."""

from functools import cache

import msgspec
import pytest

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands.replay import simulation_of
from scheduler_core.explain import explain, render
from scheduler_core.explain.matrix import ALSO, REFUSED, matrix_of
from scheduler_core.explain.scores import ranking
from tests.conformance import golden_cases
from tests.examples import sample, selection

pytestmark = pytest.mark.slow


@cache
def cycles(release):
    """Yield (case, nodes, trace, explanation) of every cycle."""
    return list(played(release))


def played(release):
    for case in sample(golden_cases(release), 300):
        simulation = simulation_of(case)
        pods = {o.key: o for o in decode_all(case["objects"]) if isinstance(o, Pod)}
        run = simulation.run()
        while True:
            before = dict(simulation.cluster.pods)
            trace = next(run, None)
            if trace is None:
                break
            info = PodInfo(pods[trace.pod], simulation.cluster.release)
            victims = [before[key] for key in trace.victims]
            yield case, list(simulation.nodes), trace, explain(trace, simulation, info, victims=victims)


@pytest.mark.parametrize("release", selection(["v1.34", "v1.27", "v1.24"], 3))
def test_explanations_are_complete(release):
    """Groups contain every rejected node once. The score differences add up to the margin. There is a text. Each
    objection on the closest nodes has its detail.
    """
    seen, details = set(), 0
    for case, nodes, trace, answer in cycles(release):
        where = (case["name"], trace.pod)
        assert answer.sentence.endswith("."), where
        assert render(answer)
        refused = {name for row, name in enumerate(nodes) if trace.status_at(row) is not None}
        if answer.groups and answer.looked == answer.nodes:
            named = [name for group in answer.groups for name in group.nodes]
            assert sorted(named) == sorted(refused), where
        if answer.duel is not None:
            assert answer.duel.winner == trace.node, where
            assert answer.duel.margin == sum(d.difference for d in answer.duel.differences) >= 0, where
        for near in answer.closest:
            assert near.objections, where
            assert all(objection.detail for objection in near.objections), where
            details += len(near.objections)
        seen.add(answer.result)
    assert seen >= {"scheduled", "unschedulable"} | ({"gated"} if release >= "v1.27" else set())
    assert details > 100


def test_removing_the_shortfall_places_the_pod():
    """If only resources are short, the pod fits with the shortfall added and does not fit with one unit less."""
    tried = 0
    for case, _, trace, answer in cycles("v1.34"):
        lone = [n for n in answer.closest if len(n.objections) == 1 and n.objections[0].shortfalls]
        if not lone or answer.preemption is not None or tried >= 40:
            continue
        near, index = lone[0], case["pods"].index(trace.pod)
        shortfalls = near.objections[0].shortfalls
        for missing, fits in ((0, True), (1, False)):
            objects = msgspec.json.decode(msgspec.json.encode(case["objects"]))
            node = next(o for o in objects if o["kind"] == "Node" and o["metadata"]["name"] == near.node)
            allocatable = node["status"]["allocatable"]
            for i, s in enumerate(shortfalls):
                has = s.allocatable + s.short - (missing if i == 0 else 0)
                allocatable[s.resource] = f"{has}m" if s.resource == "cpu" else str(has)
            row, cycle = _cycle_with_history(case, objects, index, near.node)
            assert (cycle.verdicts["NodeResourcesFit"].at(row) is None) == fits, (case["name"], trace.pod, near.node)
        tried += 1
    assert tried >= 10


def _cycle_with_history(case, objects, index, name):
    """Run the cycle of a pod after the placements of the unchanged case. Return it with the row of the node."""
    placed = simulation_of(case, preemption=False, pods=case["pods"][:index])
    where = {trace.pod: trace.node for trace in placed.run() if trace.result == "scheduled"}
    for obj in objects:
        key = f"{obj['metadata'].get('namespace')}/{obj['metadata']['name']}"
        if obj["kind"] == "Pod" and key in where:
            obj["spec"]["nodeName"] = where[key]
    changes = {"preemption": False, "percentage": None, "pods": [case["pods"][index]]}
    simulation = simulation_of(case | {"objects": objects}, **changes)
    (trace,) = simulation.run()
    return simulation.nodes.index(name), trace


@pytest.mark.parametrize("release", selection(["v1.34", "v1.27", "v1.24"], 3))
def test_matrix_and_scores_agree_with_the_cycle(release):
    """Each node is in one group, with the status of the cycle, and scores add up to totals."""
    scored = 0
    for case, nodes, trace, _ in cycles(release):
        where, golden = (case["name"], trace.pod), trace.golden(nodes)
        matrix = matrix_of(trace, nodes)
        assert sorted(name for group in matrix.groups for name in group.nodes) == sorted(nodes), where
        refused = {name: group for group in matrix.groups if group.state == REFUSED for name in group.nodes}
        assert {name: list(group.reasons) for name, group in refused.items()} == {
            name: status["reasons"] for name, status in golden["filter"].items()
        }, where
        for name, group in refused.items():
            others = {cell.plugin: list(cell.reasons) for cell in group.cells if cell.kind == ALSO}
            alone = {plugin: status["reasons"] for plugin, status in golden["filter_all"].get(name, {}).items()}
            assert others == {plugin: reasons for plugin, reasons in alone.items() if plugin != group.plugin}, where
        for one in ranking(trace, nodes, None):
            scored += 1
            assert one.total == golden["total"][one.node] == sum(part.weighted for part in one.points), where
    assert scored
