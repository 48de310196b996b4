"""The wordings of FailedScheduling messages: the plugin that uses each, the kind of its cause, and its releases.

The releases follow from `releases/`, whose behaviours say when a wording changed. The releases of other wordings are
from the sources of Kubernetes 1.21 to 1.37 (pkg/scheduler/framework/plugins, pkg/scheduler/framework/preemption).
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from scheduler_core.cluster.formatting import listing
from scheduler_core.explain.ladder import phrase_of
from scheduler_core.framework import causes
from scheduler_core.framework.interface import UNSCHEDULABLE, Status
from scheduler_core.releases import RELEASES, Release
from scheduler_core.releases.catalog import PATCHES, PLUGIN_RELEASES, patch_release
from scheduler_core.releases.versions import is_within, minor_of

OLD_PREFIXES = (
    "node(s) didn't match pod affinity/anti-affinity",
    "node(s) didn't match pod affinity/anti-affinity rules",
)
"""Reasons that InterPodAffinity writes before a second, more specific one."""

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"

Has = Callable[[Release], bool]


@dataclass(frozen=True, slots=True)
class Wording:
    """A wording. `pattern`: of the whole reason. `kind`: of its cause, see docs/answers.md. `has`: whether a release
    uses it. `words`: what it says of nodes, a plural verb first, or of the pod if `about_pod`; "" for the phrase of the
    plugin; a name of a group of `pattern` in braces stands for its text."""

    pattern: re.Pattern[str]
    plugin: str
    kind: str
    has: Has
    words: str = ""
    about_pod: bool = False

    def says(self, reason: str) -> str:
        """Return what a reason with this wording says."""
        if not self.words:
            return phrase_of(self.plugin, Status(UNSCHEDULABLE, (reason,)))
        found = self.pattern.fullmatch(reason)
        return self.words.format(**(found.groupdict() if found else {}))


def _between(since: str = "", until: str = "") -> Has:
    def has(release: Release) -> bool:
        return is_within(release.version, since, until)

    return has


def since(number: str) -> Has:
    """Return whether a release is this one or newer."""
    return _between(number)


def _always(release: Release) -> bool:
    return True


def _names_taint(release: Release) -> bool:
    return release.taint_reason_names_taint


def _literal(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


def _node(plugin: str, kind: str, text: str, has: Has = _always, words: str = "") -> Wording:
    """A reason about nodes that is always the same text."""
    return Wording(_literal(text), plugin, kind, has, words)


def _pod(plugin: str, kind: str, pattern: str, words: str, has: Has = _always) -> Wording:
    """A reason about the whole pod."""
    return Wording(re.compile(pattern, re.S), plugin, kind, has, words, about_pod=True)


_TAINT = r"\{(?P<key>[^:{}]*): ?(?P<value>[^{}]*)\}"
_Q = r'"(?P<name>[^"]*)"'
_PREDICATES: Has = lambda release: release.predicates  # noqa: E731
_CLAIM = "PersistentVolumeClaim"

WORDINGS: tuple[Wording, ...] = (
    _node("NodeUnschedulable", causes.CORDONED, "node(s) were unschedulable"),
    _node(
        "NodeUnschedulable",
        causes.NODE_NOT_READY,
        "node(s) had unknown conditions",
        words="have conditions that are not known",
    ),
    _node("NodeName", causes.NODE_NAME, "node(s) didn't match the requested node name", _between("1.17")),
    _node(
        "NodeName",
        causes.NODE_NAME,
        "node(s) didn't match the requested hostname",
        _between(until="1.20"),
        "are not the node that it names",
    ),
    _node(
        "TaintToleration",
        causes.UNTOLERATED_TAINT,
        "node(s) had taints that the pod didn't tolerate",
        lambda release: not release.taint_reason_reworded and not _names_taint(release),
    ),
    Wording(
        re.compile(rf"node\(s\) had taint {_TAINT}, that the pod didn't tolerate"),
        "TaintToleration",
        causes.UNTOLERATED_TAINT,
        lambda release: not release.taint_reason_reworded and _names_taint(release),
    ),
    Wording(
        re.compile(rf"node\(s\) had untolerated taint {_TAINT}"),
        "TaintToleration",
        causes.UNTOLERATED_TAINT,
        lambda release: release.taint_reason_reworded and _names_taint(release),
    ),
    _node(
        "TaintToleration",
        causes.UNTOLERATED_TAINT,
        "node(s) had untolerated taint(s)",
        lambda release: release.taint_reason_reworded and not _names_taint(release),
    ),
    _node("CheckNodeCondition", causes.NODE_NOT_READY, "node(s) were not ready", _PREDICATES),
    _node("CheckNodeCondition", causes.NODE_NOT_READY, "node(s) had unavailable network", _PREDICATES),
    _node("CheckNodeMemoryPressure", causes.NODE_NOT_READY, "node(s) had memory pressure", _PREDICATES),
    _node("CheckNodeDiskPressure", causes.NODE_NOT_READY, "node(s) had disk pressure", _PREDICATES),
    _node("CheckNodePIDPressure", causes.NODE_NOT_READY, "node(s) had pid pressure", _PREDICATES),
    _node(
        "NodeAffinity",
        causes.NODE_SELECTOR,
        "node(s) didn't match Pod's node affinity/selector",
        lambda release: release.node_affinity_reason_reworded,
    ),
    _node(
        "NodeAffinity",
        causes.NODE_SELECTOR,
        "node(s) didn't match Pod's node affinity",
        lambda release: release.node_affinity_reason_names_affinity and not release.node_affinity_reason_reworded,
    ),
    _node(
        "NodeAffinity",
        causes.NODE_SELECTOR,
        "node(s) didn't match node selector",
        lambda release: not release.node_affinity_reason_names_affinity,
    ),
    _node(
        "NodeAffinity",
        causes.NODE_SELECTOR,
        "node(s) didn't match scheduler-enforced node affinity",
        lambda release: release.node_affinity_reason_names_affinity,
    ),
    _pod(
        "NodeAffinity",
        causes.NODE_SELECTOR,
        "pod affinity terms conflict",
        "the terms of the pod's node affinity exclude each other",
        lambda release: release.node_affinity_prefilters_nodes,
    ),
    _node("NodePorts", causes.HOST_PORT, "node(s) didn't have free ports for the requested pod ports"),
    _node(
        "NodeResourcesFit",
        causes.PODS_LIMIT,
        "Insufficient pods",
        lambda release: not release.too_many_pods_reason_reworded,
        "lack a free pod slot",
    ),
    _node(
        "NodeResourcesFit",
        causes.PODS_LIMIT,
        "Too many pods",
        lambda release: release.too_many_pods_reason_reworded,
    ),
    Wording(
        re.compile(r"Insufficient (?P<resource>[A-Za-z0-9][A-Za-z0-9./_-]*)"),
        "NodeResourcesFit",
        causes.INSUFFICIENT_RESOURCE,
        _always,
    ),
    _pod(
        "NodeResourcesFit",
        causes.PLUGIN,
        "Pod has a restartable init container and the SidecarContainers feature is disabled",
        "the pod has a sidecar, and the scheduler's feature gate SidecarContainers is off",
        lambda release: release.rejects_sidecars,
    ),
    _node("VolumeRestrictions", causes.VOLUME_CONFLICT, "node(s) had no available disk"),
    _node(
        "VolumeRestrictions",
        causes.VOLUME_CONFLICT,
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
        "pod",
        lambda release: release.claim_in_use_reason_reworded,
    ),
    _node(
        "VolumeRestrictions",
        causes.VOLUME_CONFLICT,
        "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
        lambda release: not release.claim_in_use_reason_reworded and _between("1.22")(release),
    ),
    _node("NodeVolumeLimits", causes.VOLUME_LIMIT, "node(s) exceed max volume count"),
    Wording(
        re.compile(r"(?P<name>\S+) CSI driver is not installed on the node"),
        "NodeVolumeLimits",
        causes.DRIVER_MISSING,
        _between("1.36"),  # behind the gate VolumeLimitScaling until 1.36
        "lack the CSI driver {name}",
    ),
    _node(
        "VolumeBinding",
        causes.VOLUME_ZONE,
        "node(s) didn't match PersistentVolume's node affinity",
        lambda release: release.volume_affinity_reason_reworded,
    ),
    _node(
        "VolumeBinding",
        causes.VOLUME_ZONE,
        "node(s) had volume node affinity conflict",
        lambda release: not release.volume_affinity_reason_reworded,
    ),
    _node("VolumeBinding", causes.CLAIM_UNBOUND, "node(s) didn't find available persistent volumes to bind"),
    _node(
        "VolumeBinding",
        causes.STORAGE_CAPACITY,
        "node(s) did not have enough free storage",
        _between("1.19"),  # behind the gate CSIStorageCapacity until 1.20
    ),
    _node(
        "VolumeBinding",
        causes.CLAIM_UNBOUND,
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        lambda release: release.missing_volume_reason_reworded,
        "cannot take it, because a claim of it names a volume that does not exist",
    ),
    _node(
        "VolumeBinding",
        causes.CLAIM_UNBOUND,
        "pvc(s) bound to non-existent pv(s)",
        lambda release: not release.missing_volume_reason_reworded,
        "cannot take it, because a claim of it names a volume that does not exist",
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_UNBOUND,
        r"pod has unbound immediate PersistentVolumeClaims",
        f"a {_CLAIM} of the pod has no volume yet",
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_MISSING,
        rf"persistentvolumeclaim {_Q} not found|PersistentVolumeClaim was not found: \"(?P<old>[^\"]*)\"",
        f"a {_CLAIM} of the pod does not exist",
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_MISSING,
        rf"persistentvolumeclaim {_Q} is being deleted",
        f"the {_CLAIM} {{name}} is being deleted",
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_UNBOUND,
        rf'persistentvolumeclaim {_Q} bound to non-existent persistentvolume "(?P<volume>[^"]*)"',
        f"the {_CLAIM} {{name}} names the volume {{volume}}, which does not exist",
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_MISSING,
        rf"waiting for ephemeral volume controller to create the persistentvolumeclaim {_Q}",
        f"the {_CLAIM} {{name}} of an ephemeral volume does not exist yet",
        lambda release: release.ephemeral_volumes,
    ),
    _pod(
        "VolumeBinding",
        causes.CLAIM_MISSING,
        r"PVC (?P<name>\S+) was not created for pod \S+ \(pod is not owner\)",
        f"the {_CLAIM} {{name}} belongs to another pod",
        lambda release: release.ephemeral_volumes,
    ),
    _node("VolumeZone", causes.VOLUME_ZONE, "node(s) had no available volume zone"),
    _node("PodTopologySpread", causes.TOPOLOGY_SPREAD, "node(s) didn't match pod topology spread constraints"),
    _node(
        "PodTopologySpread",
        causes.TOPOLOGY_SPREAD,
        "node(s) didn't match pod topology spread constraints (missing required label)",
        lambda release: release.reports_missing_topology_label,
    ),
    _node("InterPodAffinity", causes.POD_AFFINITY, "node(s) didn't match pod affinity rules"),
    _node("InterPodAffinity", causes.POD_ANTI_AFFINITY, "node(s) didn't match pod anti-affinity rules"),
    _node("InterPodAffinity", causes.POD_ANTI_AFFINITY, "node(s) didn't satisfy existing pods anti-affinity rules"),
    *(
        _node(
            "InterPodAffinity",
            causes.POD_ANTI_AFFINITY,
            prefix,
            lambda release, prefix=prefix: release.inter_pod_affinity_reason_prefix == prefix,  # type: ignore[misc]
            "break its affinity or anti-affinity to other pods",
        )
        for prefix in OLD_PREFIXES
    ),
    _node("DynamicResources", causes.DEVICE_CLAIM, "cannot allocate all claims", _between("1.31")),
    _node("DynamicResources", causes.DEVICE_CLAIM, "resourceclaim not available on the node", _between("1.26")),
    _node(
        "DynamicResources",
        causes.DEVICE_CLAIM,
        "timed out trying to allocate devices",
        _between("1.34"),
        "took too long to search for devices",
    ),
    _node(
        "DynamicResources",
        causes.DEVICE_CLAIM,
        "invalid resource pools were encountered",
        lambda release: release.reports_invalid_pools,
        "belong to a pool of devices that is not valid",
    ),
    _pod(
        "DynamicResources",
        causes.DEVICE_ABSENT,
        r"request (?P<request>[^:]+): device class (?P<name>\S+) does not exist",
        "the DeviceClass {name}, which a claim of the pod requests, does not exist",
        _between("1.31"),
    ),
    _pod(
        "DynamicResources",
        causes.DEVICE_CLAIM,
        rf"(?:resource claim|resourceclaim|ResourceClaim|could not find ResourceClaim) .*|waiting for dynamic resource "
        rf"controller to create the resourceclaim {_Q}|pod \"[^\"]*\": ResourceClaim not created yet|unallocated "
        r"immediate resourceclaim.*",
        "a ResourceClaim of the pod is not ready",
        _between("1.26"),
    ),
    _node(
        "NodeDeclaredFeatures",
        causes.PLUGIN,
        "node(s) didn't match Pod's required features",
        _between(*PLUGIN_RELEASES["NodeDeclaredFeatures"]),
    ),
    _node(
        "NodeLabel",
        causes.NODE_SELECTOR,
        "node(s) didn't have the requested labels",
        _between(*PLUGIN_RELEASES["NodeLabel"]),
    ),
    _node(
        "ServiceAffinity",
        causes.PLUGIN,
        "node(s) didn't match service affinity",
        _between(*PLUGIN_RELEASES["ServiceAffinity"]),
    ),
    Wording(
        re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(?P<plugins>[^\[\]]*)\]"),
        "",
        causes.NODE_SELECTOR,
        lambda release: release.prefilter_excluded_node_message.startswith("node(s) didn't satisfy"),
    ),
    _node(
        "",
        causes.NODE_SELECTOR,
        "node is filtered out by the prefilter result",
        lambda release: release.prefilter_excluded_node_message.startswith("node is filtered"),
    ),
    _pod(
        "",
        causes.NODE_SELECTOR,
        r"node\(s\) didn't satisfy plugin(?:\(s\) \[(?P<plugins>[^\[\]]*)\] simultaneously| (?P<plugin>\w+))",
        "no node satisfies the pod's constraints on names of nodes",
        lambda release: release.node_affinity_prefilters_nodes,
    ),
    _pod(
        "SchedulingGates",
        causes.GATED,
        r"waiting for scheduling gates: \[(?P<gates>[^\[\]]*)\]",
        "scheduling gates hold the pod: {gates}",
        _between("1.26"),
    ),
    _pod(
        "GangScheduling",
        causes.POD_GROUP,
        r"waiting for minCount pods from a gang to (?:appear in scheduling queue|be scheduled)|waiting for pods's pod "
        rf"group {_Q} to appear in scheduling queue",
        "the pod's group is not complete",
        _between(*PLUGIN_RELEASES["GangScheduling"]),
    ),
    _pod(
        "CapacityScheduling",
        causes.PLUGIN,
        r"Pod \S+ is rejected in PreFilter because ElasticQuota (?P<namespace>\S+) is more than Max",
        "the pod would exceed the maximum of the quota of {namespace}",
    ),
    _pod(
        "CapacityScheduling",
        causes.PLUGIN,
        r"Pod \S+ is rejected in PreFilter because total ElasticQuota used is more than min",
        "all quotas together have nothing left",
    ),
    _node("NodeResourceTopologyMatch", causes.PLUGIN, "cannot align pod"),
    _node("NodeResourceTopologyMatch", causes.PLUGIN, "cannot align container"),
    _node("NodeResourceTopologyMatch", causes.PLUGIN, "cannot align init container"),
    _node("NodeResourceTopologyMatch", causes.PLUGIN, "cannot align sidecar container"),
    _node("NodeResourceTopologyMatch", causes.PLUGIN, "invalid node topology data"),
    _pod(
        "Coscheduling",
        causes.POD_GROUP,
        r"pre-filter pod \S+ cannot find enough sibling pods, .*",
        "the pod's group has too few pods",
    ),
    _node(
        "DefaultPreemption",
        causes.PLUGIN,
        NO_VICTIMS,
        words="run no pod of lower priority",
    ),
    _node(
        "DefaultPreemption",
        causes.PLUGIN,
        NOT_HELPFUL,
        words="refuse the pod for a reason that evicting pods does not remove",
    ),
)


@lru_cache(maxsize=2_000)
def wording_of(reason: str) -> Wording | None:
    """Return the wording of a reason; None if it is of a plugin that is not in-tree, or unknown."""
    return next((one for one in WORDINGS if one.pattern.fullmatch(reason)), None)


@lru_cache(maxsize=1)
def every_version() -> dict[str, Release]:
    """Return all known patch releases by version, oldest first."""
    return {
        f"{name}.{patch}": patch_release(release, patch)
        for name, release in RELEASES.items()
        for patch in range(PATCHES.get(name, 0) + 1)
    }


@lru_cache(maxsize=500)
def versions_with(has: Has) -> frozenset[str]:
    """Return the versions for which `has` is true."""
    return frozenset(version for version, release in every_version().items() if has(release))


def spans(versions: Collection[str]) -> list[tuple[str, str]]:
    """Return the first and the last of each row of successive versions.

    A minor release stands for its first or last patch release, unless both are of the same minor release.
    """
    found: list[tuple[str, str]] = []
    for there, row in groupby(every_version(), key=lambda version: version in versions):
        if there:
            first, *_, last = [*row] * 2
            found.append(_named(first, last))
    return found


def _named(first: str, last: str) -> tuple[str, str]:
    begins, ends = minor_of(first), minor_of(last)
    from_start, to_end = first == f"{begins}.0", last == f"{ends}.{PATCHES.get(ends, 0)}"
    if begins == ends and not (from_start and to_end):
        return first, last
    return begins if from_start else first, ends if to_end else last


def listed(spans: Iterable[tuple[str, str]]) -> str:
    """Return spans as text: `1.29.5, 1.30.0 to 1.30.1 and 1.32 to 1.36`."""
    texts = [first if first == last else f"{first} to {last}" for first, last in spans]
    return listing(texts)
