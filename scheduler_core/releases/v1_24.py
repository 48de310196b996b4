"""Kubernetes 1.24 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_25

RELEASE = replace(
    v1_25.RELEASE,
    name="1.24",
    patch_version="1.24.4",
    api_versions=("v1beta3", "v1beta2"),
    removed_plugins=v1_25.RELEASE.removed_plugins - {"SelectorSpread"},
)
