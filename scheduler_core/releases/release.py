"""A kube-scheduler release: its default plugins and the behaviours that differ between releases."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import NamedTuple, TypeVar

T = TypeVar("T", bool, str)

PluginWeights = tuple[tuple[str, int], ...]
"""(plugin name, weight) in order; weight 0 means that no weight is given."""

OLD_PLUGINS = frozenset(
    {
        *("NodeLabel", "NodePreferAvoidPods", "ServiceAffinity"),
        *("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"),
    }
)
"""Plugins of v1beta1 and of Policies that later configuration versions lack. 1.22 is the last release with them."""


class Behavior(NamedTuple):
    """The metadata of a behaviour. `text`: what the scheduler does if the field is true.

    `since` and `until`: the first and the last release that does so; "" if unknown. `gate`: the feature gate that
    controls it. `kep`: the number of the enhancement proposal.
    """

    text: str
    since: str = ""
    until: str = ""
    gate: str = ""
    kep: int = 0

    def describe(self) -> str:
        """Return the text with its feature gate, and with its releases unless it continues in all later ones."""
        when = f"until {self.until}" if self.until else ""
        if self.since and self.until:
            when = f"{self.since} only" if self.since == self.until else f"{self.since} to {self.until}"
        details = ", ".join(filter(None, (self.gate, when)))
        return f"{self.text} ({details})" if details else self.text


def behavior(default: T, text: str, *, since: str = "", until: str = "", gate: str = "", kep: int = 0) -> T:
    """Return a dataclass field with a Behavior as its metadata."""
    metadata = {"behavior": Behavior(text, since, until, gate, kep)}
    return field(default=default, metadata=metadata)


on = partial(behavior, True)
"""A behaviour that is on by default. `since` and `until`, if given, decide which releases have it."""
off = partial(behavior, False)
"""A behaviour that is off by default. `since` and `until`, if given, decide which releases have it."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A minor release. catalog.py computes its behaviours from their `since` and `until`.

    `api_versions`: the KubeSchedulerConfiguration versions that it accepts, newest first.
    `default_plugins`: the MultiPoint list of the default profile, in order (upstream: getDefaultPlugins).
    `default_points`: the defaults of each extension point, for API versions older than MultiPoint.
    `removed_plugins`: plugins of older or newer releases, which this release refuses in a configuration.
    `absent_points`: plugin -> extension points that it has in other releases but not in this one.
    `feature_gates`: the gates that differ from their defaults; `name` also contains them.
    `patch_version`: the patch release that decided the conformance cases; "" if there are none.
    """

    name: str
    api_versions: tuple[str, ...]
    default_plugins: PluginWeights
    default_points: Mapping[str, Mapping[str, PluginWeights]] = field(default_factory=dict)
    removed_plugins: frozenset[str] = frozenset()
    absent_points: Mapping[str, frozenset[str]] = field(default_factory=dict)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    patch_version: str = field(default="", compare=False)

    # Predicates and priorities.
    predicates: bool = off("predicates and priorities decide instead of plugins", until="1.16")
    conditions_taint: bool = on(
        "taints stand for node conditions, which have no predicates", gate="TaintNodesByCondition", kep=382
    )
    even_pods_spread: bool = off("EvenPodsSpread is a predicate and a priority", gate="EvenPodsSpread", kep=895)
    resource_limits_score: bool = off(
        "nodes that can hold a pod's limits score higher", gate="ResourceLimitsPriorityFunction"
    )

    # Requests of pods.
    pod_overhead: bool = on("a pod's overhead is added to its requests", since="1.18", gate="PodOverhead", kep=688)
    node_requests_include_init_containers: bool = on(
        "init containers count in the requests of the pods on a node", since="1.17"
    )
    sidecar_containers: bool = on("requests of sidecars (restartable init containers) are added", since="1.28", kep=753)
    rejects_sidecars: bool = off(
        "NodeResourcesFit rejects pods with sidecars", since="1.28", until="1.28", gate="SidecarContainers"
    )
    scoring_requests_include_sidecars: bool = on(
        "scoring adds the default requests of sidecars of the pods on a node", since="1.32"
    )
    sidecar_ports: bool = on("host ports of sidecars count", since="1.34")
    pod_level_resources: bool = on(
        "requests of the whole pod (spec.resources) count", since="1.34", gate="PodLevelResources", kep=2837
    )
    in_place_resize: bool = on(
        "container statuses count in requests", since="1.33", gate="InPlacePodVerticalScaling", kep=1287
    )
    overhead_cores_as_millicores: bool = off(
        "scoring counts a core of the pod's overhead as one millicore", until="1.26"
    )
    fit_score_ignores_overhead: bool = off(
        "NodeResourcesFit ignores the overhead of pods when scoring", since="1.22", until="1.23"
    )

    # Plugins that filter and score.
    stable_zone_labels: bool = on("topology.kubernetes.io/zone and region are zone labels", since="1.17", kep=1659)
    affinity_namespace_selectors: bool = on("pod affinity terms can select namespaces", since="1.22", kep=2249)
    affinity_label_keys: bool = on(
        "matchLabelKeys of pod affinity terms are added to their selectors",
        since="1.31",
        gate="MatchLabelKeysInPodAffinity",
        kep=3633,
    )
    existing_anti_affinity_first: bool = off(
        "InterPodAffinity checks the anti-affinity of running pods before that of the pod", until="1.18"
    )
    affinity_scores_start_at_zero: bool = off(
        "InterPodAffinity normalizes scores from 0 even if all raw scores are higher", until="1.20"
    )
    inter_pod_affinity_reason_prefix: str = behavior("", "reasons of InterPodAffinity begin with", until="1.21")
    node_affinity_prefilters_nodes: bool = on(
        "PreFilter keeps only the nodes that the pod's node affinity names", since="1.24"
    )
    node_affinity_reason_names_affinity: bool = on("the reason of NodeAffinity mentions affinity", since="1.20")
    node_affinity_reason_reworded: bool = on(
        "the reason of NodeAffinity mentions both affinity and selector", since="1.21"
    )
    taint_reason_reworded: bool = on("the reason of TaintToleration is 'untolerated taint'", since="1.24")
    taint_reason_names_taint: bool = off("the reason of TaintToleration names the taint", until="1.34")
    fit_skips_zero_requests: bool = on("a request of 0 fits on an overcommitted node", since="1.28")
    fit_beyond_allocatable_unresolvable: bool = on(
        "a request beyond the node's allocatable is unresolvable", since="1.34"
    )
    scores_absent_resources: bool = off("resources that a node does not have lower its resource scores", until="1.21")
    two_resource_balance: bool = off(
        "NodeResourcesBalancedAllocation compares only cpu and memory, with default requests", until="1.21"
    )
    balanced_skips_best_effort: bool = on("NodeResourcesBalancedAllocation skips pods without requests", since="1.33")
    balanced_allocation_scores_change: bool = on(
        "NodeResourcesBalancedAllocation scores how the pod changes the balance", since="1.36"
    )
    init_container_images: bool = on("ImageLocality counts images of init containers", since="1.30")
    image_volumes: bool = on("ImageLocality counts image volumes", since="1.36", kep=4639)
    image_node_count_fixed_at_add: bool = off(
        "the number of nodes with an image is computed once, when a node is added", until="1.28"
    )
    node_declared_features: bool = on(
        "nodes declare their features", since="1.36", gate="NodeDeclaredFeatures", kep=5328
    )
    controllers_found_by_labels: bool = off(
        "labels, not owner references, determine the controllers of a pod", until="1.20"
    )
    default_spread_constraints: bool = on(
        "default constraints spread pods without constraints", since="1.20", gate="DefaultPodTopologySpread", kep=1258
    )
    spread_counts_excluded_nodes: bool = off(
        "PodTopologySpread counts the pods on all nodes of an eligible domain", since="1.19", until="1.20"
    )
    spread_scores_by_share: bool = off(
        "PodTopologySpread scores a node's share of all matching pods for all topology keys", until="1.18"
    )
    spread_scores_rounded: bool = on("PodTopologySpread rounds its raw score instead of truncating it", since="1.24")
    reports_missing_topology_label: bool = on(
        "PodTopologySpread reports a missing topology label, and its rejection is unresolvable", since="1.19"
    )
    empty_selectors_match_all: bool = off("an empty selector of a spread constraint matches all pods", until="1.26")

    # Volume plugins.
    volume_affinity_reason_reworded: bool = on(
        "the reason of VolumeBinding names the PersistentVolume's node affinity", since="1.33"
    )
    claim_in_use_reason_reworded: bool = on(
        "the reason of VolumeRestrictions states that another pod uses the ReadWriteOncePod claim", since="1.34"
    )
    local_volumes_prefilter_nodes: bool = off(
        "VolumeBinding keeps only the nodes of bound local volumes in PreFilter", since="1.27", until="1.31"
    )
    read_write_once_pod: bool = on(
        "VolumeRestrictions enforces ReadWriteOncePod claims", since="1.27", gate="ReadWriteOncePod", kep=2485
    )
    volume_attributes_class: bool = on(
        "claim and volume must have the same VolumeAttributesClass",
        since="1.34",
        gate="VolumeAttributesClass",
        kep=3751,
    )
    volume_zone_stable_labels: bool = on("a node's stable zone label matches a volume's beta zone label", since="1.29")
    volume_zone_prefilter: bool = on(
        "VolumeZone checks claims once in PreFilter instead of for each node", since="1.27"
    )
    attach_limits_from_allocatable: bool = off("the node's allocatable can also limit CSI volumes", until="1.31")
    counts_attachments_without_pods: bool = on("attached volumes without a pod count against the limit", since="1.32")
    unusable_claim_fails_cycle: bool = off("an unusable claim is an error of the cycle, not a rejection", until="1.18")
    missing_claim_fails: bool = on("volume limits treat a missing claim of a pod as an error", since="1.23")
    missing_claim_rejects: bool = on(
        "NodeVolumeLimits rejects a pod with a missing claim, without an error", since="1.32"
    )
    gce_pd_is_csi: bool = on(
        "GCE PD counts as CSI on every node with a CSINode, whatever the CSINode announces", since="1.28"
    )
    portworx_migration: bool = on(
        "Portworx counts as CSI if the CSINode announces it", since="1.31", gate="CSIMigrationPortworx", kep=2589
    )
    rbd_migratable: bool = off("CSI translation supports RBD, so that NodeVolumeLimits does not skip it", until="1.30")

    # The framework.
    merges_filter_statuses: bool = off(
        "all Filter plugins that reject a node are reported, not only the first", since="1.24", until="1.25"
    )
    stops_at_first_feasible: bool = on(
        "without Score plugins the search stops at the first feasible node", since="1.27"
    )
    supports_skip_status: bool = on("a plugin can return Skip to be left out", since="1.27")
    prefilter_skips: bool = on("plugins with nothing to filter return Skip in PreFilter", since="1.28")
    prescore_skips: bool = on("plugins with nothing to score return Skip in PreScore", since="1.28")
    affinity_prescore_skips: bool = on(
        "NodeAffinity and VolumeBinding with nothing to score return Skip in PreScore", since="1.30"
    )
    # The value differs by release, so it has no single `until`.
    prefilter_excluded_node_message: str = behavior(
        "node(s) didn't satisfy plugin(s) [{plugins}]", "status of the nodes that PreFilter excluded", since="1.32"
    )
    prefilter_missing_node_fails: bool = off(
        "PreFilter that returns the name of a missing node is an error", until="1.29"
    )
    prefilter_continues_after_rejection: bool = on(
        "PreFilter runs the other plugins after one has returned Unschedulable", since="1.28"
    )
    prefilter_reports_narrowing_plugins: bool = on(
        "plugins that excluded nodes in PreFilter are reported as unschedulable plugins", since="1.31"
    )
    prefilter_rejection_counts_all_nodes: bool = off(
        "if PreFilter rejects a pod, the status is recorded for every node", until="1.25"
    )
    filter_errors_name_pod: bool = off(
        "the message of a failed Filter plugin contains the name of the pod", until="1.18"
    )
    evaluates_nominated_node_first: bool = on(
        "the nominated node of a pod is evaluated first", since="1.22", gate="PreferNominatedNode", kep=1923
    )
    start_index_wraps_at_filtered_nodes: bool = off(
        "the next start index wraps at the number of nodes that PreFilter kept", until="1.30"
    )
    extender_nodes_scored_without_pods: bool = on(
        "nodes that a filter extender returned are scored without their pods", since="1.33"
    )
    reports_unschedulable_plugins: bool = on(
        "the plugins that rejected a pod are recorded and determine its queueing", since="1.21"
    )
    opportunistic_batching: bool = on(
        "the next one of several equal pods tries the next best node",
        since="1.35",
        gate="OpportunisticBatching",
        kep=5598,
    )

    # Preemption.
    preemption_is_plugin: bool = on("preemption is a plugin instead of a part of the scheduler", since="1.19")
    preemption_policy_never: bool = on(
        "preemptionPolicy Never is respected", since="1.19", gate="NonPreemptingPriority", kep=902
    )
    preemption_samples_nodes: bool = on("preemption is simulated on a sample of many nodes", since="1.20")
    preemption_reports_nodes: bool = on("preemption reports why it does not help, for each node", since="1.21")
    honors_disrupted_pods: bool = on(
        "pods under eviction violate no disruption budget, and each other victim uses up its budget", since="1.19"
    )
    preempts_again_if_nominated_node_unresolvable: bool = on(
        "a pod whose nominated node is unresolvable can preempt again", since="1.19"
    )
    waits_only_for_preempted_pods: bool = on(
        "pods that terminate for reasons other than preemption do not prevent preemption", since="1.26"
    )
    victims_by_importance: bool = on(
        "victims are sorted by importance instead of by budget violation first", since="1.32"
    )
    failed_preemption_clears_nomination: bool = on(
        "a pod loses its nomination if preemption helps on no node", since="1.24"
    )
    reports_postfilter_message: bool = on("a FailedScheduling message reports why preemption fails", since="1.24")
    no_victims_message_reworded: bool = on(
        "'No preemption victims found' omits the names of node and pod", since="1.24"
    )
    # It begins in 1.26; earlier releases have no such message.
    postfilter_message_suffix: str = behavior(
        "", "the message of PostFilter in FailedScheduling ends with", since="1.26", until="1.28"
    )
    postfilter_status_without_plugin: bool = off(
        "the status of PostFilter does not name its plugin", since="1.21", until="1.26"
    )

    # Pod groups.
    pod_groups: bool = off(
        "the pods of a PodGroup are scheduled in one cycle of their group", gate="GenericWorkload", kep=4671
    )
    gang_scheduling: bool = off("the pods of a gang wait for each other", gate="GangScheduling", kep=4671)
    group_placements: bool = off(
        "pod groups are tried by topology domain", gate="TopologyAwareWorkloadScheduling", kep=5732
    )
    group_preemption: bool = off("a pod group preempts as a whole", gate="WorkloadAwarePreemption", kep=5710)

    # The queue and its events.
    legacy_queue: bool = off("backoff belongs to a pod's name and expires, and an update ends it", until="1.17")
    every_event_requeues: bool = off("an event requeues all waiting pods, whichever plugin rejected them", until="1.21")
    queueing_hints: bool = on(
        "queueing hints of plugins decide whether an event requeues a pod",
        since="1.32",
        gate="SchedulerQueueingHints",
        kep=4247,
    )
    queueing_hint_any_node_update: bool = on(
        "any update of a node requeues pods rejected by affinity, taints or cordons", since="1.24"
    )
    queueing_hint_node_annotations: bool = on("a change of a node's annotations is an event", since="1.28")
    queueing_hint_every_node_change: bool = on(
        "an update of a node is one event for each kind of change instead of one for the first", since="1.30"
    )
    queueing_hint_node_taints: bool = on(
        "plugins that register for added nodes also receive taint updates", since="1.30"
    )
    queueing_hint_node_deletes: bool = on("a deleted node requeues pods that PodTopologySpread rejected", since="1.32")
    queueing_hint_pod_changes: bool = on("only relevant updates of a running pod are events", since="1.31")
    queueing_hint_spread_pod_adds: bool = on("assigned pods requeue pods that PodTopologySpread rejected", since="1.31")
    own_update_completes_backoff: bool = on(
        "a pod that its own update requeues counts as having completed its backoff", since="1.31"
    )
    unschedulable_timeout_five_minutes: bool = on(
        "pods stay unschedulable without an event for at most 5 minutes instead of 1", since="1.24"
    )
    pop_from_backoff: bool = on(
        "an idle scheduler pops pods from backoffQ before their backoff ends",
        since="1.33",
        gate="SchedulerPopFromBackoffQ",
        kep=5142,
    )
    failed_pods_back_off: bool = on(
        "a pod that failed with an error returns after its backoff, without an event", since="1.29"
    )
    backoff_counts_attempts: bool = off(
        "backoff grows with every attempt; errors are not counted separately", until="1.33"
    )
    backoff_includes_end: bool = on("a pod is still backing off at the instant at which its backoff ends", since="1.33")

    # Dynamic resource allocation.
    allocates_from_incomplete_pools: bool = off("devices of pools with missing slices are allocated", until="1.34")
    class_configuration_names_requests: bool = on(
        "configurations of device classes name the requests that they apply to", since="1.35"
    )
    reports_invalid_pools: bool = on("an invalid pool is reported as a separate reason", since="1.35")
    all_devices_alternatives_use_first: bool = off(
        "alternatives that request all devices use the devices of the first one", until="1.35"
    )
    device_taints: bool = on("taints of devices repel claims", since="1.36", gate="DRADeviceTaints", kep=5055)
    shared_counters: bool = on(
        "devices can share counters and can have their own node selection",
        since="1.36",
        gate="DRAPartitionableDevices",
        kep=4815,
    )
    consumable_capacity: bool = on(
        "several claims can share the capacity of a device", since="1.36", gate="DRAConsumableCapacity", kep=5075
    )
    binding_conditions: bool = on(
        "devices become ready before pods are bound", since="1.36", gate="DRADeviceBindingConditions", kep=5007
    )
    extended_resources: bool = on(
        "device classes can provide extended resources", since="1.36", gate="DRAExtendedResource", kep=5004
    )
    claim_owner_message_capitalized: bool = on(
        "the message 'Pod is not owner' of a claim begins with a capital letter", since="1.36"
    )

    @property
    def number(self) -> str:
        """`1.36`: the name without feature gates."""
        return self.name.partition(" ")[0]


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
