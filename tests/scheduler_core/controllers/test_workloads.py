"""Workloads create and replace their pods.

Source: https://kubernetes.io/docs/concepts/workloads/controllers/.
"""

from functools import partial

import pytest

from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core import build
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario, scenario

POD = {**pod("x", requests={"cpu": "1"})["spec"], "terminationGracePeriodSeconds": 5}
workload = partial(build.workload, pod=POD)


def bound(played: PlayedScenario) -> list[str]:
    return sorted(key.partition("/")[2] for key, info in played.run.api.pods.items() if info.node)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_replicas_are_created_and_replaced(kind: str) -> None:
    drain = {"at": 100, "drain": "n1"}
    played = PlayedScenario(node("n1"), node("n2"), workload(kind, replicas=4), timeline=[drain])
    assert len(bound(played)) == 4
    assert {played.run.api.pods[f"default/{name}"].node for name in bound(played)} == {"n2"}
    evicted = played.records_of("pod.evicted")
    assert evicted
    assert len(played.records_of("pod.created")) == 4 + len(evicted)


def test_a_drain_keeps_static_pods() -> None:
    drain = [{"at": 10, "drain": "n1"}]
    played = PlayedScenario(node("n1"), build.static_pod("etcd", on="n1"), pod("web", on="n1"), timeline=drain)
    assert [record.data["pod"] for record in played.records_of("pod.evicted")] == ["default/web"]


def test_scaling() -> None:
    scale = [
        {"at": 10, "patch": {"kind": "Deployment", "name": "web", "patch": {"spec": {"replicas": 3}}}},
        {"at": 20, "patch": {"kind": "Deployment", "name": "web", "patch": {"spec": {"replicas": 1}}}},
    ]
    assert len(bound(PlayedScenario(node("n1"), workload("Deployment"), timeline=scale, until=15))) == 3
    assert len(bound(PlayedScenario(node("n1"), workload("Deployment"), timeline=scale))) == 1


def test_pods_that_do_not_run_are_deleted_first() -> None:
    scale = {"at": 20, "patch": {"kind": "ReplicaSet", "name": "web", "patch": {"spec": {"replicas": 2}}}}
    played = PlayedScenario(node("n1", cpu="2"), workload("ReplicaSet", replicas=3), timeline=[scale])
    assert [record.data["node"] for record in played.records_of("pod.deleted")] == [""]


def test_stateful_pods_are_created_in_order_and_keep_their_names() -> None:
    played = PlayedScenario(node("n1", cpu="2"), workload("StatefulSet", replicas=4))
    assert bound(played) == ["web-0", "web-1"]
    assert "default/web-3" not in played.run.api.pods, "web-2 does not run yet"
    remove = {"at": 50, "delete": {"kind": "Pod", "name": "web-0", "namespace": "default"}}
    played = PlayedScenario(node("n1"), workload("StatefulSet", replicas=2), timeline=[remove])
    assert bound(played) == ["web-0", "web-1"]
    assert played.times("pod.created", "web-0") == [0, 55]


def test_stateful_pods_in_parallel() -> None:
    played = PlayedScenario(node("n1", cpu="2"), workload("StatefulSet", replicas=4, podManagementPolicy="Parallel"))
    assert len(played.records_of("pod.created")) == 4


def test_a_job_runs_to_its_completions() -> None:
    job = workload("Job", completions=5, parallelism=2, annotations={"kubesched.dev/duration": "10s"})
    played = PlayedScenario(node("n1"), job)
    assert played.times("pod.deleted") == [10, 10, 20, 20, 30]
    assert bound(played) == []


def test_a_daemon_set_runs_on_every_eligible_node() -> None:
    objects = (node("n1"), node("n2", taints=(("own", "", "NoSchedule"),)), node("n3", unschedulable=True))
    played = PlayedScenario(*objects, workload("DaemonSet"), timeline=[{"at": 10, "create": node("n4")}])
    assert {played.run.api.pods[f"default/{name}"].node for name in bound(played)} == {"n1", "n3", "n4"}


def test_deleting_a_workload_deletes_its_pods() -> None:
    gone = {"at": 10, "delete": {"kind": "Deployment", "name": "web"}}
    played = PlayedScenario(node("n1"), workload("Deployment", replicas=3), timeline=[gone])
    assert bound(played) == []


def test_an_invalid_template_is_named() -> None:
    with pytest.raises(InputError) as error:
        ScenarioRun(scenario(node("n1"), workload("Deployment", pod=pod("x", requests={"cpu": "lots"})["spec"])))
    assert error.value.where == "Deployment web"
    assert error.value.field.startswith("spec.template.spec.containers[0]")
