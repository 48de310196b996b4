"""Kubernetes 1.26 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_27

_POINTS = v1_27.RELEASE.default_points["v1beta2"]

RELEASE = replace(
    v1_27.RELEASE,
    name="1.26",
    default_plugins=tuple(plugin for plugin in v1_27.RELEASE.default_plugins if plugin[0] != "SchedulingGates"),
    default_points={"v1beta2": {point: plugins for point, plugins in _POINTS.items() if point != "preEnqueue"}},
    overhead_in_cores=True,
    local_volume_nodes=False,
    claims_of_one_pod=False,
    one_node_enough=False,
    zones_prefiltered=False,
    skips=False,
    empty_selectors_count=True,
    postfilter_unnamed=True,
)
