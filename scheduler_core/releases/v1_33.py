"""Kubernetes 1.33 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_34
from scheduler_core.releases.release import without

RELEASE = replace(
    v1_34.RELEASE,
    name="1.33",
    patch_version="1.33.0",
    default_plugins=without(v1_34.RELEASE.default_plugins, "DynamicResources"),
    sidecar_ports=False,
    pod_level_resources=False,
    claim_in_use_reason_reworded=False,
    volume_attributes_class=False,
    fit_beyond_allocatable_unresolvable=False,
    backoff_counts_attempts=True,
)
