"""The kinds that plugins of scheduler-plugins read, besides their PodGroup.

Only the fields that affect scheduling are declared.

Source: sigs.k8s.io/scheduler-plugins (apis/scheduling/v1alpha1), k8stopologyawareschedwg/noderesourcetopology-api,
diktyo-io/appgroup-api, diktyo-io/networktopology-api, sigs.k8s.io/security-profiles-operator.
"""

from collections.abc import Mapping

import msgspec

from scheduler_core.api.objects import VERSIONS, Object, Quantities, Struct, check_quantities, register
from scheduler_core.errors import InputError

MAX_METRICS = 100  # of a node
MAX_LOAD = 1_000_000  # percent


class ElasticQuotaSpec(Struct):
    min: Quantities | None = None
    max: Quantities | None = None


class ElasticQuota(Object):
    """What the pods of a namespace are guaranteed (`min`) and may use at most (`max`), for CapacityScheduling."""

    spec: ElasticQuotaSpec = msgspec.field(default_factory=ElasticQuotaSpec)

    def check(self, where: str) -> None:
        check_quantities(self.spec.min or {}, where, "spec.min")
        check_quantities(self.spec.max or {}, where, "spec.max")


class Attribute(Struct):
    name: str = ""
    value: str = ""


class ZoneCost(Struct):
    name: str = ""
    value: int = 0


class ZoneResource(Struct):
    """Only `available` decides; pages show it as a part of `allocatable`, or else of `capacity`."""

    name: str = ""
    available: str | int | float = 0
    allocatable: str | int | float | None = None
    capacity: str | int | float | None = None


class Zone(Struct):
    name: str = ""
    type: str = ""
    costs: list[ZoneCost] = []
    resources: list[ZoneResource] = []


class NodeResourceTopology(Object):
    """The NUMA zones of the node with the same name, for NodeResourceTopologyMatch."""

    topology_policies: list[str] = []
    zones: list[Zone] = []
    attributes: list[Attribute] = []

    def check(self, where: str) -> None:
        for i, zone in enumerate(self.zones):
            for j, resource in enumerate(zone.resources):
                field = f"zones[{i}].resources[{j}]"
                check_quantities({"available": resource.available}, where, field)
                for name in ("allocatable", "capacity"):
                    if (given := getattr(resource, name)) is not None:
                        check_quantities({name: given}, where, field)


class AppGroupWorkloadInfo(Struct):
    selector: str = ""


class Dependency(Struct):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    max_network_cost: int = 0


class AppGroupWorkload(Struct):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    dependencies: list[Dependency] = []


class AppGroupSpec(Struct):
    workloads: list[AppGroupWorkload] = []


class TopologyOrderEntry(Struct):
    workload: AppGroupWorkloadInfo = msgspec.field(default_factory=AppGroupWorkloadInfo)
    index: int = 0


class AppGroupStatus(Struct):
    topology_order: list[TopologyOrderEntry] = []


class AppGroup(Object):
    """The workloads of an application and which of them communicate, for NetworkOverhead and TopologicalSort."""

    spec: AppGroupSpec = msgspec.field(default_factory=AppGroupSpec)
    status: AppGroupStatus = msgspec.field(default_factory=AppGroupStatus)


class NetworkCost(Struct):
    destination: str = ""
    network_cost: int = 0


class Origin(Struct):
    origin: str = ""
    cost_list: list[NetworkCost] = []


class TopologyCosts(Struct):
    topology_key: str = ""
    origin_list: list[Origin] = []


class NetworkWeights(Struct):
    name: str = ""
    topology_list: list[TopologyCosts] = []


class NetworkTopologySpec(Struct):
    weights: list[NetworkWeights] = []


class NetworkTopology(Object):
    """The network costs between regions and between zones, for NetworkOverhead."""

    spec: NetworkTopologySpec = msgspec.field(default_factory=NetworkTopologySpec)


class SystemCalls(Struct):
    names: list[str] = []
    action: str = ""


class SeccompProfileSpec(Struct):
    syscalls: list[SystemCalls] = []


class SeccompProfile(Object):
    """The system calls that a seccomp profile allows, for SySched."""

    spec: SeccompProfileSpec = msgspec.field(default_factory=SeccompProfileSpec)


class NodeMetrics(Object):
    """What a node uses, as the Metrics API serves it, for the Trimaran plugins."""

    timestamp: str = ""
    usage: Quantities = {}

    def check(self, where: str) -> None:
        check_quantities(self.usage, where, "usage")


class LoadMetric(Struct):
    """A measurement in percent of what a node has."""

    type: str = ""
    operator: str = ""
    value: float = 0.0


class NodeLoad(Object):
    """What a load watcher measured of a node, for the Trimaran plugins. It takes precedence over NodeMetrics."""

    metrics: list[LoadMetric] = []

    def check(self, where: str) -> None:
        if len(self.metrics) > MAX_METRICS:
            raise InputError(where, "metrics", f"has {len(self.metrics):,} items, more than {MAX_METRICS}")
        for i, metric in enumerate(self.metrics):
            if not 0 <= metric.value <= MAX_LOAD:
                raise InputError(
                    where, f"metrics[{i}].value", f"must be 0 to {MAX_LOAD:,} (percent), got {metric.value:g}"
                )


register(ElasticQuota, groups=("scheduling.x-k8s.io", "scheduling.sigs.k8s.io"))
register(NodeResourceTopology, groups=("topology.node.k8s.io",), namespaced=False)
register(AppGroup, groups=("appgroup.diktyo.x-k8s.io",))
register(NetworkTopology, groups=("networktopology.diktyo.x-k8s.io",))
register(SeccompProfile, groups=("security-profiles-operator.x-k8s.io",))
register(NodeMetrics, groups=("metrics.k8s.io",), namespaced=False)
register(NodeLoad, groups=("kubesched.dev",), namespaced=False)
VERSIONS.update(
    ElasticQuota="v1alpha1",
    NodeResourceTopology="v1alpha2",
    AppGroup="v1alpha1",
    NetworkTopology="v1alpha1",
    SeccompProfile="v1beta1",
    NodeMetrics="v1beta1",
    NodeLoad="v1alpha1",
)

_LOAD = {"NodeMetrics": "nodes.metrics.k8s.io"}
READS: Mapping[str, Mapping[str, str]] = {
    "CapacityScheduling": {"ElasticQuota": "elasticquotas.scheduling.x-k8s.io"},
    "Coscheduling": {"PodGroup": "podgroups.scheduling.x-k8s.io"},
    "LoadVariationRiskBalancing": _LOAD,
    "LowRiskOverCommitment": _LOAD,
    "NetworkOverhead": {
        "AppGroup": "appgroups.appgroup.diktyo.x-k8s.io",
        "NetworkTopology": "networktopologies.networktopology.diktyo.x-k8s.io",
    },
    "NodeResourceTopologyMatch": {"NodeResourceTopology": "noderesourcetopologies.topology.node.k8s.io"},
    "Peaks": _LOAD,
    "SySched": {"SeccompProfile": "seccompprofiles.security-profiles-operator.x-k8s.io"},
    "TargetLoadPacking": _LOAD,
    "TopologicalSort": {"AppGroup": "appgroups.appgroup.diktyo.x-k8s.io"},
}
"""Plugin -> the kinds that it reads, with the resource as `kubectl get` accepts it."""
