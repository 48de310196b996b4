"""The kinds that are watched in a live cluster.

They are what upstream's `system:kube-scheduler` role reads, and what answers about pending pods need: quotas, limits
and the owners of pods. Never Secrets.

Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (system:kube-scheduler).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from scheduler_core.live.neighbours import AUTOSCALER_STATUS

# `reason` is one of the few fields by which the API server selects events, and it knows no "or". These are the reasons
# of almost all events of a busy cluster that say nothing about scheduling; the others are selected at decoding.
_OTHER_REASONS = (
    *("Pulling", "Pulled", "Created", "Started", "Killing", "BackOff", "Unhealthy", "SuccessfulCreate"),
    *("SuccessfulDelete", "ScalingReplicaSet", "Completed", "SawCompletedJob", "SuccessfulAttachVolume"),
    *("NodeHasSufficientMemory", "LeaderElection", "Sync", "SuccessfulRescale"),
)  # fmt: skip
EVENT_REASONS = frozenset(
    (
        *("FailedScheduling", "Scheduled", "Preempted", "FailedCreate", "TaintManagerEviction"),
        *("FailedBinding", "ProvisioningFailed", "Provisioning", "ExternalProvisioning"),
        *("WaitForFirstConsumer", "WaitForPodScheduled", "FailedAttachVolume", "FailedMount", "FailedCreatePodSandBox"),
        *("FailedResourceClaimCreation", "NotTriggerScaleUp", "TriggeredScaleUp", "Nominated"),
        *("FailedToScaleUpGroup", "ScaleUpTimedOut", "InsufficientCapacityError", "ErrWorkloadCompose"),
        *("JobAlreadyActive", "MissSchedule", "TooManyMissedTimes", "UnknownTimeZone", "FailedGet", "FailedDelete"),
        *("InvalidSchedule", "UnparseableSchedule", "UnParseableCronJobSchedule"),
        *("Failed", "FailedPrepareDynamicResources", "Scheduling", "GangScheduling", "NotReady", "Unschedulable"),
    )
)


class WatchedKind(NamedTuple):
    """A kind to list and watch.

    `kind`: as in `scheduler_core.api.objects.KINDS`. `path`: of its newest served version, over all namespaces.
    `consequence`: what answers lack if the server refuses the kind. `field_selector`: sent with each request.
    `optional`: a cluster can lack the kind, and answers are complete without it. `older_paths`: those of older
    versions, newest first; the first one that the server knows is used.
    """

    kind: str
    path: str
    namespaced: bool
    consequence: str
    field_selector: str = ""
    optional: bool = False
    older_paths: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all versions, newest first."""
        return self.path, *self.older_paths

    @property
    def resource(self) -> str:
        """The name in paths and roles, such as pods."""
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The API group; "" for the core group."""
        parts = self.path.split("/")
        return parts[2] if parts[1] == "apis" else ""


def _core(kind: str, resource: str, consequence: str, *, namespaced: bool = True, selector: str = "") -> WatchedKind:
    return WatchedKind(kind, f"/api/v1/{resource}", namespaced, consequence, selector)


def _grouped(
    kind: str,
    group: str,
    versions: str,
    resource: str,
    consequence: str,
    *,
    namespaced: bool = True,
    optional: bool = False,
) -> WatchedKind:
    """`versions`: newest first, separated by spaces."""
    path, *older = (f"/apis/{group}/{version}/{resource}" for version in versions.split())
    return WatchedKind(kind, path, namespaced, consequence, "", optional, tuple(older))


_VOLUMES = "Answers about pods with volumes can be wrong"
_DEVICES = "Answers about pods that request devices are missing"
_SPREAD = "Default topology spread does not count the pods of"

_TABLE = (
    # Lists are made in this order: nodes and pods give the first answers.
    _core("Node", "nodes", "No placement can be explained, because the nodes are unknown.", namespaced=False),
    _core("Pod", "pods", "No pod is shown, and the free resources of nodes are unknown."),
    _core(
        "Namespace", "namespaces", "Affinity terms that select namespaces by labels match nothing.", namespaced=False
    ),
    _grouped(
        *("PriorityClass", "scheduling.k8s.io", "v1 v1beta1", "priorityclasses"),
        "The priority of new pods is unknown; that of existing pods is known.",
        namespaced=False,
    ),
    _core(
        "PersistentVolumeClaim", "persistentvolumeclaims", f"{_VOLUMES}, because it is unknown which claims are bound."
    ),
    _core(
        "PersistentVolume",
        "persistentvolumes",
        f"{_VOLUMES}, because their nodes and zones are unknown.",
        namespaced=False,
    ),
    _grouped(
        *("StorageClass", "storage.k8s.io", "v1", "storageclasses"),
        f"{_VOLUMES}, because it is unknown when claims are bound.",
        namespaced=False,
    ),
    _grouped(
        *("PodDisruptionBudget", "policy", "v1 v1beta1", "poddisruptionbudgets"),
        "Preemption and drains ignore disruption budgets.",
    ),
    _core("Service", "services", f"{_SPREAD} services."),
    _core("ReplicationController", "replicationcontrollers", f"{_SPREAD} replication controllers."),
    _grouped("ReplicaSet", "apps", "v1", "replicasets", f"{_SPREAD} replica sets."),
    _grouped("StatefulSet", "apps", "v1", "statefulsets", f"{_SPREAD} stateful sets."),
    _grouped(
        *("CSINode", "storage.k8s.io", "v1 v1beta1", "csinodes"),
        f"{_VOLUMES}, because the volume limits of nodes are unknown.",
        namespaced=False,
    ),
    _grouped(
        *("CSIDriver", "storage.k8s.io", "v1 v1beta1", "csidrivers"),
        f"{_VOLUMES}, because it is unknown which drivers publish their free capacity.",
        namespaced=False,
    ),
    _grouped(
        *("CSIStorageCapacity", "storage.k8s.io", "v1 v1beta1", "csistoragecapacities"),
        f"{_VOLUMES}, because the free capacity of storage is unknown.",
        optional=True,
    ),
    _grouped(
        *("VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments"),
        f"{_VOLUMES}, because attached volumes of deleted pods are not counted.",
        namespaced=False,
    ),
    _grouped(
        *("DeviceClass", "resource.k8s.io", "v1 v1beta2 v1beta1", "deviceclasses"),
        f"{_DEVICES}, because device classes are unknown.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("ResourceClaim", "resource.k8s.io", "v1 v1beta2 v1beta1", "resourceclaims"),
        f"{_DEVICES}, because their claims are unknown.",
        optional=True,
    ),
    _grouped(
        *("ResourceSlice", "resource.k8s.io", "v1 v1beta2 v1beta1", "resourceslices"),
        f"{_DEVICES}, because the devices of nodes are unknown.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("DeviceTaintRule", "resource.k8s.io", "v1 v1beta2 v1alpha3", "devicetaintrules"),
        "Answers about pods that request devices ignore taints that rules add to devices.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("PodGroup.scheduling.k8s.io", "scheduling.k8s.io", "v1beta1 v1alpha3 v1alpha2", "podgroups"),
        "Answers about the pods of a pod group are missing.",
        optional=True,
    ),
    _grouped(
        *("Workload", "scheduling.k8s.io", "v1beta1 v1alpha3 v1alpha2 v1alpha1", "workloads"),
        "The workload of a pod group is not named.",
        optional=True,
    ),
    # Of plugins of scheduler-plugins.
    _grouped(
        *("PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups"),
        "Coscheduling counts no pod group.",
        optional=True,
    ),
    _grouped(
        *("ElasticQuota", "scheduling.x-k8s.io", "v1alpha1", "elasticquotas"),
        "CapacityScheduling limits no namespace.",
        optional=True,
    ),
    _grouped(
        *("NodeResourceTopology", "topology.node.k8s.io", "v1alpha2 v1alpha1", "noderesourcetopologies"),
        "NodeResourceTopologyMatch knows no NUMA zones.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("AppGroup", "appgroup.diktyo.x-k8s.io", "v1alpha1", "appgroups"),
        "NetworkOverhead and TopologicalSort know no workloads of applications.",
        optional=True,
    ),
    _grouped(
        *("NetworkTopology", "networktopology.diktyo.x-k8s.io", "v1alpha1", "networktopologies"),
        "NetworkOverhead knows no network costs.",
        optional=True,
    ),
    _grouped(
        *("SeccompProfile", "security-profiles-operator.x-k8s.io", "v1beta1", "seccompprofiles"),
        "SySched knows no seccomp profiles.",
        optional=True,
    ),
    # Of those who decide before or after the scheduler.
    _grouped(
        *("Workload.kueue.x-k8s.io", "kueue.x-k8s.io", "v1beta2 v1beta1", "workloads"),
        "It is not named what Kueue waits for.",
        optional=True,
    ),
    _grouped(
        *("LocalQueue", "kueue.x-k8s.io", "v1beta2 v1beta1", "localqueues"),
        "The ClusterQueue of a workload of Kueue is not named.",
        optional=True,
    ),
    *(
        _grouped(kind, "kueue.x-k8s.io", versions, resource, text, namespaced=False, optional=True)
        for kind, versions, resource, text in (
            ("ClusterQueue", "v1beta2 v1beta1", "clusterqueues", "The use of Kueue's quotas is unknown."),
            ("ResourceFlavor", "v1beta2 v1beta1", "resourceflavors", "The topologies of Kueue's flavors are unknown."),
            ("Cohort", "v1beta2 v1beta1 v1alpha1", "cohorts", "What Kueue's cohorts lend is unknown."),
            ("AdmissionCheck", "v1beta2 v1beta1", "admissionchecks", "The owners of Kueue's checks are not named."),
        )
    ),
    _grouped(
        *("NodePool", "karpenter.sh", "v1 v1beta1", "nodepools"),
        "The limits of Karpenter's node pools are unknown.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("NodeClaim", "karpenter.sh", "v1 v1beta1", "nodeclaims"),
        "It is unknown how far the nodes are that Karpenter launches.",
        namespaced=False,
        optional=True,
    ),
    _grouped(
        *("ProvisioningRequest", "autoscaling.x-k8s.io", "v1 v1beta1", "provisioningrequests"),
        "The state of a requested capacity is unknown.",
        optional=True,
    ),
    WatchedKind(
        "ConfigMap",
        "/api/v1/namespaces/kube-system/configmaps",
        False,
        "The node groups of cluster-autoscaler are unknown.",
        "metadata.name=cluster-autoscaler-status",
        True,
    ),
    _grouped(
        *("JobSet", "jobset.x-k8s.io", "v1alpha2", "jobsets"),
        "It is unknown why a JobSet creates no pods.",
        optional=True,
    ),
    _grouped(
        *("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "v1", "leaderworkersets"),
        "The workers that wait for a leader are not counted.",
        optional=True,
    ),
    *(
        _grouped(f"{kind}.{group}", group, version, resource, text, namespaced=namespaced, optional=True)
        for kind, group, version, resource, text, namespaced in (
            ("PodGroup", "scheduling.volcano.sh", "v1beta1", "podgroups", "Volcano's pod groups are unknown.", True),
            ("Queue", "scheduling.volcano.sh", "v1beta1", "queues", "Volcano's queues are unknown.", False),
            ("PodGroup", "scheduling.run.ai", "v2alpha2", "podgroups", "KAI's pod groups are unknown.", True),
            ("Queue", "scheduling.run.ai", "v2", "queues", "KAI's queues are unknown.", False),
        )
    ),
    _core("ResourceQuota", "resourcequotas", "A quota that refuses new pods is not named."),
    _core("LimitRange", "limitranges", "The default requests of new pods are unknown."),
    _grouped("Deployment", "apps", "v1", "deployments", "The pods that a deployment lacks are not counted."),
    _grouped("DaemonSet", "apps", "v1", "daemonsets", "The pods that a daemon set lacks are not counted."),
    _grouped("Job", "batch", "v1", "jobs", "The pods that a job lacks are not counted."),
    _grouped(*("CronJob", "batch", "v1", "cronjobs"), "It is unknown why a cron job creates no jobs.", optional=True),
    _core(
        *("Event", "events", "Refusals by quotas, preemptions and the scheduler's earlier messages are not shown."),
        selector=",".join(f"reason!={reason}" for reason in _OTHER_REASONS),
    ),
)
KINDS: dict[str, WatchedKind] = {kind.kind: kind for kind in _TABLE}
_BY_GROUP = {(kind.kind.partition(".")[0], kind.group): kind.kind for kind in _TABLE}


def is_autoscaler_status(raw: Mapping[str, Any]) -> bool:
    """Whether an undecoded ConfigMap is the one in which cluster-autoscaler publishes its state."""
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping):
        return False
    return f"{metadata.get('namespace')}/{metadata.get('name')}" == AUTOSCALER_STATUS


def recorded_kind(raw: Mapping[str, Any]) -> str:
    """Return the watched kind of an undecoded object, such as `PodGroup.scheduling.k8s.io`; "" for other kinds."""
    group, _, version = str(raw.get("apiVersion")).rpartition("/")
    if raw.get("kind") == "ConfigMap" and not is_autoscaler_status(raw):
        return ""
    return _BY_GROUP.get((str(raw.get("kind")), group), "") if version else ""


def in_namespace(namespace: str) -> dict[str, WatchedKind]:
    """Return the kinds for rights on one namespace: its objects alone, and the kinds without a namespace as before."""

    def within(path: str) -> str:
        prefix, _, resource = path.rpartition("/")
        return f"{prefix}/namespaces/{namespace}/{resource}"

    return {
        name: kind._replace(path=within(kind.path), older_paths=tuple(map(within, kind.older_paths)))
        if kind.namespaced
        else kind
        for name, kind in KINDS.items()
    }


def namespace_of(kinds: Mapping[str, WatchedKind]) -> str:
    """Return the only namespace that kinds of `in_namespace` are read in; "" for all namespaces."""
    parts = kinds["Pod"].path.split("/") if "Pod" in kinds else []
    return parts[4] if "namespaces" in parts else ""
