"""Kubernetes 1.26 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_27
from scheduler_core.releases.release import without

_POINTS = v1_27.RELEASE.default_points["v1beta2"]

RELEASE = replace(
    v1_27.RELEASE,
    name="1.26",
    patch_version="1.26.4",
    default_plugins=without(v1_27.RELEASE.default_plugins, "SchedulingGates"),
    default_points={"v1beta2": {point: plugins for point, plugins in _POINTS.items() if point != "preEnqueue"}},
    overhead_cores_as_millicores=True,
    local_volumes_prefilter_nodes=False,
    read_write_once_pod=False,
    stops_at_first_feasible=False,
    volume_zone_prefilter=False,
    supports_skip_status=False,
    empty_selectors_match_all=True,
    postfilter_status_without_plugin=True,
)
