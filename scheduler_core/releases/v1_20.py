"""Kubernetes 1.20 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_21

RELEASE = replace(
    v1_21.RELEASE,
    name="1.20",
    reworded_node_affinity=False,
    affinity_reason="node(s) didn't match pod affinity/anti-affinity",
    scores_above_zero=True,
    controllers_by_labels=True,
    spread_counts_all=True,
    blames_plugins=False,
    preemption_explained=False,
    postfilter_unnamed=False,
)
