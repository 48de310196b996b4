"""NodeResourceTopologyMatch: alignment, its explanation, the cache, and objects on which upstream crashes."""

from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.explain import explain
from scheduler_core.plugins.contrib import numa_zones
from scheduler_core.plugins.contrib.numa_table import NumaTable
from scheduler_core.plugins.contrib.numa_zones import Nano
from scheduler_core.search.provenance import Question
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.fixes import fixes_of
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.provenance.cases import explained
from tests.scheduler_core.provenance.evaluate import problems

NAME = "NodeResourceTopologyMatch"


def config(**args: Any) -> Raw:
    given = [{"name": NAME, "args": args}]
    return {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": NAME}]}}, "pluginConfig": given}]}


def topology(name: str, *zones: Raw, policy: str = "SingleNUMANodePodLevel", numbers: Any = None) -> Raw:
    listed = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [{"name": key, "capacity": v, "allocatable": v, "available": v} for key, v in zone.items()],
        }
        for number, zone in zip(numbers or range(len(zones)), zones, strict=True)
    ]
    kind = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
    return {**kind, "metadata": {"name": name}, "topologyPolicies": [policy], "zones": listed}


def guaranteed(name: str, cpu: str) -> Raw:
    made = pod(name, requests={"cpu": cpu, "memory": "1Gi"})
    for container in made["spec"]["containers"]:
        container["resources"]["limits"] = dict(container["resources"]["requests"])
    return made


def zone(cpu: str, memory: str = "4Gi") -> Raw:
    return {"cpu": cpu, "memory": memory}


def run(*objects: Raw, **args: Any) -> tuple[list[CycleTrace], Simulation]:
    simulation = Simulation(objects, config=config(**args), tie_break="name")
    return list(simulation.run()), simulation


def test_a_pod_that_no_zone_holds_is_refused_and_explained() -> None:
    objects = [node("n1"), topology("n1", zone("2"), zone("2")), guaranteed("p", "3")]
    (trace,), simulation = run(*objects)
    assert trace.message.startswith("0/1 nodes are available: 1 cannot align pod.")
    answer = explain(trace, simulation, simulation.to_try[0])
    assert "has no NUMA zone that holds the whole pod" in answer.sentence
    details = [objection.detail for closest in answer.closest for objection in closest.objections]
    assert any("node-0 has 2 of cpu and 4Gi of memory; node-1 has 2 of cpu" in detail for detail in details)
    tree = msgspec.to_builtins(explained(objects, Question("filter", "n1", NAME), config=config()))
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    assert list(problems(tree, known)) == []
    assert (tree["value"], tree["text"]) == (True, "n1: no NUMA zone holds it")


def test_scores_of_a_restored_cluster_are_explained() -> None:
    """Nothing filtered before: the explanation is the first to read the zones."""
    objects = [node("n1"), node("n2"), topology("n1", zone("4"), zone("4")), guaranteed("p", "2")]
    for name, raw in (("n1", 62), ("n2", 0)):
        assert msgspec.to_builtins(explained(objects, Question("raw", name, NAME), config=config()))["value"] == raw


def test_at_container_scope_the_containers_are_explained_one_after_the_other() -> None:
    policy = "SingleNUMANodeContainerLevel"
    objects = [node("n1"), topology("n1", zone("3"), zone("1"), policy=policy), guaranteed("p", "2")]
    objects[2]["spec"]["containers"].append(objects[2]["spec"]["containers"][0] | {"name": "second"})
    (trace,), _ = run(*objects)
    assert trace.message.startswith("0/1 nodes are available: 1 cannot align container.")
    tree = msgspec.to_builtins(explained(objects, Question("filter", "n1", NAME), config=config()))
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    assert list(problems(tree, known)) == []
    assert [(one["value"], one["label"]) for one in tree["args"]] == [
        (False, "no zone holds container main"),
        (True, "no zone holds container second"),
    ]
    left = tree["args"][1]["args"][0]["args"][0]["args"][0]["args"][0]["args"][0]
    assert (left["value"], left["label"], left["unit"]) == (1000, "cpu left", "m")


def test_an_object_with_too_many_zones_is_an_error_that_names_it() -> None:
    objects = [node("n1"), node("n2"), topology("n2", zone("2"), numbers=[64]), guaranteed("a", "1")]
    (trace,), _ = run(*objects)
    assert "NodeResourceTopology n2 is not consistent: kube-scheduler would crash here" in trace.error


def test_pods_are_subtracted_only_with_a_cache() -> None:
    objects = [node("n1"), topology("n1", zone("2"), zone("2")), guaranteed("a", "2"), guaranteed("b", "2")]
    assert [trace.result for trace in run(*objects)[0]] == ["scheduled", "scheduled"]
    traces, _ = run(*objects, cacheResyncPeriodSeconds=5)
    assert [trace.result for trace in traces] == ["scheduled", "unschedulable"]


def test_pods_of_other_schedulers_make_the_data_invalid() -> None:
    other = pod("other", on="n1", schedulerName="another")
    objects = [node("n1"), topology("n1", zone("2")), other, guaranteed("a", "1")]
    (trace,), _ = run(*objects, cacheResyncPeriodSeconds=5)
    assert "1 invalid node topology data" in trace.message
    ignored = {"foreignPodsDetect": "OnlyExclusiveResources"}
    (trace,), _ = run(*objects, cacheResyncPeriodSeconds=5, cache=ignored)
    assert trace.result == "scheduled"


def test_an_object_on_which_upstream_crashes_is_an_error() -> None:
    holes = topology("n1", zone("2"), zone("2"), numbers=(0, 2))
    objects = [node("n1"), node("n2"), holes, topology("n2", zone("2")), guaranteed("a", "1")]
    (trace,), _ = run(*objects)
    assert trace.result == "error"
    assert trace.error.startswith("NodeResourceTopology n1 is not consistent: kube-scheduler would crash here")


def test_a_strategy_without_a_type_is_refused() -> None:
    with pytest.raises(InputError, match=r'scoringStrategy\.type: Invalid value: "": invalid ScoringStrategyType'):
        run(node("n1"), scoringStrategy={"resources": [{"name": "cpu", "weight": 1}]})


@pytest.mark.parametrize(("cpu", "text"), [("3", "request 2.5 cpu, which node-1 of n1 has available"), ("5", "")])
def test_requests_that_a_zone_holds_are_suggested(cpu: str, text: str) -> None:
    """The pod stays Guaranteed: the limits follow."""
    objects = [node("n1", cpu="8"), topology("n1", zone("2"), zone("2500m")), guaranteed("p", cpu)]
    (trace,), simulation = run(*objects)
    found = fixes_of(simulation, explain(trace, simulation, simulation.to_try[0]), simulation.to_try)
    assert [(fix.text, fix.places) for fix in found] == ([(text, 1)] if text else [])
    for fix in found:
        (container,) = fix.patch["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "2500m"}, "limits": {"cpu": "2500m"}}


@pytest.mark.parametrize("policy", ["SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel"])
def test_columns_of_zones_refuse_the_nodes_that_the_explanation_refuses(policy: str) -> None:
    """Also quantities that are no whole units or beyond int64, and pods that are subtracted."""
    random = Random(1)

    def amounts() -> dict[str, str]:
        memory = random.choice(("0", "1Gi", "2Gi", "4Gi", "1500m", "1E", "100000000000000000000"))
        cpu = random.choice(("0", "1n", "500m", "1", "2", "4"))
        return {"cpu": cpu, "memory": memory, "example.com/x": random.choice(("0", "1", "3"))}

    topologies = [topology(f"n{i}", *(amounts() for _ in range(i % 4)), policy=policy) for i in range(12)]
    decoded = [msgspec.convert(one, NodeResourceTopology) for one in topologies]
    nodes = [msgspec.convert(node(f"n{i}", more={"example.com/x": "9"}), Node) for i in range(12)]
    table, seen = NumaTable(decoded, nodes), set()
    taken: dict[int, dict[str, Nano]] = {}
    for step in range(40):
        raw = pod("p", requests=amounts())
        (container,) = raw["spec"]["containers"]
        second = {**container, "name": "second", "resources": {"requests": amounts()}}
        for one in (container, second) if step % 2 else ():
            one["resources"]["limits"] = dict(one["resources"]["requests"])
        raw["spec"]["containers"].append(second)
        shape = numa_zones.shape_of(msgspec.convert(raw, Pod))
        refused = np.logical_or.reduce([nodes for _, nodes in table.refusals(shape)]).tolist()
        for row, (one, its) in enumerate(zip(decoded, nodes, strict=True)):
            zones = numa_zones.zones_of(one, taken.get(row))
            parts = numa_zones.alignments(shape, numa_zones.manager_of(one), zones, numa_zones.offered_by(its))
            assert refused[row] == any(part.zone is None for part in parts)
        seen.update(refused)
        row = random.randrange(12)
        taken.setdefault(row, {})[str(step)] = shape.requests
        table.subtract(row, taken[row].values())
    assert seen == {True, False}
