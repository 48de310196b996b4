"""Kubernetes 1.35 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_34

RELEASE = replace(
    v1_34.RELEASE,
    name="1.35",
    taint_named=False,
    incomplete_pools_serve=False,
    class_config_requests=True,
    invalid_pools_told=True,
    opportunistic_batching=True,
    # a node that offers the devices that a claim prefers counts for more
    default_plugins=tuple(
        (name, 2 if name == "DynamicResources" else weight) for name, weight in v1_34.RELEASE.default_plugins
    ),
    absent_points={},
    removed_plugins=v1_34.RELEASE.removed_plugins - {"GangScheduling", "NodeDeclaredFeatures"},
)
