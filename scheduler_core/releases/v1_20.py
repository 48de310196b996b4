"""Kubernetes 1.20 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_21

RELEASE = replace(
    v1_21.RELEASE,
    name="1.20",
    patch_version="1.20.15",
    affinity_scores_start_at_zero=True,
    controllers_found_by_labels=True,
    spread_counts_excluded_nodes=True,
    postfilter_status_without_plugin=False,
    reports_unschedulable_plugins=False,
    preemption_reports_nodes=False,
    node_affinity_reason_reworded=False,
    inter_pod_affinity_reason_prefix="node(s) didn't match pod affinity/anti-affinity",
)
