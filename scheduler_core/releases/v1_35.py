"""Kubernetes 1.35 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_36
from scheduler_core.releases.release import without

RELEASE = replace(
    v1_36.RELEASE,
    name="1.35",
    patch_version="1.35.3",
    default_plugins=without(v1_36.RELEASE.default_plugins, "NodeDeclaredFeatures"),
    node_declared_features=False,
    image_volumes=False,
    balanced_allocation_scores_change=False,
    all_devices_alternatives_use_first=True,
    device_taints=False,
    shared_counters=False,
    consumable_capacity=False,
    binding_conditions=False,
    extended_resources=False,
    claim_owner_message_capitalized=False,
)
