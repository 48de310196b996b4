"""Kubernetes 1.34 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_35
from scheduler_core.releases.release import weighted

RELEASE = replace(
    v1_35.RELEASE,
    name="1.34",
    patch_version="1.34.1",
    default_plugins=weighted(v1_35.RELEASE.default_plugins, DynamicResources=0),
    removed_plugins=v1_35.RELEASE.removed_plugins | {"GangScheduling", "NodeDeclaredFeatures"},
    absent_points={"DynamicResources": frozenset({"score"})},
    taint_reason_names_taint=True,
    opportunistic_batching=False,
    allocates_from_incomplete_pools=True,
    class_configuration_names_requests=False,
    reports_invalid_pools=False,
)
