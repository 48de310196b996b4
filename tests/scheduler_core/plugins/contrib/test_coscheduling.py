"""Coscheduling as a single pass and in virtual time."""

from typing import Any

import msgspec
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.explain import explain
from scheduler_core.plugins.contrib.coscheduling import POD_GROUP
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def config(version: str = "v1", **plugins: Any) -> dict[str, Any]:
    """Return the configuration of the scheduler-plugins manifests."""
    queue_sort = {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    plugins = plugins or {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    args = {"permitWaitingTimeSeconds": 10}
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"queueSort": queue_sort, **plugins},
                "pluginConfig": [{"name": "Coscheduling", "args": args}],
            }
        ],
    }


def group(least: int, **spec: Any) -> Raw:
    spec = {"minMember": least, **spec}
    meta = {"name": "g", "namespace": "default"}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": meta, "spec": spec}


def member(name: str, cpu: str = "1", label: str = POD_GROUP, **more: Any) -> Raw:
    return pod(name, labels={label: "g"}, requests={"cpu": cpu}, **more)


def run(*objects: Raw, **more: Any) -> dict[str, CycleTrace]:
    simulation = Simulation(objects, config=more.pop("config", config()), tie_break="name", **more)
    traces = list(simulation.run())
    assert sorted(trace.pod for trace in traces) == sorted(simulation.pods), "one trace a pod"
    assert len(list(simulation.cluster.pods)) == sum(t.result == "scheduled" for t in traces) + sum(
        bool(o.get("spec", {}).get("nodeName")) for o in objects
    )
    return {trace.pod.partition("/")[2]: trace for trace in traces}


def test_a_feasible_group_is_bound_together() -> None:
    traces = run(node("n1"), group(3), *(member(name) for name in "abc"), pod("other"))
    assert {name: trace.result for name, trace in traces.items()} == dict.fromkeys(
        ("a", "b", "c", "other"), "scheduled"
    )
    assert traces["a"].permit_waits == {"Coscheduling": 10.0}
    assert traces["c"].permit_waits == {}


def test_an_infeasible_group_releases_its_nodes() -> None:
    traces = run(
        node("n1", cpu="4"), group(3), *(member(name, "2") for name in "abc"), pod("other", requests={"cpu": "3"})
    )
    assert {name: trace.result for name, trace in traces.items()} == {
        "a": "unschedulable", "b": "unschedulable", "c": "unschedulable", "other": "scheduled",
    }  # fmt: skip
    assert "optimistic rejection in PostFilter" in traces["a"].message
    assert "PodGroup default/g gets rejected due to Pod c is unschedulable even after PostFilter" in traces["c"].message


def test_an_incomplete_group_is_not_started() -> None:
    traces = run(node("n1"), group(3), member("a"), member("b"))
    assert traces["a"].result == "unschedulable"
    assert "cannot find enough sibling pods, current pods number: 2, minMember of group: 3" in traces["a"].message


def test_running_pods_count() -> None:
    traces = run(node("n1"), group(3), member("a", on="n1"), member("b", on="n1"), member("c"))
    assert traces["c"].result == "scheduled"


def test_waiting_pods_are_rejected_at_the_end_as_after_a_timeout() -> None:
    late = member("c", schedulerName="another")
    traces = run(node("n1"), group(3, scheduleTimeoutSeconds=45), member("a"), member("b"), late)
    assert (
        traces["a"].message
        == "0/1 nodes are available: 1 rejected due to timeout after waiting 45s at plugin Coscheduling."
    )
    assert traces["b"].message == "0/1 nodes are available: 1 rejection in Unreserve."


def test_gated_pods_do_not_count() -> None:
    gated = member("c", schedulingGates=[{"name": "later"}])
    traces = run(node("n1"), group(3), member("a"), member("b"), gated)
    assert "pre-filter pod a cannot proceed due to gated pods in the same PodGroup" in traces["a"].message
    assert traces["c"].result == "gated"


def test_a_missing_pod_group() -> None:
    traces = run(node("n1"), member("a"))
    assert "PodGroup not found" in traces["a"].message
    other = {**group(1), "apiVersion": "scheduling.k8s.io/v1alpha2"}
    assert "PodGroup not found" in run(node("n1"), other, member("a"))["a"].message


def test_other_labels_name_no_group() -> None:
    labels = {"pod-group.scheduling.sigs.k8s.io/name": "g", "pod-group.scheduling.sigs.k8s.io": "g"}
    traces = run(node("n1"), group(2), pod("a", labels=labels), pod("b", labels=labels))
    assert [(trace.result, trace.permit_waits) for trace in traces.values()] == [("scheduled", {})] * 2


def test_resources_that_the_cluster_does_not_have_left() -> None:
    traces = run(node("n1", cpu="4"), node("n2", cpu="4"), group(1, minResources={"cpu": "9"}), member("a"))
    assert "resource gap: map[cpu:{{1000 -3} {<nil>}  DecimalSI}]" in traces["a"].message
    traces = run(node("n1", cpu="4"), node("n2", cpu="4"), group(1, minResources={"cpu": "8"}), member("a"))
    assert traces["a"].result == "scheduled"


def test_a_preempted_waiting_pod_rejects_its_group() -> None:
    late = member("c", schedulerName="another")
    big = pod("big", requests={"cpu": "3"}, priority=9)
    order = ["default/a", "default/b", "default/big"]
    traces = run(node("n1", cpu="4"), group(3), member("a"), member("b"), late, big, pods=order)
    assert (traces["big"].nominated_node, traces["big"].victims) == ("n1", ["default/a"])
    assert traces["a"].message == "0/1 nodes are available: 1 preempted."
    assert traces["b"].message == "0/1 nodes are available: 1 rejection in Unreserve."


def test_a_group_stays_together_in_the_queue() -> None:
    objects = [node("n1"), group(2), member("b"), pod("between"), member("a"), member("late", priority=3)]
    assert Simulation(objects, config=config()).pods == ["default/late", "default/a", "default/b", "default/between"]


@pytest.mark.parametrize(
    ("quantity", "gap"),
    [
        ("9500m", "cpu:{{1500 -3} {<nil>}  DecimalSI}"),
        ("9.5", "cpu:{{1500 -3} {<nil>}  DecimalSI}"),
        ("9500001u", "cpu:{{1500001 -6} {<nil>}  DecimalSI}"),
        ("95e-1", "cpu:{{1500 -3} {<nil>}  DecimalExponent}"),
    ],
)
def test_a_gap_has_the_scale_of_the_finer_quantity(quantity: str, gap: str) -> None:
    traces = run(node("n1", cpu="8"), group(1, minResources={"cpu": quantity}), member("a"))
    assert f"resource gap: map[{gap}]" in traces["a"].message


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
def test_the_extension_points_of_older_manifests(version: str) -> None:
    points = ("preFilter", "postFilter", "permit", "reserve", "postBind")
    plugins = {point: {"enabled": [{"name": "Coscheduling"}]} for point in points}
    traces = run(node("n1"), group(2), member("a"), member("b"), config=config(version, **plugins), release="1.27")
    assert {trace.result for trace in traces.values()} == {"scheduled"}


def test_in_virtual_time_the_last_member_activates_the_others() -> None:
    timeline = [{"at": at, "create": member(name)} for at, name in ((0, "a"), (5, "b"), (9, "c"))]
    played = PlayedScenario(node("n1"), group(3), config=config(), timeline=timeline)
    assert [r.data["result"] for r in played.records_of("attempt", "a")] == ["unschedulable", "waiting"]
    assert played.times("pod.bound") == [9, 9, 9]
    assert "ForceActivate" in [event for _, _, event in played.moves("a")]


@pytest.mark.parametrize("spec", [{"minMember": -1}, {"minResources": {"cpu": "x"}}, {"scheduleTimeoutSeconds": -5}])
def test_an_invalid_pod_group_is_rejected(spec: Raw) -> None:
    with pytest.raises(InputError, match=f"PodGroup default/g: spec.{next(iter(spec))}"):
        Simulation([{**group(1), "spec": spec}])


def test_a_gang_that_is_tried_without_end_takes_time_until_it_fits() -> None:
    """Since 1.33, a pod that a rejection wakes is popped from backoffQ at once."""
    objects = [node("n"), group(3), *(member(name, "2") for name in "abc")]
    timeline = [{"at": 0.05, "create": node("m", cpu="8")}]
    spec = {"kubernetes": "1.34", "config": config(), "until": 60, "objects": objects, "timeline": timeline}
    scenario = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    records = list(ScenarioRun(load_scenario(msgspec.json.encode(scenario))).run())
    attempts = [record for record in records if record.kind == "attempt"]
    assert 3 * 500 < sum(record.time == 0 for record in attempts) < 3 * 600
    assert [record.time for record in attempts if 0 < record.time < 0.05] == [n / 1000 for n in range(1, 50)]
    assert attempts[-1].data["result"] == "scheduled"
    assert {record.data["pod"] for record in records if record.kind == "pod.bound"} == {f"default/{n}" for n in "abc"}


def sentences(*objects: Raw) -> list[str]:
    simulation = Simulation(objects, config=config(), tie_break="name")
    pods = {pod.key: pod for pod in simulation.to_try}
    return [explain(trace, simulation, pods[trace.pod]).sentence for trace in simulation.run()]


def test_sentences_name_the_group_and_what_it_lacks() -> None:
    assert sentences(node("n1"), member("a", "1")) == [
        "n1 was chosen, but Coscheduling refused at permit: PodGroup default/g does not exist."
    ]
    assert sentences(node("n1", cpu="1"), group(2), member("a", "1")) == [
        "PodGroup default/g needs 2 pods (minMember), of which 1 exists."
    ]
    (found, _) = sentences(node("n1", cpu="1"), group(2, minResources={"cpu": "4"}), member("a", "2"), member("b", "2"))
    assert found == "PodGroup default/g needs 4 of cpu (1 free) on all nodes together (minResources)."
    gated = member("b", "1")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    assert sentences(node("n1"), group(2), member("a", "1"), gated)[0] == (
        "Too many pods of PodGroup default/g have scheduling gates."
    )
