"""InterPodAffinity."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, behavior, off, on


@dataclass(frozen=True, kw_only=True)
class InterPodAffinityBehaviors:
    affinity_namespace_selectors: bool = on(
        "pod affinity terms can select namespaces",
        "namespaceSelector of pod affinity terms is ignored",
        "terms with a namespaceSelector match pods of further namespaces",
        since="1.22",
        kep=2249,
    )
    affinity_label_keys: bool = on(
        "matchLabelKeys of pod affinity terms are added to their selectors",
        "matchLabelKeys of pod affinity terms is ignored",
        "terms with matchLabelKeys match fewer pods, such as those of one revision",
        since="1.31",
        gate="MatchLabelKeysInPodAffinity",
        kep=3633,
    )
    one_reason_per_node: bool = off(
        "a plugin reports one reason for a node: the first unresolvable one, else the first",
        "a plugin reports all reasons for a node",
        WORDING,
        since="1.17",
        until="1.17",
    )
    existing_anti_affinity_first: bool = off(
        "InterPodAffinity checks the anti-affinity of running pods before that of the pod",
        "InterPodAffinity checks the terms of the pod first",
        WORDING,
        until="1.18",
    )
    returned_pod_violates_all_terms: bool = off(
        "a pod that is no victim after all and matches an anti-affinity term of the pod violates all its terms",
        "a pod that is no victim after all violates only the anti-affinity terms that it matches",
        "preemption by pods with anti-affinity can choose fewer victims",
        until="1.17",
    )
    own_terms_ignore_nominated_pods: bool = off(
        "nominated pods do not count for a pod's own (anti-)affinity, only their anti-affinity counts",
        "nominated pods count for a pod's own (anti-)affinity as if they ran on their node",
        "pods with (anti-)affinity can go elsewhere while other pods are nominated",
        until="1.18",
    )
    changed_pods_terms_use_pod_namespace: bool = off(
        "anti-affinity terms of nominated pods and victims apply to the namespace of the pod being scheduled",
        "anti-affinity terms of nominated pods and victims apply to the namespaces of these pods",
        "nominated pods no longer keep pods of other namespaces away by their anti-affinity",
        since="1.18",
        until="1.18",
    )
    affinity_scores_start_at_zero: bool = off(
        "InterPodAffinity normalizes scores from 0 even if all raw scores are higher",
        "InterPodAffinity normalizes scores from the lowest raw score",
        "preferred pod affinity separates nodes more clearly; pods can go to other nodes",
        until="1.20",
    )
    inter_pod_affinity_reason_prefix: str = behavior(
        "",
        "reasons of InterPodAffinity begin with",
        "reasons of InterPodAffinity have no prefix",
        WORDING,
        until="1.21",
    )
