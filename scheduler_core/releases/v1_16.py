"""Kubernetes 1.16 with the default feature gates: predicates and priorities of the default algorithm provider."""

from dataclasses import replace

from scheduler_core.releases import v1_17
from scheduler_core.releases.release import unweighted

RELEASE = replace(
    v1_17.RELEASE,
    name="1.16",
    patch_version="1.16.6",
    default_points={},
    removed_plugins=frozenset(),
    default_plugins=(
        *unweighted("CheckNodeUnschedulable", "GeneralPredicates", "NoDiskConflict", "PodToleratesNodeTaints"),
        *unweighted("MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount"),
        *unweighted("CheckVolumeBinding", "NoVolumeZoneConflict", "MatchInterPodAffinity"),
        ("SelectorSpreadPriority", 1),
        ("InterPodAffinityPriority", 1),
        ("LeastRequestedPriority", 1),
        ("BalancedResourceAllocation", 1),
        ("NodePreferAvoidPodsPriority", 10000),
        ("NodeAffinityPriority", 1),
        ("TaintTolerationPriority", 1),
        ("ImageLocalityPriority", 1),
    ),
    # Predicates share code with newer plugins. Where they behave like those, the field has the newer value again.
    predicates=True,
    fit_score_ignores_overhead=True,
    unusable_claim_fails_cycle=False,
    scores_absent_resources=False,
    two_resource_balance=False,
    affinity_scores_start_at_zero=False,
    controllers_found_by_labels=False,
    default_spread_constraints=True,
    spread_scores_by_share=False,
    reports_missing_topology_label=True,
    evaluates_nominated_node_first=True,
    filter_errors_name_pod=False,
    postfilter_status_without_plugin=True,
    reports_unschedulable_plugins=True,
    preemption_is_plugin=True,
    honors_disrupted_pods=True,
    preemption_policy_never=True,
    preempts_again_if_nominated_node_unresolvable=True,
    preemption_samples_nodes=True,
    preemption_reports_nodes=True,
    node_requests_include_init_containers=False,
    stable_zone_labels=False,
)
