"""Kubernetes 1.19 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_20

_POINTS = v1_20.RELEASE.default_points["v1beta1"]
_FILTERS = (
    *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
    *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
    *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
)

RELEASE = replace(
    v1_20.RELEASE,
    name="1.19",
    default_plugins=(*v1_20.RELEASE.default_plugins, ("SelectorSpread", 1)),
    default_points={
        "v1beta1": {
            **_POINTS,
            "filter": tuple((name, 0) for name in _FILTERS),
            # what a feature gate does without
            "preScore": (*_POINTS["preScore"], ("SelectorSpread", 0)),
            "score": (*_POINTS["score"], ("SelectorSpread", 1)),
        }
    },
    preemption_samples=False,
    spreads_by_default=False,
    affinity_told=False,
)
