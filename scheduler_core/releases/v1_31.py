"""Kubernetes 1.31 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_32

RELEASE = replace(
    v1_32.RELEASE,
    name="1.31",
    patch_version="1.31.1",
    scoring_requests_include_sidecars=False,
    local_volumes_prefilter_nodes=True,
    attach_limits_from_allocatable=True,
    counts_attachments_without_pods=False,
    missing_claim_rejects=False,
    prefilter_excluded_node_message="",
    victims_by_importance=False,
    queueing_hints=False,
    queueing_hint_node_deletes=False,
)
