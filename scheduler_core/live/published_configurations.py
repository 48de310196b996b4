"""Configurations of kube-scheduler that providers of clusters publish, for clusters that do not show theirs.

Sources: openshift/cluster-kube-scheduler-operator, bindata/assets/config (defaultconfig-postbootstrap-*.yaml);
Amazon EKS, API reference, KubeSchedulerConfig; Azure AKS, "Bin pack nodes with scheduler profiles"; Google GKE,
"Cluster autoscaler", autoscaling profiles.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, GROUP, KIND
from scheduler_core.releases import Release
from scheduler_core.releases.versions import numbered

FIRST_RELEASE = "1.23"
"""The first release that reads all of them."""
GKE_PACKING = "gke.io/optimize-utilization-scheduler"
"""The schedulerName that GKE gives to pods if the cluster has the autoscaling profile optimize-utilization."""


class PublishedConfiguration(NamedTuple):
    """A configuration by a provider. `profiles`: those of the KubeSchedulerConfiguration."""

    platform: str
    description: str
    profiles: tuple[Mapping[str, Any], ...]


def _fit(strategy: Mapping[str, Any], name: str = DEFAULT_SCHEDULER, **plugins: Any) -> dict[str, Any]:
    """Return a profile with this scoring strategy of NodeResourcesFit."""
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    return {"schedulerName": name, **({"plugins": plugins} if plugins else {}), "pluginConfig": [fit]}


def _weights(**weights: int) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


_RATIOS = ((0, 0), (10, 8), (30, 9), (50, 10), (80, 10), (90, 5), (100, 1))
_NO_SPREAD = {"disabled": [{"name": "PodTopologySpread"}]}
_NONE = {"disabled": [{"name": "*"}]}

PUBLISHED: Mapping[str, PublishedConfiguration] = {
    "eks-most-allocated": PublishedConfiguration(
        "EKS",
        "kubeSchedulerConfig with the strategy MostAllocated",
        (_fit({"type": "MostAllocated", "resources": _weights(cpu=1, memory=1)}),),
    ),
    "aks-most-allocated": PublishedConfiguration(
        "AKS",
        "bin packing with MostAllocated",
        (_fit({"type": "MostAllocated", "resources": _weights(cpu=8, memory=1)}, multiPoint=_NO_SPREAD),),
    ),
    "aks-requested-to-capacity-ratio": PublishedConfiguration(
        "AKS",
        "bin packing with RequestedToCapacityRatio",
        (
            _fit(
                {
                    "type": "RequestedToCapacityRatio",
                    "resources": _weights(cpu=8, memory=1),
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": at, "score": score} for at, score in _RATIOS]
                    },
                },
                multiPoint=_NO_SPREAD,
            ),
        ),
    ),
    "gke-optimize-utilization": PublishedConfiguration(
        "GKE",
        "the autoscaling profile optimize-utilization, whose weights Google does not publish",
        (
            {"schedulerName": DEFAULT_SCHEDULER},
            _fit({"type": "MostAllocated", "resources": _weights(cpu=1, memory=1)}, GKE_PACKING),
        ),
    ),
    "openshift-high-node-utilization": PublishedConfiguration(
        "OpenShift",
        "the profile HighNodeUtilization",
        (
            _fit(
                {"type": "MostAllocated"},
                score={
                    "disabled": [{"name": "NodeResourcesBalancedAllocation"}],
                    "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                },
            ),
        ),
    ),
    "openshift-no-scoring": PublishedConfiguration(
        "OpenShift",
        "the profile NoScoring",
        ({"schedulerName": DEFAULT_SCHEDULER, "plugins": {"preScore": _NONE, "score": _NONE}},),
    ),
}
"""Name -> configuration. EKS with LeastAllocated and OpenShift's LowNodeUtilization are the default configuration."""


def published(name: str, release: Release) -> dict[str, Any]:
    """Return a published configuration as a KubeSchedulerConfiguration of the newest version that the release reads."""
    return {**default_configuration(release), "profiles": [dict(profile) for profile in PUBLISHED[name].profiles]}


def default_configuration(release: Release) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration that sets nothing."""
    return {"apiVersion": f"{GROUP}/{release.api_versions[0]}", "kind": KIND}


def choices(platform: str, release: Release) -> tuple[str, ...]:
    """Return the names of the published configurations that the release reads, those of this platform first."""
    if numbered(release.number) < numbered(FIRST_RELEASE):
        return ()
    return tuple(sorted(PUBLISHED, key=lambda name: PUBLISHED[name].platform != platform))
