"""Kubernetes 1.28 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_29

RELEASE = replace(
    v1_29.RELEASE,
    name="1.28",
    api_versions=("v1", "v1beta3"),
    sidecars_refused=True,
    volume_zone_stable_labels=False,
    image_spread_at_arrival=True,
    postfilter_stop=".",
    errors_back_off=False,
)
