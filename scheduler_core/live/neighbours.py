"""Objects of the scheduler's neighbours: admission, groups and autoscalers. Only the fields that answers read are kept.

Sources: sigs.k8s.io/kueue (apis/kueue/v1beta1, v1beta2), sigs.k8s.io/karpenter (pkg/apis/v1), k8s.io/autoscaler
(cluster-autoscaler/apis/provisioningrequest), sigs.k8s.io/jobset, sigs.k8s.io/lws, volcano.sh/apis, KAI-Scheduler.
"""

from __future__ import annotations

import msgspec

from scheduler_core.api.objects import (
    Object,
    PodCondition,
    Quantities,
    Requirement,
    Struct,
    Taint,
    cluster_scoped,
)


class ConditionStatus(Struct):
    conditions: list[PodCondition] = []


# ---- Kueue


class TopologyRequest(Struct):
    required: str = ""
    preferred: str = ""


class PodSet(Struct):
    name: str = ""
    count: int = 0
    topology_request: TopologyRequest | None = None


class KueueWorkloadSpec(Struct):
    queue_name: str = ""
    active: bool = True
    priority: int | None = None
    pod_sets: list[PodSet] = []


class KueueAdmission(Struct):
    cluster_queue: str = ""


class AdmissionCheckState(Struct):
    name: str = ""
    state: str = ""
    message: str = ""
    last_transition_time: str | None = None
    retry_count: int | None = None


class RequeueState(Struct):
    count: int | None = None
    requeue_at: str | None = None


class KueueWorkloadStatus(ConditionStatus):
    admission: KueueAdmission | None = None
    admission_checks: list[AdmissionCheckState] = []
    requeue_state: RequeueState | None = None


class KueueWorkload(Object):
    spec: KueueWorkloadSpec = msgspec.field(default_factory=KueueWorkloadSpec)
    status: KueueWorkloadStatus = msgspec.field(default_factory=KueueWorkloadStatus)


class LocalQueueSpec(Struct):
    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueue(Object):
    spec: LocalQueueSpec = msgspec.field(default_factory=LocalQueueSpec)
    status: ConditionStatus = msgspec.field(default_factory=ConditionStatus)


class FlavorResource(Struct):
    """A quota (`nominal_quota` and limits), or the use of one (`total`, `borrowed`)."""

    name: str = ""
    nominal_quota: str | int | float = "0"
    borrowing_limit: str | int | float | None = None
    lending_limit: str | int | float | None = None
    total: str | int | float = "0"
    borrowed: str | int | float = "0"


class FlavorResources(Struct):
    name: str = ""
    resources: list[FlavorResource] = []


class ResourceGroup(Struct):
    flavors: list[FlavorResources] = []


class ClusterQueueSpec(Struct):
    """`cohort`: of v1beta1."""

    resource_groups: list[ResourceGroup] = []
    cohort_name: str = ""
    cohort: str = ""
    stop_policy: str = ""
    queueing_strategy: str = ""


class ClusterQueueStatus(ConditionStatus):
    flavors_reservation: list[FlavorResources] = []


class ClusterQueue(Object):
    spec: ClusterQueueSpec = msgspec.field(default_factory=ClusterQueueSpec)
    status: ClusterQueueStatus = msgspec.field(default_factory=ClusterQueueStatus)


class ResourceFlavorSpec(Struct):
    node_labels: dict[str, str] = {}
    node_taints: list[Taint] = []
    topology_name: str = ""


class ResourceFlavor(Object):
    spec: ResourceFlavorSpec = msgspec.field(default_factory=ResourceFlavorSpec)


class CohortSpec(Struct):
    parent_name: str = ""
    resource_groups: list[ResourceGroup] = []


class Cohort(Object):
    spec: CohortSpec = msgspec.field(default_factory=CohortSpec)


class AdmissionCheckSpec(Struct):
    controller_name: str = ""


class AdmissionCheck(Object):
    spec: AdmissionCheckSpec = msgspec.field(default_factory=AdmissionCheckSpec)
    status: ConditionStatus = msgspec.field(default_factory=ConditionStatus)


# ---- autoscalers


class NodeClassReference(Struct):
    group: str = ""
    kind: str = ""
    name: str = ""


class NodeTemplateSpec(Struct):
    taints: list[Taint] = []
    startup_taints: list[Taint] = []
    requirements: list[Requirement] = []
    node_class_ref: NodeClassReference | None = None


class NodeTemplateMetadata(Struct):
    labels: dict[str, str] = {}


class NodeTemplate(Struct):
    metadata: NodeTemplateMetadata = msgspec.field(default_factory=NodeTemplateMetadata)
    spec: NodeTemplateSpec = msgspec.field(default_factory=NodeTemplateSpec)


class NodePoolSpec(Struct):
    """`replicas`: of a pool with a fixed number of nodes."""

    limits: Quantities = {}
    weight: int | None = None
    replicas: int | None = None
    template: NodeTemplate = msgspec.field(default_factory=NodeTemplate)


class NodePoolStatus(ConditionStatus):
    resources: Quantities = {}


class NodePool(Object):
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)
    status: NodePoolStatus = msgspec.field(default_factory=NodePoolStatus)


class NodeClaimStatus(ConditionStatus):
    node_name: str = ""
    capacity: Quantities = {}
    allocatable: Quantities = {}


class NodeClaim(Object):
    status: NodeClaimStatus = msgspec.field(default_factory=NodeClaimStatus)


class ProvisioningRequestSpec(Struct):
    provisioning_class_name: str = ""


class ProvisioningRequest(Object):
    spec: ProvisioningRequestSpec = msgspec.field(default_factory=ProvisioningRequestSpec)
    status: ConditionStatus = msgspec.field(default_factory=ConditionStatus)


class StatusData(Struct):
    status: str = ""


class AutoscalerStatus(Object):
    """The ConfigMap in which cluster-autoscaler publishes its state. `data.status`: YAML."""

    data: StatusData = msgspec.field(default_factory=StatusData)


# ---- groups


class JobSetSpec(Struct):
    suspend: bool = False


class JobSet(Object):
    spec: JobSetSpec = msgspec.field(default_factory=JobSetSpec)
    status: ConditionStatus = msgspec.field(default_factory=ConditionStatus)


class LeaderWorkerTemplate(Struct):
    size: int | None = None


class LeaderWorkerSetSpec(Struct):
    startup_policy: str = ""
    leader_worker_template: LeaderWorkerTemplate = msgspec.field(default_factory=LeaderWorkerTemplate)


class LeaderWorkerSet(Object):
    spec: LeaderWorkerSetSpec = msgspec.field(default_factory=LeaderWorkerSetSpec)


class ForeignPodGroupSpec(Struct):
    min_member: int = 0
    queue: str = ""


class ForeignPodGroupStatus(ConditionStatus):
    """`scheduling_conditions`: of KAI."""

    phase: str = ""
    scheduling_conditions: list[PodCondition] = []


class ForeignPodGroup(Object):
    """A PodGroup of Volcano or KAI."""

    spec: ForeignPodGroupSpec = msgspec.field(default_factory=ForeignPodGroupSpec)
    status: ForeignPodGroupStatus = msgspec.field(default_factory=ForeignPodGroupStatus)


class QueueStatus(Struct):
    state: str = ""


class Queue(Object):
    """A Queue of Volcano or KAI."""

    status: QueueStatus = msgspec.field(default_factory=QueueStatus)


KUEUE, VOLCANO, KAI = "kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"
AUTOSCALER_STATUS = "kube-system/cluster-autoscaler-status"
"""The only ConfigMap that is ever read."""

TYPES: dict[str, type[Object]] = {
    f"Workload.{KUEUE}": KueueWorkload,
    "LocalQueue": LocalQueue,
    "ClusterQueue": ClusterQueue,
    "ResourceFlavor": ResourceFlavor,
    "Cohort": Cohort,
    "AdmissionCheck": AdmissionCheck,
    "NodePool": NodePool,
    "NodeClaim": NodeClaim,
    "ProvisioningRequest": ProvisioningRequest,
    "ConfigMap": AutoscalerStatus,
    "JobSet": JobSet,
    "LeaderWorkerSet": LeaderWorkerSet,
    f"PodGroup.{VOLCANO}": ForeignPodGroup,
    f"Queue.{VOLCANO}": Queue,
    f"PodGroup.{KAI}": ForeignPodGroup,
    f"Queue.{KAI}": Queue,
}
"""The type of each kind, by its name in `scheduler_core.live.kinds.KINDS`."""
cluster_scoped(ClusterQueue, ResourceFlavor, Cohort, AdmissionCheck, NodePool, NodeClaim, Queue)
