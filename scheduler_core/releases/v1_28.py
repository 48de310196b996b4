"""Kubernetes 1.28 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_29

RELEASE = replace(
    v1_29.RELEASE,
    name="1.28",
    patch_version="1.28.3",
    api_versions=("v1", "v1beta3"),
    rejects_sidecars=True,
    volume_zone_stable_labels=False,
    image_node_count_fixed_at_add=True,
    postfilter_message_suffix=".",
    failed_pods_back_off=False,
)
