"""Kubernetes 1.23 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_24

RELEASE = replace(
    v1_24.RELEASE,
    name="1.23",
    patch_version="1.23.5",
    fit_score_ignores_overhead=True,
    merges_filter_statuses=False,
    spread_scores_rounded=False,
    node_affinity_prefilters_nodes=False,
    reports_postfilter_message=False,
    no_victims_message_reworded=False,
    failed_preemption_clears_nomination=False,
    unschedulable_timeout_five_minutes=False,
    taint_reason_reworded=False,
    queueing_hint_any_node_update=False,
)
