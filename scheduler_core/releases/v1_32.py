"""Kubernetes 1.32 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_33

RELEASE = replace(
    v1_33.RELEASE,
    name="1.32",
    in_place_resize=False,
    reworded_volume_reasons=False,
    balanced_skips_best_effort=False,
    pop_from_backoff=False,
    scores_rebuilt_nodes=False,
    backoff_past_its_end=False,
)
