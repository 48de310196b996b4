"""One test for each cause of an answer."""

import random
from typing import Any

import msgspec
import pytest

from scheduler_core.api.objects import Metadata, ObjectReference, Pod, convert, decode, decode_all, kind_of
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Fix
from scheduler_core.framework import causes as kinds
from scheduler_core.live.neighbours import KueueWorkload, NodeClaim
from scheduler_core.live.objects import DaemonSet, Event, EventSource, Job
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Listed, WatchEvent
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.pending_pods.fit_answer import SILENT
from scheduler_core.pending_pods.pending_answer import PendingAnswer
from scheduler_core.releases import RELEASES
from tests.random_clusters import random_cluster
from tests.scheduler_core.build import HOSTNAME, ZONE, claim, mounts, node, pod, selector
from tests.scheduler_core.pending_pods.mirrors import CREATED, NOW, Raw, answer, answers_of, mirror_of, rejected

SMALL, BIG = {"cpu": "1"}, {"cpu": "8"}
LATER = "2026-01-01T00:05:30Z"  # 30 s after NOW


def web(**spec: Any) -> Raw:
    """Return the pod `default/web`, which its scheduler rejected."""
    return rejected(pod("web", **{"requests": SMALL, **spec}))


def event(kind: str, key: str, reason: str, message: str, by: str = "") -> Event:
    namespace, _, name = key.rpartition("/")
    about = ObjectReference(kind=kind, namespace=namespace, name=name)
    metadata = Metadata(name=f"{name}.{reason}", namespace=namespace)
    return Event(metadata, about, reason=reason, message=message, last_timestamp=CREATED, reporting_component=by)


def checked(found: PendingAnswer, cause: str, category: str, *words: str) -> PendingAnswer:
    """Check an answer, and that it can be stored as JSON."""
    assert (found.cause, found.category) == (cause, category), found.sentence
    for word in words:
        assert word in found.sentence
    assert msgspec.json.decode(msgspec.json.encode(found), type=PendingAnswer) == found
    return found


# ---- never


@pytest.mark.parametrize("release", RELEASES)
def test_a_pod_larger_than_every_node(release: str) -> None:
    found = answer(node("n1"), node("n2"), pod("other", on="n1"), web(requests=BIG), release=release)
    checked(found, kinds.REQUEST_EXCEEDS_NODES, "never", "cpu")
    assert found.details.nodes == 2
    assert found.details.answer is not None
    assert [(rung.changes, rung.count) for rung in found.details.answer.ladder] == [(None, 2)]


def test_a_taint_and_a_label_that_no_pod_leaves() -> None:
    nodes = node("n1", taints=(("a", "b", "NoSchedule"),)), node("n2", labels={"disk": "hdd"})
    checked(answer(*nodes, web(nodeSelector={"disk": "ssd"})), kinds.NODE_SELECTOR, "never", "disk=ssd")


def test_a_cluster_without_nodes() -> None:
    checked(answer(web()), kinds.NO_NODES, "never", "no nodes")


# ---- not now


@pytest.mark.parametrize("release", RELEASES)
def test_pods_hold_what_the_pod_lacks(release: str) -> None:
    pods = [pod(f"p{i}", on="n1", requests={"cpu": "1500m"}, priority=i) for i in range(2)]
    found = answer(node("n1"), *pods, web(requests={"cpu": "2"}), release=release)
    checked(found, kinds.INSUFFICIENT_RESOURCE, "not now", "n1", "1 cpu")


def test_pods_of_a_zone_reject_the_pod() -> None:
    nodes = node("n1", labels={ZONE: "a"}), node("n2", zone="a")
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": selector(app="web"), "topologyKey": ZONE}]}}  # fmt: skip
    found = answer(*nodes, pod("first", on="n2", labels={"app": "web"}), web(labels={"app": "web"}, affinity=apart))
    checked(found, kinds.POD_ANTI_AFFINITY, "not now")


def test_a_pod_for_which_another_pod_is_nominated() -> None:
    waiting = rejected(pod("first", requests={"cpu": "3"}, priority=10, status={"nominatedNodeName": "n1"}))
    found = answer(node("n1"), waiting, web(requests={"cpu": "2"}))
    checked(found, kinds.NOMINATED, "not now", "n1", "nominated")


def test_a_nominated_pod_waits_for_its_victim() -> None:
    victim = pod("victim", on="n1", requests={"cpu": "3"}, deleted=True)
    victim["metadata"]["deletionTimestamp"] = LATER
    found = answer(node("n1"), victim, web(requests={"cpu": "2"}, priority=10, status={"nominatedNodeName": "n1"}))
    checked(found, causes.WAITS_FOR_VICTIMS, "not now", "n1")
    assert found.details.note == (
        "It fits on n1 when default/victim is gone; its grace period ends at 2026-01-01 00:05:30 UTC."
    )
    assert found.details.until == NOW + 30
    assert [(one.pod, one.node) for one in found.details.leaving] == [("default/victim", "n1")]
    overdue = answer(node("n1"), victim, web(requests={"cpu": "2"}), now=NOW + 60)
    checked(overdue, causes.WAITS_FOR_VICTIMS, "not now")
    assert "its grace period ended at 2026-01-01 00:05:30 UTC" in overdue.details.note


# ---- not asked


def test_gates() -> None:
    found = answer(node("n1"), web(schedulingGates=[{"name": "a/quota"}, {"name": "b/data"}]))
    checked(found, kinds.GATED, "not asked", "a/quota", "b/data")
    assert found.details.note == SILENT


def test_another_scheduler() -> None:
    theirs = pod("other", on="n1", schedulerName="batch")
    checked(answer(node("n1"), theirs, web(schedulerName="batch")), causes.OTHER_SCHEDULER, "not asked", "placed 1 pod")
    found = answer(node("n1"), pod("web", schedulerName="defualt-scheduler"))
    checked(found, causes.NO_SCHEDULER, "not asked", "has acted in this cluster", "close to default-scheduler")


def test_no_scheduler_runs() -> None:
    stopped = pod("kube-scheduler-cp1", namespace="kube-system", on="n1", labels={"component": "kube-scheduler"})
    fresh = pod("web", requests=SMALL)
    fresh["metadata"]["creationTimestamp"] = CREATED
    found = answer(node("n1"), stopped, fresh)
    checked(found, causes.NO_SCHEDULER, "not asked", "has never acted", "kube-scheduler-cp1", "n1 takes it now")
    new = answer(node("n1"), fresh, now=NOW - 295)
    checked(new, causes.JUST_CREATED, "not asked", "created at 2026-01-01 00:00:00 UTC")
    acts = event("Pod", "default/other", "Scheduled", "", by="default-scheduler")
    checked(answer(node("n1"), acts, fresh), causes.NOT_TRIED, "not asked", "acted at 2026-01-01 00:00:00 UTC")


def test_a_pod_that_fits_now() -> None:
    found = answer(node("n1"), web())
    checked(found, kinds.WAITS, "not asked", "n1 takes it now")
    assert found.details.note == (
        "default-scheduler last rejected it at 2026-01-01 00:00:01 UTC and tries it again within 5 minutes."
    )
    assert found.details.fits_on == "n1"
    failed = rejected(pod("web", requests=SMALL), "etcd is slow", reason="SchedulerError")
    failure = checked(answer(node("n1"), failed), causes.SCHEDULER_ERROR, "not asked")
    assert failure.details.note == "Its last cycle ended in an error: etcd is slow."


CLASS = {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "ebs.example.com"}
MANUAL = {"kind": "StorageClass", "metadata": {"name": "manual"}, "provisioner": "kubernetes.io/no-provisioner"}
CLAIMS: list[tuple[list[Any], str, str]] = [
    ([], "missing", "claim default/data does not exist"),
    ([claim("date", "fast")], "missing", "there is date"),
    ([claim("data", "fast"), CLASS], "immediate", "waits for ebs.example.com to create a volume of class fast; it has"),
    ([claim("data", "fast")], "class-missing", "storage class fast, which does not exist"),
    ([claim("data")], "no-class", "there is no default class"),
    ([claim("data", "manual"), MANUAL], "no-provisioner", "an administrator creates one"),
    ([claim("data", "fast", phase="Lost"), CLASS], "lost", "lost its volume"),
    ([claim("data", "fast", volume="pv", annotations={"pv.kubernetes.io/bind-completed": ""})], "", ""),
]


@pytest.mark.parametrize(("objects", "cause", "text"), CLAIMS[:-1])
def test_a_claim_without_a_volume(objects: list[Any], cause: str, text: str) -> None:
    kind = kinds.CLAIM_MISSING if cause == "missing" else kinds.CLAIM_UNBOUND
    found = checked(answer(node("n1"), *objects, web(volumes=mounts("data"))), kind, "not asked", "default/data")
    assert [(wait.cause, text in wait.sentence) for wait in found.details.claims] == [(cause, True)]


def test_what_the_provisioner_reports() -> None:
    report = event("PersistentVolumeClaim", "default/data", "ProvisioningFailed", "quota exceeded")
    found = answer(node("n1"), claim("data", "fast"), CLASS, report, web(volumes=mounts("data")))
    assert "last event: ProvisioningFailed: quota exceeded" in found.details.claims[0].sentence


def test_a_claim_that_is_bound_with_the_pod() -> None:
    late = CLASS | {"volumeBindingMode": "WaitForFirstConsumer"}
    found = answer(node("n1", cpu="1"), claim("data", "fast"), late, web(requests=BIG, volumes=mounts("data")))
    checked(found, kinds.REQUEST_EXCEEDS_NODES, "never", "8 cpu")
    assert [wait.cause for wait in found.details.claims] == ["waits-for-consumer"]
    chosen = claim("data", "fast", annotations={"volume.kubernetes.io/selected-node": "n1"})
    found = answer(node("n1"), chosen, late, web(volumes=mounts("data")))
    checked(found, causes.PROVISIONING, "not asked", "create a volume for node n1")


def test_the_nodes_that_the_class_of_a_claim_allows() -> None:
    term = {"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}
    late = CLASS | {"volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [term]}
    mirror = mirror_of(decode_all([node("n1", zone="a"), claim("data", "fast"), late, web(volumes=mounts("data"))]))
    found = answers_of(mirror).answer("default/web", NOW, fix=True).details.answer
    assert found is not None
    (text,) = [fix.text for fix in found.fixes if "provisioner" in fix.text or "allowedTopologies" in fix.text]
    assert f"made only where {ZONE}=b or c" in text


def test_a_bound_pod_waits_for_its_kubelet() -> None:
    bound = pod("web", on="n1", status={"phase": "Pending"})
    checked(answer(node("n1"), bound), causes.BOUND, "not asked", "the kubelet of n1 has not started it")
    broken = node("n1", taints=(("node.kubernetes.io/unreachable", "", "NoExecute"),))
    checked(answer(broken, bound), causes.BOUND, "not asked", "n1 is not ready")
    checked(answer(node("n2"), bound), causes.BOUND, "not asked", "no node of that name exists")


def test_a_volume_that_is_still_attached_to_another_node() -> None:
    attached = {"kind": "VolumeAttachment", "metadata": {"name": "va"}}
    attached["spec"] = {"attacher": "csi", "nodeName": "n2", "source": {"persistentVolumeName": "pv"}}
    bound = pod("web", on="n1", status={"phase": "Pending"}, volumes=mounts("data"))
    found = answer(node("n1"), node("n2"), claim("data", volume="pv"), attached, bound)
    checked(found, causes.BOUND, "not asked", "volume pv is still attached to n2")


def test_a_pod_that_is_being_deleted() -> None:
    going = pod("web", deleted=True)
    going["metadata"]["finalizers"] = ["example.com/backup"]
    found = checked(answer(node("n1"), going), causes.DELETED, "not asked", "finalizer example.com/backup keeps")
    assert found.details.finalizers == ["example.com/backup"]


def test_a_running_pod() -> None:
    found = answer(node("n1"), pod("web", on="n1", status={"phase": "Running"}))
    assert (found.cause, found.sentence) == (causes.NOT_PENDING, "Its phase is Running on n1.")


def test_a_gang_that_lacks_pods() -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    member = {"schedulingGroup": {"podGroupName": "g"}}
    gates = "1.36 GangScheduling=true,GenericWorkload=true"
    found = answer(node("n1"), group, web(**member), release=gates)
    checked(found, kinds.POD_GROUP, "not asked", "group default/g needs 3 pods, and 1 exists")
    more = [rejected(pod(f"w{i}", requests={"cpu": "2"}, **member)) for i in range(2)]
    found = answer(node("n1"), group, *more, web(requests={"cpu": "2"}, **member), release=gates)
    checked(found, kinds.POD_GROUP, "not asked", "needs 3 pods at once, and only 2 fit")
    missing = answer(node("n1"), web(**member), release=gates)
    checked(missing, kinds.POD_GROUP, "not asked", "default/g does not exist")


def test_a_gang_that_fits_nowhere_has_reasons() -> None:
    """In a cluster without pods its other members are missing, which is no reason."""
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    gates = "1.36 GangScheduling=true,GenericWorkload=true"
    member = {"schedulingGroup": {"podGroupName": "g"}, "requests": {"cpu": "3"}}
    gang = [group, rejected(pod("w", **member))]
    found = answer(node("n1", cpu="2"), *gang, web(**member), release=gates)
    checked(found, kinds.REQUEST_EXCEEDS_NODES, "never", "3 cpu")
    there = pod("there", requests={"cpu": "2"}, on="n1")
    found = answer(node("n1", cpu="4"), there, *gang, web(**member), release=gates)
    checked(found, kinds.INSUFFICIENT_RESOURCE, "not now", "n1")


def test_a_gang_becomes_complete() -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    member = {"schedulingGroup": {"podGroupName": "g"}}
    gates = "1.36 GangScheduling=true,GenericWorkload=true"
    mirror = mirror_of(decode_all([node("n1"), group, web(**member)]), gates)
    answers = answers_of(mirror)
    assert [one.cause for one in answers.update(NOW).changed] == [kinds.POD_GROUP]
    second = decode(rejected(pod("second", requests=SMALL, **member)))
    assert second is not None
    answers.note(mirror.apply(WatchEvent("Pod", ADDED, second.key, 9, second, NOW)))
    assert {one.cause for one in answers.update(NOW).changed} == {kinds.WAITS}


def untried(name: str = "web", **spec: Any) -> Raw:
    """Return a pod about which its scheduler has reported nothing, as of one that PreEnqueue holds."""
    fresh = pod(name, **{"requests": SMALL, **spec})
    fresh["metadata"]["creationTimestamp"] = CREATED
    return fresh


ACTS = event("Pod", "default/other", "Scheduled", "", by="default-scheduler")


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36"])
@pytest.mark.parametrize("web", [untried, web])
def test_preenqueue_holds_a_pod_whose_claim_does_not_exist(web: Any, release: str) -> None:
    held = web(resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}])
    found = answer(node("n1"), ACTS, held, release=release)
    checked(found, kinds.DEVICE_CLAIM, "not asked", "ResourceClaim", "default/gpu")
    assert found.details.fits_on == ""
    two = web(resourceClaims=[{"name": n, "resourceClaimName": n} for n in ("a", "b")])
    checked(answer(node("n1"), two, release=release), kinds.DEVICE_CLAIM, "not asked", "default/a")


def test_preenqueue_holds_a_pod_whose_claim_is_not_created_from_its_template() -> None:
    held = untried(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpus"}])
    checked(answer(node("n1"), ACTS, held), kinds.DEVICE_CLAIM, "not asked", "ResourceClaim not created yet")
    message = 'PodResourceClaim g: resource claim template "gpus": not found'
    refused = event("Pod", "default/web", "FailedResourceClaimCreation", message, by="resource_claim")
    found = checked(answer(node("n1"), ACTS, refused, held), kinds.DEVICE_CLAIM, "not asked")
    assert [(one.writer, one.message) for one in found.details.reports] == [("resource_claim", message)]
    new = answer(node("n1"), held, now=NOW - 295)
    checked(new, kinds.DEVICE_CLAIM, "not asked")


def test_a_claim_that_is_created_ends_the_wait() -> None:
    held = untried(resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}])
    mirror = mirror_of(decode_all([node("n1"), held]))
    answers = answers_of(mirror)
    assert [one.cause for one in answers.update(NOW).changed] == [kinds.DEVICE_CLAIM]
    made = decode({"kind": "ResourceClaim", "metadata": {"name": "gpu", "namespace": "default"}})
    assert made is not None
    answers.note(mirror.apply(WatchEvent("ResourceClaim", ADDED, made.key, 9, made, NOW)))
    assert [one.cause for one in answers.update(NOW).changed] == [causes.NO_SCHEDULER]


def test_unknown_claims_and_groups_do_not_hold_a_pod() -> None:
    held = untried(resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}])
    answers = answers_of(mirror_of(decode_all([node("n1"), held])), ["ResourceClaim"])
    assert answers.answer("default/web", NOW).cause == causes.NO_SCHEDULER
    tried = web(resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}])
    answers = answers_of(mirror_of(decode_all([node("n1"), tried])), ["ResourceClaim"])
    assert answers.answer("default/web", NOW).cause == causes.NODES_UNKNOWN
    member = untried(schedulingGroup={"podGroupName": "g"})
    mirror = mirror_of(decode_all([node("n1"), member]), GATES)
    assert answers_of(mirror, ["PodGroup.scheduling.k8s.io"]).answer("default/web", NOW).cause == causes.NO_SCHEDULER
    assert answers_of(mirror, ["Node"]).answer("default/web", NOW).cause == kinds.POD_GROUP


GATES = "1.36 GangScheduling=true,GenericWorkload=true"


def test_preenqueue_holds_the_members_of_a_gang_that_lacks_pods() -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    members = [untried(name, schedulingGroup={"podGroupName": "g"}) for name in ("web", "other")]
    found = answer(node("n1"), ACTS, group, *members, release=GATES)
    checked(found, kinds.POD_GROUP, "not asked", "Its group default/g needs 3 pods, and 2 exist")
    assert found.details.group == "default/g"
    missing = answer(node("n1"), ACTS, untried(schedulingGroup={"podGroupName": "nope"}), release=GATES)
    checked(missing, kinds.POD_GROUP, "not asked", "Its group default/nope does not exist")


def test_only_the_pods_own_scheduler_has_tried_it() -> None:
    karpenter = event("Pod", "default/web", "FailedScheduling", "no instance type", by="karpenter")
    checked(answer(node("n1"), ACTS, karpenter, untried()), causes.NOT_TRIED, "not asked", "has not tried it")
    own = event("Pod", "default/web", "FailedScheduling", "0/1")
    assert own.source is None
    own.source = EventSource("default-scheduler")  # core/v1, without reportingComponent
    checked(answer(node("n1"), own, untried()), kinds.WAITS, "not asked")


def test_events_of_other_components_stand_under_their_names() -> None:
    karpenter = event("Pod", "default/web", "FailedScheduling", "no instance type", by="karpenter")
    autoscaler = event("Pod", "default/web", "NotTriggerScaleUp", "max node group size reached", by="")
    autoscaler.source = EventSource("cluster-autoscaler")
    own = event("Pod", "default/web", "FailedScheduling", "0/1 nodes", by="default-scheduler")
    own.metadata.name = "own"
    found = answer(node("n1"), karpenter, autoscaler, own, web(requests=BIG))
    assert found.details.scheduler_message is not None
    assert "Insufficient cpu" in found.details.scheduler_message.message
    assert {(one.writer, one.reason, one.message) for one in found.details.reports} == {
        ("karpenter", "FailedScheduling", "no instance type"),
        ("cluster-autoscaler", "NotTriggerScaleUp", "max node group size reached"),
    }


def test_the_condition_of_a_gated_pod_is_of_the_api_server() -> None:
    released = untried()
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked"}
    released["status"] = {"conditions": [gated]}
    found = answer(node("n1"), ACTS, released)
    checked(found, causes.NOT_TRIED, "not asked", "has not tried it")
    assert found.details.scheduler_message is None


# ---- the scheduler's message


@pytest.mark.parametrize(("scheduler", "facts"), [("default-scheduler", []), ("batch", ["its queue is q"])])
def test_its_message_is_no_fact_of_the_station_as_well(scheduler: str, facts: list[str]) -> None:
    queued = web(requests=BIG, schedulerName=scheduler)
    queued["metadata"]["labels"] = {"queue": "q"}
    found = answer(node("n1"), queued).details
    assert found.scheduler_message is not None
    assert (found.station, found.says) == ("scheduler", facts)


def test_the_scheduler_agrees_or_not() -> None:
    theirs = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No victims found."
    found = answer(node("n1"), rejected(pod("web", requests=BIG), theirs)).details.scheduler_message
    assert found is not None
    assert (found.agrees, found.difference) == (True, "")
    found = answer(node("n1"), node("n2"), rejected(pod("web", requests=BIG), theirs)).details.scheduler_message
    assert found is not None
    assert (found.agrees, "other numbers of nodes" in found.difference) == (True, True)
    taint = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}. preemption: no."
    found = answer(node("n1"), rejected(pod("web", requests=BIG), taint)).details.scheduler_message
    assert found is not None
    assert found.agrees is False
    assert "also reported node(s) had untolerated taint {a: b}" in found.difference


# ---- workloads


def test_a_quota_refuses_the_pods_of_a_replica_set() -> None:
    refusal = 'pods "web-x" is forbidden: exceeded quota: small, requested: cpu=1, used: cpu=4, limited: cpu=4'
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": refusal}
    metadata = {"name": "web", "namespace": "default"}
    raw = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"replicas": 3}}
    mine = pod("web-1", on="n1", status={"phase": "Running"})
    mine["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web"}]
    objects = decode_all([raw | {"status": {"conditions": [condition]}}, mine, node("n1")])
    answers = answers_of(mirror_of(objects))
    (found,) = answers.update(NOW).changed
    checked(found, causes.REFUSED, "not asked", "2 of 3 pods do not exist", "ResourceQuota small")
    assert (found.key, found.subject, found.details.missing) == ("default/ReplicaSet web", "ReplicaSet", 2)


def test_other_workloads_without_pods() -> None:
    suspended = Job(Metadata("train", "default"))
    suspended.spec.suspend, suspended.spec.parallelism = True, 4
    agents = DaemonSet(Metadata("agent", "default"))
    agents.status.desired_number_scheduled = 2
    refused = event("DaemonSet", "default/agent", "FailedCreate", 'pods "agent-1" is forbidden: violates PodSecurity')
    found = {one.key: one for one in answers_of(mirror_of([suspended, agents, refused])).update(NOW).changed}
    checked(found["default/Job train"], causes.SUSPENDED, "not asked", "spec.suspend")
    checked(found["default/DaemonSet agent"], causes.REFUSED, "not asked", "violates PodSecurity")


# ---- incomplete and hostile state


def test_kinds_that_cannot_be_read() -> None:
    mirror = mirror_of(decode_all([node("n1"), web(requests=BIG)]))
    found = answers_of(mirror, ["Node"]).answer("default/web", NOW)
    checked(found, causes.NODES_UNKNOWN, "not now", "2 Insufficient cpu")
    assert found.details.limits == ["No placement can be explained, because the nodes are unknown."]
    claims = web(volumes=mounts("data"))
    mirror = mirror_of(decode_all([node("n1"), claims]))
    found = answers_of(mirror, ["PersistentVolumeClaim"]).answer("default/web", NOW)
    assert any("which claims are bound" in limit for limit in found.details.limits)


@pytest.mark.parametrize("checks", [[], [{"name": "capacity", "state": "Pending"}]])
def test_the_owners_of_checks_are_missed_only_with_checks(checks: list[dict[str, str]]) -> None:
    conditions = [{"type": "QuotaReserved", "status": "True" if checks else "False", "message": "none is free"}]
    held = web(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    held["metadata"] |= {"uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    workload = {
        "metadata": {"name": "wl", "namespace": "default", "ownerReferences": [{"name": "w", "uid": "u"}]},
        "spec": {"queueName": "q"},
        "status": {"conditions": conditions, "admissionChecks": checks},
    }
    mirror = mirror_of(decode_all([node("n1"), held]))
    read = convert(workload, KueueWorkload, "workload")
    mirror.apply(Listed("Workload.kueue.x-k8s.io", 1, (read,), NOW))
    found = answers_of(mirror, ["AdmissionCheck"]).answer("default/web", NOW)
    assert found.details.station == "admission"
    assert found.details.limits == ["The owners of Kueue's checks are not named."] * bool(checks)


def test_pods_of_one_namespace_alone() -> None:
    mirror = mirror_of(decode_all([node("n1"), web()]))
    found = PendingAnswers(mirror, load(None, mirror.release), namespace="default").answer("default/web", NOW)
    checked(found, causes.NODES_UNKNOWN, "not now", "The scheduler reported: 0/2 nodes")
    assert "Nodes look emptier than they are" in found.details.limits[0]


def test_odd_values_do_not_stop_an_answer() -> None:
    odd = web(requests=BIG)
    odd["status"]["conditions"][0] |= {"message": "0/0 nodes are available: \x1b[31m" + "x" * 100_000}
    odd["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    found = answer(node("n1"), odd)
    assert found.category == "never"
    assert found.details.scheduler_message is not None
    assert len(found.details.scheduler_message.message) <= 2_000


def test_one_pod_does_not_prevent_the_other_answers(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    mirror = mirror_of(decode_all([node("n1"), web(requests=BIG), rejected(pod("other", requests=SMALL))]))
    answers = answers_of(mirror)
    fit = answers.analysis.fit

    def broken(pod: Any, nodes_known: bool) -> Any:
        if pod.name == "web":
            raise ZeroDivisionError
        return fit(pod, nodes_known)

    monkeypatch.setattr(answers.analysis, "fit", broken)
    found = {one.key: one for one in answers.update(NOW).changed}
    checked(found["default/web"], causes.UNEXPLAINED, "not asked", "ZeroDivisionError")
    checked(found["default/other"], kinds.WAITS, "not asked", "n1")
    assert "Pod default/web is not explained" in caplog.text


@pytest.mark.parametrize("seed", range(8))
def test_incomplete_state(seed: int) -> None:
    chance = random.Random(seed)
    raws = random_cluster(seed)["objects"]
    for raw in raws:
        if raw["kind"] == "Pod" and not raw["spec"].get("nodeName"):
            rejected(raw)
    objects = [obj for obj in decode_all(raws) if chance.random() < 0.7]
    mirror = mirror_of(objects, chance.choice(list(RELEASES)))
    refused = chance.sample(["PersistentVolume", "PersistentVolumeClaim", "Namespace", "StorageClass", "CSINode"], 2)
    answers = answers_of(mirror, refused)
    assert not answers.update(NOW, limit=60).outdated
    gone = chance.sample(objects, min(len(objects), 12))
    for version, obj in enumerate(gone, 100):
        kind = kind_of(type(obj))
        answers.note(mirror.apply(WatchEvent(kind, DELETED, obj.key, version, obj, NOW)))
    assert not answers.update(NOW, limit=60).outdated
    assert all(one.cause != causes.UNEXPLAINED for one in answers.answers.values())


def test_a_missing_pod() -> None:
    mirror = mirror_of([])
    with pytest.raises(InputError, match="Pod default/web: does not exist"):
        PendingAnswers(mirror, load(None, mirror.release)).answer("default/web", NOW)


def test_one_suggested_fix() -> None:
    mirror = mirror_of(decode_all([node("n1"), web(requests=BIG)]))
    found = PendingAnswers(mirror, load(None, mirror.release)).answer("default/web", NOW, fix=True)
    assert found.details.answer is not None
    fix = found.details.answer.fixes[0]
    assert (fix.kind, fix.node, fix.places) == ("requests", "n1", 1)
    assert "cpu" in fix.text


def fixes_of(found: PendingAnswer) -> list[Fix]:
    return found.details.answer.fixes if found.details.answer is not None else []


def test_fixes_are_searched_when_all_answers_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_core.pending_pods.answer.FIX_PAUSE", 0.0)
    twins = [rejected(pod(f"w{i}", requests=BIG)) for i in range(2)]
    mirror = mirror_of(decode_all([node("n1"), *twins, web(requests=BIG, labels={"a": "b"})]))
    answers = answers_of(mirror)
    fixed = [one.key for _ in range(2) for one in answers.update(NOW).changed if fixes_of(one)]
    assert sorted(fixed) == ["default/w0", "default/w1", "default/web"]
    assert answers.update(NOW).changed == []
    again = answers.answer("default/web", NOW)
    assert again == answers.answers["default/web"]


# ---- all pods, change by change


def test_answers_follow_changes() -> None:
    running = pod("a", on="n1", requests={"cpu": "3"}, status={"phase": "Running"})
    mirror = mirror_of(decode_all([node("n1"), running]))
    answers = answers_of(mirror)
    twins = [decode(rejected(pod(name, requests={"cpu": "2"}))) for name in ("w1", "w2")]
    version = 10

    def apply(kind: str, obj: Any) -> None:
        nonlocal version
        version += 1
        answers.note(mirror.apply(WatchEvent(type(obj).__name__, kind, obj.key, version, obj, NOW)))  # type: ignore[arg-type]

    for twin in twins:
        apply(ADDED, twin)
    assert {(one.key, one.category) for one in answers.update(NOW).changed} == {
        ("default/w1", "not now"),
        ("default/w2", "not now"),
    }
    assert answers.update(NOW).changed == []
    apply(DELETED, mirror.store.get("Pod", "default/a"))
    assert {one.cause for one in answers.update(NOW).changed} == {kinds.WAITS}
    bound = decode(pod("w1", on="n1", requests={"cpu": "2"}, status={"phase": "Running"}))
    apply(MODIFIED, bound)
    found = answers.update(NOW)
    assert found.gone == ["default/w1"]
    assert set(answers.answers) == {"default/w2"}
    small = decode(node("n1", cpu="1"))
    apply(MODIFIED, small)
    assert [one.category for one in answers.update(NOW).changed] == ["never"]


def test_equal_pods_share_one_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [rejected(pod(f"w{i}", requests=BIG, labels={"app": "w"})) for i in range(50)]
    mirror = mirror_of(decode_all([node("n1"), *pods]))
    answers, computed = answers_of(mirror), list[str]()
    fit = answers.analysis.fit
    monkeypatch.setattr(answers.analysis, "fit", lambda pod, known: (computed.append(pod.key), fit(pod, known))[1])
    assert len(answers.update(NOW).changed) == 50
    assert len(computed) == 1


def test_a_result_is_computed_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    running = pod("a", on="n1", requests={"cpu": "3"}, status={"phase": "Running"})
    mirror = mirror_of(decode_all([node("n1"), running, web(requests={"cpu": "2"})]))
    answers, clock = answers_of(mirror), [100.0]
    answers.recheck_every = 2.0
    monkeypatch.setattr("scheduler_core.pending_pods.answer.time.monotonic", lambda: clock[0])
    assert [one.category for one in answers.update(NOW).changed] == ["not now"]
    gone = mirror.store.get("Pod", "default/a")
    assert gone is not None
    answers.note(mirror.apply(WatchEvent("Pod", DELETED, "default/a", 9, gone, NOW)))
    assert answers.update(NOW).changed == []
    clock[0] += 2.0
    assert [one.cause for one in answers.update(NOW).changed] == [kinds.WAITS]


def test_events_change_an_answer() -> None:
    fresh = pod("web", requests=SMALL)
    fresh["metadata"]["creationTimestamp"] = CREATED
    mirror = mirror_of(decode_all([node("n1"), fresh]))
    answers = answers_of(mirror)
    assert [one.cause for one in answers.update(NOW).changed] == [causes.NO_SCHEDULER]
    seen = event("Pod", "default/web", "FailedScheduling", "0/1", by="default-scheduler")
    answers.note(mirror.apply(WatchEvent("Event", ADDED, seen.key, 9, seen, NOW)))
    assert [one.cause for one in answers.update(NOW).changed] == [kinds.WAITS]
    answers.note(mirror.apply(WatchEvent("Event", DELETED, seen.key, 10, seen, NOW)))
    assert [one.cause for one in answers.update(NOW + 9).changed] == [causes.NOT_TRIED]


def test_pages_and_commands_suggest_the_same_fix() -> None:
    nodes = [node(f"n{i}", taints=(("dedicated", "db", "NoSchedule"),)) for i in range(3)]
    running = [pod(f"p{i}", on=f"n{i}", requests={"cpu": "3"}) for i in range(3)]
    mirror = mirror_of(decode_all([*nodes, *running, web(requests={"cpu": "1"})]))
    followed = answers_of(mirror)
    followed.update(NOW, limit=60.0)
    single = answers_of(mirror).answer("default/web", NOW, fix=True)
    assert fixes_of(single)
    assert followed.answers["default/web"].details.answer == single.details.answer


def test_the_mirror_is_unchanged() -> None:
    pods = [pod(f"p{i}", on="n1", requests={"cpu": "1"}, labels={"app": "p"}) for i in range(4)]
    mirror = mirror_of(decode_all([node("n1"), *pods, web(requests={"cpu": "2"})]))
    columns = {name: column.tolist() for name, column in mirror.cluster.nodes.requested.items()}
    answers_of(mirror).answer("default/web", NOW, fix=True)
    assert {name: column.tolist() for name, column in mirror.cluster.nodes.requested.items()} == columns
    assert list(mirror.cluster.nodes.entries["n1"].pods) == [f"default/p{i}" for i in range(4)]
    assert mirror.pending["default/web"].node == ""
    assert HOSTNAME in mirror.cluster.nodes.nodes[0].metadata.labels
    assert all(isinstance(one.pod, Pod) for one in mirror.pods.values())


def test_a_promised_node_is_followed_until_it_is_ready() -> None:
    claim = {"metadata": {"name": "x", "labels": {"karpenter.sh/nodepool": "general"}}}
    promise = event("Pod", "default/web", "Nominated", "Pod should schedule on: nodeclaim/x", by="karpenter")
    launched = [{"type": "Launched", "status": "True"}, {"type": "Registered", "status": "Unknown"}]
    coming = convert(claim | {"status": {"conditions": launched}}, NodeClaim, "claim")
    mirror = mirror_of([*decode_all([node("n1", cpu="1"), web(requests=BIG)]), promise])
    mirror.apply(Listed("NodeClaim", 1, (coming,), NOW))
    answers = answers_of(mirror)
    (found,) = answers.update(NOW).changed
    assert (found.details.station, found.category) == ("node-coming", "not now")
    assert "NodeClaim x of NodePool general is launched but not registered" in found.sentence
    assert [stop.state for stop in found.details.stations if stop.name == "node"] == ["waiting"]
    with_fixes = answers.answer("default/web", NOW, fix=True).details.answer
    assert with_fixes is not None
    assert with_fixes.fixes == []
    done = [{"type": step, "status": "True"} for step in ("Launched", "Registered", "Initialized")]
    ready = convert(claim | {"status": {"conditions": done}}, NodeClaim, "claim")
    answers.note(mirror.apply(WatchEvent("NodeClaim", MODIFIED, "x", 2, ready, NOW)))
    (found,) = answers.update(NOW).changed
    assert found.details.station == "scheduler"
