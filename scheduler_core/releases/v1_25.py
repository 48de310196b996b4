"""Kubernetes 1.25 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_26

RELEASE = replace(
    v1_26.RELEASE,
    name="1.25",
    patch_version="1.25.2",
    merges_filter_statuses=True,
    postfilter_message_suffix="",
    prefilter_rejection_counts_all_nodes=True,
    waits_only_for_preempted_pods=False,
)
