"""Where a pod waits: the station, and what its sentence and facts name."""

import itertools
import random
from typing import Any

import pytest

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.answer import Answer
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.stations import waits
from scheduler_core.stations.creation import missing_pods
from scheduler_core.stations.engine import apply, strip_of, wait_of
from scheduler_core.stations.refusals import read_refusal
from scheduler_core.stations.resource_quotas import picture_of
from scheduler_core.stations.snapshots import read_extra, surroundings_of
from scheduler_core.stations.surroundings import Surroundings
from tests.scheduler_core.build import node, pod

Raw = dict[str, Any]


def event(writer: str, reason: str, message: str, about: str = "web", minute: int = 10, **more: Any) -> Raw:
    """Return an event about a pod, or about the object of `more`."""
    about_object = {"kind": "Pod", "namespace": "default", "name": about} | more.pop("involved", {})
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about}.{writer}.{reason}.{minute}", "namespace": about_object["namespace"]},
        "involvedObject": about_object,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": writer},
        "lastTimestamp": f"2026-01-01T00:{minute:02}:00Z",
    } | more


def object_of(kind: str, api_version: str, name: str, namespace: str = "", **parts: Any) -> Raw:
    metadata = {"name": name, "uid": f"uid-{name}"} | ({"namespace": namespace} if namespace else {})
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def around(*raws: Raw) -> Surroundings:
    objects = decode_all(raws)
    simulation = Simulation(objects, release="1.36")
    extra, notes = read_extra(raws)
    assert notes == []
    return surroundings_of(objects, extra, simulation.cluster, ("default-scheduler",))


def wait(*raws: Raw, name: str = "web") -> waits.Wait:
    """Return the wait of a pod, without the scheduler's answer."""
    here = around(*raws)
    found = here.store.get("Pod", f"default/{name}")
    assert isinstance(found, Pod)
    info = None if found.spec.node_name else PodInfo(found, get_release("1.36"))
    result = wait_of(found, info, here, None)
    assert result is not None
    states = [stop.state for stop in strip_of(found, result, here)]
    assert states.count("waiting") == 1
    return result


def text_of(found: waits.Wait) -> str:
    return " ".join([found.sentence, *found.says])


# ---- writers

REASONS = ("Nominated", "FailedScheduling", "TriggeredScaleUp", "NotTriggerScaleUp", "Scheduled", "FailedMount")
TEXTS = ("Failed to schedule pod, no way", "pod triggered scale-up: [{a 1->2 (max: 3)}]", "nodeclaim/x", "")
WRITERS = ("default-scheduler", "volcano", "kubelet", "karpenter", "cluster-autoscaler", "yunikorn", "", "someone")


def test_events_count_by_their_writer_and_never_by_reason_alone() -> None:
    allowed = {
        ("karpenter", "Nominated"): "node-coming",
        ("karpenter", "FailedScheduling"): "autoscaler-refused",
        ("cluster-autoscaler", "TriggeredScaleUp"): "node-coming",
        ("cluster-autoscaler", "NotTriggerScaleUp"): "autoscaler-refused",
    }
    for writer, reason, text in itertools.product(WRITERS, REASONS, TEXTS):
        forms: list[Raw] = [{}, {"source": {}, "reportingComponent": writer, "lastTimestamp": None}]
        for form in forms:
            found = wait(pod("web"), node("n1"), event(writer, reason, text, **form))
            assert found.station == allowed.get((writer, reason), "scheduler"), (writer, reason, form)
            if found.station == "scheduler":
                assert text not in found.says


def test_the_newest_word_of_an_autoscaler_counts() -> None:
    promise = ("cluster-autoscaler", "TriggeredScaleUp", "pod triggered scale-up: [{a 1->2 (max: 3)}]")
    refusal = ("cluster-autoscaler", "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 Insufficient cpu")
    for first, second, station in ((promise, refusal, "autoscaler-refused"), (refusal, promise, "node-coming")):
        events = [event(*second, minute=20), event(*first, minute=10)]
        assert wait(pod("web"), node("n1"), *events).station == station
    karpenter = event("karpenter", "Nominated", "Pod should schedule on: nodeclaim/x", minute=5)
    both = wait(pod("web"), node("n1"), event(*refusal, minute=20), karpenter)
    assert both.station == "node-coming"


def test_events_about_an_earlier_pod_of_the_name_do_not_count() -> None:
    mine = pod("web")
    mine["metadata"]["uid"] = "new"
    old = event("karpenter", "Nominated", "nodeclaim/x", involved={"uid": "old"})
    assert wait(mine, node("n1"), old).station == "scheduler"
    old["involvedObject"]["uid"] = "new"
    assert wait(mine, node("n1"), old).station == "node-coming"


def test_an_event_of_events_k8s_io_is_read() -> None:
    raw = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a", "namespace": "default"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": "web"},
        "reason": "Nominated",
        "note": "Pod should schedule on: nodeclaim/x",
        "reportingController": "karpenter",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    assert "nodeclaim/x" in text_of(wait(pod("web"), node("n1"), raw))


# ---- Kueue

KUEUE = "kueue.x-k8s.io"


def kueue(version: str, workload: Raw, **queue: Any) -> list[Raw]:
    """Return a gated pod, its Workload, and its queues."""
    gated = pod("web", schedulingGates=[{"name": f"{KUEUE}/admission"}])
    gated["metadata"] |= {"labels": {f"{KUEUE}/queue-name": "lq"}, "uid": "uid-web"}
    api = f"{KUEUE}/{version}"
    owner = {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "uid-web"}]}
    local = object_of("LocalQueue", api, "lq", "default", spec={"clusterQueue": "cq"})
    cluster = object_of("ClusterQueue", api, "cq", spec=queue.get("spec", {}), status=queue.get("status", {}))
    spec = {"queueName": "lq"} | workload.pop("spec", {})
    return [
        gated,
        local,
        cluster,
        object_of("Workload", api, "wl", "default", metadata=owner, spec=spec, status=workload),
    ]


def condition(kind: str, status: str, reason: str, message: str) -> Raw:
    at = "2026-01-01T00:05:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def random_workload(chance: random.Random) -> tuple[Raw, list[str]]:
    """Return the status of a Workload that is not admitted, and what its conditions name."""
    flavor, resource = f"flavor-{chance.randrange(99)}", chance.choice(("cpu", "memory", "nvidia.com/gpu", "a.b/c"))
    amount, most = str(chance.randrange(1, 99)), str(chance.randrange(1, 9))
    start = "couldn't assign flavors to pod set main: "
    unused = f"insufficient unused quota for {resource} in flavor {flavor}, {amount} more needed"
    forms = {
        "unused": (chance.choice(("WaitingForQuota", "Pending")), start + unused, [flavor, resource, amount]),
        "two": ("Pending", f"{start}{unused}, flavor other doesn't match node affinity", [flavor, resource, "other"]),
        "preempting": (
            *("WaitingForPreemptedWorkloads", f"{start}{unused}. Pending the preemption of 2 workload(s)"),
            [flavor, "2 workload"],
        ),
        "never": (
            "ExceedsMaxQuota",
            f"{start}insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests (0)"
            f" + current podset request ({amount}) > maximum capacity ({most})",
            [flavor, resource, amount, most, "never"],
        ),
        "taint": (
            "NoMatchingFlavor",
            f"{start}untolerated taint {{a b NoSchedule <nil>}} in flavor {flavor}",
            [flavor],
        ),
        "no flavor": ("NoMatchingFlavor", f"{start}flavor {flavor} not found", [flavor]),
        "topology": (
            *("TopologyPlacementFailed", f'{start}topology "{flavor}" allows to fit only 3 out of 4 pod(s)'),
            [flavor, "3", "4"],
        ),
        "no topology": (
            "TopologyPlacementFailed",
            f'{start}topology "{flavor}" doesn\'t allow to fit any of {amount} pod(s). Total nodes: 8;'
            ' excluded: resource "cpu": 5',
            [flavor, f"room for 0 of its {amount} pods"],
        ),
        "queue": ("Misconfigured", "LocalQueue lq doesn't exist", ["LocalQueue lq"]),
        "inactive": (chance.choice(("Suspended", "Inadmissible")), "ClusterQueue cq is inactive", ["ClusterQueue cq"]),
        "other": ("OnHold", f"held for {flavor}", [flavor]),
        "old never": (
            *(
                "Pending",
                f"{start}insufficient quota for {resource} in flavor {flavor}, request > maximum capacity (9 > 7)",
            ),
            [flavor, resource, "9", "7"],
        ),
        "preempting failed": (
            *("WaitingForQuota", f"{start}{unused}. Preempting 2 workload(s) failed, will retry."),
            [flavor, resource, amount],
        ),
        "pod sets": (
            *(
                "WaitingForQuota",
                f"{start}{unused}; {start.replace('main', 'worker')}flavor other doesn't match node affinity",
            ),
            [flavor, resource, "other"],
        ),
        "skipped": (
            "NoMatchingFlavor",
            f"{start}skipping flavor {flavor} due to WorkloadAllowedResourceFlavorAnnotation annotation",
            [flavor],
        ),
        "no resource": ("NoMatchingFlavor", f"{start}resource {resource} unavailable in ClusterQueue", [resource]),
        "not for topology": (
            *("NoMatchingFlavor", f'{start}Flavor "{flavor}" does not support TopologyAwareScheduling'),
            [flavor],
        ),
        "slices": (
            *("TopologyPlacementFailed", f'{start}topology "{flavor}" allows to fit only 2 out of 6 slice(s)'),
            [flavor, "2", "6 slice"],
        ),
        "layers": (
            "TopologyPlacementFailed",
            f'{start}topology "{flavor}" doesn\'t allow to fit; 2/4 slice(s) fit on level example.com/rack',
            [flavor, "2/4", "example.com/rack"],
        ),
        "missing queue": (
            chance.choice(("Misconfigured", "Inadmissible")),
            f"ClusterQueue cq is {chance.choice(('terminating or missing', 'stopped'))}",
            ["ClusterQueue cq is"],
        ),
        "namespace": ("Misconfigured", "workload namespace doesn't match ClusterQueue selector", ["selector"]),
        "gated": ("AdmissionGated", f"Admission is gated by: {flavor}.io/x", [f"{flavor}.io/x"]),
        "ready": (
            chance.choice(("WaitingForPodsReady", "Waiting")),
            "waiting for all admitted workloads to be in PodsReady condition",
            ["PodsReady"],
        ),
        "evaluation": ("PendingEvaluation", "Workload is pending evaluation in the scheduling queue", ["evaluation"]),
        "alike": (
            *("WaitingForQuota", "Bypassed scheduling evaluation because an equivalent workload recently failed"),
            ["equivalent workload"],
        ),
    }
    kind = chance.choice((*forms, "check", "delayed", "failed check", "deactivated"))
    if kind == "deactivated":
        why = chance.choice(("Deactivated", "DeactivatedDueToRequeuingLimitExceeded", "DeactivatedDueToAdmissionCheck"))
        conditions = [
            condition("QuotaReserved", "False", "Pending", "The workload is deactivated"),
            condition("Evicted", "True", why, f"because of {flavor}"),
        ]
        return {"spec": {"active": False}, "conditions": conditions}, ["spec.active is false"]
    if kind == "delayed":
        message = "There are pending delayed topology requests"
        conditions = [
            condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq"),
            condition("Admitted", "False", "PendingDelayedTopologyRequests", message),
        ]
        return {"conditions": conditions}, ["PendingDelayedTopologyRequests"]
    if kind == "failed check":
        state = chance.choice(("Retry", "Rejected"))
        conditions = [
            condition("QuotaReserved", "False", "PendingEvaluation", "The workload has failed admission checks")
        ]
        checks = [{"name": "fine", "state": "Ready"}, {"name": flavor, "state": state, "message": "no capacity"}]
        return {"conditions": conditions, "admissionChecks": checks}, [f"admission check {flavor} is {state}"]
    if kind == "check":
        state = chance.choice(("Pending", "Retry", "Rejected"))
        checks = [{"name": "fine", "state": "Ready", "message": "ok"}]
        checks += [{"name": flavor, "state": state, "message": "soon"}]
        conditions = [
            condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq"),
            condition("Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready"),
        ]
        return {"conditions": conditions, "admissionChecks": checks}, [flavor, state]
    reason, message, names = forms[kind]
    conditions = [condition("QuotaReserved", "False", reason, message)]
    if chance.random() < 0.3:
        why = chance.choice(
            ("PodsReadyTimeout", "AdmissionCheck", "LocalQueueStopped", "NodeFailures", "FlavorMigration")
        )
        conditions += [condition("Evicted", "True", why, "too slow")]
        names = [*names, why]
    return {"conditions": conditions}, names


def test_the_sentence_names_what_the_conditions_of_a_workload_name() -> None:
    chance = random.Random(41)
    for _ in range(400):
        status, names = random_workload(chance)
        found = wait(*kueue(chance.choice(("v1beta1", "v1beta2")), status))
        assert found.station == "admission"
        assert found.since
        for name in ("wl", "cq", *names):
            assert name in found.sentence
        assert "fine" not in text_of(found)


def test_a_deactivated_workload_and_the_use_of_a_quota() -> None:
    assert "spec.active is false" in wait(*kueue("v1beta2", {"spec": {"active": False}})).sentence
    message = "insufficient unused quota for cpu in flavor f, 4 more needed"
    flavor = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "40"}]}
    used = {"name": "f", "resources": [{"name": "cpu", "total": "36", "borrowed": "0"}]}
    status = {"conditions": [condition("QuotaReserved", "False", "WaitingForQuota", message)]}
    groups = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}], "cohortName": "all"}
    found = wait(*kueue("v1beta2", status, spec=groups, status={"flavorsReservation": [used]}))
    assert "cq: 36 of 40 cpu of flavor f are reserved; it may borrow from cohort all" in found.says


def test_a_stopped_queue_comes_before_the_last_decision_about_quota() -> None:
    message = "insufficient unused quota for cpu in flavor f, 4 more needed"
    status = {"conditions": [condition("QuotaReserved", "False", "WaitingForQuota", message)]}
    found = wait(*kueue("v1beta2", status, spec={"stopPolicy": "Hold"}))
    assert "(LocalQueue lq): ClusterQueue cq is stopped (stopPolicy Hold); 4 more cpu" in found.sentence


def test_of_a_provisioning_request_the_conditions_that_are_true_count() -> None:
    checks = [{"name": "capacity", "state": "Pending"}]
    status = {"conditions": [condition("QuotaReserved", "True", "QuotaReserved", "")], "admissionChecks": checks}
    conditions = [condition("Failed", "False", "a", "b"), condition("Provisioned", "False", "CapacityIsNotFound", "c")]
    request = object_of("ProvisioningRequest", "autoscaling.x-k8s.io/v1", "wl-capacity-2", "default")
    others = [request | {"metadata": request["metadata"] | {"name": f"wl-capacity-{n}"}} for n in ("1", "²", "02x")]
    found = wait(*kueue("v1beta2", status), *others, request | {"status": {"conditions": conditions}})
    assert "ProvisioningRequest wl-capacity-2: Provisioned is False: CapacityIsNotFound: c" in found.says


def test_of_two_workloads_of_an_owner_the_one_that_has_not_finished_counts() -> None:
    raws = kueue("v1beta2", {"conditions": [condition("QuotaReserved", "False", "OnHold", "held")]})
    old = raws[-1] | {"metadata": raws[-1]["metadata"] | {"name": "old"}}
    old["status"] = {"conditions": [condition("Finished", "True", "JobFinished", "")]}
    for both in ([old, raws[-1]], [raws[-1], old]):
        assert "Workload wl" in wait(*raws[:-1], *both).sentence


def test_the_condition_of_removed_gates_is_not_a_report_of_the_scheduler() -> None:
    web = pod("web")
    web["status"] = {"conditions": [condition("PodScheduled", "False", "SchedulingGated", "Scheduling is blocked")]}
    assert wait(web, node("n1")).says == []


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("scheduling.volcano.sh/queue-allocation-gate", "is removed by Volcano, once its queue has room"),
        ("multiarch.openshift.io/scheduling-gate", "the Multiarch Tuning Operator removes it when it has inspected"),
        ("example.com/wait", "is removed by the component that set it"),
    ],
)
def test_the_owner_of_a_gate_is_named(gate: str, says: str) -> None:
    found = wait(node("n1"), pod("web", schedulingGates=[{"name": gate}]))
    assert found.station == "admission"
    (text,) = found.says
    assert says in text


def test_kueue_is_not_named_without_its_gate() -> None:
    raws = kueue("v1beta2", {"conditions": [condition("QuotaReserved", "False", "Pending", "no quota")]})
    raws[0]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    found = wait(*raws)
    assert found.station == "admission"
    assert "Kueue" not in text_of(found)
    assert "example.com/wait" in text_of(found)
    without = wait(raws[0] | {"spec": raws[0]["spec"] | {"schedulingGates": [{"name": f"{KUEUE}/admission"}]}})
    assert without.sentence == ""  # the scheduler's answer says that the gate holds it
    assert "no Workload of it is known" in text_of(without)


# ---- others


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('pods "a" is forbidden: exceeded quota: q, requested: cpu=500m, used: cpu=4, limited: cpu=4', "500m too much"),
        ('pods "a" is forbidden: maximum cpu usage per Container is 2, but limit is 4', "a LimitRange: the maximum"),
        ('pods "a" is forbidden: no PriorityClass with name x was found', "PriorityClass x does not exist"),
        ('admission webhook "w" denied the request: too big', "admission webhook w denies it: too big"),
        ('pods "a" is forbidden: pod rejected: RuntimeClass "r" not found', "RuntimeClass r does not exist"),
        ("Create Claim c for Pod p in StatefulSet s failed error: no", "claim c: no"),
        ('pods "a" is forbidden: minimum cpu usage per Pod is 1.  No request is specified', "is 1, and it states none"),
        ("something else", "something else"),
    ],
)
def test_why_the_api_server_refuses_a_pod(message: str, words: str) -> None:
    assert words in read_refusal(message, "default", around(node("n1")).store)


def test_the_quotas_of_a_refusal_with_what_a_pod_requests() -> None:
    """The sentence has the numbers of the error, and the quotas those of now; a pod of the workload shows the rest."""
    refusal = 'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=5, limited: '
    spec = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 3}
    hard = {"requests.cpu": "6", "requests.memory": "8Gi", "pods": "10", "limits.cpu": "9"}
    used = {"requests.cpu": "5500m", "requests.memory": "6Gi", "pods": "4", "limits.cpu": "8"}
    quota = object_of("ResourceQuota", "v1", "q", "default", status={"hard": hard, "used": used})
    web = object_of("ReplicaSet", "apps/v1", "web", "default", spec=spec)
    one = pod("web-1", on="n1", requests={"cpu": "2", "memory": "3Gi"})
    one["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web", "controller": True, "uid": "u"}]
    refused = event(
        *("replicaset-controller", "FailedCreate", f"Error creating: {refusal}requests.cpu=6"),
        involved={"kind": "ReplicaSet"},
    )
    other = object_of("ResourceQuota", "v1", "other", "default", status={"hard": {"pods": "1"}})
    (found,) = missing_pods(around(node("n1"), web, one, quota, other, refused))
    assert found.wait.says[1:] == ["ResourceQuota q now: requests.cpu 5500m of 6, a pod requests 2: 1500m too much"]
    values = [(one.resource, one.used, one.hard, one.requested, one.missing) for one in found.wait.quotas]
    assert values == [
        ("limits.cpu", "8", "9", "", ""),
        ("pods", "4", "10", "1", ""),
        ("requests.cpu", "5500m", "6", "2", "1500m"),
        ("requests.memory", "6Gi", "8Gi", "3Gi", "1Gi"),
    ]
    picture = picture_of(found.wait.quotas)
    assert picture is not None
    bars = [
        (bar.resource, round(bar.used), round(bar.wanted), round(bar.min_at), bar.over)
        for bar in picture.quotas[0].uses
    ]
    assert bars[2] == ("requests.cpu", 73, 27, 80, "max")
    (alone,) = missing_pods(around(node("n1"), web, quota, refused))
    assert [one.requested for one in alone.wait.quotas] == ["", "", "2", ""]


def test_the_newest_refusal_counts_and_not_the_first_one_which_the_condition_keeps() -> None:
    old = 'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5'
    status = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": old}]}
    spec = {"selector": {"matchLabels": {"a": "b"}}}
    web = object_of("ReplicaSet", "apps/v1", "web", "default", spec=spec, status=status)
    refused = event(
        *("replicaset-controller", "FailedCreate", 'Error creating: admission webhook "w" denied the request: no'),
        involved={"kind": "ReplicaSet"},
    )
    (found,) = missing_pods(around(node("n1"), web, refused))
    assert "admission webhook w denies it: no" in found.wait.sentence
    (found,) = missing_pods(around(node("n1"), web))
    assert "ResourceQuota q" in found.wait.sentence


def pool(name: str, values: list[str], used: str = "64") -> Raw:
    """Return a NodePool with a limit of 64 cpu and values of the label `disk`."""
    requirements = [{"key": "disk", "operator": "In", "values": values}]
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    spec = {"limits": {"cpu": "64"}, "template": {"spec": {"requirements": requirements, "taints": taints}}}
    return object_of("NodePool", "karpenter.sh/v1", name, spec=spec, status={"resources": {"cpu": used}})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("incompatible requirements, key disk, disk In [c] not in disk In [b a]", "NodePool two does not offer that"),
        ("did not tolerate gpu=:NoSchedule", "NodePools one, two have taint gpu:NoSchedule"),
        (
            "all available instance types exceed limits for nodepool (NodePool=one)",
            "one would exceed its limits: cpu 60 ",
        ),
        (
            'all available instance types exceed limits for nodepool: "two"',
            "NodePool two has reached its limits: cpu 64 ",
        ),
    ],
)
def test_the_pool_that_an_error_of_karpenter_is_about(error: str, words: str) -> None:
    refusal = event("karpenter", "FailedScheduling", f"Failed to schedule pod, {error}")
    found = wait(pod("web"), node("n1"), refusal, pool("one", ["a"], "60"), pool("two", ["a", "b"]))
    assert words in found.sentence
    assert bool(found.says) is not error.startswith("did not tolerate")  # the sentence has the whole


def test_a_promise_ends_when_its_own_node_group_fails_or_is_held_back() -> None:
    promise = event("cluster-autoscaler", "TriggeredScaleUp", "pod triggered scale-up: [{a 1->2 (max: 3)}]")
    about = {"kind": "ConfigMap", "namespace": "kube-system", "name": "cluster-autoscaler-status"}

    def failure(group: str) -> Raw:
        text = f"Scale-up failed for group {group}: no machines"
        return event("cluster-autoscaler", "FailedToScaleUpGroup", text, minute=20, involved=about)

    def status(minute: int) -> Raw:
        text = (
            f"time: 2026-01-01 00:{minute:02}:00.5 +0000 UTC\nnodeGroups:\n- name: a\n  scaleUp:\n    status: Backoff\n"
            "    backoffInfo: {errorCode: QUOTA}\n"
        )
        return object_of("ConfigMap", "v1", about["name"], about["namespace"], data={"status": text})

    for later, station in (
        (failure("a"), "autoscaler-refused"),
        (failure("ab"), "node-coming"),
        (status(20), "autoscaler-refused"),
        (status(0), "node-coming"),
    ):
        assert wait(pod("web"), node("n1"), promise, later).station == station
    two = promise | {"message": "pod triggered scale-up: [{a 1->2 (max: 3)} {b 0->1 (max: 3)}]"}
    assert wait(pod("web"), node("n1"), two, failure("a")).station == "node-coming"
    both = wait(pod("web"), node("n1"), two, failure("a"), failure("b") | {"metadata": {"name": "x"}}, status(20))
    assert "node group a: QUOTA and b: Scale-up failed for group b: no machines" in both.sentence
    assert "QUOTA" in wait(pod("web"), node("n1"), promise, status(20)).sentence


def test_a_group_of_kai_is_refused_by_its_events() -> None:
    web = pod("web", schedulerName="kai-scheduler")
    web["metadata"]["annotations"] = {"pod-group-name": "pg"}
    group = object_of("PodGroup", "scheduling.run.ai/v2alpha2", "pg", "default", spec={"minMember": 1})
    refusal = event("kai-scheduler", "Unschedulable", "no GPUs", about="pg", involved={"kind": "PodGroup"})
    found = wait(web, node("n1"), group, refusal)
    assert (found.station, found.says[-1]) == ("group", "Unschedulable: no GPUs")
    assert "nothing shows that it has acted" in wait(web, node("n1")).sentence


def test_the_words_of_kai_show_a_group_without_its_pod_group() -> None:
    web = pod("web", schedulerName="kai-scheduler")
    web["metadata"]["annotations"] = {"pod-group-name": "pg"}
    text = "Job is not ready for scheduling. Waiting for 4 pods, currently 3 exist, 0 are gated"
    of_group = event("kai-scheduler", "NotReady", text, about="pg", involved={"kind": "PodGroup"})
    reported = web | {"status": {"conditions": [condition("PodScheduled", "False", "Unschedulable", text)]}}
    for raws in ((web, event("kai-scheduler", "Unschedulable", text)), (web, of_group), (reported,)):
        found = wait(node("n1"), *raws)
        assert (found.station, found.writer) == ("group", "kai-scheduler")
        assert text in found.sentence
    assert wait(node("n1"), web, event("someone", "Unschedulable", text)).station == "scheduler"
    conditions = [condition("UnschedulableOnNodePool", "True", "Unschedulable", "no GPUs")]
    status = {"schedulingConditions": conditions}
    group = object_of("PodGroup", "scheduling.run.ai/v2alpha2", "pg", "default", spec={"minMember": 1}, status=status)
    found = wait(node("n1"), web, group)
    assert (found.station, found.says[-1]) == ("group", "Unschedulable: no GPUs")


SIBLINGS = "pre-filter pod web cannot find enough sibling pods, current pods number: 1, minMember of group: 3"


@pytest.mark.parametrize(
    ("scheduler", "pods", "report", "station", "words"),
    [
        ("gang-scheduler", 1, "", "group", "it needs 3 pods, and 1 exists"),
        ("gang-scheduler", 3, "", "group", "3 pods must have a node at once, until then they wait at Permit"),
        ("gang-scheduler", 3, "0/1 nodes are available: 1 Insufficient cpu.", "scheduler", ""),
        (
            *("gang-scheduler", 3, 'pod "web" rejected while waiting on permit: rejection in Unreserve', "group"),
            "3 pods must have a node",
        ),
        ("default-scheduler", 1, f"0/1 nodes are available: {SIBLINGS}.", "group", "it needs 3 pods, and 1 exists"),
        ("default-scheduler", 1, "", "scheduler", ""),  # its configuration has no Coscheduling
    ],
)
def test_a_group_of_coscheduling(scheduler: str, pods: int, report: str, station: str, words: str) -> None:
    members = [pod(f"web{number or ''}", schedulerName=scheduler) for number in range(pods)]
    for member in members:
        member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "pg"}
    if report:
        members[0]["status"] = {"conditions": [condition("PodScheduled", "False", "Unschedulable", report)]}
    group = object_of("PodGroup", "scheduling.x-k8s.io/v1alpha1", "pg", "default", spec={"minMember": 3})
    found = wait(node("n1"), group, *members)
    assert found.station == station
    assert words in found.sentence
    if station == "group":
        assert (not report) or report.rstrip(".") in found.says
        assert f"minMember of PodGroup pg is 3; {pods} pod{'s' * (pods > 1)} exist, 0 with a node" in found.says


def test_the_plugin_holds_a_pod_that_a_profile_without_it_would_place() -> None:
    web = pod("web")
    web["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "pg"}
    web["status"] = {"conditions": [condition("PodScheduled", "False", "Unschedulable", SIBLINGS)]}
    for least, station in ((3, "group"), (1, "scheduler")):
        group = object_of("PodGroup", "scheduling.x-k8s.io/v1alpha1", "pg", "default", spec={"minMember": least})
        answer = Answer("default/web", "scheduled", "Placed on n1.")
        apply(wait(node("n1"), group, web), answer)
        assert answer.station == station
        assert ("minMember" in " ".join(answer.says)) is (station == "group")


def test_a_group_of_coscheduling_whose_pods_have_nodes_does_not_hold_another() -> None:
    labels = {"labels": {"scheduling.x-k8s.io/pod-group": "pg"}}
    group = object_of("PodGroup", "scheduling.x-k8s.io/v1alpha1", "pg", "default", spec={"minMember": 1})
    placed, web = pod("other", on="n1", schedulerName="gang"), pod("web", schedulerName="gang")
    for one in (placed, web):
        one["metadata"] |= labels
    assert wait(node("n1"), group, placed, web).station == "scheduler"


def test_a_group_of_koordinator_by_its_pod_group_or_its_annotations() -> None:
    message = "0/1 nodes are available: gang child pod not collect enough, gangName: default/pg, podName: default/web"
    gang = "gang.scheduling.koordinator.sh"
    label, annotated = "pod-group.scheduling.sigs.k8s.io", {f"{gang}/name": "pg", f"{gang}/min-available": "4"}
    group = object_of("PodGroup", "scheduling.sigs.k8s.io/v1alpha1", "pg", "default", spec={"minMember": 4})
    forms = [
        ({"labels": {label: "pg"}}, "PodGroup pg", [group]),
        ({"labels": {f"{label}/name": "pg", f"{label}/min-available": "4"}}, "group pg", []),
        ({"annotations": annotated}, "group pg", []),
    ]
    for metadata, name, groups in forms:
        members = [pod(f"web{number or ''}", schedulerName="koord-scheduler") for number in range(3)]
        for member in members:
            member["metadata"] |= metadata
        found = wait(node("n1"), *groups, *members, event("koord-scheduler", "FailedScheduling", message))
        assert found.station == "group"
        expected = f"koord-scheduler places the pods of {name} only together: it needs 4 pods, and 3 exist."
        assert found.sentence == expected
        assert message in found.says


def test_a_pod_that_is_placed_waits_for_its_claim_if_an_error_says_so() -> None:
    web = pod("web", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])
    mode = "WaitForFirstConsumer"
    made = object_of("StorageClass", "storage.k8s.io/v1", "fast", provisioner="csi", volumeBindingMode=mode)
    selected = {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": resources}
    claim = object_of("PersistentVolumeClaim", "v1", "d", "default", metadata=selected, spec=spec)
    involved = {"kind": "PersistentVolumeClaim", "name": "d"}
    error = event("csi_1", "ProvisioningFailed", "no space left", "d", involved=involved)
    begun = event("csi_1", "Provisioning", "begun", "d", minute=20, type="Normal", involved=involved)
    assert wait(web, node("n1"), made, claim, begun).station == "scheduler"
    found = wait(web, node("n1"), made, claim, begun, error)
    answer = Answer("default/web", "scheduled", "Placed on n1.")
    apply(found, answer)
    assert answer.station == "claims"
    assert "waits for csi to create a volume for node n1" in answer.sentence
    assert "no space left" in answer.sentence


def test_the_cause_of_a_failed_mount_and_not_its_summary() -> None:
    bound = pod("web", nodeName="n1")
    cause = 'MountVolume.SetUp failed for volume "conf" : configmap "site" not found'
    summary = "Unable to attach or mount volumes: unmounted volumes=[conf]: timed out waiting for the condition"
    events = [event("kubelet", "FailedMount", cause), event("kubelet", "FailedMount", summary, minute=20)]
    assert 'configmap "site" not found' in wait(bound, node("n1"), *events).sentence
    assert "timed out" in wait(bound, node("n1"), events[1]).sentence


@pytest.mark.parametrize(
    ("ready", "others", "words"),
    [
        (True, [], "image r/a:1 is being pulled"),
        (False, [("FailedMount", "slow", 5)], "image r/a:1 is being pulled"),
        (True, [("FailedCreatePodSandBox", "no network", 20)], "its sandbox cannot be created: no network"),
        (True, [("Pulled", 'Successfully pulled image "r/a:1"', 20)], "has not started it."),
        (False, [("Pulled", 'Successfully pulled image "r/a:1"', 20)], "its sandbox, volumes or network"),
    ],
)
def test_an_image_that_is_being_pulled(ready: bool, others: list[tuple[str, str, int]], words: str) -> None:
    bound = pod("web", nodeName="n1")
    bound["status"] = {"conditions": [condition("PodReadyToStartContainers", str(ready), "", "")]}
    events = [event("kubelet", "Pulling", 'Pulling image "r/a:1"')]
    events += [event("kubelet", reason, message, minute=minute) for reason, message, minute in others]
    assert words in wait(bound, node("n1"), *events).sentence


def test_only_an_attached_volume_is_attached_elsewhere() -> None:
    bound = pod("web", nodeName="n1", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])
    claim_spec = {"accessModes": ["ReadWriteOnce"], "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}
    claim = object_of("PersistentVolumeClaim", "v1", "d", "default", spec=claim_spec)
    spec = {"attacher": "csi", "nodeName": "n2", "source": {"persistentVolumeName": "pv"}}
    for status, attached in (({"attached": True}, True), ({"attached": False}, False), ({}, True)):
        attachment = object_of("VolumeAttachment", "storage.k8s.io/v1", "a", spec=spec, status=status)
        found = wait(bound, node("n1"), claim, attachment)
        assert ("volume pv is still attached to n2" in found.sentence) is attached


@pytest.mark.parametrize("prefix", ["autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io"])
def test_a_pod_that_consumes_a_provisioning_request(prefix: str) -> None:
    web = pod("web")
    web["metadata"]["annotations"] = {f"{prefix}/consume-provisioning-request": "pr"}
    refusal = event("cluster-autoscaler", "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 Insufficient cpu")
    assert "1 Insufficient cpu" in text_of(wait(web, node("n1"), refusal))  # the request itself is not known
    states = {"False": ("autoscaler-refused", "consumes ProvisioningRequest pr: Provisioned is False: R: m.")}
    states["True"] = ("scheduler", "")
    for status, (station, words) in states.items():
        conditions = {"conditions": [condition("Provisioned", status, "R", "m")]}
        request = object_of("ProvisioningRequest", "autoscaling.x-k8s.io/v1", "pr", "default", status=conditions)
        found = wait(web, node("n1"), request)
        assert found.station == station
        assert words in found.sentence


def test_a_deployment_without_a_replica_set() -> None:
    paused = object_of("Deployment", "apps/v1", "web", "default", spec={"replicas": 2, "paused": True})
    (found,) = missing_pods(around(node("n1"), paused))
    assert found.wait.sentence == "2 of 2 pods do not exist: it is paused, so no ReplicaSet is created."
    owner = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1", "uid": "uid-web", "controller": True}
    older = object_of("ReplicaSet", "apps/v1", "web-1", "default", metadata={"ownerReferences": [owner]})
    older["spec"] = {"replicas": 0}
    assert not list(missing_pods(around(node("n1"), paused, older)))
    error = 'admission webhook "w.io" denied the request: no'
    message = f'Failed to create new replica set "web-2": {error}'
    failed = {"conditions": [condition("Progressing", "False", "ReplicaSetCreateError", message)]}
    refused = object_of("Deployment", "apps/v1", "web", "default", spec={"replicas": 2}, status=failed)
    for objects in ([refused], [refused, older]):
        (found,) = missing_pods(around(node("n1"), *objects))
        assert (
            "2 of 2 pods do not exist: the API server refuses its new ReplicaSet: admission webhook w.io"
            in found.wait.sentence
        )
        assert message in found.wait.says
    failed["conditions"][0]["reason"] = "ProgressDeadlineExceeded"
    assert not list(missing_pods(around(node("n1"), refused)))


def test_a_suspended_job_waits_for_a_person_or_for_kueue() -> None:
    job = object_of("Job", "batch/v1", "train", "default", spec={"suspend": True, "parallelism": 2})
    (found,) = missing_pods(around(node("n1"), job))
    assert (found.wait.station, found.owner.kind) == ("not-created", "Job")
    job["metadata"]["labels"] = {f"{KUEUE}/queue-name": "lq"}
    (found,) = missing_pods(around(node("n1"), job))
    assert found.wait.station == "admission"
    assert "2 pods do not exist" in found.wait.sentence


CRON_JOBS = [
    (
        "FailedCreate",
        'Error creating job: jobs.batch "a-1" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, '
        "used: count/jobs.batch=4, limited: count/jobs.batch=4",
        "the API server refuses it: ResourceQuota q has too little left of count/jobs.batch: a Job requests 1, 4 of 4",
    ),
    (
        "FailedCreate",
        'Error creating job: admission webhook "w" denied the request: no',
        "admission webhook w denies it: no",
    ),
    (
        "JobAlreadyActive",
        "Not starting job because prior execution is running and concurrency policy is Forbid",
        "It creates no Job while Job a-0 runs (concurrencyPolicy Forbid).",
    ),
    (
        "MissSchedule",
        "Missed scheduled time to start a job: Thu, 01 Jan 2026 00:09:00 +0000",
        "Its Job was not created: Missed scheduled time to start a job: Thu, 01 Jan 2026 00:09:00 +0000.",
    ),
    (
        "TooManyMissedTimes",
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
        "too many missed start times",
    ),
    ("UnknownTimeZone", 'invalid timeZone: "Mars": unknown time zone Mars', "unknown time zone Mars"),
]


@pytest.mark.parametrize(("reason", "message", "words"), CRON_JOBS)
def test_why_a_cron_job_creates_no_job(reason: str, message: str, words: str) -> None:
    active = {"active": [{"kind": "Job", "name": "a-0"}], "lastScheduleTime": "2026-01-01T00:05:00Z"}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"parallelism": 3}}}
    cron_job = object_of("CronJob", "batch/v1", "a", "default", spec=spec, status=active)
    held = event("cronjob-controller", reason, message, "a", involved={"kind": "CronJob"})
    (found,) = missing_pods(around(node("n1"), cron_job, held))
    assert (found.wait.station, found.owner.kind, found.missing) == ("not-created", "CronJob", 3)
    assert words in found.wait.sentence
    assert found.wait.says[0].startswith(f"{reason}: ")
    other = event("someone", reason, message, "a", involved={"kind": "CronJob"})
    assert list(missing_pods(around(node("n1"), cron_job, other))) == []
    later = cron_job | {"status": active | {"lastScheduleTime": "2026-01-01T00:11:00Z"}}
    assert list(missing_pods(around(node("n1"), later, held))) == []
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "a", "uid": "uid-a", "controller": True}
    metadata = {"ownerReferences": [owner], "creationTimestamp": "2026-01-01T00:10:30Z"}
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    job = object_of("Job", "batch/v1", "a-1", "default", metadata=metadata, status=ended)
    assert list(missing_pods(around(node("n1"), cron_job, held, job))) == []
    paused = cron_job | {"spec": spec | {"suspend": True}}
    (found,) = missing_pods(around(node("n1"), paused))
    assert found.wait.sentence == "It is suspended (spec.suspend), so no Job is created."


def test_a_cron_job_does_not_wait_for_a_job_that_has_ended() -> None:
    cron_job = object_of("CronJob", "batch/v1", "a", "default", spec={"schedule": "* * * * *"})
    held = event("cronjob-controller", "JobAlreadyActive", CRON_JOBS[2][1], "a", involved={"kind": "CronJob"})
    assert list(missing_pods(around(node("n1"), cron_job, held))) == []


def test_an_unreadable_object_is_left_out_and_named() -> None:
    pool = object_of("NodePool", "karpenter.sh/v1", "general", spec={"limits": 5})
    found, (note,) = read_extra([pool])
    assert found == []
    assert "NodePool general: spec.limits" in note


def test_of_config_maps_only_that_of_the_autoscaler_is_read() -> None:
    secret = object_of("ConfigMap", "v1", "cluster-autoscaler-status", "default", data={"status": "secret"})
    other = object_of("ConfigMap", "v1", "other", "kube-system", data={"status": "secret"})
    ours = object_of("ConfigMap", "v1", "cluster-autoscaler-status", "kube-system", data={"status": "a: [", "x": "y"})
    ((kind, obj),), _ = read_extra([secret, other, ours])
    assert (kind, obj.key) == ("ConfigMap", "kube-system/cluster-autoscaler-status")
    refusal = event("cluster-autoscaler", "NotTriggerScaleUp", "pod didn't trigger scale-up:")
    assert "no reason" in wait(pod("web"), node("n1"), ours, refusal).sentence


def test_hostile_texts_are_escaped_and_bounded() -> None:
    evil = "insufficient unused quota for \x1b[31mcpu in flavor f\u202e, 4 more needed, " * 20_000
    status = {"conditions": [condition("QuotaReserved", "False", "Pending", evil)]}
    errors = "Failed to schedule pod, " + "did not tolerate \x1bx; " * 50_000
    groups = "pod triggered scale-up: [" + "{\x1bg 1->2 (max: 3)} " * 50_000
    for raws in (
        kueue("v1beta2", status),
        [pod("web"), event("karpenter", "FailedScheduling", errors)],
        [pod("web"), event("cluster-autoscaler", "TriggeredScaleUp", groups)],
    ):
        found = wait(node("n1"), *raws)
        assert found.station != "scheduler"
        assert text_of(found).isprintable()
        assert len(text_of(found)) < 30_000
