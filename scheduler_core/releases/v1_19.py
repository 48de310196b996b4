"""Kubernetes 1.19 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_20
from scheduler_core.releases.release import unweighted

_POINTS = v1_20.RELEASE.default_points["v1beta1"]
_FILTERS = (
    *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
    *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
    *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
)

RELEASE = replace(
    v1_20.RELEASE,
    name="1.19",
    patch_version="",
    default_plugins=(*v1_20.RELEASE.default_plugins, ("SelectorSpread", 1)),
    default_points={
        "v1beta1": {
            **_POINTS,
            "filter": unweighted(*_FILTERS),
            # DefaultPodTopologySpread, which replaces the plugin, is off by default
            "preScore": (*_POINTS["preScore"], ("SelectorSpread", 0)),
            "score": (*_POINTS["score"], ("SelectorSpread", 1)),
        }
    },
    default_spread_constraints=False,
    preemption_samples_nodes=False,
    node_affinity_reason_names_affinity=False,
)
