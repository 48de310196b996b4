"""Kubernetes 1.31 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_32

RELEASE = replace(
    v1_32.RELEASE,
    name="1.31",
    local_volume_nodes=True,
    nonzero_sums_sidecars=False,
    attach_limits_of_nodes=True,
    lingering_attachments=False,
    missing_claim_rejects=False,
    absent_nodes="",
    victims_by_importance=False,
    queueing_hints=False,
    hears_node_deletes=False,
)
