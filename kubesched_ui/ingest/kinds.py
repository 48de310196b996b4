"""The kinds that are stored, with all API groups that served them, and their names in files and exports."""

from dataclasses import dataclass

from scheduler_core.live.kinds import KINDS as WATCHED
from scheduler_core.live.neighbours import AUTOSCALER_STATUS
from scheduler_core.stations.extra_kinds import EXTRA


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as stored. `groups`: the API groups that have ever served it; all versions of these are read. `name`:
    includes the group if another kind has the same name."""

    name: str
    api_version: str
    namespaced: bool
    groups: tuple[str, ...]

    @property
    def served(self) -> str:
        """The kind as objects spell it."""
        return self.name.partition(".")[0]


POD_GROUP = "PodGroup.scheduling.k8s.io"


def _kinds(api_version: str, *names: str, namespaced: bool = True, also: tuple[str, ...] = ()) -> dict[str, Kind]:
    group = api_version.rpartition("/")[0]
    return {name: Kind(name, api_version, namespaced, (group, *also)) for name in names}


KINDS: dict[str, Kind] = {
    **_kinds("v1", "Node", "Namespace", "PersistentVolume", namespaced=False),
    **_kinds("v1", "Pod", "Service", "ReplicationController", "PersistentVolumeClaim"),
    **_kinds("v1", "Event", also=("events.k8s.io",)),
    **_kinds("apps/v1", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", also=("extensions",)),
    **_kinds("batch/v1", "Job", "CronJob"),
    **_kinds("policy/v1", "PodDisruptionBudget"),
    **_kinds("scheduling.k8s.io/v1", "PriorityClass", namespaced=False),
    **_kinds("storage.k8s.io/v1", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment", namespaced=False),
    **_kinds("storage.k8s.io/v1", "CSIStorageCapacity"),
    **_kinds("resource.k8s.io/v1", "ResourceClaim", "ResourceClaimTemplate"),
    **_kinds("resource.k8s.io/v1", "DeviceClass", "ResourceSlice", "DeviceTaintRule", namespaced=False),
    **_kinds("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ElasticQuota", also=("scheduling.sigs.k8s.io",)),
    **_kinds("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", namespaced=False),
    **_kinds("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup"),
    **_kinds("networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology"),
    **_kinds("security-profiles-operator.x-k8s.io/v1beta1", "SeccompProfile"),
    **_kinds("metrics.k8s.io/v1beta1", "NodeMetrics", namespaced=False),
    **_kinds("kubesched.dev/v1alpha1", "NodeLoad", namespaced=False),
    **_kinds("scheduling.k8s.io/v1alpha2", POD_GROUP, "Workload"),
}


def _neighbours() -> dict[str, Kind]:
    found = {}
    for name in sorted(EXTRA - KINDS.keys()):
        watched = WATCHED[name]
        version = watched.path.split("/")[3] if watched.group else "v1"
        api_version = f"{watched.group}/{version}" if watched.group else version
        found[name] = Kind(name, api_version, watched.namespaced or name == "ConfigMap", (watched.group,))
    return found


NEIGHBOURS = _neighbours()
"""The kinds that the scheduler does not read, but answers about waits do. Only the fields that they read are stored."""
# Only for clusters that have these: kubectl returns an error for kinds that a server does not know.
DEVICE_KINDS = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices")
GROUP_KINDS = ("podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io")
# Never stored, except the state that cluster-autoscaler publishes: their content is confidential.
PRIVATE = {"Secret", "ConfigMap"}

# Names of files in a cluster-info dump, keys of a simulator export, arguments of `kubectl get`.
_NAMES = {
    "no": "Node", "minions": "Node", "po": "Pod", "ns": "Namespace", "ev": "Event", "secrets": "Secret",
    "configmaps": "ConfigMap", "pv": "PersistentVolume", "pvs": "PersistentVolume", "pvc": "PersistentVolumeClaim",
    "pvcs": "PersistentVolumeClaim", "pdb": "PodDisruptionBudget", "pdbs": "PodDisruptionBudget", "sc": "StorageClass",
    "pc": "PriorityClass", "rs": "ReplicaSet", "rc": "ReplicationController", "sts": "StatefulSet", "ds": "DaemonSet",
}  # fmt: skip
for _name in (name for name in KINDS if "." not in name):
    _lower = _name.lower()
    _NAMES[_lower] = _NAMES[_lower + ("es" if _lower.endswith("s") else "s")] = _name
    if _lower.endswith("y"):
        _NAMES[_lower[:-1] + "ies"] = _name


def named(word: str) -> str:
    """Return the kind for the stem of a file name or the key of an export (`pods`, `replication-controllers`), or
    ""."""
    return _NAMES.get(word.lower().replace("-", "").replace("_", ""), "")


def lookup(name: str, api_version: str) -> Kind | None:
    """Return the kind if it has this API version. `api_version` may be empty if a format omits it."""
    kind = KINDS.get(f"{name}.{api_version.rpartition('/')[0]}") or KINDS.get(name)
    if kind is None or not api_version:
        return kind
    if kind.name in (POD_GROUP, "Workload") and api_version.endswith("/v1alpha1"):
        return None  # in 1.35, groups were part of a Workload
    return kind if api_version.rpartition("/")[0] in kind.groups else None


def neighbour(name: str, api_version: str, key: str) -> Kind | None:
    """Return the kind if it is one of NEIGHBOURS in this API group. `key`: namespace/name of the object."""
    group = api_version.rpartition("/")[0]
    kind = NEIGHBOURS.get(f"{name}.{group}") or NEIGHBOURS.get(name)
    if kind is None or not api_version or group not in kind.groups:
        return None
    return kind if name != "ConfigMap" or key == AUTOSCALER_STATUS else None
