"""The kinds that are watched in a live cluster.

They are what upstream's `system:kube-scheduler` role reads, and what answers about pending pods need: quotas, limits
and the owners of pods. Never Secrets.

Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (system:kube-scheduler).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from scheduler_core.api.objects import is_namespaced
from scheduler_core.live.neighbours import AUTOSCALER_STATUS
from scheduler_core.live.objects import TYPES

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
    versions and groups, newest first; the first one that the server knows is used.
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
        """The newest API group; "" for the core group."""
        return self.groups[0]

    @property
    def groups(self) -> tuple[str, ...]:
        """The API groups that have served the kind, newest first; "" for the core group."""
        parts = (path.split("/") for path in self.paths)
        return tuple(dict.fromkeys(part[2] if part[1] == "apis" else "" for part in parts))


def _watched(kind: str, api: str, consequence: str, *, selector: str = "", optional: bool = False) -> WatchedKind:
    """`api`: the newest `apiVersion`, and after it the older versions, newest first; each with its group if it
    differs from the one before."""
    name = kind.partition(".")[0].lower()
    resource = f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"
    group, paths = "", []
    for one in api.split():
        newer, _, version = one.rpartition("/")
        group = newer or group
        paths.append(f"/apis/{group}/{version}/{resource}" if group else f"/api/{version}/{resource}")
    path, *older = paths
    return WatchedKind(kind, path, is_namespaced(TYPES[kind]), consequence, selector, optional, tuple(older))


_optional = partial(_watched, optional=True)
_VOLUMES = "Answers about pods with volumes can be wrong"
_DEVICES = "Answers about pods that request devices are missing"
_SCHEDULER_PLUGINS = "scheduling.x-k8s.io/v1alpha1 scheduling.sigs.k8s.io/v1alpha1"
_SPREAD = "Default topology spread does not count the pods of"

_TABLE = (
    # Lists are made in this order: nodes and pods give the first answers.
    _watched("Node", "v1", "No placement can be explained, because the nodes are unknown."),
    _watched("Pod", "v1", "No pod is shown, and the free resources of nodes are unknown."),
    _watched("Namespace", "v1", "Affinity terms that select namespaces by labels match nothing."),
    _watched(
        "PriorityClass",
        "scheduling.k8s.io/v1 v1beta1",
        "The priority of new pods is unknown; that of existing pods is known.",
    ),
    _watched("PersistentVolumeClaim", "v1", f"{_VOLUMES}, because it is unknown which claims are bound."),
    _watched("PersistentVolume", "v1", f"{_VOLUMES}, because their nodes and zones are unknown."),
    _watched("StorageClass", "storage.k8s.io/v1", f"{_VOLUMES}, because it is unknown when claims are bound."),
    _watched("PodDisruptionBudget", "policy/v1 v1beta1", "Preemption and drains ignore disruption budgets."),
    _watched("Service", "v1", f"{_SPREAD} services."),
    _watched("ReplicationController", "v1", f"{_SPREAD} replication controllers."),
    _watched("ReplicaSet", "apps/v1", f"{_SPREAD} replica sets."),
    _watched("StatefulSet", "apps/v1", f"{_SPREAD} stateful sets."),
    _watched("CSINode", "storage.k8s.io/v1 v1beta1", f"{_VOLUMES}, because the volume limits of nodes are unknown."),
    _watched(
        "CSIDriver",
        "storage.k8s.io/v1 v1beta1",
        f"{_VOLUMES}, because it is unknown which drivers publish their free capacity.",
    ),
    _optional(
        "CSIStorageCapacity",
        "storage.k8s.io/v1 v1beta1",
        f"{_VOLUMES}, because the free capacity of storage is unknown.",
    ),
    _watched(
        "VolumeAttachment",
        "storage.k8s.io/v1",
        f"{_VOLUMES}, because attached volumes of deleted pods are not counted.",
    ),
    _optional("DeviceClass", "resource.k8s.io/v1 v1beta2 v1beta1", f"{_DEVICES}, because device classes are unknown."),
    _optional("ResourceClaim", "resource.k8s.io/v1 v1beta2 v1beta1", f"{_DEVICES}, because their claims are unknown."),
    _optional(
        "ResourceSlice", "resource.k8s.io/v1 v1beta2 v1beta1", f"{_DEVICES}, because the devices of nodes are unknown."
    ),
    _optional(
        "DeviceTaintRule",
        "resource.k8s.io/v1 v1beta2 v1alpha3",
        "Answers about pods that request devices ignore taints that rules add to devices.",
    ),
    _optional(
        "PodGroup.scheduling.k8s.io",
        "scheduling.k8s.io/v1beta1 v1alpha3 v1alpha2",
        "Answers about the pods of a pod group are missing.",
    ),
    _optional(
        "Workload", "scheduling.k8s.io/v1beta1 v1alpha3 v1alpha2 v1alpha1", "The workload of a pod group is not named."
    ),
    # Of plugins of scheduler-plugins, whose group was scheduling.sigs.k8s.io before 0.25, and still is in koordinator.
    _optional("PodGroup", _SCHEDULER_PLUGINS, "Coscheduling counts no pod group."),
    _optional("ElasticQuota", _SCHEDULER_PLUGINS, "CapacityScheduling limits no namespace."),
    _optional(
        "NodeResourceTopology",
        "topology.node.k8s.io/v1alpha2 v1alpha1",
        "NodeResourceTopologyMatch knows no NUMA zones.",
    ),
    _optional(
        "AppGroup",
        "appgroup.diktyo.x-k8s.io/v1alpha1",
        "NetworkOverhead and TopologicalSort know no workloads of applications.",
    ),
    _optional("NetworkTopology", "networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkOverhead knows no network costs."),
    _optional("SeccompProfile", "security-profiles-operator.x-k8s.io/v1beta1", "SySched knows no seccomp profiles."),
    # Of those who decide before or after the scheduler.
    _optional("Workload.kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2 v1beta1", "It is not named what Kueue waits for."),
    _optional("LocalQueue", "kueue.x-k8s.io/v1beta2 v1beta1", "The ClusterQueue of a workload of Kueue is not named."),
    _optional("ClusterQueue", "kueue.x-k8s.io/v1beta2 v1beta1", "The use of Kueue's quotas is unknown."),
    _optional("ResourceFlavor", "kueue.x-k8s.io/v1beta2 v1beta1", "The topologies of Kueue's flavors are unknown."),
    _optional("Cohort", "kueue.x-k8s.io/v1beta2 v1beta1 v1alpha1", "What Kueue's cohorts lend is unknown."),
    _optional("AdmissionCheck", "kueue.x-k8s.io/v1beta2 v1beta1", "The owners of Kueue's checks are not named."),
    _optional("NodePool", "karpenter.sh/v1 v1beta1", "The limits of Karpenter's node pools are unknown."),
    _optional("NodeClaim", "karpenter.sh/v1 v1beta1", "It is unknown how far the nodes are that Karpenter launches."),
    _optional(
        "ProvisioningRequest", "autoscaling.x-k8s.io/v1 v1beta1", "The state of a requested capacity is unknown."
    ),
    WatchedKind(
        "ConfigMap",
        "/api/v1/namespaces/kube-system/configmaps",
        False,
        "The node groups of cluster-autoscaler are unknown.",
        "metadata.name=cluster-autoscaler-status",
        True,
    ),
    _optional("JobSet", "jobset.x-k8s.io/v1alpha2", "It is unknown why a JobSet creates no pods."),
    _optional("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "The workers that wait for a leader are not counted."),
    _optional("PodGroup.scheduling.volcano.sh", "scheduling.volcano.sh/v1beta1", "Volcano's pod groups are unknown."),
    _optional("Queue.scheduling.volcano.sh", "scheduling.volcano.sh/v1beta1", "Volcano's queues are unknown."),
    _optional("PodGroup.scheduling.run.ai", "scheduling.run.ai/v2alpha2", "KAI's pod groups are unknown."),
    _optional("Queue.scheduling.run.ai", "scheduling.run.ai/v2", "KAI's queues are unknown."),
    _watched("ResourceQuota", "v1", "A quota that refuses new pods is not named."),
    _watched("LimitRange", "v1", "The default requests of new pods are unknown."),
    _watched("Deployment", "apps/v1", "The pods that a deployment lacks are not counted."),
    _watched("DaemonSet", "apps/v1", "The pods that a daemon set lacks are not counted."),
    _watched("Job", "batch/v1", "The pods that a job lacks are not counted."),
    _optional("CronJob", "batch/v1", "It is unknown why a cron job creates no jobs."),
    _watched(
        "Event",
        "v1",
        "Refusals by quotas, preemptions and the scheduler's earlier messages are not shown.",
        selector=",".join(f"reason!={reason}" for reason in _OTHER_REASONS),
    ),
)
KINDS: dict[str, WatchedKind] = {kind.kind: kind for kind in _TABLE}
_BY_GROUP = {(kind.kind.partition(".")[0], group): kind.kind for kind in _TABLE for group in kind.groups}


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
