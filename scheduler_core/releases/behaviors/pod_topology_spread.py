"""PodTopologySpread, and SelectorSpread before it."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import off, on


@dataclass(frozen=True, kw_only=True)
class PodTopologySpreadBehaviors:
    controllers_found_by_labels: bool = off(
        "labels, not owner references, determine the controllers of a pod",
        "owner references determine the controllers of a pod",
        "pods without an owner are no longer spread with pods that their labels resemble",
        until="1.21",
    )
    default_spread_constraints: bool = on(
        "default constraints spread pods without constraints",
        "SelectorSpread spreads pods of a controller",
        "pods of Services, ReplicaSets and StatefulSets can go to other nodes",
        since="1.20",
        gate="DefaultPodTopologySpread",
        kep=1258,
    )
    selector_spread_skips_constrained_pods: bool = on(
        "pods with topology spread constraints are left to PodTopologySpread",
        "pods with topology spread constraints are also spread by their services and controllers",
        "pods with topology spread constraints can go to other nodes",
        since="1.18",
    )
    spread_counts_excluded_nodes: bool = off(
        "PodTopologySpread counts the pods on all nodes of an eligible domain",
        "PodTopologySpread counts only pods on nodes that match the node selector and have all topology keys",
        "the skew of constraints together with a node selector changes",
        since="1.19",
        until="1.23",
    )
    spread_scores_by_share: bool = off(
        "PodTopologySpread scores a node's share of all matching pods for all topology keys",
        "PodTopologySpread weighs each topology key by its number of domains",
        "preferred spreading over few domains counts more",
        until="1.18",
        pull=90475,
    )
    spread_scores_rounded: bool = on(
        "PodTopologySpread rounds its raw score instead of truncating it",
        "PodTopologySpread truncates its raw score",
        "small differences of spreading count; pods can go to other nodes",
        since="1.24",
        pull=107384,
    )
    reports_missing_topology_label: bool = on(
        "PodTopologySpread reports a missing topology label, and its rejection is unresolvable",
        "a node without the topology label violates the constraint as others do",
        "the message counts nodes without the label separately, and preemption does not consider them",
        since="1.19",
    )
    empty_selectors_match_all: bool = off(
        "an empty selector of a spread constraint matches all pods",
        "an empty selector of a spread constraint matches no pod",
        "constraints with an empty selector have no effect",
        until="1.26",
        pull=116607,
    )
    spread_min_domains: bool = on(
        "minDomains of a spread constraint counts",
        "minDomains of a spread constraint is ignored",
        "pods with minDomains stay pending until there are enough domains",
        since="1.27",
        gate="MinDomainsInPodTopologySpread",
        kep=3022,
    )
    spread_inclusion_policies: bool = on(
        "nodeAffinityPolicy and nodeTaintsPolicy of a spread constraint count",
        "nodeAffinityPolicy and nodeTaintsPolicy of a spread constraint are ignored",
        "constraints with these policies count the pods on other nodes; pods can go elsewhere or stay pending",
        since="1.26",
        gate="NodeInclusionPolicyInPodTopologySpread",
        kep=3094,
    )
    spread_match_label_keys: bool = on(
        "matchLabelKeys of a spread constraint are added to its selector",
        "matchLabelKeys of a spread constraint is ignored",
        "constraints with matchLabelKeys count fewer pods, such as those of one revision",
        since="1.27",
        gate="MatchLabelKeysInPodTopologySpread",
        kep=3243,
    )
