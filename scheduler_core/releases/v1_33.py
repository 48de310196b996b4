"""Kubernetes 1.33 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_34

RELEASE = replace(
    v1_34.RELEASE,
    name="1.33",
    default_plugins=tuple(plugin for plugin in v1_34.RELEASE.default_plugins if plugin[0] != "DynamicResources"),
    pod_level_resources=False,
    sidecar_ports=False,
    volume_attributes_class=False,
    fit_unresolvable=False,
    reworded_claim_in_use=False,
    backoff_counts_attempts=True,
)
