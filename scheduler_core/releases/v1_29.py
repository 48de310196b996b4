"""Kubernetes 1.29 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_30
from scheduler_core.releases.release import without

RELEASE = replace(
    v1_30.RELEASE,
    name="1.29",
    patch_version="1.29.1",
    # its feature gate appends the plugin
    default_plugins=(*without(v1_30.RELEASE.default_plugins, "SchedulingGates"), ("SchedulingGates", 0)),
    affinity_prescore_skips=False,
    init_container_images=False,
    prefilter_excluded_node_message="",
    prefilter_missing_node_fails=True,
    queueing_hint_every_node_change=False,
    queueing_hint_node_taints=False,
)
