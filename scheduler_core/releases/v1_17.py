"""Kubernetes 1.17 with the default feature gates.

Its predicates and priorities were plugins of the framework already, asked for by their old names. What is not dated
otherwise is as in 1.18; the queue is the old one still.
"""

from dataclasses import replace

from scheduler_core.releases import v1_18
from scheduler_core.releases.release import PluginWeights

_GATED = "PodTopologySpread"  # EvenPodsSpread, off by default until 1.18


def _without(plugins: PluginWeights) -> PluginWeights:
    return tuple((name, weight) for name, weight in plugins if name != _GATED)


RELEASE = replace(
    v1_18.RELEASE,
    name="1.17",
    api_versions=("v1alpha1",),
    default_plugins=_without(v1_18.RELEASE.default_plugins),
    default_points={
        version: {point: _without(plugins) for point, plugins in points.items()}
        for version, points in v1_18.RELEASE.default_points.items()
    },
    pod_overhead=False,
    old_queue=True,
)
