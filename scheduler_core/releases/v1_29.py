"""Kubernetes 1.29 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_30

RELEASE = replace(
    v1_30.RELEASE,
    name="1.29",
    default_plugins=(
        *(plugin for plugin in v1_30.RELEASE.default_plugins if plugin[0] != "SchedulingGates"),
        # its feature gate appends it
        ("SchedulingGates", 0),
    ),
    affinity_prescore_skips=False,
    init_container_images=False,
    absent_nodes="",
    missing_nodes_fail=True,
    hears_each_change=False,
    hears_node_taints=False,
)
