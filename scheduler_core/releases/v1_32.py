"""Kubernetes 1.32 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_33

RELEASE = replace(
    v1_33.RELEASE,
    name="1.32",
    patch_version="1.32.2",
    in_place_resize=False,
    volume_affinity_reason_reworded=False,
    balanced_skips_best_effort=False,
    pop_from_backoff=False,
    extender_nodes_scored_without_pods=False,
    backoff_includes_end=False,
)
