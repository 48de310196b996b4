"""Buy: what the model takes from a scenario, and the runs on the chosen nodes."""

import copy
import json
from typing import Any

import pytest

from scheduler_core.api.objects import Node, decode_all
from scheduler_core.errors import InputError
from scheduler_core.experiments.buy import Buy, sentence
from scheduler_core.experiments.cell import Cell, Done
from scheduler_core.experiments.node_catalog import presets
from scheduler_core.experiments.questions import load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from tests.scheduler_core.build import HOSTNAME, ZONE, Raw, node, pod, workload

SMALL = {"name": "small", "price": 1, "allocatable": {"cpu": "4", "memory": "16Gi"}}
LARGE = {"name": "large", "price": 3.5, "allocatable": {"cpu": "16", "memory": "64Gi"}}


def buy(*objects: Raw, catalog: list[Raw] | None = None, release: str = "1.34", config: str = "", **more: Any) -> Any:
    scenario = ScenarioInput("cluster", "digest", lambda: copy.deepcopy(list(objects)))
    parameters = {"catalog": catalog or [SMALL, LARGE], "seconds": 5, **more}
    cell = Cell(question="buy", scenario="cluster", release=release, configuration=config, parameters=parameters)
    return Buy().compute(cell, scenario, lambda: None)


def bought(row: Any) -> dict[str, int]:
    return {one["name"]: one["count"] for one in row["types"] if one["count"]}


def pods(number: int, **more: Any) -> list[Raw]:
    return [pod(f"p{i}", **{"requests": {"cpu": "3"}, **more}) for i in range(number)]


def test_the_cheapest_set_places_all_pods() -> None:
    row = buy(*pods(6))
    # Five pods of 3 CPU share a large node for 3.5; a small one holds one for 1.
    assert bought(row) == {"large": 1, "small": 1}
    assert (row["price"], row["bound"], row["placed"]) == (4.5, 4.5, 6)
    assert sentence(row, "$") == "2 nodes for $4.50 place all 6 pods; no set costs less."


def test_free_space_of_existing_nodes_is_used_first() -> None:
    row = buy(node("old", cpu="7"), *pods(3))
    assert (bought(row), row["on_existing"]) == ({"small": 1}, 2)
    row = buy(node("old", cpu="12"), *pods(3))
    assert sentence(row, "$") == "Nothing to buy: the existing nodes have space for all 3 pods."
    some = "Nothing to buy: the existing nodes have space for 3 of 4 pods; "
    assert sentence(row | {"pods": 4}, "$") == f"{some}no node type takes the other 1."
    assert sentence(row | {"pods": 4, "short": "the others do not fit into the allowed number of nodes"}, "$") == (
        f"{some}the others do not fit into the allowed number of nodes."
    )
    assert row["price"] == row["bound"] == 0


def test_many_kinds_of_existing_nodes_are_pooled_and_the_bound_stays_valid() -> None:
    olds = [node(f"old-{i}", cpu=f"{3000 + i}m") for i in range(30)]
    row = buy(*olds, *pods(40))
    assert row["on_existing"] == 30
    assert row["bound"] <= row["price"] == row["first_fit"] == 7.0


def test_many_different_shapes() -> None:
    olds = [node(f"old-{i}", cpu=f"{3000 + i}m") for i in range(20)]
    shapes = [pod(f"p{i}", requests={"cpu": f"{900 + i}m", "memory": f"{100 + 7 * i}Mi"}) for i in range(220)]
    row = buy(*olds, *shapes, seconds=1)
    assert row["placed"] == 220
    assert row["resource_bound"] <= row["bound"] <= row["price"] <= row["first_fit"]


def test_taints_selectors_and_limits_decide_which_types_take_a_pod() -> None:
    tainted = {**SMALL, "name": "tainted", "price": 0.1, "taints": [{"key": "a", "value": "b"}]}
    labelled = {**SMALL, "name": "labelled", "price": 2, "labels": {"disk": "ssd"}}
    wants = pods(2, nodeSelector={"disk": "ssd"})
    row = buy(*wants, catalog=[SMALL, tainted, labelled])
    assert bought(row) == {"labelled": 2}
    row = buy(*wants, catalog=[SMALL, tainted, {**labelled, "maxCount": 1}])
    assert row["placed"] == 1
    assert sentence(row, "€").endswith("the others do not fit into the allowed number of nodes.")


def test_pods_that_the_scheduler_leaves_pending_are_not_limited() -> None:
    """No new node has a zone, so the model places the pods and the scheduler does not."""
    spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    row = buy(*pods(2, topologySpreadConstraints=[spread]), pod("p", requests={"cpu": "3"}))
    assert sentence(row, "$") == "1 node for $1.00 places 1 of 3 pods; the scheduler leaves the others pending."
    # The other pod uses the only node with this label, and new nodes have none.
    wants = pods(2, nodeSelector={"disk": "ssd"})
    row = buy(node("old", cpu=4, labels={"disk": "ssd"}), *wants)
    assert sentence(row, "$") == (
        "Nothing to buy: the existing nodes have space for 1 of 2 pods; no node type takes the others."
    )


@pytest.mark.parametrize("names", [("m5", "M5"), ("大", "小"), ("a b", "a_b")])
def test_types_whose_nodes_would_have_equal_names(names: tuple[str, str]) -> None:
    first, second = ({**SMALL, "name": name, "labels": {"type": name}} for name in names)
    wants = [pod(f"p{i}", requests={"cpu": "3"}, nodeSelector={"type": names[i % 2]}) for i in range(4)]
    row = buy(*wants, catalog=[first, second])
    assert (bought(row), row["price"], row["added"]) == ({names[0]: 2, names[1]: 2}, 4, 0)


def test_pods_that_no_type_takes_have_the_reason() -> None:
    row = buy(*pods(1), pod("huge", requests={"cpu": "40"}))
    assert (row["placed"], row["short"], bought(row)) == (1, "", {"small": 1})
    [left] = row["left"]
    assert left["examples"] == ["default/huge"]
    assert left["reason"] == "NodeResourcesFit: Insufficient cpu"


def test_daemon_sets_take_space_of_the_types_that_they_match() -> None:
    agent = workload("DaemonSet", "agent", pod={"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]})
    row = buy(agent, *pods(4), catalog=[SMALL, LARGE])
    assert bought(row) == {"large": 1}  # 14 CPU are left; a small node has only 2
    assert row["daemon_sets"] == ["DaemonSet default/agent"]
    agent["spec"]["template"]["spec"]["nodeSelector"] = {"kind": "other"}
    assert buy(agent, *pods(1), catalog=[SMALL])["price"] == 1


@pytest.mark.parametrize("placed", ["pending", "all"])
def test_a_daemon_set_is_known_by_its_pods_alone(placed: str) -> None:
    owner = {"kind": "DaemonSet", "name": "agent", "apiVersion": "apps/v1", "uid": "u", "controller": True}
    running = pod("agent-x", on="old", requests={"cpu": "2"})
    running["metadata"]["ownerReferences"] = [owner]
    row = buy(node("old", cpu="2"), running, *pods(1), catalog=[SMALL, LARGE], workload=placed)
    assert bought(row) == {"large": 1}


def test_anti_affinity_by_host_name_is_in_the_model() -> None:
    far = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [far]}}
    row = buy(*pods(4, labels={"app": "a"}, affinity=affinity))
    assert (row["bound"], row["price"], row["added"]) == (4, 4, 0)


def test_constraints_outside_the_model_add_nodes_and_raise_the_gap() -> None:
    spread = {
        "maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
        "labelSelector": {"matchLabels": {"app": "a"}},
    }  # fmt: skip
    row = buy(*pods(3, labels={"app": "a"}, topologySpreadConstraints=[spread]), catalog=[LARGE])
    assert row["bound"] == 3.5
    assert (row["placed"], row["price"], row["added"]) == (3, 10.5, 2)
    assert "no set costs less than $3.50, so at most 67% is wasted" in sentence(row, "$")


def test_the_whole_workload_on_new_nodes_alone() -> None:
    row = buy(node("old"), pod("runs", on="old", requests={"cpu": "3"}), *pods(4), workload="all")
    assert (row["pods"], row["placed"], bought(row)) == (5, 5, {"large": 1})


def test_the_scheduler_alone_may_need_more_nodes_than_the_plan() -> None:
    # By its own scores the scheduler spreads the small pods, and the large ones no longer fit.
    small = [pod(f"a{i}", requests={"cpu": "1"}, priority=1) for i in range(4)]
    large = [pod(f"b{i}", requests={"cpu": "4"}) for i in range(3)]
    row = buy(*small, *large, catalog=[SMALL])
    assert (row["price"], row["own"]["price"], row["own"]["added"]) == (4, 7, 3)
    assert row["own"]["pending"] == 0


@pytest.mark.parametrize("release", ["1.16", "1.18", "1.36"])
def test_releases_with_other_plugins(release: str) -> None:
    tainted = {**SMALL, "name": "tainted", "price": 0.1, "taints": [{"key": "a", "value": "b"}]}
    row = buy(node("old", cpu="2"), *pods(3), catalog=[SMALL, tainted], release=release)
    assert (row["bound"], row["price"], row["placed"]) == (3, 3, 3)


def test_nothing_pending() -> None:
    assert sentence(buy(node("old")), "$") == "Nothing to buy: no pod is pending."


def document(**buy: Any) -> dict[str, Any]:
    spec = {"question": "buy", "scenarios": [{"id": 1}], "buy": buy}
    return {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("price", -1, "price: must be in 0..1,000,000"),
        ("price", 1e-9, "price: must have at most 6 decimals"),
        ("name", " ", "name: must have 1..100 characters"),
        ("maxCount", -1, "maxCount: must be in 0..100,000"),
        ("allocatable", {"cpu": "four"}, "allocatable.cpu"),
        ("allocatable", {"cpu": "-4"}, "1: spec.buy.catalog\\[0\\].allocatable.cpu: must not be negative"),
    ],
)
def test_a_wrong_catalog_is_refused_with_the_field(field: str, value: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace(".", r"\.")):
        load_experiment(json.dumps(document(catalog=[{**SMALL, field: value}])))


def test_cells_and_the_answer_of_several_cases() -> None:
    experiment = load_experiment(json.dumps(document(catalog=[SMALL]) | {}))
    [cell] = Buy().plan(experiment, {})
    row = buy(*pods(2), catalog=[SMALL])
    assert Buy().summarise(experiment, [Done(cell, row)])["answer"] == sentence(row, "$", "hour")
    assert Buy().summarise(experiment, [Done(cell, None, "broken")])["answer"] == "Not answered: broken"


def test_prices_have_the_time_that_they_are_for() -> None:
    [cell] = Buy().plan(load_experiment(json.dumps(document(catalog=[SMALL]))), {})
    row = buy(*pods(2), catalog=[SMALL])
    for given, text in (({}, "$2.00 per hour"), ({"currency": "EUR", "per": "month"}, "EUR 2.00 per month")):
        experiment = load_experiment(json.dumps(document(catalog=[SMALL], **given)))
        answer = Buy().summarise(experiment, [Done(cell, row)])["answer"]
        assert answer == f"2 nodes for {text} place all 2 pods; no set costs less."


@pytest.mark.parametrize(
    "control",
    [
        {"labels": {"node-role.kubernetes.io/control-plane": ""}},
        {"labels": {"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/worker": ""}},
        {"labels": {"node-role.kubernetes.io/controlplane": "true"}},
        {"labels": {"kubernetes.io/role": "master"}},
        {"taints": (("node-role.kubernetes.io/control-plane", "", "NoSchedule"),)},
    ],
)
def test_presets_have_no_node_of_the_control_plane(control: dict[str, Any]) -> None:
    nodes = decode_all([node("control", cpu="64", **control), node("worker", cpu="4")])
    assert [one.name for one in presets(one for one in nodes if isinstance(one, Node))] == ["4cpu-8Gi"]


def test_presets_are_the_node_shapes_of_the_scenario() -> None:
    kind = "node.kubernetes.io/instance-type"
    nodes = decode_all(
        [
            *(node(f"a{i}", labels={kind: "m5.xlarge", "own": str(i)}, zone="z1") for i in range(2)),
            node("b", cpu="8", memory="32Gi", taints=(("gpu", "", "NoSchedule"),)),
        ]
    )
    first, second = presets(one for one in nodes if isinstance(one, Node))
    assert (first.name, first.labels) == ("m5.xlarge", {kind: "m5.xlarge", ZONE: "z1"})
    assert (second.name, second.price, second.taints[0].key) == ("8cpu-32Gi", 0.37, "gpu")
