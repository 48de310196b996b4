"""NetworkOverhead and TopologicalSort: explanations, and objects that are missing."""

from typing import Any

import msgspec
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.explain import explain
from scheduler_core.plugins.contrib.app_groups import APP_GROUP, WORKLOAD, bisected
from scheduler_core.search.provenance import Question
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import REGION, Raw, node, pod
from tests.scheduler_core.provenance.cases import explained
from tests.scheduler_core.provenance.evaluate import problems

NETWORK = {"multiPoint": {"enabled": [{"name": "NetworkOverhead"}]}}
SORT = {"queueSort": {"enabled": [{"name": "TopologicalSort"}], "disabled": [{"name": "*"}]}}


def config(**plugins: Any) -> Raw:
    return {"profiles": [{"plugins": plugins or NETWORK}]}


def app_group(most: int = 5) -> Raw:
    on_db = {"workload": {"kind": "Deployment", "name": "db", "selector": "db"}, "maxNetworkCost": most}
    workloads = [
        {"workload": {"kind": "Deployment", "name": "web", "selector": "web"}, "dependencies": [on_db]},
        {"workload": {"kind": "Deployment", "name": "db", "selector": "db"}},
    ]
    order = [{"workload": {"selector": "db"}, "index": 2}, {"workload": {"selector": "web"}, "index": 1}]
    kind = {"apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1", "kind": "AppGroup"}
    meta = {"name": "shop", "namespace": "default", "uid": "1"}
    return {**kind, "metadata": meta, "spec": {"workloads": workloads}, "status": {"topologyOrder": order}}


def network(cost: int = 9) -> Raw:
    costs = [{"origin": "r1", "costList": [{"destination": "r2", "networkCost": cost}]}]
    weights = [{"name": "UserDefined", "topologyList": [{"topologyKey": REGION, "originList": costs}]}]
    kind = {"apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1", "kind": "NetworkTopology"}
    return {**kind, "metadata": {"name": "nt-default", "namespace": "default"}, "spec": {"weights": weights}}


def part(workload: str, name: str, **more: Any) -> Raw:
    return pod(name, labels={APP_GROUP: "shop", WORKLOAD: workload}, **more)


def nodes() -> list[Raw]:
    return [node("near", labels={REGION: "r2"}), node("far", labels={REGION: "r1"})]


def run(*objects: Raw) -> tuple[list[CycleTrace], Simulation]:
    simulation = Simulation([*nodes(), *objects], config=config(), tie_break="name")
    return list(simulation.run()), simulation


def test_a_node_too_far_from_a_dependency_is_refused_and_explained() -> None:
    objects = [app_group(), network(), part("db", "db-1", on="near"), part("web", "web-1")]
    (trace,), simulation = run(*objects)
    assert trace.node == "near"
    assert (
        "Node far does not meet several network requirements" in trace.verdicts["NetworkOverhead"].statuses[0].message
    )
    answer = explain(trace, simulation, simulation.to_try[0])
    assert "too far in the network from 1 of 1 pods" in str(msgspec.to_builtins(answer))
    tree = msgspec.to_builtins(
        explained([*nodes(), *objects], Question("filter", "far", "NetworkOverhead"), config=config())
    )
    assert tree["text"] == "far satisfies 0 and violates 1 dependencies"


def test_scores_are_explained() -> None:
    objects = [*nodes(), app_group(9), network(), part("db", "db-1", on="near"), part("web", "web-1")]
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    for name, raw, normalized in (("near", 0, 100), ("far", 9, 0)):
        for point, value in (("raw", raw), ("normalized", normalized)):
            found = explained(objects, Question(point, name, "NetworkOverhead"), config=config())
            tree = msgspec.to_builtins(found)
            assert tree["value"] == value
            assert list(problems(tree, known)) == []


@pytest.mark.parametrize(
    ("left_out", "missing"), [("AppGroup", "AppGroup shop"), ("NetworkTopology", "NetworkTopology nt-default")]
)
def test_a_missing_object_is_named(left_out: str, missing: str) -> None:
    objects = [one for one in (app_group(), network()) if one["kind"] != left_out]
    (trace,), _ = run(*objects, part("db", "db-1", on="near"), part("web", "web-1"))
    assert trace.error == f"there is no {missing} in default: kube-scheduler would crash here"


def test_a_pod_on_an_unknown_node_is_an_error() -> None:
    (trace,), _ = run(app_group(), network(), part("db", "db-1", on="gone"), part("web", "web-1"))
    assert trace.error == 'pod hostname not found: nodeinfo not found for node name "gone"'


def test_the_queue_follows_the_order_of_the_group() -> None:
    pods = [part("db", "a"), part("web", "b"), pod("other", priority=5)]
    simulation = Simulation([*nodes(), app_group(), *pods], config=config(**SORT))
    assert simulation.pods.index("default/b") < simulation.pods.index("default/a")
    with pytest.raises(InputError, match="AppGroup shop: is not in the cluster"):
        Simulation([*nodes(), *pods], config=config(**SORT))


def test_bisection_misses_entries_of_an_unsorted_list() -> None:
    assert [bisected("abc", one, str) for one in "abc"] == ["a", "b", "c"]
    assert [bisected("cab", one, str) for one in "abc"] == ["a", "b", None]
