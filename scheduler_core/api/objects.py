"""Kubernetes objects as typed structs: camelCase in JSON, snake_case here.

Only the fields that affect scheduling are declared; all others are ignored. Every object enters through `decode`: the
result is a valid struct, or an InputError that names the object and the field.

Source: k8s.io/api (core/v1, policy/v1, storage/v1, scheduling/v1, apps/v1).
"""

import contextlib
import datetime
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from scheduler_core.api import quantity, text_checks
from scheduler_core.errors import InputError

Quantities = dict[str, str | int | float]
INT32_MAX, INT64_MAX = (1 << 31) - 1, (1 << 63) - 1
TOLERATION_OPERATORS = ("", "Exists", "Equal")
_MIRROR = "kubernetes.io/config.mirror"  # annotation of mirror pods
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Struct(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Base class of all structs: camelCase names in JSON, and defaults for missing fields."""


class OwnerReference(Struct):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]


class Metadata(Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: list[OwnerReference] = []
    resource_version: str = ""
    finalizers: list[str] = []

    @property
    def controller_ref(self) -> OwnerReference | None:
        """The owner that controls the object. Source: apimachinery/pkg/apis/meta/v1/controller_ref.go."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Requirement(Struct):
    """A label selector or node selector requirement: key, operator, values."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(Struct):
    match_labels: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class NodeSelectorTerm(Struct):
    match_expressions: list[Requirement] = []
    match_fields: list[Requirement] = []


class NodeSelector(Struct):
    node_selector_terms: list[NodeSelectorTerm] = []

    @property
    def named_node(self) -> str:
        """The node to which it restricts a pod by its name; "" if there is none."""
        for term in self.node_selector_terms:
            for requirement in term.match_fields:
                if requirement.key == "metadata.name" and requirement.operator == "In" and len(requirement.values) == 1:
                    return requirement.values[0]
        return ""


class PreferredSchedulingTerm(Struct):
    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(Struct):
    required: NodeSelector | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[PreferredSchedulingTerm] = msgspec.field(default=[], name=_PREFERRED)


class PodAffinityTerm(Struct):
    label_selector: LabelSelector | None = None
    namespaces: list[str] = []
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(Struct):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(Struct):
    required: list[PodAffinityTerm] = msgspec.field(default=[], name=_REQUIRED)
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(default=[], name=_PREFERRED)


class Affinity(Struct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Taint(Struct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class Resources(Struct):
    requests: Quantities = {}
    limits: Quantities = {}
    claims: list[dict[str, Any]] = []


class ContainerPort(Struct):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class RestartRule(Struct):
    action: str = ""


class SeccompProfileSource(Struct):
    type: str = ""
    localhost_profile: str = ""


class SecurityContext(Struct):
    """Of a pod or a container: what a plugin of scheduler-plugins reads."""

    seccomp_profile: SeccompProfileSource | None = None


class Container(Struct):
    name: str = ""
    image: str = ""
    resources: Resources = msgspec.field(default_factory=Resources)
    ports: list[ContainerPort] = []
    restart_policy: str = ""
    restart_policy_rules: list[RestartRule] = []
    security_context: SecurityContext | None = None


class TopologySpreadConstraint(Struct):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: list[str] = []


class ClaimName(Struct):
    claim_name: str = ""
    read_only: bool = False


class PersistentVolumeClaimSpec(Struct):
    access_modes: list[str] = []
    resources: Resources = msgspec.field(default_factory=Resources)
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = ""
    volume_attributes_class_name: str = ""
    selector: LabelSelector | None = None


class EphemeralVolume(Struct):
    volume_claim_template: dict[str, Any] | None = None


class GCEPersistentDisk(Struct):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class AzureDisk(Struct):
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")


class ISCSI(Struct):
    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RBD(Struct):
    monitors: list[str] = []
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class CSISource(Struct):
    driver: str = ""
    volume_handle: str = ""


class VolumeSource(Struct):
    """The common fields of a pod's volume and a PersistentVolume, as far as the scheduler uses them."""

    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    cinder: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None


class ImageVolume(Struct):
    reference: str = ""


class Volume(VolumeSource):
    name: str = ""
    persistent_volume_claim: ClaimName | None = None
    ephemeral: EphemeralVolume | None = None
    config_map: dict[str, Any] | None = None
    secret: dict[str, Any] | None = None
    downward_api: dict[str, Any] | None = msgspec.field(default=None, name="downwardAPI")
    projected: dict[str, Any] | None = None
    image: ImageVolume | None = None
    # used only to distinguish pods
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    nfs: dict[str, Any] | None = None
    csi: dict[str, Any] | None = None


class Named(Struct):
    name: str = ""


class PodResourceClaim(Named):
    """A ResourceClaim of a pod: an existing one, or one created from a template."""

    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Named):
    """The ResourceClaim that was created for a pod; None if none was needed."""

    resource_claim_name: str | None = None


class SchedulingGroup(Struct):
    pod_group_name: str = ""


class PodSpec(Struct):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: Quantities = {}
    resources: Resources | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: list[Named] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    volumes: list[Volume] = []
    resource_claims: list[PodResourceClaim] = []
    host_network: bool = False
    host_users: bool | None = None
    scheduling_group: SchedulingGroup | None = None
    security_context: SecurityContext | None = None
    termination_grace_period_seconds: int | None = None


class Condition(Struct):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodCondition(Condition):
    last_transition_time: str | None = None


class ContainerWaiting(Struct):
    reason: str = ""
    message: str = ""


class ContainerState(Struct):
    waiting: ContainerWaiting | None = None


class ContainerStatus(Struct):
    name: str = ""
    state: ContainerState | None = None
    allocated_resources: Quantities = {}
    resources: Resources | None = None


class PodStatus(Struct):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: str = ""
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []
    resize: str = ""
    resource_claim_statuses: list[PodResourceClaimStatus] = []


_NO_STATUS = PodStatus()


class Object(Struct):
    """Base class of objects: metadata, and a key that is unique within its kind."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` of an object without a namespace."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name

    def check(self, where: str) -> None:
        """Validate the object as the API server does, and set defaults. Raises InputError for `where`."""

    @property
    def typed(self) -> bool:
        """Whether a user wrote the object and no API server stored it: a stored object has a uid."""
        return not self.metadata.uid


class Pod(Object):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def priority(self) -> int:
        return self.spec.priority or 0

    @property
    def typed(self) -> bool:
        """Whether a user wrote the pod. A pod with a status comes from a cluster, even if its uid was removed."""
        return not self.metadata.uid and self.status == _NO_STATUS

    @property
    def terminated(self) -> bool:
        """Whether the pod succeeded or failed, so that it no longer counts on its node."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def unschedulable_message(self) -> str:
        """The message of the condition PodScheduled if its status is False, else ""."""
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                return condition.message
        return ""

    @property
    def placed_by(self) -> Literal["", "kubelet", "DaemonSet controller"]:
        """Who placed the pod on its node, if no scheduler did; such a pod never moves. "" for a scheduler.

        The kubelet places static pods, and their mirror pods are in the API. The DaemonSet controller placed its pods
        before Kubernetes 1.12; later it gives each a node affinity to its node, and kube-scheduler places it.
        Source: pkg/kubelet/types/pod_update.go (IsMirrorPod), pkg/controller/daemon/util/daemonset_util.go.
        """
        kinds = {owner.kind for owner in self.metadata.owner_references}
        if _MIRROR in self.metadata.annotations or "Node" in kinds:
            return "kubelet"
        if "DaemonSet" in kinds and self.spec.node_name and not _selects_by_name(self.spec.affinity):
            return "DaemonSet controller"
        return ""

    @property
    def stays_in_drain(self) -> bool:
        """Whether a drain skips the pod: a static pod, or one of a DaemonSet.

        The DaemonSet is the pod's controller and of Kubernetes itself, not of another API group. With --force, kubectl
        evicts the pods of a DaemonSet that does not exist. Snapshots often lack DaemonSets, so here they count as
        existing. References of old clusters are of extensions/v1beta1; those of files may lack the group.
        Source: staging/src/k8s.io/kubectl/pkg/drain/filters.go (mirrorPodFilter, daemonSetFilter).
        """
        if self.placed_by == "kubelet":
            return True
        owner = self.metadata.controller_ref
        return owner is not None and owner.kind == "DaemonSet" and owner.group in ("", "apps", "extensions")

    @property
    def created_again(self) -> bool:
        """Whether a controller creates the pod again after its deletion, possibly on another node. For a pod that is
        being deleted, it already has."""
        deleting = bool(self.metadata.deletion_timestamp)
        return self.metadata.controller_ref is not None and not self.stays_in_drain and not deleting

    def check(self, where: str) -> None:
        check_pod_spec(self.spec, where)
        check_pod_status(self.status, where)


def check_pod_spec(spec: PodSpec, where: str) -> None:
    """Validate a spec as the API server does, except for its volumes. Raises InputError for `where`."""
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            at = f"spec.{field}[{i}]"
            _check_resources(container.resources, where, f"{at}.resources")
            for j, port in enumerate(container.ports):
                check_number(port.host_port, 0, 65535, where, f"{at}.ports[{j}].hostPort")
    check_quantities(spec.overhead, where, "spec.overhead")
    if spec.resources is not None:
        _check_resources(spec.resources, where, "spec.resources")
    if spec.priority is not None and not -(1 << 31) <= spec.priority < 1 << 31:
        raise InputError(where, "spec.priority", f"must fit 32 bits, got {spec.priority}")
    check_choice(spec.preemption_policy, ("", "Never", "PreemptLowerPriority"), where, "spec.preemptionPolicy")
    for i, toleration in enumerate(spec.tolerations):
        check_choice(toleration.operator, TOLERATION_OPERATORS, where, f"spec.tolerations[{i}].operator")
    for i, constraint in enumerate(spec.topology_spread_constraints):
        _check_spread(constraint, where, f"spec.topologySpreadConstraints[{i}]")
    if spec.affinity is not None:
        _check_affinity(spec.affinity, where)


def check_pod_status(status: PodStatus, where: str) -> None:
    """Validate a status as far as the scheduler reads it. Raises InputError for `where`."""
    for field, statuses in (
        ("containerStatuses", status.container_statuses),
        ("initContainerStatuses", status.init_container_statuses),
    ):
        for i, one in enumerate(statuses):
            check_quantities(one.allocated_resources, where, f"status.{field}[{i}].allocatedResources")
            if one.resources is not None:
                check_quantities(one.resources.requests, where, f"status.{field}[{i}].resources.requests")
    timestamp(status.start_time, where, "status.startTime")


class NodeSpec(Struct):
    unschedulable: bool = False
    taints: list[Taint] = []
    provider_id: str = msgspec.field(default="", name="providerID")


class ContainerImage(Struct):
    names: list[str] = []
    size_bytes: int = 0


class NodeStatus(Struct):
    allocatable: Quantities = {}
    capacity: Quantities = {}
    images: list[ContainerImage] = []
    conditions: list[Condition] = []
    volumes_attached: list[dict[str, Any]] = []
    declared_features: list[str] = []


NOT_READY_TAINTS = tuple(f"node.kubernetes.io/{what}" for what in ("not-ready", "unreachable", "out-of-service"))


class Node(Object):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)

    @property
    def ready(self) -> bool:
        """Whether the node is ready by its taints and its Ready condition. A missing condition counts as ready."""
        if any(taint.key in NOT_READY_TAINTS for taint in self.spec.taints):
            return False
        return all(condition.status == "True" for condition in self.status.conditions if condition.type == "Ready")

    def check(self, where: str) -> None:
        check_quantities(self.status.allocatable, where, "status.allocatable")
        check_quantities(self.status.capacity, where, "status.capacity")
        for i, taint in enumerate(self.spec.taints):
            check_choice(taint.effect, _TAINT_EFFECTS, where, f"spec.taints[{i}].effect")
        for i, image in enumerate(self.status.images):
            check_number(image.size_bytes, 0, INT64_MAX, where, f"status.images[{i}].sizeBytes")


class Namespace(Object):
    pass


class ServiceSpec(Struct):
    selector: dict[str, str] = {}


class Service(Object):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


class ReplicationController(Object):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


class WorkloadSpec(Struct):
    selector: LabelSelector | None = None
    replicas: int | None = None
    pod_management_policy: str = ""  # of a StatefulSet


class WorkloadStatus(Struct):
    """The condition ReplicaFailure has the message of a quota that refuses pods."""

    replicas: int = 0
    ready_replicas: int = 0
    conditions: list[Condition] = []


class SelectorWorkload(Object):
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: WorkloadStatus = msgspec.field(default_factory=WorkloadStatus)

    def check(self, where: str) -> None:
        _check_selector(self.spec.selector, where, "spec.selector")


class ReplicaSet(SelectorWorkload):
    pass


class StatefulSet(SelectorWorkload):
    pass


class ObjectReference(Struct):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Struct):
    required: NodeSelector | None = None


class PersistentVolumeSpec(VolumeSource):
    access_modes: list[str] = []
    capacity: Quantities = {}
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str = ""
    volume_attributes_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None


class Phase(Struct):
    phase: str = ""


class PersistentVolume(Object):
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: Phase = msgspec.field(default_factory=Phase)

    def check(self, where: str) -> None:
        check_quantities(self.spec.capacity, where, "spec.capacity")
        affinity = self.spec.node_affinity
        if affinity is not None and affinity.required is not None:
            check_node_terms(
                affinity.required.node_selector_terms, where, "spec.nodeAffinity.required.nodeSelectorTerms"
            )


class PersistentVolumeClaim(Object):
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: Phase = msgspec.field(default_factory=Phase)

    def check(self, where: str) -> None:
        check_quantities(self.spec.resources.requests, where, "spec.resources.requests")
        _check_selector(self.spec.selector, where, "spec.selector")


class TopologyLabelRequirement(Struct):
    key: str = ""
    values: list[str] = []


class TopologySelectorTerm(Struct):
    match_label_expressions: list[TopologyLabelRequirement] = []


class StorageClass(Object):
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologySelectorTerm] = []

    def check(self, where: str) -> None:
        check_choice(self.volume_binding_mode, ("Immediate", "WaitForFirstConsumer"), where, "volumeBindingMode")


class VolumeNodeResources(Struct):
    count: int | None = None


class CSINodeDriver(Struct):
    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: list[str] = []
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct):
    drivers: list[CSINodeDriver] = []


class CSINode(Object):
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Struct):
    storage_capacity: bool = False
    attach_required: bool = True
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(Object):
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Object):
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None

    def check(self, where: str) -> None:
        amounts = {"capacity": self.capacity, "maximumVolumeSize": self.maximum_volume_size}
        check_quantities({k: v for k, v in amounts.items() if v is not None}, where, "")
        _check_selector(self.node_topology, where, "nodeTopology")


class VolumeAttachmentSource(Struct):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Struct):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = msgspec.field(default_factory=VolumeAttachmentSource)


class VolumeAttachmentStatus(Struct):
    """`attached`: true if the status is not known."""

    attached: bool = True


class VolumeAttachment(Object):
    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = msgspec.field(default_factory=VolumeAttachmentStatus)


class PodDisruptionBudgetSpec(Struct):
    selector: LabelSelector | None = None
    min_available: str | int | None = None
    max_unavailable: str | int | None = None


class PodDisruptionBudgetStatus(Struct):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Object):
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)

    def check(self, where: str) -> None:
        _check_selector(self.spec.selector, where, "spec.selector")


class PriorityClass(Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class PodGroupSpec(Struct):
    min_member: int = 0
    min_resources: Quantities = {}
    schedule_timeout_seconds: int | None = None


class PodGroup(Object):
    """The PodGroup of sigs.k8s.io/scheduler-plugins, for its plugin Coscheduling."""

    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)

    def check(self, where: str) -> None:
        check_quantities(self.spec.min_resources, where, "spec.minResources")
        check_number(self.spec.min_member, 0, INT32_MAX, where, "spec.minMember")
        check_number(self.spec.schedule_timeout_seconds, 0, INT32_MAX, where, "spec.scheduleTimeoutSeconds")


KINDS: dict[str, type[Object]] = {}
"""The kinds by name: `Kind`, or `Kind.group` if another kind has the same name."""
GROUPS: dict[str, tuple[str, ...]] = {}  # kind -> its API groups
VERSIONS: dict[str, str] = {}  # of kinds whose version is not v1
_NAMES: dict[type[Object], str] = {}
_CLUSTER_SCOPED: set[type[Object]] = set()


def register(*kinds: type[Object], groups: tuple[str, ...] = ("",), namespaced: bool = True) -> None:
    """Register kinds of one API group. `groups`: the group, and others that have served the kinds."""
    for kind in kinds:
        KINDS[kind.__name__], GROUPS[kind.__name__], _NAMES[kind] = kind, groups, kind.__name__
    if not namespaced:
        cluster_scoped(*kinds)


def cluster_scoped(*kinds: type[Object]) -> None:
    """Say that objects of these kinds have no namespace."""
    _CLUSTER_SCOPED.update(kinds)


def is_namespaced(kind: type[Object] | None) -> bool:
    """Return whether objects of a kind have a namespace. None: an unknown kind, which has one."""
    return kind not in _CLUSTER_SCOPED


def register_namesake(kind: type[Object], group: str, version: str) -> None:
    """Register a namespaced kind with the name of a kind in another API group, as `Kind.group`."""
    name = _NAMES[kind] = f"{kind.__name__}.{group}"
    KINDS[name], GROUPS[name], VERSIONS[name] = kind, (group,), version


def kind_of(cls: type[Object]) -> str:
    """Return the name of a kind in KINDS."""
    return _NAMES.get(cls, cls.__name__)


_STORAGE = ("storage.k8s.io",)
register(Node, Namespace, PersistentVolume, namespaced=False)
register(Pod, Service, ReplicationController, PersistentVolumeClaim)
register(ReplicaSet, groups=("apps", "extensions"))
register(StatefulSet, groups=("apps",))
register(StorageClass, CSINode, CSIDriver, VolumeAttachment, groups=_STORAGE, namespaced=False)
register(CSIStorageCapacity, groups=_STORAGE)
register(PodDisruptionBudget, groups=("policy",))
register(PriorityClass, groups=("scheduling.k8s.io",), namespaced=False)
register(PodGroup, groups=("scheduling.x-k8s.io", "scheduling.sigs.k8s.io"))
VERSIONS[PodGroup.__name__] = "v1alpha1"

_T = TypeVar("_T")
_PATH = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$?\.?(.*)`)?$", re.S)
_MAX_LABEL = 4096  # characters; the API server allows 63, and real snapshots keep that limit
_MAX_DEPTH = 100


def describe(raw: object) -> str:
    """Return `Kind namespace/name` of an undecoded object, for errors."""
    if not isinstance(raw, Mapping):
        return f"object of type {type(raw).__name__}"
    kind, metadata = raw.get("kind"), raw.get("metadata")
    kind = kind if isinstance(kind, str) and kind else "object"
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return text_checks.escaped(f"{kind[:64]} without a name")
    namespace = metadata.get("namespace")
    prefix = f"{namespace[:256]}/" if isinstance(namespace, str) and namespace else ""
    return text_checks.escaped(f"{kind[:64]} {prefix}{metadata['name'][:256]}")


def _without_nulls(value: Any, depth: int = 0) -> Any:
    """Return a copy without null members: in Kubernetes, null means missing."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        return {k: _without_nulls(v, depth + 1) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(v, depth + 1) for v in value if v is not None]
    return value


_UNREADABLE = (msgspec.ValidationError, RecursionError, OverflowError, UnicodeEncodeError)


def convert(raw: Any, cls: type[_T], where: str) -> _T:
    """Convert `raw` to `cls`. Raises InputError with `where` and the path of the invalid field."""
    with contextlib.suppress(*_UNREADABLE):
        return msgspec.convert(raw, cls)
    try:
        return msgspec.convert(_without_nulls(raw), cls)
    except _UNREADABLE as error:
        raise _unreadable(where, error) from None


def _unreadable(where: str, error: Exception) -> InputError:
    if isinstance(error, RecursionError):
        return InputError(where, "", "nested too deeply (or circular)")
    match = _PATH.match(str(error))
    problem, path = (match[1], match[2] or "") if match else (str(error), "")
    return InputError(where, path, problem)


def _in_group(api_version: Any, kind: str) -> bool:
    """Whether this is the Kubernetes kind, and not one of another project with the same name.

    An object without apiVersion counts as the Kubernetes kind.
    """
    if not isinstance(api_version, str) or not api_version:
        return True
    return api_version.rpartition("/")[0] in GROUPS[kind]


def decode(raw: Any) -> Object | None:
    """Decode and validate one object; None for a kind that the scheduler does not use.

    Raises InputError naming the object and the field.
    """
    where = describe(raw)
    if not isinstance(raw, Mapping):
        raise InputError(where, "", "expected an object with apiVersion, kind and metadata")
    kind = raw.get("kind")
    if not isinstance(kind, str) or not kind:
        raise InputError(where, "kind", "is missing")
    api_version = raw.get("apiVersion")
    namesake = f"{kind}.{str(api_version).rpartition('/')[0]}"
    kind = namesake if namesake in KINDS else kind
    if kind not in KINDS or not _in_group(api_version, kind):
        return None
    obj = convert(raw, KINDS[kind], where)
    try:
        encoded = msgspec.json.encode(obj)  # refuses what cannot be displayed: half of a surrogate pair, a cycle
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _unreadable(where, error) from None
    validate(obj, where)
    if text_checks.ESCAPED_NUL in encoded:
        text_checks.refuse_nul(msgspec.to_builtins(obj), where)
    return obj


@functools.cache
def _json_decoder(kind: str) -> msgspec.json.Decoder[Object]:
    return msgspec.json.Decoder(KINDS[kind])


def decode_valid(text: bytes, kind: str) -> Object | None:
    """Decode the JSON of an object that `decode` has accepted before. `kind`: in KINDS.

    Decodes directly to the struct and validates nothing else, in a fifth of the time. Raises InputError.
    """
    try:
        obj = _json_decoder(kind).decode(text)
    except msgspec.ValidationError:
        return decode(msgspec.json.decode(text))  # it contains nulls
    if not obj.metadata.namespace and is_namespaced(type(obj)):
        obj.metadata.namespace = "default"
    return obj


def validate(obj: Object, where: str) -> None:
    """Validate an object of the right types as the API server does, and set defaults. Raises InputError for `where`."""
    check_metadata(obj, where)
    obj.check(where)


def decode_all(raws: Iterable[Any]) -> list[Object]:
    """Decode all objects that the scheduler uses, in order. Raises InputError, also if two have the same name."""
    objects: list[Object] = []
    seen: set[tuple[type[Object], str]] = set()
    for raw in raws:
        obj = decode(raw)
        if obj is None:
            continue
        if (type(obj), obj.key) in seen:
            raise InputError(describe(raw), "metadata.name", "occurs twice")
        seen.add((type(obj), obj.key))
        objects.append(obj)
    return objects


def timestamp(text: str, where: str = "object", field: str = "timestamp") -> float:
    """Return the seconds since 1970 of an RFC 3339 time; 0 for "". Raises InputError."""
    if not text:
        return 0.0
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise InputError(where, field, f"not a time: {text[:64]!r}") from None


# ---------------------------------------------------------------- API-server validation


def check_number(number: int | None, least: int, most: int, where: str, field: str) -> None:
    """Raise InputError if the number is given and outside least..most."""
    if number is not None and not least <= number <= most:
        bounds = f"in {least}..{most}" if most < INT32_MAX else f"{least} or more"
        raise InputError(where, field, f"must be {bounds}, got {number}")


def check_choice(text: str, choices: Iterable[str], where: str, field: str) -> None:
    """Raise InputError if the text is not one of the choices; "" stands for a missing field."""
    if text not in choices:
        raise InputError(where, field, f"{text[:63]!r} is not one of {', '.join(filter(None, choices))}")


def check_metadata(obj: Object, where: str) -> None:
    """Validate the metadata of an object as the API server does, and set its namespace. Raises InputError for
    `where`."""
    meta = obj.metadata
    if not meta.name:
        raise InputError(where, "metadata.name", "is missing")
    if len(meta.name) > 253:
        raise InputError(where, "metadata.name", "is longer than 253 characters")
    if not _is_name(meta.name) or not _is_name(meta.namespace):
        field, text = ("name", meta.name) if not _is_name(meta.name) else ("namespace", meta.namespace)
        raise InputError(where, f"metadata.{field}", f"{text[:63]!r} cannot be a name")
    if not meta.namespace and is_namespaced(type(obj)):
        meta.namespace = "default"
    for key, text in meta.labels.items():
        if len(key) > _MAX_LABEL or len(text) > _MAX_LABEL:
            raise InputError(where, f"metadata.labels[{key[:63]!r}]", f"is longer than {_MAX_LABEL} characters")
    if meta.creation_timestamp:
        timestamp(meta.creation_timestamp, where, "metadata.creationTimestamp")
    if meta.deletion_timestamp:
        timestamp(meta.deletion_timestamp, where, "metadata.deletionTimestamp")


def _is_name(text: str) -> bool:
    """Return whether a name is a valid path segment, as the API server requires, or empty."""
    return "/" not in text and "%" not in text and text not in (".", "..") and text.isprintable()


def _check_resources(resources: Resources, where: str, field: str) -> None:
    check_quantities(resources.requests, where, f"{field}.requests")
    check_quantities(resources.limits, where, f"{field}.limits")


def check_quantities(quantities: Quantities, where: str, field: str) -> None:
    for name, text in quantities.items():
        try:
            negative = quantity.is_negative(text)
        except quantity.QuantityError as error:
            raise InputError(where, f"{field}[{name[:63]!r}]", str(error)) from None
        if negative:
            raise InputError(where, f"{field}[{name[:63]!r}]", f"must not be negative, got {text}")
        if isinstance(text, int) and text > quantity.MAX_INT64:
            quantities[name] = str(text)  # MessagePack has no such integers


_SELECTOR_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
_NODE_OPERATORS = {**_SELECTOR_OPERATORS, "Gt": True, "Lt": True}


def _check_requirement(req: Requirement, operators: Mapping[str, bool], where: str, field: str) -> None:
    if not req.key:
        raise InputError(where, f"{field}.key", "is missing")
    wants_values = operators.get(req.operator)
    if wants_values is None:
        raise InputError(where, f"{field}.operator", f"{req.operator[:63]!r} is not one of {', '.join(operators)}")
    if wants_values != bool(req.values):
        state = "must not be empty" if wants_values else "must be empty"
        raise InputError(where, f"{field}.values", f"{state} for operator {req.operator}")
    if req.operator in ("Gt", "Lt") and (len(req.values) != 1 or not re.fullmatch(r"[+-]?[0-9]{1,19}", req.values[0])):
        raise InputError(where, f"{field}.values", f"must be one integer for operator {req.operator}")


def _check_selector(selector: LabelSelector | None, where: str, field: str) -> None:
    for i, req in enumerate(selector.match_expressions if selector else ()):
        _check_requirement(req, _SELECTOR_OPERATORS, where, f"{field}.matchExpressions[{i}]")


def check_node_terms(terms: Iterable[NodeSelectorTerm], where: str, field: str) -> None:
    """Validate node selector terms as the API server does. Raises InputError."""
    for i, term in enumerate(terms):
        for j, req in enumerate(term.match_expressions):
            _check_requirement(req, _NODE_OPERATORS, where, f"{field}[{i}].matchExpressions[{j}]")
        for j, req in enumerate(term.match_fields):
            path = f"{field}[{i}].matchFields[{j}]"
            _check_requirement(req, {"In": True, "NotIn": True}, where, path)
            if req.key != "metadata.name" or len(req.values) != 1:
                raise InputError(where, path, "only metadata.name with exactly one value is supported")


def _check_affinity_term(term: PodAffinityTerm, where: str, field: str) -> None:
    if not term.topology_key:
        raise InputError(where, f"{field}.topologyKey", "is missing")
    _check_selector(term.label_selector, where, f"{field}.labelSelector")
    _check_selector(term.namespace_selector, where, f"{field}.namespaceSelector")


def _check_spread(constraint: TopologySpreadConstraint, where: str, field: str) -> None:
    check_number(constraint.max_skew, 1, INT32_MAX, where, f"{field}.maxSkew")
    check_number(constraint.min_domains, 1, INT32_MAX, where, f"{field}.minDomains")
    if not constraint.topology_key:
        raise InputError(where, f"{field}.topologyKey", "is missing")
    actions = ("DoNotSchedule", "ScheduleAnyway")
    check_choice(constraint.when_unsatisfiable, actions, where, f"{field}.whenUnsatisfiable")
    check_choice(constraint.node_affinity_policy, ("", "Honor", "Ignore"), where, f"{field}.nodeAffinityPolicy")
    check_choice(constraint.node_taints_policy, ("", "Honor", "Ignore"), where, f"{field}.nodeTaintsPolicy")
    _check_selector(constraint.label_selector, where, f"{field}.labelSelector")


def _selects_by_name(affinity: Affinity | None) -> bool:
    """Whether a required node affinity selects nodes by name, as that of a DaemonSet's pod does."""
    node = affinity.node_affinity if affinity is not None else None
    terms = node.required.node_selector_terms if node is not None and node.required is not None else ()
    return any(term.match_fields for term in terms)


def _check_affinity(affinity: Affinity, where: str) -> None:
    node, required, preferred = affinity.node_affinity, _REQUIRED, _PREFERRED
    if node is not None:
        at = "spec.affinity.nodeAffinity"
        if node.required is not None:
            check_node_terms(node.required.node_selector_terms, where, f"{at}.{required}.nodeSelectorTerms")
        for i, preference in enumerate(node.preferred):
            check_number(preference.weight, 1, 100, where, f"{at}.{preferred}[{i}].weight")
            check_node_terms([preference.preference], where, f"{at}.{preferred}[{i}].preference")
    for name, pods in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if pods is None:
            continue
        for i, term in enumerate(pods.required):
            _check_affinity_term(term, where, f"spec.affinity.{name}.{required}[{i}]")
        for i, weighted in enumerate(pods.preferred):
            at = f"spec.affinity.{name}.{preferred}[{i}]"
            check_number(weighted.weight, 1, 100, where, f"{at}.weight")
            _check_affinity_term(weighted.pod_affinity_term, where, f"{at}.podAffinityTerm")
