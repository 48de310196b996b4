"""Preparation of a run: priorities, schedulers, missing claims, pods of workloads without pods."""

from functools import partial
from typing import Any

import pytest

from scheduler_core.api.objects import PersistentVolumeClaim, Pod
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.snapshot.prepare import Prepared, prepare
from tests.scheduler_core import build
from tests.scheduler_core.build import Raw, claim, mounts, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario

TAKE, BOUND = Choices(other_schedulers="take"), Choices(absent_claims="bound")


OURS = ("default-scheduler",)


def prepared(*objects: Raw, choices: Choices = AS_UPSTREAM, schedulers: tuple[str, ...] = OURS) -> Prepared:
    return prepare(objects, release=get_release("1.34"), schedulers=schedulers, choices=choices)


def placed(found: Prepared, **settings: Any) -> dict[str, str]:
    """Return the node of each pod, or its message."""
    cycles = Simulation(found.objects, tie_break="name", **settings).run()
    return {trace.pod.removeprefix("default/"): trace.node or trace.message for trace in cycles}


def message_of(found: Prepared, code: str) -> str:
    """Return the only remark with that code, "" for none."""
    return " ".join(remark.message for remark in found.remarks if remark.code == code)


def written(name: str, **spec: Any) -> Raw:
    """Return a pod that no API server has processed."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def limited(name: str, cpu: str) -> Raw:
    """Return a new pod with limits only."""
    raw = written(name)
    raw["spec"]["containers"][0]["resources"] = {"limits": {"cpu": cpu}}
    return raw


def priority_class(name: str, value: int, **more: Any) -> Raw:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more}


def pods(found: Prepared) -> dict[str, Pod]:
    return {obj.name: obj for obj in found.objects if isinstance(obj, Pod)}


# ---------------------------------------------------------------- defaults


def test_limits_without_requests_count_as_requests() -> None:
    found = prepared(node("n1"), written("a", nodeName="n1"), written("c", nodeName="n1"), limited("b", "3"))
    assert "Insufficient cpu" in placed(found)["b"]
    assert "requests from limits (1 container of 1 pod)" in message_of(found, "filled")


def test_an_unprepared_simulation_uses_objects_unchanged() -> None:
    (trace,) = Simulation([node("n1"), limited("b", "9")]).run()
    assert trace.node == "n1"


# ---------------------------------------------------------------- priorities


CLASSES = (priority_class("high", 1000, preemptionPolicy="Never"), priority_class("usual", 7, globalDefault=True))


@pytest.mark.parametrize(
    ("new", "spec", "expected"),
    [
        (True, {"priorityClassName": "high"}, (1000, "Never")),
        (
            True,
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            (1000, "PreemptLowerPriority"),
        ),
        (True, {"priorityClassName": "system-node-critical"}, (2000001000, "PreemptLowerPriority")),
        (True, {}, (7, "PreemptLowerPriority")),
        (True, {"priority": 5}, (5, "")),
        (True, {"priorityClassName": "gone"}, (None, "")),
        (False, {"priorityClassName": "high"}, (1000, "Never")),
        (False, {"priorityClassName": "high", "priority": 10}, (10, "Never")),
        (False, {}, (None, "")),
    ],
)
def test_priorities_of_new_pods_and_of_pods_of_a_cluster(new: bool, spec: Raw, expected: tuple[int, str]) -> None:
    """A pod of a cluster gets only missing fields."""
    raw = written("a", **spec) if new else pod("a", **{"priority": None, **spec})
    found = pods(prepared(*CLASSES, raw))["a"].spec
    assert (found.priority, found.preemption_policy) == expected


def test_the_class_decides_order_and_preemption() -> None:
    filler = pod("filler", on="n1", requests={"cpu": "4"}, priority=1)
    high = priority_class("high", 1000)
    found = prepared(node("n1"), high, filler, written("low"), written("boss", priorityClassName="high"))
    assert message_of(found, "priorities") == "Priority filled in from the PriorityClass for 1 pod: high (1)."
    first = next(Simulation(found.objects, tie_break="name").run())
    assert (first.pod, first.nominated_node, first.victims) == ("default/boss", "n1", ["default/filler"])


def test_a_missing_class_gives_a_remark() -> None:
    found = prepared(node("n1"), written("a", priorityClassName="gold"), written("b", priorityClassName="gold"))
    assert message_of(found, "priority-class") == (
        "2 pods name 1 PriorityClass missing from the snapshot, and count with priority 0: gold (2); "
        "default/a, default/b."
    )
    assert placed(found) == {"a": "n1", "b": "n1"}


# ---------------------------------------------------------------- pods to schedule


def test_terminating_pods_are_skipped_and_counted() -> None:
    found = prepared(node("n1"), pod("gone", deleted=True), pod("running", on="n1", deleted=True), pod("a"))
    assert placed(found) == {"a": "n1"}
    assert message_of(found, "deleting") == (
        "1 pod without a node is being deleted: kube-scheduler skips such pods, as here "
        "(skip schedule deleting pod: default/gone): default/gone."
    )
    assert found.deleting == ["default/gone"]


def test_a_selected_terminating_pod_is_tried() -> None:
    """The conformance cases require it."""
    found = prepared(node("n1"), pod("gone", deleted=True))
    assert placed(found, pods=["default/gone"]) == {"gone": "n1"}


def test_pods_of_other_schedulers_are_counted_by_scheduler() -> None:
    waiting = [pod(f"v{i}", schedulerName="volcano") for i in range(5)]
    found = prepared(node("n1"), *waiting, pod("gpu", schedulerName="gpu"), pod("on", on="n1", schedulerName="gpu"))
    assert placed(found) == {}
    assert found.others == {"volcano": 5, "gpu": 1}
    assert message_of(found, "other-schedulers") == (
        "6 pods wait for another scheduler and are left to it: "
        "volcano (5: default/v0, default/v1, default/v2 and 2 more), gpu (1: default/gpu). A run can take them. "
        "volcano is the scheduler of Volcano, which is not simulated."
    )


@pytest.mark.parametrize(("schedulers", "taker"), [(("mine", *OURS), "default-scheduler"), (("mine",), "mine")])
def test_pods_of_other_schedulers_may_use_the_default_profile(schedulers: tuple[str, ...], taker: str) -> None:
    found = prepared(node("n1"), pod("a", schedulerName="volcano"), choices=TAKE, schedulers=schedulers)
    assert pods(found)["a"].spec.scheduler_name == taker
    assert message_of(found, "other-schedulers") == (
        f"1 pod of other schedulers is taken by {taker}: volcano (1: default/a). "
        "volcano is the scheduler of Volcano, which is not simulated."
    )
    assert found.others == {}


def test_labels_of_schedulers_that_are_not_simulated_are_named() -> None:
    labels = {"scheduling.koordinator.sh/gang": "g", "example.com/koordinator.sh": "x"}
    keyed = [pod("a", labels=labels), pod("b", labels={"nokai.scheduler/queue": "q"}), pod("c", on="n1", labels=labels)]
    assert message_of(prepared(node("n1"), *keyed), "other-labels").startswith(
        "1 pod has labels or annotations of Koordinator, which is not simulated: "
    )
    grouped = pod("a")
    grouped["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    assert "annotations of Volcano, which is not simulated" in message_of(prepared(node("n1"), grouped), "other-labels")


# ---------------------------------------------------------------- missing claims


def claiming(name: str, of: str = "data", **more: Any) -> Raw:
    return pod(name, volumes=mounts(of), **more)


def test_a_snapshot_without_claims_is_accepted() -> None:
    found = prepared(node("n1"), claiming("a"), claiming("b"), claiming("c", "other", on="n1"))
    assert message_of(found, "absent-claims") == (
        "3 pods name 2 claims, but the snapshot has no claims. "
        "Add the output of `kubectl get pv,pvc,sc,csinodes -A -o json`, or let a run treat missing claims as bound."
    )
    assert 'persistentvolumeclaim "data" not found' in placed(found)["a"]


def test_single_missing_claims_are_named() -> None:
    there = claim("there")
    found = prepared(node("n1"), there, claiming("a", "there"), claiming("b"))
    assert message_of(found, "absent-claims").startswith(
        "1 pod names 1 claim missing from the snapshot: default/data. "
    )
    assert message_of(prepared(node("n1"), there, claiming("a", "there")), "absent-claims") == ""


@pytest.mark.parametrize("release", ["1.27", "1.34"])
def test_missing_claims_may_be_treated_as_bound(release: str) -> None:
    zoned = node("n1", zone="a"), node("n2", zone="b", cpu="1")
    ephemeral = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    own = pod("own", requests={"cpu": "3"}, volumes=[ephemeral])
    found = prepared(*zoned, claiming("a"), claiming("b"), own, choices=BOUND)
    assert placed(found, release=release) == {"a": "n1", "b": "n1", "own": "n1"}
    assert message_of(found, "absent-claims") == (
        "3 pods name 2 claims missing from the snapshot: default/data, default/own-tmp. "
        "Missing claims count as bound to volumes without constraints."
    )


# ---------------------------------------------------------------- workloads without pods


LIMITED = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}]}
workload = partial(build.workload, pod=LIMITED)


@pytest.mark.parametrize(
    ("kind", "spec", "number"),
    [
        ("Deployment", {"replicas": 3}, 3),
        ("Deployment", {}, 1),
        ("ReplicaSet", {"replicas": 2}, 2),
        ("StatefulSet", {"replicas": 2}, 2),
        ("DaemonSet", {}, 3),
        ("Job", {"completions": 5, "parallelism": 2}, 2),
        ("Job", {"parallelism": 4}, 4),
        ("Job", {"suspend": True}, 0),
        ("ReplicationController", {"replicas": 2, "selector": {"app": "web"}}, 2),
    ],
)
def test_pods_of_a_workload_equal_those_of_a_virtual_time_run(kind: str, spec: Raw, number: int) -> None:
    tainted = node("n4", taints=(("own", "", "NoSchedule"),))
    objects = (node("n1"), node("n2"), node("n3", unschedulable=True), tainted, workload(kind, **spec))
    found = prepared(*objects)
    assert len(found.made) == number
    assert placed(found).keys() == {pod.name for pod in found.made}
    if number:
        assert message_of(found, "workloads").endswith(
            f"created for workloads without pods: {kind} default/web ({number})."
        )
    in_time = PlayedScenario(*objects, until=10, gracePeriods=False)
    begun = {r.data["pod"].removeprefix("default/") for r in in_time.records_of("pod.created")}
    if kind != "StatefulSet":  # which creates them one after the other
        assert {pod.name for pod in found.made} == begun


def test_fields_of_the_pods_of_a_workload() -> None:
    found = prepared(node("n1"), node("n2"), workload("Deployment", replicas=2), workload("DaemonSet", "agent"))
    web = [p for p in found.made if p.name.startswith("web-")]
    agent = [p for p in found.made if p.name.startswith("agent-")]
    owner = web[0].metadata.owner_references[0]
    assert (owner.kind, owner.controller, web[0].name.startswith(f"{owner.name}-")) == ("ReplicaSet", True, True)
    assert web[0].metadata.labels == {"app": "web", "pod-template-hash": owner.name.rpartition("-")[2]}
    assert web[0].spec.containers[0].resources.requests == {"cpu": "500m"}
    assert {t.key.partition("/")[2] for t in web[0].spec.tolerations} == {"not-ready", "unreachable"}
    assert {t.toleration_seconds for t in web[0].spec.tolerations} == {300}
    affinities = [p.spec.affinity.node_affinity.required for p in agent]  # type: ignore[union-attr]
    assert [a.node_selector_terms[0].match_fields[0].values for a in affinities] == [["n1"], ["n2"]]  # type: ignore[union-attr]
    forever = {t.key.partition("/")[2] for t in agent[0].spec.tolerations if t.toleration_seconds is None}
    assert forever == {"not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}


def test_a_deployment_spreads_by_the_default_constraints() -> None:
    """They look for the ReplicaSet that owns the pods."""
    nodes = [node(f"n{i}", zone=f"z{i % 2}") for i in range(4)]
    at = placed(prepared(*nodes, workload("Deployment", replicas=4)))
    assert sorted(at.values()) == ["n0", "n1", "n2", "n3"]


def test_ordinals_of_a_stateful_set_and_its_claims() -> None:
    template = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "slow"}}]
    ordered = workload("StatefulSet", "db", replicas=2, ordinals={"start": 5}, volumeClaimTemplates=template)
    found = prepared(node("n1"), ordered)
    assert [p.name for p in found.made] == ["db-5", "db-6"]
    assert found.made[0].metadata.labels["apps.kubernetes.io/pod-index"] == "5"
    assert found.made[0].spec.volumes[0].persistent_volume_claim.claim_name == "data-db-5"  # type: ignore[union-attr]
    assert message_of(found, "absent-claims").startswith("2 pods name 2 claims, but the snapshot has no claims")
    slow = {"kind": "StorageClass", "metadata": {"name": "slow"}, "provisioner": "p"}
    waiting = slow | {"volumeBindingMode": "WaitForFirstConsumer"}
    assert placed(prepared(node("n1"), waiting, ordered)) == {"db-5": "n1", "db-6": "n1"}
    assert "not found" in placed(prepared(node("n1"), slow, ordered))["db-5"]
    assert placed(prepared(node("n1"), ordered, choices=BOUND)) == {"db-5": "n1", "db-6": "n1"}


def test_the_default_storage_class_is_for_claims_without_class() -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    slow = {"kind": "StorageClass", "metadata": {"name": "slow", "annotations": default}}
    data = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    found = prepared(slow, data, data | {"metadata": {"name": "none"}, "spec": {"storageClassName": ""}})
    claims = {obj.name: obj.spec.storage_class_name for obj in found.objects if isinstance(obj, PersistentVolumeClaim)}
    assert claims == {"data": "slow", "none": ""}
    assert message_of(found, "storage-class") == "The default StorageClass was filled in for 1 claim."


@pytest.mark.parametrize(
    "there",
    [
        [workload("Deployment") | {"status": {"replicas": 1}}],
        [workload("Deployment") | {"metadata": {"name": "web", "uid": "u"}}],
        [workload("Deployment", replicas=3), pod("web-1-2", labels={"app": "web"}, on="n1")],
        [workload("Deployment", replicas=3), written("x") | {"metadata": {"name": "x", "labels": {"app": "web"}}}],
        [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}}],
    ],
)
def test_workloads_of_a_cluster_and_workloads_with_pods_create_none(there: list[Raw]) -> None:
    found = prepared(node("n1"), *there)
    assert (found.made, found.bare, message_of(found, "workloads")) == ([], [], "")


def test_a_replica_set_of_a_deployment_creates_none() -> None:
    made = workload("ReplicaSet")
    owner = {"kind": "Deployment", "name": "web", "controller": True}
    made["metadata"] = {"name": "web-5d4f8", "ownerReferences": [None, owner]}
    assert len(prepared(node("n1"), workload("Deployment"), made).made) == 1
    del made["metadata"]["ownerReferences"]
    made["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = "5d4f8"
    assert len(prepared(node("n1"), workload("Deployment"), made).made) == 1


def test_cron_jobs_give_a_remark() -> None:
    cron = {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": {}}}
    assert message_of(prepared(node("n1"), cron), "cron-jobs") == (
        "CronJob default/nightly creates Jobs on a schedule; no run creates their pods."
    )


def test_a_broken_template_is_named() -> None:
    broken = workload("Deployment")
    broken["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "lots"}}
    with pytest.raises(InputError) as error:
        prepared(node("n1"), broken)
    assert error.value.where == "Deployment web"
    assert error.value.field.startswith("spec.template.spec.containers[0].resources")


# ---------------------------------------------------------------- virtual time


def test_in_virtual_time_a_terminating_pod_is_popped_and_skipped() -> None:
    played = PlayedScenario(node("n1"), pod("gone", deleted=True), pod("a"))
    (skipped,) = played.records_of("pod.skipped")
    message = "skip schedule deleting pod: default/gone"
    assert (skipped.time, skipped.data) == (0, {"pod": "default/gone", "message": message})
    assert [r.data["pod"] for r in played.records_of("attempt")] == ["default/a"]
    assert played.moves("gone") == [(0, "active", "UnscheduledPodAdd"), (0, "popped", "Pop")]
    assert played.run.engine.queue.parts() == {}
    assert message in " ".join(played.run.warnings)


def test_in_virtual_time_choices_apply_to_pods_created_later() -> None:
    late = claiming("late", schedulerName="volcano")
    arrivals = [{"name": "job", "every": 10, "count": 1, "template": {"spec": late["spec"]}}]
    made = workload("Deployment", replicas=1)
    made["spec"]["template"]["spec"] |= {"schedulerName": "volcano", "volumes": late["spec"]["volumes"]}
    timeline = [{"at": 5, "create": written("now", **late["spec"])}, {"at": 6, "create": workload("Job", "batch")}]
    choices = Choices("take", "bound")
    played = PlayedScenario(node("n1"), made, timeline=timeline, arrivals=arrivals, choices=choices)
    assert played.node_of("now") == played.node_of("job-0") == "n1"
    assert {r.data["node"] for r in played.records_of("pod.bound")} == {"n1"}
    assert len(played.records_of("pod.bound")) == 4


def test_in_virtual_time_later_objects_get_defaults() -> None:
    late = limited("late", "9")
    arrivals = [{"name": "job", "every": 10, "count": 1, "template": {"spec": late["spec"]}}]
    played = PlayedScenario(node("n1"), workload("Deployment"), timeline=[{"at": 5, "create": late}], arrivals=arrivals)
    pending = {r.data["pod"] for r in played.records_of("attempt") if r.data["result"] == "unschedulable"}
    assert pending == {"default/late", "default/job-0"}
    warnings = " ".join(played.run.warnings)
    assert "requests from limits (1 container of 1 workload)" in warnings
    assert "requests from limits (2 containers of 2 pods)" in warnings


def test_in_virtual_time_a_claim_created_later_is_not_missing() -> None:
    played = PlayedScenario(node("n1"), claiming("a"), timeline=[{"at": 5, "create": claim("data")}], choices=BOUND)
    assert played.node_of("a") == ""
    assert not any("claim" in warning for warning in played.run.warnings if "Filled" not in warning)
