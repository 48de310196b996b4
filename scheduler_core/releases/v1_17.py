"""Kubernetes 1.17 with the default feature gates.

Its predicates and priorities are framework plugins, which a configuration names by their old names. Behaviours that are
not listed here are those of 1.18, except that the queue is the legacy one.
"""

from dataclasses import replace

from scheduler_core.releases import v1_18
from scheduler_core.releases.release import without

RELEASE = replace(
    v1_18.RELEASE,
    name="1.17",
    patch_version="",
    api_versions=("v1alpha1",),
    # EvenPodsSpread, off by default until 1.18, controls PodTopologySpread
    default_plugins=without(v1_18.RELEASE.default_plugins, "PodTopologySpread"),
    default_points={
        version: {point: without(plugins, "PodTopologySpread") for point, plugins in points.items()}
        for version, points in v1_18.RELEASE.default_points.items()
    },
    pod_overhead=False,
    legacy_queue=True,
)
