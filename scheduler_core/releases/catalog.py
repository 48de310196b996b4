"""The releases, each with its default feature gates: versions of configurations, default plugins, points.

The metadata in behaviors/ determine the values of behaviours.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler_core.releases.release import (
    BEHAVIORS,
    OLD_PLUGINS,
    Release,
    insert,
    unweighted,
    weighted,
    with_weight,
    without,
)
from scheduler_core.releases.versions import is_within, splits

PLUGIN_RELEASES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), ("", "1.30")),
    **dict.fromkeys(sorted(OLD_PLUGINS), ("", "1.22")),
    "DefaultPodTopologySpread": ("", "1.18"),
    "GangScheduling": ("1.35", ""),
    "NodeDeclaredFeatures": ("1.35", ""),
    "SelectorSpread": ("1.19", "1.24"),
}
"""Plugin -> the first and the last release with it. "" means that there is none. All releases have other plugins."""


def _behaviors(version: str) -> dict[str, bool]:
    """Return the behaviours of a release. One without `since` and `until` is the same in all releases."""
    return {
        name: is_within(version, made.since, made.until)
        for name, made in BEHAVIORS.items()
        if (made.since or made.until) and isinstance(getattr(Release, name), bool)
    }


def _release(like: Release, name: str, patch_version: str = "", **fields: Any) -> Release:
    """Return a release that differs from `like` in its behaviours, in the plugins that exist and in these fields."""
    removed = frozenset(plugin for plugin, releases in PLUGIN_RELEASES.items() if not is_within(name, *releases))
    fields = {"removed_plugins": removed, **_behaviors(patch_version or name), **fields}
    fields.setdefault("default_plugins", like.default_plugins)
    fields["default_plugins"] = without(fields["default_plugins"], *removed)
    return replace(like, name=name, patch_version=patch_version, **fields)


def patch_release(like: Release, patch: int) -> Release:
    """Return a patch release of a minor release: the minor release itself if that is simulated as this patch release.

    It differs in the behaviours whose `since` or `until` names patch releases of this minor release.
    """
    version = f"{like.name}.{patch}"
    if version == like.version:
        return like
    changed: dict[str, Any] = {
        name: is_within(version, made.since, made.until)
        for name, made in BEHAVIORS.items()
        if splits(like.name, made.since, made.until)
    }
    return replace(like, name=version, patch_version=version, **changed)


V1_37 = _release(
    Release(name="1.37", api_versions=("v1",), default_plugins=()),
    "1.37",
    "1.37.0",
    default_plugins=(
        *unweighted("SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName"),
        *(("TaintToleration", 3), ("NodeAffinity", 2), ("NodePorts", 0), ("NodeResourcesFit", 1)),
        *unweighted("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        # DynamicResources is before preemption: deallocating an unused claim is better than evicting a pod
        *with_weight(2, "PodTopologySpread", "InterPodAffinity", "DynamicResources"),
        *(("DefaultPreemption", 0), ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("DefaultBinder", 0)),
        # its feature gate appends the plugin
        ("NodeDeclaredFeatures", 0),
    ),
)
V1_36 = _release(V1_37, "1.36", "1.36.2")
V1_35 = _release(V1_36, "1.35", "1.35.3", default_plugins=without(V1_36.default_plugins, "NodeDeclaredFeatures"))
V1_34 = _release(
    V1_35,
    "1.34",
    "1.34.1",
    default_plugins=weighted(V1_35.default_plugins, DynamicResources=0),
    absent_points={"DynamicResources": frozenset({"score"})},
)
V1_33 = _release(V1_34, "1.33", "1.33.0", default_plugins=without(V1_34.default_plugins, "DynamicResources"))
V1_32 = _release(V1_33, "1.32", "1.32.2")
V1_31 = _release(V1_32, "1.31", "1.31.1")

_WITH_DISKS = insert(V1_31.default_plugins, "NodeVolumeLimits", *unweighted("EBSLimits", "GCEPDLimits"))
V1_30 = _release(
    V1_31,
    "1.30",
    "1.30.1",
    default_plugins=insert(_WITH_DISKS, "VolumeBinding", ("AzureDiskLimits", 0)),
)
V1_29 = _release(
    V1_30,
    "1.29",
    "1.29.1",
    # its feature gate appends the plugin
    default_plugins=(*without(V1_30.default_plugins, "SchedulingGates"), ("SchedulingGates", 0)),
)
V1_28 = _release(V1_29, "1.28", "1.28.3", api_versions=("v1", "v1beta3"), postfilter_message_suffix=".")

_V1BETA2 = {
    "queueSort": unweighted("PrioritySort"),
    "preFilter": unweighted(
        *("NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity"),
        *("VolumeBinding", "VolumeZone", "NodeAffinity"),
    ),
    "filter": unweighted(
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits"),
        *("VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
    ),
    "postFilter": unweighted("DefaultPreemption"),
    "preScore": unweighted("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
    "score": (
        *with_weight(1, "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "NodeResourcesFit"),
        *(("NodeAffinity", 1), ("PodTopologySpread", 2), ("TaintToleration", 1)),
    ),
    "reserve": unweighted("VolumeBinding"),
    "preBind": unweighted("VolumeBinding"),
    "bind": unweighted("DefaultBinder"),
}
V1_27 = _release(
    V1_28,
    "1.27",
    "1.27.1",
    api_versions=("v1", "v1beta3", "v1beta2"),
    default_points={"v1beta2": {"preEnqueue": unweighted("SchedulingGates"), **_V1BETA2}},
    absent_points={},
)
V1_26 = _release(
    V1_27,
    "1.26",
    "1.26.4",
    default_plugins=without(V1_27.default_plugins, "SchedulingGates"),
    default_points={"v1beta2": _V1BETA2},
)
V1_25 = _release(V1_26, "1.25", "1.25.2", postfilter_message_suffix="")
V1_24 = _release(V1_25, "1.24", "1.24.4", api_versions=("v1beta3", "v1beta2"))
V1_23 = _release(V1_24, "1.23", "1.23.5")

_V1BETA1_SCORES = (
    *with_weight(1, "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity"),
    *with_weight(1, "NodeResourcesLeastAllocated", "NodeAffinity"),
    *(("NodePreferAvoidPods", 10000), ("PodTopologySpread", 2), ("TaintToleration", 1)),
)
V1_22 = _release(
    V1_23,
    "1.22",
    "1.22.6",
    api_versions=("v1beta2", "v1beta1"),
    default_plugins=weighted(V1_23.default_plugins, InterPodAffinity=1, NodeAffinity=1, TaintToleration=1),
    default_points={"v1beta2": _V1BETA2, "v1beta1": {**_V1BETA2, "score": _V1BETA1_SCORES}},
)
V1_21 = _release(
    V1_22,
    "1.21",
    "1.21.9",
    api_versions=("v1beta1",),
    default_plugins=(
        *weighted(V1_22.default_plugins, NodeResourcesFit=0),
        *(("NodeResourcesLeastAllocated", 1), ("NodePreferAvoidPods", 10000)),
    ),
    default_points={"v1beta1": V1_22.default_points["v1beta1"]},
    inter_pod_affinity_reason_prefix="node(s) didn't match pod affinity/anti-affinity rules",
)
V1_20 = _release(
    V1_21, "1.20", "1.20.15", inter_pod_affinity_reason_prefix="node(s) didn't match pod affinity/anti-affinity"
)

_OLD_FILTERS = unweighted(
    *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
    *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
    *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
)
V1_19 = _release(
    V1_20,
    "1.19",
    "1.19.16",
    default_plugins=(*V1_20.default_plugins, ("SelectorSpread", 1)),
    default_points={
        "v1beta1": {
            **_V1BETA2,
            "filter": _OLD_FILTERS,
            # DefaultPodTopologySpread, which replaces the plugin, is off by default
            "preScore": (*_V1BETA2["preScore"], ("SelectorSpread", 0)),
            "score": (*_V1BETA1_SCORES, ("SelectorSpread", 1)),
        }
    },
)

# In 1.18 preemption and volume binding are parts of the scheduler, and configurations cannot name them. Here they are
# DefaultPreemption, and VolumeBinding at PreFilter, Reserve and PreBind.
_V1ALPHA = {
    **_V1BETA2,
    # Some plugins prepare at PreFilter what this release computes for each node.
    "preFilter": unweighted(
        *("NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"),
        *("VolumeRestrictions", "VolumeBinding", "VolumeZone", "NodeAffinity"),
    ),
    "filter": insert(without(_OLD_FILTERS, "InterPodAffinity"), "PodTopologySpread", ("InterPodAffinity", 0)),
    "preScore": unweighted(
        *("InterPodAffinity", "DefaultPodTopologySpread", "TaintToleration", "PodTopologySpread", "NodeAffinity")
    ),
    "score": (
        *with_weight(1, "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity"),
        *(("NodeResourcesLeastAllocated", 1), ("NodeAffinity", 1), ("NodePreferAvoidPods", 10000)),
        *with_weight(1, "DefaultPodTopologySpread", "TaintToleration", "PodTopologySpread"),
    ),
}
V1_18 = _release(
    V1_19,
    "1.18",
    "1.18.20",
    api_versions=("v1alpha2", "v1alpha1"),
    default_plugins=(
        *without(V1_19.default_plugins, "SelectorSpread", "PodTopologySpread"),
        *with_weight(1, "DefaultPodTopologySpread", "PodTopologySpread"),
    ),
    default_points=dict.fromkeys(("v1alpha2", "v1alpha1", "v1beta1"), _V1ALPHA),
)

# The plugins of 1.17 call predicates and priorities. EvenPodsSpread, off by default until 1.18, controls
# PodTopologySpread.
V1_17 = _release(
    V1_18,
    "1.17",
    "1.17.17",
    api_versions=("v1alpha1",),
    default_plugins=without(V1_18.default_plugins, "PodTopologySpread"),
    default_points={
        version: {point: without(plugins, "PodTopologySpread") for point, plugins in points.items()}
        for version, points in V1_18.default_points.items()
    },
)

# The default algorithm provider.
V1_16 = _release(
    V1_17,
    "1.16",
    "1.16.6",
    default_points={},
    removed_plugins=frozenset(),
    default_plugins=(
        *unweighted("CheckNodeUnschedulable", "GeneralPredicates", "NoDiskConflict", "PodToleratesNodeTaints"),
        *unweighted("MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount"),
        *unweighted("CheckVolumeBinding", "NoVolumeZoneConflict", "MatchInterPodAffinity"),
        *with_weight(1, "SelectorSpreadPriority", "InterPodAffinityPriority", "LeastRequestedPriority"),
        *(("BalancedResourceAllocation", 1), ("NodePreferAvoidPodsPriority", 10000), ("NodeAffinityPriority", 1)),
        *with_weight(1, "TaintTolerationPriority", "ImageLocalityPriority"),
    ),
    # Predicates share code with newer plugins, and behave like those in these fields.
    fit_score_ignores_overhead=True,
    default_spread_constraints=True,
    evaluates_nominated_node_first=True,
    filter_errors_name_pod=False,
    postfilter_status_without_plugin=True,
    reports_unschedulable_plugins=True,
    preemption_is_plugin=True,
    preemption_policy_never=True,
    preempts_again_if_nominated_node_unresolvable=True,
    preemption_samples_nodes=True,
    preemption_reports_nodes=True,
)

RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        *(V1_16, V1_17, V1_18, V1_19, V1_20, V1_21, V1_22, V1_23, V1_24, V1_25, V1_26, V1_27, V1_28, V1_29),
        *(V1_30, V1_31, V1_32, V1_33, V1_34, V1_35, V1_36, V1_37),
    )
}

PATCHES: Mapping[str, int] = {
    **dict.fromkeys(("1.16", "1.20", "1.26", "1.28", "1.29"), 15),
    **{"1.17": 17, "1.18": 20, "1.19": 16, "1.21": 14, "1.22": 17, "1.23": 17, "1.24": 17, "1.25": 16, "1.27": 16},
    **{"1.30": 14, "1.31": 14, "1.32": 13, "1.33": 13, "1.34": 10, "1.35": 7, "1.36": 3, "1.37": 0},
}
"""Minor release -> its newest patch release when this list was made."""


def patch_names(name: str) -> list[str]:
    """Return the known patch releases of a minor release, newest first, except the one that it is simulated as."""
    patches = (f"{name}.{patch}" for patch in range(PATCHES.get(name, 0), -1, -1))
    return [patch for patch in patches if patch != RELEASES[name].version]
