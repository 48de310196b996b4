"""A kube-scheduler release: its default plugins and the behaviours that differ between releases."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import NamedTuple, TypeVar

from scheduler_core.releases.versions import minor_of

T = TypeVar("T", bool, str)

PluginWeights = tuple[tuple[str, int], ...]
"""(plugin name, weight) in order; weight 0 means that no weight is given."""
DefaultPoints = Mapping[str, Mapping[str, PluginWeights]]
"""Configuration version -> extension point -> its default plugins."""

OLD_PLUGINS = frozenset(
    {
        *("NodeLabel", "NodePreferAvoidPods", "ServiceAffinity"),
        *("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"),
    }
)
"""Plugins of v1beta1 and of Policies that later configuration versions lack. 1.22 is the last release with them."""


UPSTREAM = "https://github.com/kubernetes"
WORDING = "only messages differ; adapt alerts and scripts that match them"
RETRIES = "pending pods are retried at other times; placements rarely differ"


class Behavior(NamedTuple):
    """The metadata of a behaviour.

    `text`: what the scheduler does if the field is true, or what precedes its value. `without`: what it does otherwise.
    `expect`: the effect on a cluster when the field changes to its newer value. `since` and `until`: the first and the
    last release that does so, or patch releases of several minor releases as `versions.is_within` reads them; "" if
    unknown. `gate`: the feature gate that controls it. `kep` and `pull`: the numbers of the enhancement proposal and of
    the pull request. `picks`: the numbers of the pull requests that changed it in patch releases. `newer`: whether true
    is the newer value.
    """

    text: str
    without: str
    expect: str
    since: str = ""
    until: str = ""
    gate: str = ""
    kep: int = 0
    pull: int = 0
    picks: tuple[int, ...] = ()
    newer: bool = True

    def describe(self, value: bool | str) -> str:
        """Return what the scheduler does with this value, and the feature gate."""
        text = self.without if not value else self.text if value is True else f"{self.text}: '{value}'"
        return f"{text} ({self.gate})" if self.gate else text

    def expected(self, value: bool | str) -> str:
        """Return the effect of a change to this value; "" for a change back that is not described."""
        return self.expect if bool(value) == self.newer or self.expect in (WORDING, RETRIES) else ""

    def link(self, release: str) -> str:
        """Return where upstream documents the change, in this release."""
        if self.kep:
            return f"{UPSTREAM}/enhancements/issues/{self.kep}"
        return f"{UPSTREAM}/kubernetes/pull/{self.pull}" if self.pull else changelog_link(release)


def changelog_link(release: str) -> str:
    """Return the address of upstream's change log of a release; "" without a release."""
    return f"{UPSTREAM}/kubernetes/blob/master/CHANGELOG/CHANGELOG-{minor_of(release)}.md" if release else ""


def behavior(
    default: T,
    text: str,
    without: str,
    expect: str,
    *,
    since: str = "",
    until: str = "",
    gate: str = "",
    kep: int = 0,
    pull: int = 0,
    picks: tuple[int, ...] = (),
) -> T:
    """Return a dataclass field with a Behavior as its metadata."""
    newer = default is True or not until
    metadata = {"behavior": Behavior(text, without, expect, since, until, gate, kep, pull, picks, newer)}
    return field(default=default, metadata=metadata)


on = partial(behavior, True)
"""A behaviour that is on by default. `since` and `until`, if given, decide which releases have it."""
off = partial(behavior, False)
"""A behaviour that is off by default. `since` and `until`, if given, decide which releases have it."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A minor release, or one of its patch releases. catalog.py computes its behaviours from `since` and `until`.

    `api_versions`: the KubeSchedulerConfiguration versions that it accepts, newest first.
    `default_plugins`: the MultiPoint list of the default profile, in order (upstream: getDefaultPlugins).
    `default_points`: the defaults of each extension point, for API versions older than MultiPoint.
    `removed_plugins`: plugins of older or newer releases, which this release refuses in a configuration.
    `absent_points`: plugin -> extension points that it has in other releases but not in this one.
    `feature_gates`: the gates that differ from their defaults; `name` also contains them.
    `patch_version`: the patch release that it is simulated as, for a minor release the one that decided the conformance
    cases; "" if there are none.
    """

    name: str
    api_versions: tuple[str, ...]
    default_plugins: PluginWeights
    default_points: DefaultPoints = field(default_factory=dict)
    removed_plugins: frozenset[str] = frozenset()
    absent_points: Mapping[str, frozenset[str]] = field(default_factory=dict)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    patch_version: str = field(default="", compare=False)

    # Predicates and priorities.
    predicates: bool = off(
        "predicates and priorities decide instead of plugins",
        "framework plugins filter and score",
        "many decisions can differ; a Policy must be converted to a KubeSchedulerConfiguration",
        until="1.16",
    )
    conditions_taint: bool = on(
        "taints stand for node conditions, which have no predicates",
        "predicates check the conditions of nodes",
        "pods that tolerate a condition's taint can run on such nodes",
        gate="TaintNodesByCondition",
        kep=382,
    )
    even_pods_spread: bool = off(
        "EvenPodsSpread is a predicate and a priority",
        "topology spread constraints are ignored",
        "pods with topology spread constraints are spread, and can stay pending",
        gate="EvenPodsSpread",
        kep=895,
    )
    resource_limits_score: bool = off(
        "nodes that can hold a pod's limits score higher",
        "limits do not influence scores",
        "pods with limits can go to other nodes",
        gate="ResourceLimitsPriorityFunction",
    )

    # Requests of pods.
    pod_overhead: bool = on(
        "a pod's overhead is added to its requests",
        "a pod's overhead is ignored",
        "pods of runtime classes with overhead request more; some no longer fit",
        since="1.18",
        gate="PodOverhead",
        kep=688,
    )
    node_requests_include_init_containers: bool = on(
        "init containers count in the requests of the pods on a node",
        "init containers of the pods on a node are ignored",
        "nodes that run pods with init containers have less free; some pods no longer fit",
        since="1.17",
    )
    sidecar_containers: bool = on(
        "requests of sidecars (restartable init containers) are added",
        "a sidecar is treated as an init container: only the largest one counts",
        "pods with sidecars request more; some no longer fit, and nodes that run them have less free",
        since="1.28",
        kep=753,
    )
    rejects_sidecars: bool = off(
        "NodeResourcesFit rejects pods with sidecars",
        "pods with sidecars are scheduled",
        "pods with sidecars that were pending are scheduled",
        since="1.28",
        until="1.28",
        gate="SidecarContainers",
    )
    scoring_requests_include_sidecars: bool = on(
        "scoring adds the default requests of sidecars of the pods on a node",
        "scoring ignores sidecars without requests",
        "nodes that run pods with sidecars score lower with LeastAllocated",
        since="1.32",
    )
    sidecar_ports: bool = on(
        "host ports of sidecars count",
        "host ports of sidecars are ignored",
        "two pods whose sidecars use the same host port no longer share a node",
        since="1.33.6, 1.34",
        pull=132040,
        picks=(133390,),
    )
    pod_level_resources: bool = on(
        "requests of the whole pod (spec.resources) count",
        "spec.resources of a pod is ignored",
        "pods with spec.resources are scheduled by it instead of by their containers",
        since="1.34",
        gate="PodLevelResources",
        kep=2837,
    )
    in_place_resize: bool = on(
        "container statuses count in requests",
        "only the spec of a container counts",
        "during a resize the larger of desired and allocated requests counts",
        since="1.33",
        gate="InPlacePodVerticalScaling",
        kep=1287,
    )
    status_without_request_crashes: bool = off(
        "kube-scheduler crashes if a container has a request in its status but none in its spec",
        "a request in the status of a container counts without one in its spec",
        "clusters in which such a container runs have a scheduler again",
        since="1.33",
        until="1.33.3",
        picks=(133285,),
    )
    overhead_cores_as_millicores: bool = off(
        "scoring counts a core of the pod's overhead as one millicore",
        "scoring counts overhead as it counts requests",
        "nodes with pods of runtime classes with cpu overhead score as fuller",
        until="1.26",
    )
    fit_score_ignores_overhead: bool = off(
        "NodeResourcesFit ignores the overhead of pods when scoring",
        "NodeResourcesFit counts overhead when scoring",
        "nodes with pods of runtime classes with overhead score as fuller",
        since="1.22",
        until="1.23",
    )

    # Plugins that filter and score.
    stable_zone_labels: bool = on(
        "topology.kubernetes.io/zone and region are zone labels",
        "only failure-domain.beta.kubernetes.io/zone and region are zone labels",
        "nodes that have only the stable labels get a zone",
        since="1.17",
        kep=1659,
    )
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
    node_affinity_prefilters_nodes: bool = on(
        "PreFilter keeps only the nodes that the pod's node affinity names",
        "the node affinity is only checked in Filter",
        "pods of DaemonSets are scheduled faster; other nodes are no longer evaluated for them",
        since="1.24",
    )
    node_affinity_reason_names_affinity: bool = on(
        "the reason of NodeAffinity mentions affinity",
        "the reason of NodeAffinity mentions only the node selector",
        WORDING,
        since="1.20",
    )
    node_affinity_reason_reworded: bool = on(
        "the reason of NodeAffinity mentions both affinity and selector",
        "the reason of NodeAffinity mentions only affinity",
        WORDING,
        since="1.21",
    )
    taint_reason_reworded: bool = on(
        "the reason of TaintToleration is 'untolerated taint'",
        "the reason of TaintToleration is that the pod did not tolerate the taint",
        WORDING,
        since="1.24",
    )
    taint_reason_names_taint: bool = off(
        "the reason of TaintToleration names the taint",
        "the reason of TaintToleration does not name the taint",
        "only the message differs: taints are no longer counted separately; use the nodes' taints instead",
        since="1.18",
        until="1.34.1",
        pull=134740,
        picks=(135023,),
    )
    too_many_pods_reason_reworded: bool = on(
        "the reason of NodeResourcesFit for a node without a free place is 'Too many pods'",
        "the reason of NodeResourcesFit for a node without a free place is 'Insufficient pods'",
        WORDING,
        since="1.18",
    )
    fit_skips_zero_requests: bool = on(
        "a request of 0 fits on an overcommitted node",
        "a request of 0 does not fit on an overcommitted node",
        "pods without requests are no longer kept from overcommitted nodes",
        since="1.28",
        pull=116408,
    )
    fit_skips_zero_extended_requests: bool = on(
        "a request of 0 of an extended resource fits on an overcommitted node",
        "a request of 0 of an extended resource does not fit on an overcommitted node",
        "pods that request 0 of an extended resource are no longer kept from overcommitted nodes",
        since="1.26",
        pull=111544,
    )
    fit_beyond_allocatable_unresolvable: bool = on(
        "a request beyond the node's allocatable is unresolvable",
        "preemption tries to free resources for a request beyond the node's allocatable",
        "preemption no longer considers nodes that are too small; the message counts them as not helpful",
        since="1.34",
        pull=131345,
    )
    most_allocated_overcommitted_is_zero: bool = off(
        "NodeResourcesMostAllocated scores 0 for a resource that would be overcommitted by default requests",
        "NodeResourcesMostAllocated scores a resource that would be overcommitted as fully used",
        "small nodes with many pods without requests score higher",
        until="1.18",
        pull=102925,
    )
    scores_absent_resources: bool = off(
        "resources that a node does not have lower its resource scores",
        "resources that a node does not have are left out of its scores",
        "nodes without a scored extended resource score higher",
        until="1.21",
    )
    two_resource_balance: bool = off(
        "NodeResourcesBalancedAllocation compares only cpu and memory, with default requests",
        "NodeResourcesBalancedAllocation compares all configured resources, with actual requests",
        "pods without requests, or with scored extended resources, can go to other nodes",
        until="1.21",
    )
    balanced_caps_shares: bool = off(
        "NodeResourcesBalancedAllocation counts a resource that is requested beyond the capacity as full",
        "NodeResourcesBalancedAllocation scores 0 for a node whose cpu or memory is used up",
        "nodes whose default requests exceed cpu or memory score higher",
        since="1.19.13, 1.20.9, 1.21.3",
        until="1.19.15, 1.20.11, 1.21.5",
        pull=105845,
        picks=(105526, 105239, 105238),
    )
    balanced_uses_default_requests: bool = off(
        "NodeResourcesBalancedAllocation counts containers without requests with default requests",
        "NodeResourcesBalancedAllocation counts requests as they are",
        "pods without requests, and nodes that run them, are scored otherwise",
        since="1.22",
        until="1.22.3",
        pull=105845,
        picks=(106081,),
    )
    balanced_skips_best_effort: bool = on(
        "NodeResourcesBalancedAllocation skips pods without requests",
        "NodeResourcesBalancedAllocation also scores pods without requests",
        "best-effort pods no longer gather on the best balanced node",
        since="1.33",
        pull=130260,
    )
    balanced_allocation_scores_change: bool = on(
        "NodeResourcesBalancedAllocation scores how the pod changes the balance",
        "NodeResourcesBalancedAllocation scores the balance that the node has with the pod",
        "scores move by up to 25 points; pods often go to other nodes of similar size",
        since="1.36",
        pull=135573,
    )
    image_threshold_per_container: bool = on(
        "the upper threshold of ImageLocality is 1000 MB for each container",
        "the upper threshold of ImageLocality is 1000 MB for the whole pod",
        "pods of several containers with large images can go to other nodes",
        since="1.19",
        pull=91138,
    )
    init_container_images: bool = on(
        "ImageLocality counts images of init containers",
        "ImageLocality ignores init containers",
        "nodes that have the images of init containers score higher",
        since="1.30",
        pull=123366,
    )
    image_volumes: bool = on(
        "ImageLocality counts image volumes",
        "ImageLocality ignores image volumes",
        "nodes that have the images of image volumes score higher",
        since="1.36",
        kep=4639,
    )
    image_threshold_counts_volumes: bool = on(
        "image volumes raise ImageLocality's upper threshold as containers do",
        "image volumes do not raise ImageLocality's upper threshold",
        "image volumes no longer let nodes with some of the images score as if they had all",
        since="1.37",
        pull=138951,
    )
    image_node_count_fixed_at_add: bool = off(
        "the number of nodes with an image is computed once, when a node is added",
        "the number of nodes with an image is computed again when the node or its pods change",
        "scores of ImageLocality follow the images that nodes have now",
        until="1.28",
    )
    node_declared_features: bool = on(
        "nodes declare their features",
        "declared features of nodes are ignored",
        "pods that need a feature stay away from nodes that do not declare it",
        since="1.36",
        gate="NodeDeclaredFeatures",
        kep=5328,
    )
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

    # Volume plugins.
    volume_affinity_reason_reworded: bool = on(
        "the reason of VolumeBinding names the PersistentVolume's node affinity",
        "the reason of VolumeBinding is a volume node affinity conflict",
        WORDING,
        since="1.33",
    )
    claim_in_use_reason_reworded: bool = on(
        "the reason of VolumeRestrictions states that another pod uses the ReadWriteOncePod claim",
        "the reason of VolumeRestrictions states that the claim is in use, without naming its access mode",
        WORDING,
        since="1.34",
    )
    volume_binding_prefilter: bool = on(
        "VolumeBinding checks claims once in PreFilter instead of for each node",
        "VolumeBinding checks claims for each node",
        "cycles are faster; an unbound claim is reported once instead of for each node",
        since="1.19",
        pull=91775,
    )
    ephemeral_volumes: bool = on(
        "a generic ephemeral volume has a claim, named after the pod and the volume",
        "generic ephemeral volumes are ignored",
        "pods with generic ephemeral volumes wait for their claims",
        since="1.21",
        gate="GenericEphemeralVolume",
        kep=1698,
    )
    lost_claim_rejects: bool = on(
        "VolumeBinding rejects a pod with a lost claim once",
        "VolumeBinding rejects each node for a pod with a lost claim",
        WORDING,
        since="1.23",
        pull=105245,
    )
    missing_volume_reason_reworded: bool = on(
        "the reason of VolumeBinding for a missing volume is about the node",
        "the reason of VolumeBinding for a missing volume is about the claim",
        WORDING,
        since="1.23",
        pull=105196,
    )
    storage_capacity: bool = on(
        "VolumeBinding checks the capacity that a driver reports",
        "VolumeBinding ignores the capacity of storage",
        "pods no longer go to nodes where too little storage is left for their volumes",
        since="1.21",
        kep=1472,
    )
    storage_capacity_scoring: bool = on(
        "VolumeBinding scores nodes by the storage that is left for the pod's claims",
        "VolumeBinding does not score",
        "pods with claims that bind with them prefer nodes with much free storage",
        since="1.37",
        gate="StorageCapacityScoring",
        kep=4049,
    )
    missing_driver_rejects: bool = on(
        "NodeVolumeLimits rejects nodes without a CSI driver that prevents this (preventPodSchedulingIfMissing)",
        "NodeVolumeLimits does not check whether a node has a CSI driver",
        "pods with volumes of such a driver wait for nodes on which it runs",
        since="1.37",
        gate="VolumeLimitScaling",
        kep=5030,
    )
    local_volumes_prefilter_nodes: bool = off(
        "VolumeBinding keeps only the nodes of bound local volumes in PreFilter",
        "the nodes of bound local volumes are only checked in Filter",
        "nodes whose hostname label is not their name are found; else only the evaluated nodes and the message differ",
        since="1.27",
        until="1.29.10, 1.30.6, 1.31.2",
        pull=125398,
        picks=(127586, 127585, 127584),
    )
    read_write_once_pod: bool = on(
        "VolumeRestrictions enforces ReadWriteOncePod claims",
        "ReadWriteOncePod is treated as ReadWriteOnce",
        "a second pod with such a claim stays pending, or preempts the first",
        since="1.27",
        gate="ReadWriteOncePod",
        kep=2485,
    )
    volume_attributes_class: bool = on(
        "claim and volume must have the same VolumeAttributesClass",
        "VolumeAttributesClass is ignored when a volume is matched",
        "claims with a class no longer bind to volumes of another one",
        since="1.34",
        gate="VolumeAttributesClass",
        kep=3751,
    )
    volume_zone_reads_stable_labels: bool = on(
        "VolumeZone reads the stable and the beta labels of zone and region",
        "VolumeZone reads only failure-domain.beta.kubernetes.io/zone and region",
        "volumes that have only the stable labels keep pods in their zone",
        since="1.19",
        pull=89365,
    )
    volume_zone_claim_fails: bool = off(
        "an unusable claim is an error of VolumeZone",
        "VolumeZone rejects a pod with an unusable claim",
        "the event and the result differ; the pod stays pending in both",
        until="1.19",
        pull=102306,
    )
    volume_zone_explains_unbound_claims: bool = on(
        "VolumeZone reports what an unbound claim lacks",
        "VolumeZone reports an unbound claim as not found",
        WORDING,
        since="1.18",
    )
    volume_zone_stable_labels: bool = on(
        "a node's stable zone label matches a volume's beta zone label",
        "labels of node and volume must be equal in name, stable or beta",
        "pods with old volumes fit on nodes that have only the stable labels",
        since="1.29",
    )
    volume_zone_prefilter: bool = on(
        "VolumeZone checks claims once in PreFilter instead of for each node",
        "VolumeZone checks claims for each node",
        "cycles are faster; a broken claim is reported once instead of for each node",
        since="1.27",
    )
    attach_limits_from_allocatable: bool = off(
        "the node's allocatable can also limit CSI volumes",
        "only the CSINode limits CSI volumes",
        "limits in a node's allocatable no longer apply to CSI volumes",
        until="1.31",
    )
    counts_attachments_without_pods: bool = on(
        "attached volumes without a pod count against the limit",
        "only volumes of pods on the node count against the limit",
        "nodes that are still detaching volumes accept fewer pods",
        since="1.32",
    )
    preferred_affinity_ignores_fields: bool = off(
        "preferred node affinity looks at matchExpressions alone",
        "preferred node affinity also looks at matchFields",
        "preferred terms with matchFields count",
        until="1.19",
    )
    spread_defaulting_type: bool = on(
        "PodTopologySpreadArgs has defaultingType",
        "the defaultConstraints of PodTopologySpreadArgs always count",
        "a configuration with defaultConstraints needs defaultingType: List",
        since="1.20",
    )
    checks_claims_first: bool = off(
        "the claims of a pod are checked before PreFilter: a missing or deleted one is an error",
        "a missing or deleted claim rejects the pod",
        "the event and the result differ; the pod stays pending in both",
        until="1.19",
    )
    unusable_claim_fails_cycle: bool = off(
        "an unbound claim or a missing volume is an error of the cycle, not a rejection",
        "an unbound claim or a missing volume rejects the pod",
        "the event and the result differ; the pod stays pending in both",
        until="1.17",
        pull=93892,
    )
    missing_claim_fails: bool = on(
        "volume limits treat a missing claim of a pod as an error",
        "volume limits ignore a missing claim of a pod",
        "pods with a missing claim fail with an error",
        since="1.23",
    )
    missing_claim_rejects: bool = on(
        "NodeVolumeLimits rejects a pod with a missing claim, without an error",
        "a missing claim is an error of NodeVolumeLimits",
        "the event and the result differ; the pod stays pending in both",
        since="1.32",
    )
    in_tree_disks_are_csi: bool = on(
        "in-tree disks count as CSI volumes on nodes where a CSI driver replaces the in-tree plugin",
        "in-tree disks are not CSI volumes",
        "the limits and the topology of CSI drivers apply to in-tree disks",
        since="1.23",
        kep=625,
    )
    gce_pd_is_csi: bool = on(
        "GCE PD counts as CSI on every node with a CSINode, whatever the CSINode announces",
        "GCE PD counts as CSI where the CSINode announces the migration",
        "the limit of the CSI driver applies to GCE PD volumes",
        since="1.28",
    )
    missing_csi_node_crashes: bool = off(
        "kube-scheduler crashes if an in-tree disk is a volume of a pod and a node has no CSINode",
        "an in-tree disk of a pod does not count on a node without a CSINode",
        "clusters in which a node has no CSINode have a scheduler again",
        since="1.25",
        until="1.25.6, 1.26.1",
        pull=115179,
        picks=(115347, 115348),
    )
    portworx_migration: bool = on(
        "Portworx counts as CSI if the CSINode announces it",
        "Portworx volumes are not translated to CSI",
        "the limit of the CSI driver applies to migrated Portworx volumes",
        since="1.31",
        gate="CSIMigrationPortworx",
        kep=2589,
    )
    rbd_migratable: bool = off(
        "CSI translation supports RBD, so that NodeVolumeLimits does not skip it",
        "RBD volumes are not translated to CSI",
        "pods with RBD volumes are no longer checked against CSI limits",
        until="1.30",
    )

    # The framework.
    override_repeats_score_plugins: bool = off(
        "a Score plugin can be loaded twice if three or more plugins of multiPoint are enabled again at score",
        "each Score plugin is loaded once",
        "only profiles that change the weights of three or more default plugins score otherwise",
        since="1.24",
        until="1.26.12, 1.27.9, 1.28.5, 1.29.0",
        pull=122068,
        picks=(122371, 122370, 122368, 122366),
    )
    repeated_scores_weighted_again: bool = off(
        "the score of a plugin that is loaded twice is multiplied by the weight twice, and invalid beyond 100",
        "the score of a plugin that is loaded twice counts twice",
        "profiles that change the weights of three or more default plugins can place pods again",
        until="1.25",
        pull=108494,
    )
    merges_filter_statuses: bool = off(
        "all Filter plugins that reject a node are reported, not only the first",
        "only the first Filter plugin that rejects a node is reported",
        "messages list fewer reasons for a node; counts add up to the number of nodes",
        since="1.24",
        until="1.24.9, 1.25.5, 1.26.0",
        pull=114518,
        picks=(114526, 114525, 114524),
    )
    stops_at_first_feasible: bool = on(
        "without Score plugins the search stops at the first feasible node",
        "without Score plugins the search continues",
        "profiles without Score plugins place pods on the first feasible node",
        since="1.27",
    )
    skipped_scores_crash: bool = off(
        "kube-scheduler crashes if more plugins skip Score than are enabled at score",
        "plugins that are not enabled at score can skip it",
        "profiles with few Score plugins have a scheduler again",
        since="1.27",
        until="1.27.8, 1.28.4",
        pull=121632,
        picks=(121667, 121666),
    )
    supports_skip_status: bool = on(
        "a plugin can return Skip to be left out",
        "a plugin with nothing to do still runs",
        "cycles are faster; decisions are equal",
        since="1.27",
    )
    prefilter_skips: bool = on(
        "plugins with nothing to filter return Skip in PreFilter",
        "plugins with nothing to filter still run",
        "cycles are faster; decisions are equal",
        since="1.28",
    )
    prescore_skips: bool = on(
        "plugins with nothing to score return Skip in PreScore",
        "plugins with nothing to score still run",
        "cycles are faster; decisions are equal",
        since="1.28",
    )
    affinity_prescore_skips: bool = on(
        "NodeAffinity and VolumeBinding with nothing to score return Skip in PreScore",
        "NodeAffinity and VolumeBinding still run if they have nothing to score",
        "cycles are faster; decisions are equal",
        since="1.30",
    )
    unresolvable_prefilter_preempts: bool = off(
        "preemption is tried after PreFilter has rejected a pod, although evicting pods cannot help",
        "preemption is not tried after PreFilter has rejected a pod as unresolvable",
        WORDING,
        since="1.26",
        until="1.26.8, 1.27.5, 1.28.1",
        pull=119778,
        picks=(119953, 119952, 119951),
    )
    excluded_nodes_have_status: bool = on(
        "nodes that PreFilter excluded have a status of their own",
        "nodes that PreFilter excluded have no status of their own",
        WORDING,
        since="1.27.14 to 1.27.14, 1.28.10 to 1.28.10, 1.29.5 to 1.29.5, 1.30.0 to 1.30.1, 1.32",
        pull=119779,
        picks=(124765, 124764, 124559),
    )
    excluded_node_status_names_plugins: bool = on(
        "the status of the nodes that PreFilter excluded names the plugins",
        "the status of the nodes that PreFilter excluded is that they are filtered out",
        WORDING,
        since="1.32",
    )
    absent_nodes_unresolvable: bool = on(
        "preemption does not consider nodes without a status",
        "preemption considers nodes without a status, such as those that PreFilter excluded",
        WORDING,
        since="1.27.15, 1.28.11, 1.29.6, 1.30.2, 1.31",
        pull=125197,
        picks=(125309, 125308, 125307, 125306),
    )
    prefilter_missing_node_fails: bool = off(
        "PreFilter that returns the name of a missing node is an error",
        "a missing node is left out",
        "a pod whose affinity names a node that is gone stays pending without an error",
        until="1.27.13, 1.28.9, 1.29.4",
        pull=119779,
        picks=(124765, 124764, 124559),
    )
    extender_rejections_requeue: bool = on(
        "a pod that an extender rejected is requeued by any event",
        "a pod that an extender and plugins rejected is requeued only by events of the plugins",
        "pods that extenders reject no longer wait 5 minutes",
        since="1.26.12, 1.27.9, 1.28.5, 1.29.10, 1.30",
        pull=122022,
        picks=(122043, 122044, 122045, 127715),
    )
    prefilter_continues_after_rejection: bool = on(
        "PreFilter runs the other plugins after one has returned Unschedulable",
        "PreFilter ends at the first plugin that returns Unschedulable",
        "preemption works for pods that a plugin rejects in PreFilter",
        since="1.30",
        pull=119779,
    )
    skips_kept_after_rejection: bool = on(
        "preemption leaves out the plugins that returned Skip, also after PreFilter has rejected the pod",
        "preemption does not leave out the plugins that returned Skip before PreFilter rejected the pod",
        WORDING,
        since="1.27.6, 1.28.2, 1.29",
        pull=119769,
        picks=(119943, 119942),
    )
    prefilter_reports_narrowing_plugins: bool = on(
        "plugins that excluded nodes in PreFilter are reported as unschedulable plugins",
        "plugins that excluded nodes in PreFilter are not reported",
        RETRIES,
        since="1.31",
    )
    prefilter_rejection_counts_all_nodes: bool = off(
        "if PreFilter rejects a pod, the status is recorded for every node",
        "the message names the rejection once",
        WORDING,
        until="1.25",
    )
    filter_errors_name_pod: bool = off(
        "the message of a failed Filter plugin contains the name of the pod",
        "the message of a failed Filter plugin omits the name of the pod",
        WORDING,
        until="1.18",
    )
    filter_error_reworded: bool = on(
        "the message of a failed Filter plugin begins with 'running'",
        "the message of a failed Filter plugin begins with 'error while running'",
        WORDING,
        since="1.18",
    )
    evaluates_nominated_node_first: bool = on(
        "the nominated node of a pod is evaluated first",
        "all nodes are evaluated",
        "a pod that preempted goes to its nominated node, also if another one scores higher",
        since="1.22",
        gate="PreferNominatedNode",
        kep=1923,
    )
    start_index_wraps_at_filtered_nodes: bool = off(
        "the next start index wraps at the number of nodes that PreFilter kept",
        "the next start index wraps at the number of all nodes",
        "clusters of more than 100 nodes evaluate other nodes; pods can go elsewhere",
        until="1.27.14, 1.28.10, 1.29.5, 1.30.1",
        pull=124933,
        picks=(125043, 125042, 125041, 125039),
    )
    extender_nodes_scored_without_pods: bool = on(
        "nodes that a filter extender returned are scored without their pods",
        "nodes that a filter extender returned are scored with their pods",
        "with filter extenders, scores ignore the pods on a node; pods can go elsewhere",
        since="1.33",
    )
    reports_unschedulable_plugins: bool = on(
        "the plugins that rejected a pod are recorded and determine its queueing",
        "the plugins that rejected a pod are not recorded",
        RETRIES,
        since="1.21",
    )
    opportunistic_batching: bool = on(
        "the next one of several equal pods tries the next best node",
        "each pod is evaluated on its own",
        "equal pods that follow each other are scheduled faster, and can go to other nodes",
        since="1.35",
        gate="OpportunisticBatching",
        kep=5598,
    )
    nominated_pods_bypass_batching: bool = on(
        "batching proposes no node for a pod with a nominated node",
        "batching also proposes a node for a pod with a nominated node, which is not tried",
        "equal pods that follow a nominated pod are evaluated in full; decisions rarely differ",
        since="1.37",
        pull=138754,
    )

    # Preemption.
    preemption_is_plugin: bool = on(
        "preemption is a plugin instead of a part of the scheduler",
        "preemption is a part of the scheduler",
        "preemption can be configured; decisions are equal",
        since="1.19",
    )
    preemption_policy_never: bool = on(
        "preemptionPolicy Never is respected",
        "preemptionPolicy is ignored",
        "pods with preemptionPolicy Never wait instead of preempting",
        since="1.19",
        gate="NonPreemptingPriority",
        kep=902,
    )
    preemption_samples_nodes: bool = on(
        "preemption is simulated on a sample of many nodes",
        "preemption is simulated on all nodes",
        "in large clusters preemption can choose another node",
        since="1.20",
    )
    preemption_reports_nodes: bool = on(
        "preemption reports why it does not help, for each node",
        "preemption gives no reason for a node",
        WORDING,
        since="1.21",
    )
    honors_disrupted_pods: bool = on(
        "pods under eviction violate no disruption budget, and each other victim uses up all its budgets",
        "pods under eviction count, and a victim that violates a budget does not use up later ones",
        "preemption violates fewer disruption budgets, and can choose other victims",
        since="1.19",
    )
    victims_use_up_budgets: bool = on(
        "each victim uses up a disruption that its budgets allow",
        "each victim is compared with the budget as it was",
        "preemption violates fewer disruption budgets, and can choose other victims",
        since="1.18",
    )
    preempts_again_if_nominated_node_unresolvable: bool = on(
        "a pod whose nominated node is unresolvable can preempt again",
        "the pod waits for its nominated node",
        "a pod whose nominated node became unusable can preempt elsewhere",
        since="1.19",
    )
    waits_only_for_preempted_pods: bool = on(
        "pods that terminate for reasons other than preemption do not prevent preemption",
        "any terminating pod on the nominated node prevents another preemption",
        "pods can preempt again sooner",
        since="1.26",
    )
    skips_terminating_victims: bool = on(
        "victims that already terminate are not marked as preempted",
        "victims that already terminate are also marked as preempted, so that the pod waits for them",
        "a pod whose victims a user has deleted can preempt again, on another node",
        since="1.34.0 to 1.34.1, 1.35",
        pull=133167,
        picks=(134247, 134927),
    )
    binding_updates_status: bool = on(
        "the scheduler knows the start time of a pod that it has just bound",
        "the scheduler knows the start time of a pod that it has bound only after the next update of the pod",
        "preemption prefers victims that started later, also among pods that the scheduler has just bound",
        since="1.25",
        pull=110279,
    )
    victims_by_importance: bool = on(
        "victims are sorted by importance instead of by budget violation first",
        "victims that violate a budget come first",
        "preemption can choose another node when disruption budgets are violated",
        since="1.29.11, 1.30.7, 1.31.3, 1.32",
        pull=128307,
        picks=(128435, 128434, 128431),
    )
    victims_of_other_qos_stay: bool = off(
        "a victim whose quality-of-service class is not that of the preempting pod stays terminating",
        "every victim is gone after its grace period",
        "preemption of pods of another quality-of-service class works",
        since="1.27.8, 1.28.4, 1.29",
        until="1.28.13, 1.29.8, 1.30.4, 1.31.0",
        pull=126644,
        picks=(126695, 126694, 126693, 126691),
    )
    failed_preemption_clears_nomination: bool = on(
        "a pod loses its nomination if preemption helps on no node",
        "the pod keeps its nomination",
        "a node is no longer held for a pod that cannot use it",
        since="1.24",
    )
    reports_postfilter_message: bool = on(
        "a FailedScheduling message reports why preemption fails",
        "the message does not mention preemption",
        WORDING,
        since="1.24",
    )
    no_victims_message_reworded: bool = on(
        "'No preemption victims found' omits the names of node and pod",
        "'No preemption victims found' names node and pod",
        WORDING,
        since="1.24",
    )
    # It begins in 1.26; earlier releases have no such message.
    postfilter_message_suffix: str = behavior(
        "",
        "the message of PostFilter in FailedScheduling ends with",
        "FailedScheduling contains the message of PostFilter unchanged",
        WORDING,
        since="1.26",
        until="1.28",
    )
    postfilter_status_without_plugin: bool = off(
        "the status of PostFilter does not name its plugin",
        "the status of PostFilter names its plugin",
        RETRIES,
        since="1.21",
        until="1.26",
    )

    # Pod groups.
    pod_groups: bool = off(
        "the pods of a PodGroup are scheduled in one cycle of their group",
        "each pod of a PodGroup has its own cycle",
        "pods of a PodGroup are placed together",
        gate="GenericWorkload",
        kep=4671,
    )
    gang_scheduling: bool = off(
        "the pods of a gang wait for each other",
        "the pods of a gang are placed one by one",
        "a gang that does not fit as a whole stays pending",
        gate="GangScheduling",
        kep=4671,
    )
    group_placements: bool = off(
        "pod groups are tried by topology domain",
        "pod groups are placed without regard to topology domains",
        "pod groups with a topology constraint stay in one domain",
        gate="TopologyAwareWorkloadScheduling",
        kep=5732,
    )
    group_preemption: bool = off(
        "a pod group preempts as a whole",
        "each pod preempts for itself",
        "a group evicts pods only if it then fits as a whole",
        gate="WorkloadAwarePreemption",
        kep=5710,
    )

    groups_are_queued: bool = on(
        "the queue holds pod groups as units: their members are popped, gated and requeued together",
        "the queue holds the members of a pod group individually",
        "a group with a gated pod waits as a whole; groups wait longer after a failure, by the root of their size",
        since="1.37",
        pull=138567,
    )
    placement_feasible: bool = on(
        "after each member, GangScheduling decides whether `minCount` can still be met, and ends the cycle if not",
        "every member of a group is tried, and Permit decides",
        "the messages of members state how many of the group can be scheduled",
        since="1.37",
        pull=138643,
    )
    group_preemption_nominates: bool = on(
        "the members for which a group preempts are nominated",
        "members for which a group preempts are not nominated",
        "freed nodes are kept for the group",
        since="1.37",
        pull=138967,
    )
    group_preemption_keeps_members: bool = on(
        "a group evicts pods so that as many of its members as possible fit",
        "a group evicts pods so that `minCount` of its members fit",
        "more pods are evicted, and more members scheduled",
        since="1.37",
        pull=138757,
    )
    group_preemption_waits: bool = on(
        "a group does not preempt again while victims terminate on nodes that its members are nominated for",
        "a group can preempt again while its victims terminate",
        "fewer pods are evicted",
        since="1.37",
        pull=138710,
    )
    group_preemption_prefixes_messages: bool = on(
        "messages of the preemption of a group begin with `pod group preemption: `",
        "messages of the preemption of a group have no prefix",
        WORDING,
        since="1.37",
        pull=139218,
    )

    # The queue and its events.
    legacy_queue: bool = off(
        "backoff belongs to a pod's name and expires, and an update ends it",
        "backoff belongs to a pod, and updates do not end it",
        RETRIES,
        until="1.17",
    )
    every_event_requeues: bool = off(
        "an event requeues all waiting pods, whichever plugin rejected them",
        "an event requeues only pods whose plugins registered for it",
        RETRIES,
        until="1.21",
    )
    queueing_hints: bool = on(
        "queueing hints of plugins decide whether an event requeues a pod",
        "every registered event requeues a pod",
        RETRIES,
        since="1.28.0 to 1.28.4, 1.32",
        gate="SchedulerQueueingHints",
        kep=4247,
        picks=(122291,),
    )
    precheck_counts_no_execute: bool = off(
        "a new or changed node with a NoExecute taint requeues only pods that tolerate the taint",
        "a new or changed node with a NoExecute taint requeues pods that do not tolerate the taint",
        RETRIES,
        until="1.22",
    )
    queueing_hint_any_node_update: bool = on(
        "any update of a node requeues pods rejected by affinity, taints or cordons",
        "only node updates that a plugin registered for requeue the pods that it rejected",
        RETRIES,
        since="1.24",
    )
    queueing_hint_node_annotations: bool = on(
        "a change of a node's annotations is an event",
        "a change of a node's annotations is ignored",
        RETRIES,
        since="1.28",
    )
    queueing_hint_every_node_change: bool = on(
        "an update of a node is one event for each kind of change instead of one for the first",
        "an update of a node is one event, for its first change",
        RETRIES,
        since="1.30",
    )
    queueing_hint_node_taints: bool = off(
        "plugins that register for added nodes also receive taint updates",
        "plugins that register for added nodes do not receive taint updates",
        RETRIES,
        since="1.30",
        until="1.36",
    )
    queueing_hint_node_deletes: bool = on(
        "a deleted node requeues pods that PodTopologySpread rejected",
        "a deleted node requeues no pod",
        RETRIES,
        since="1.32",
    )
    queueing_hint_pod_changes: bool = on(
        "only relevant updates of a pod are events",
        "every update of a pod is an event",
        RETRIES,
        since="1.31",
    )
    queueing_hint_spread_pod_adds: bool = on(
        "assigned pods requeue pods that PodTopologySpread rejected",
        "assigned pods do not requeue pods that PodTopologySpread rejected",
        RETRIES,
        since="1.31",
    )
    queueing_hint_nominated_pods: bool = on(
        "a lost nomination requeues pods that lack resources, host ports or attachable volumes",
        "a lost nomination requeues no pod",
        RETRIES,
        since="1.33",
        pull=129058,
    )
    queueing_hint_volume_limits: bool = on(
        "a raised limit of a CSINode requeues pods, and a detached volume only pods with volumes",
        "a changed CSINode requeues no pod, and a detached volume every pod that NodeVolumeLimits rejected",
        RETRIES,
        since="1.33",
        kep=4876,
    )
    queueing_hint_nominated_neighbors: bool = on(
        "a lost nomination requeues pods that InterPodAffinity or PodTopologySpread rejected",
        "a lost nomination requeues no pod that InterPodAffinity or PodTopologySpread rejected",
        RETRIES,
        since="1.36",
        pull=135392,
    )
    queueing_hint_deleted_anti_affinity: bool = on(
        "a deleted pod requeues the pods that its anti-affinity kept away",
        "a deleted pod requeues only pods whose own anti-affinity matches it",
        RETRIES,
        since="1.36",
        pull=135325,
    )
    queueing_hint_own_labels: bool = on(
        "a change of its own labels requeues a pod that InterPodAffinity rejected",
        "a change of its own labels does not requeue a pod that InterPodAffinity rejected",
        RETRIES,
        since="1.36",
        pull=135394,
    )
    queueing_hint_any_anti_affinity: bool = on(
        "a pod that matches any anti-affinity term of a pod, and is deleted or no longer matches, requeues it",
        "only a pod that matches all anti-affinity terms of a pod, and is deleted or no longer matches, requeues it",
        RETRIES,
        since="1.37",
        pull=139161,
    )
    events_name_target_pods: bool = on(
        "an update of the waiting pod itself is an event of TargetPod, other pods without a node are UnscheduledPod",
        "pods without a node have one name in events, UnschedulablePod",
        "only the names of events in metrics and logs differ",
        since="1.37",
        pull=135905,
    )
    gated_pods_hold_nominations: bool = on(
        "a nomination counts from the arrival of a pod on, also while the pod is gated",
        "the nomination of a new pod counts when the pod enters activeQ",
        "pods of lower priority no longer take the place of a nominated pod that is gated",
        since="1.37",
        pull=139057,
    )
    own_update_completes_backoff: bool = on(
        "a pod that its own update requeues counts as having completed its backoff",
        "a pod that its own update requeues still waits for its backoff",
        RETRIES,
        since="1.31",
    )
    unschedulable_timeout_five_minutes: bool = on(
        "without an event, pods leave the unschedulable pods at the first flush after 5 minutes instead of 1",
        "without an event, pods leave the unschedulable pods at the first flush after 1 minute",
        "pods without a helpful event wait up to 4 minutes longer",
        since="1.24",
    )
    pop_from_backoff: bool = on(
        "an idle scheduler pops pods from backoffQ before their backoff ends",
        "an idle scheduler waits until a backoff ends",
        "pods in backoff are retried sooner",
        since="1.33",
        gate="SchedulerPopFromBackoffQ",
        kep=5142,
    )
    failed_pods_back_off: bool = on(
        "a pod that failed with an error returns after its backoff, without an event",
        "a pod that failed with an error waits for an event",
        "pods that failed with an error are retried sooner",
        since="1.29",
    )
    attempts_forget_rejections: bool = on(
        "an attempt that fails with an error forgets the plugins that rejected the pod in an earlier attempt",
        "a pod that failed with an error waits for events of the plugins that rejected it in an earlier attempt",
        "pods that failed with an error are retried sooner",
        since="1.25.15, 1.26.10, 1.27.7, 1.28.3, 1.29",
        pull=120334,
        picks=(120558, 120557, 120556, 120535),
    )
    backoff_counts_attempts: bool = off(
        "backoff grows with every attempt; errors are not counted separately",
        "errors have a backoff of their own",
        "pods back off for other times after errors",
        until="1.33",
    )
    backoff_includes_end: bool = on(
        "a pod is still backing off at the instant at which its backoff ends",
        "the backoff is over at the instant at which it ends",
        RETRIES,
        since="1.33",
    )

    # Dynamic resource allocation.
    mixed_claims_score_fails: bool = off(
        "scoring fails for a pod that has both allocated and unallocated claims",
        "scoring also supports pods that have both allocated and unallocated claims",
        "pods with both allocated and unallocated claims are scheduled again",
        since="1.35",
        until="1.35.5, 1.36.1",
        pull=139017,
        picks=(139362, 139363),
    )
    allocates_from_incomplete_pools: bool = off(
        "devices of pools with missing slices are allocated",
        "pools with missing slices are not used",
        "claims wait until all slices of a pool are published",
        until="1.34",
    )
    class_configuration_names_requests: bool = on(
        "configurations of device classes name the requests that they apply to",
        "configurations of device classes do not name requests",
        "only the allocation in the claim's status differs",
        since="1.32.10, 1.33.6, 1.34.2, 1.35",
        picks=(135109, 135105, 135098),
    )
    configuration_for_all_names_no_requests: bool = on(
        "a configuration in an allocation occurs once, and names no requests if it applies to all",
        "a configuration in an allocation always names its requests, and is repeated for each that it matches",
        "only the allocation in the claim's status differs",
        since="1.37",
    )
    selector_errors_name_device: bool = on(
        "an error of a device selector names the device, and has a hint if a key is missing",
        "an error of a device selector does not name the device",
        WORDING,
        since="1.37",
        pull=136709,
    )
    reports_invalid_pools: bool = on(
        "an invalid pool is reported as a separate reason",
        "an invalid pool is left out without a reason",
        WORDING,
        since="1.35",
    )
    all_devices_alternatives_use_first: bool = off(
        "alternatives that request all devices use the devices of the first one",
        "each alternative uses its own devices",
        "claims with alternatives that request all devices get the right devices",
        until="1.35",
    )
    all_devices_with_counters_crash: bool = off(
        "kube-scheduler crashes if a request for all devices gets one that consumes counters",
        "requests for all devices can get devices that consume counters",
        "clusters with such claims have a scheduler again",
        until="1.35.5, 1.36.1",
        pull=138885,
        picks=(138989, 138988),
    )
    shared_devices_leave_counters: bool = off(
        "devices that claims share by capacity leave the counters of their pool as they are",
        "devices that claims share by capacity also consume the counters of their pool",
        "partitions of a device are not allocated beyond its counters, also if claims share devices",
        until="1.36.1",
        pull=139040,
        picks=(139211,),
    )
    device_taints: bool = on(
        "taints of devices repel claims",
        "taints of devices are ignored",
        "claims no longer get tainted devices without a toleration",
        since="1.36",
        gate="DRADeviceTaints",
        kep=5055,
    )
    device_taint_rules: bool = on(
        "DeviceTaintRules taint devices",
        "DeviceTaintRules are ignored",
        "claims no longer get devices that a rule taints without a toleration",
        since="1.37",
        gate="DRADeviceTaintRules",
        kep=5055,
    )
    shared_counters: bool = on(
        "devices can share counters and can have their own node selection",
        "shared counters are ignored",
        "partitions of a device are not allocated beyond its counters",
        since="1.36",
        gate="DRAPartitionableDevices",
        kep=4815,
    )
    counters_of_pool_everywhere: bool = off(
        "a slice with shared counters is part of its pool on every node",
        "a slice with shared counters is part of its pool on its own nodes, and on those of other slices of the pool",
        "nodes without a device of a pool no longer see it; a pool with a problem no longer concerns them",
        until="1.36",
    )
    consumable_capacity: bool = on(
        "several claims can share the capacity of a device",
        "a device is allocated to one claim",
        "more claims can fit on a device that allows several allocations",
        since="1.36",
        gate="DRAConsumableCapacity",
        kep=5075,
    )
    fractional_capacity_ranges: bool = on(
        "ranges of a device's capacity can be in thousandths",
        "amounts of a device's capacity are rounded up to whole numbers where a range has a step",
        "claims can share a device in fractions",
        since="1.37",
        gate="DRAFractionalCapacityRange",
        kep=5075,
    )
    binding_conditions: bool = on(
        "devices become ready before pods are bound",
        "pods are bound at once",
        "pods wait for their devices before they are bound",
        since="1.36",
        gate="DRADeviceBindingConditions",
        kep=5007,
    )
    extended_resources: bool = on(
        "device classes can provide extended resources",
        "only device plugins provide extended resources",
        "pods that request an extended resource can fit through a device class",
        since="1.36",
        gate="DRAExtendedResource",
        kep=5004,
    )
    claim_owner_message_capitalized: bool = on(
        "the message 'Pod is not owner' of a claim begins with a capital letter",
        "the message begins with a small letter",
        WORDING,
        since="1.36",
    )

    @property
    def number(self) -> str:
        """`1.36` or `1.36.1`: the name without feature gates."""
        return self.name.partition(" ")[0]

    @property
    def prefilter_excluded_node_message(self) -> str:
        """The reason of the nodes that PreFilter excluded, with `{plugins}` for their names; "" if there is none."""
        if not self.excluded_nodes_have_status:
            return ""
        if self.excluded_node_status_names_plugins:
            return "node(s) didn't satisfy plugin(s) [{plugins}]"
        return "node is filtered out by the prefilter result"

    @property
    def minor(self) -> str:
        """`1.36`: the minor release."""
        return minor_of(self.number)

    @property
    def version(self) -> str:
        """`1.36.2`: the patch release that it is simulated as."""
        return self.patch_version or f"{self.minor}.0"


BEHAVIORS: Mapping[str, Behavior] = {
    made.name: made.metadata["behavior"] for made in fields(Release) if "behavior" in made.metadata
}
"""Field of a Release -> its metadata."""


def without(plugins: PluginWeights, *names: str) -> PluginWeights:
    """Return the plugins except those with these names."""
    return tuple(entry for entry in plugins if entry[0] not in names)


def weighted(plugins: PluginWeights, **weights: int) -> PluginWeights:
    """Return the plugins with these weights replaced."""
    return tuple((name, weights.get(name, weight)) for name, weight in plugins)


def insert(plugins: PluginWeights, before: str, *entries: tuple[str, int]) -> PluginWeights:
    """Return the plugins with `entries` inserted before the plugin `before`."""
    at = [name for name, _ in plugins].index(before)
    return (*plugins[:at], *entries, *plugins[at:])


def with_weight(weight: int, *names: str) -> PluginWeights:
    """Return plugins that all have this weight."""
    return tuple((name, weight) for name in names)


def unweighted(*names: str) -> PluginWeights:
    """Return plugins with weight 0."""
    return with_weight(0, *names)
