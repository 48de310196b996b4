"""What a kube-scheduler release is, as far as decisions depend on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PluginWeights = tuple[tuple[str, int], ...]
"""(plugin name, weight) in order; weight 0 stands for «not given»."""

OLD_PLUGINS = frozenset(
    {
        *("NodeLabel", "NodePreferAvoidPods", "ServiceAffinity"),
        *("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"),
    }
)
"""Those that v1beta1 and Policies have, and no later version of the configuration: 1.22 is the last with them."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A minor release: its defaults and the switches by which its behaviour differs from others.

    `api_versions`: the KubeSchedulerConfiguration versions it reads, newest first.
    `default_plugins`: the MultiPoint list of the default profile, in order (upstream: getDefaultPlugins).
    `default_points`: API versions older than MultiPoint name their defaults per extension point instead.
    `removed_plugins`: plugins of older or newer releases, which this one refuses to see in a configuration.
    `feature_gates`: those that are not as they are by default; `name` tells them, too.
    `absent_points`: plugin -> the extension points at which it takes part in other releases, but not in this one.
    """

    name: str
    api_versions: tuple[str, ...]
    default_plugins: PluginWeights
    default_points: Mapping[str, Mapping[str, PluginWeights]] = field(default_factory=dict)
    removed_plugins: frozenset[str] = frozenset()
    absent_points: Mapping[str, frozenset[str]] = field(default_factory=dict)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    conditions_taint: bool = True  # nodes' conditions are taints, not predicates of their own (TaintNodesByCondition)
    even_pods_spread: bool = False  # EvenPodsSpread is a predicate and a priority (EvenPodsSpread)
    resource_limits_score: bool = False  # nodes that hold a pod's limits score more (ResourceLimitsPriorityFunction)
    predicates: bool = False  # predicates and priorities decide, there is no framework of plugins (until 1.16)

    # Behaviour switches; each says which upstream change it stands for.
    sidecar_containers: bool = True  # requests of sidecars (init containers that go on running) are added (1.28)
    sidecars_refused: bool = False  # NodeResourcesFit refuses pods with sidecars (SidecarContainers off, 1.28 alone)
    nonzero_sums_sidecars: bool = True  # what scoring assumes of a pod on a node has its sidecars added, too (1.32)
    sidecar_ports: bool = True  # host ports of sidecars count (1.34)
    pod_level_resources: bool = True  # requests of the pod as a whole, spec.resources (PodLevelResources, 1.34)
    overhead_in_cores: bool = False  # scoring counts a core of the pod's overhead as one millicore (until 1.26)
    overhead_not_scored: bool = False  # NodeResourcesFit scores pods without their overhead (1.22 to 1.23)
    affinity_namespace_selectors: bool = True  # terms of pod affinity may select namespaces (1.22)
    affinity_label_keys: bool = True  # matchLabelKeys of affinity terms join their selectors (1.31)
    in_place_resize: bool = True  # container statuses count in requests (InPlacePodVerticalScaling, 1.33)
    reworded_volume_reasons: bool = True  # VolumeBinding says more plainly that a volume is elsewhere (1.33)
    reworded_claim_in_use: bool = True  # VolumeRestrictions says more plainly that another pod has the claim (1.34)
    local_volume_nodes: bool = False  # VolumeBinding narrows the nodes to those of bound local volumes (1.27 to 1.31)
    claims_of_one_pod: bool = True  # VolumeRestrictions minds claims for one pod alone (ReadWriteOncePod, 1.27)
    volume_attributes_class: bool = True  # claim and volume must be of the same one (VolumeAttributesClass, 1.34)
    volume_zone_stable_labels: bool = True  # a volume's beta zone label is met by a node's stable one (1.29)
    attach_limits_of_nodes: bool = False  # a node's own allocatable may limit CSI volumes too (until 1.31)
    lingering_attachments: bool = True  # volumes still attached without a pod count against the limit (1.32)
    claims_fail_cycles: bool = False  # a claim that is of no use is an error, no refusal of the pod (until 1.18)
    missing_claim_fails: bool = True  # counting volumes of a pod whose claim is missing is an error (1.23)
    missing_claim_rejects: bool = True  # NodeVolumeLimits rejects a pod whose claim is missing, no error (1.32)
    gce_pd_is_csi: bool = True  # GCE PD counts as CSI on every node with a CSINode, whatever that announces (1.28)
    portworx_migrates: bool = True  # Portworx is CSI where the CSINode announces it (CSIMigrationPortworx, 1.31)
    rbd_migratable: bool = False  # the CSI translation knows RBD, so NodeVolumeLimits does not skip it (until 1.30)
    filters_merge: bool = False  # all Filter plugins that refuse a node are told, not the first alone (1.24 to 1.25)
    one_node_enough: bool = True  # without Score plugins the first node that fits is taken, no other looked for (1.27)
    zones_prefiltered: bool = True  # VolumeZone finds what is wrong with claims in PreFilter, not node by node (1.27)
    skips: bool = True  # a plugin that has nothing to filter may say so and is left out (1.27)
    prefilter_skips: bool = True  # plugins with nothing to filter say so in PreFilter (1.28)
    prescore_skips: bool = True  # plugins with nothing to score say so in PreScore (1.28)
    affinity_prescore_skips: bool = True  # NodeAffinity and VolumeBinding with nothing to score say so, too (1.30)
    balanced_skips_best_effort: bool = True  # balanced use skips pods without requests, they change no balance (1.33)
    absent_resources_count: bool = False  # resources that a node has not lower its resource scores (until 1.21)
    two_resource_balance: bool = False  # balanced use compares cpu and memory alone, with defaults (until 1.21)
    scores_above_zero: bool = False  # InterPodAffinity scales raw scores from 0 even if all are above it (until 1.20)
    existing_anti_affinity_first: bool = False  # running pods' anti-affinity is looked at before the pod's (until 1.18)
    controllers_by_labels: bool = False  # a pod's controllers are found by its labels, not its owners (until 1.20)
    spreads_by_default: bool = True  # pods without constraints of their own are spread (DefaultPodTopologySpread, 1.20)
    spread_counts_all: bool = False  # spreading counts the pods on all nodes of a domain open to it (1.19 to 1.20)
    spread_shares: bool = False  # soft spreading scores a node's share of all matches, whatever the key (until 1.18)
    missing_label_told: bool = True  # PodTopologySpread says of a node that it lacks the label, for good (1.19)
    empty_selectors_count: bool = False  # an empty selector of a spread constraint counts every pod (until 1.26)
    spread_rounded: bool = True  # PodTopologySpread rounds its raw score, it does not cut it off (1.24)
    fit_skips_zero_requests: bool = True  # a request of 0 fits an overcommitted node (1.28)
    fit_unresolvable: bool = True  # a request beyond the node's allocatable is unresolvable (1.34)
    init_container_images: bool = True  # ImageLocality counts init containers' images (1.30)
    image_spread_at_arrival: bool = False  # an image's number of nodes is frozen when a node comes (until 1.28)
    absent_nodes: str = "node(s) didn't satisfy plugin(s) [{plugins}]"  # said of nodes that PreFilter left out (1.32)
    prefilter_narrows: bool = True  # PreFilter leaves only the nodes that the pod's affinity names (1.24)
    missing_nodes_fail: bool = False  # PreFilter that names a node that is not there is an error (until 1.29)
    nominated_first: bool = True  # the node that a pod is nominated to is tried first (PreferNominatedNode, 1.22)
    filter_errors_name_pod: bool = False  # the message of a Filter plugin that failed names the pod, too (until 1.18)
    wraps_at_subset: bool = False  # the start index wraps at the number of nodes that PreFilter left (until 1.30)
    prefilter_collects: bool = True  # PreFilter goes on after a plugin's Unschedulable (1.28)
    victims_by_importance: bool = True  # victims are listed by importance, not those that violate a budget first (1.32)
    postfilter_told: bool = True  # a FailedScheduling message tells why preemption does not help, too (1.24)
    reworded_no_victims: bool = True  # «No preemption victims found», without names of node and pod (1.24)
    failed_preemption_clears: bool = True  # a pod that can preempt nowhere loses its nomination (1.24)
    postfilter_stop: str = ""  # what follows PostFilter's words in a FailedScheduling message ("." until 1.28)
    postfilter_unnamed: bool = False  # what PostFilter says is told without the plugin's name (1.21 to 1.26)
    prefilter_counted: bool = False  # of a pod that PreFilter refuses every node is told to refuse it (until 1.25)
    blames_plugins: bool = True  # who refused a pod is noted, and wakes it (1.21)
    preemption_is_plugin: bool = True  # preemption is a plugin, no part of the scheduler (1.19)
    disrupted_pods_spared: bool = True  # pods that are being evicted already break no budget, others do in turn (1.19)
    never_preempts: bool = True  # preemptionPolicy Never is obeyed (NonPreemptingPriority, 1.19)
    preempts_past_unresolvable: bool = True  # a pod may preempt anew where its nominated node is out for good (1.19)
    waits_for_preempted_alone: bool = True  # pods that leave for other reasons keep no pod from preempting (1.26)
    preemption_samples: bool = True  # of many nodes only some are tried for preemption (1.20)
    preemption_explained: bool = True  # preemption says of each node why it does not help (1.21)
    prefilter_blames: bool = True  # plugins that left nodes out are blamed for them (1.31)
    leftovers_wait_long: bool = True  # pods that no event wakes are tried again after 5 minutes, not after 1 (1.24)
    queueing_hints: bool = True  # plugins look at what an event changed before a pod is woken (1.32)
    pop_from_backoff: bool = True  # an idle scheduler takes pods out of backoffQ early (SchedulerPopFromBackoffQ, 1.33)
    scores_rebuilt_nodes: bool = True  # nodes that a filter extender sent back are scored without pods (1.33)
    reworded_taint: bool = True  # TaintToleration says «untolerated taint» (1.24)
    reworded_node_affinity: bool = True  # NodeAffinity says that it may have been the selector (1.21)
    affinity_told: bool = True  # NodeAffinity says affinity where it said selector (1.20)
    affinity_reason: str = ""  # what InterPodAffinity says before its particular reason (until 1.21)
    taint_named: bool = False  # TaintToleration names the taint in its reason (until 1.34)
    node_declared_features: bool = True  # nodes tell which features they have (NodeDeclaredFeatures, 1.36)
    pod_groups: bool = False  # pods of a PodGroup are scheduled in a cycle of their group (GenericWorkload)
    gang_scheduling: bool = False  # the pods of a gang wait for each other (GangScheduling)
    group_placements: bool = False  # groups are tried by topology domain (TopologyAwareWorkloadScheduling)
    group_preemption: bool = False  # a group preempts as a whole (WorkloadAwarePreemption)
    opportunistic_batching: bool = True  # the next of like pods tries the next best node (OpportunisticBatching, 1.35)
    image_volumes_count: bool = True  # ImageLocality counts images that are volumes (1.36)
    balance_change: bool = True  # NodeResourcesBalancedAllocation scores what the pod does to the balance (1.36)
    pod_overhead: bool = True  # a pod's overhead adds to its requests (PodOverhead, 1.18)
    nodes_hold_peaks: bool = True  # init containers count in what a pod takes of its node (1.17)
    zone_labels_stable: bool = True  # topology.kubernetes.io/zone and region are labels of zones (1.17)
    errors_back_off: bool = True  # a pod that failed by an error comes back after its backoff, without an event (1.29)
    hears_any_update: bool = True  # affinity, taints and cordons are looked at again after any update of a node (1.24)
    hears_annotations: bool = True  # changed annotations of a node are an event (1.28)
    hears_each_change: bool = True  # an update of a node is as many events as kinds of changes, else the first (1.30)
    hears_node_taints: bool = True  # who waits for new nodes hears of taints, too (1.30)
    hears_node_deletes: bool = True  # a node that goes wakes pods that PodTopologySpread refused (1.32)
    hears_pod_changes: bool = True  # of updates of a running pod only those that can matter are events (1.31)
    spread_hears_pods: bool = True  # pods that come to run wake those that PodTopologySpread refused (1.31)
    own_update_counts: bool = True  # a pod that its own update wakes is counted as out of backoff (1.31)
    every_event_wakes: bool = False  # an event wakes all that wait, whoever refused them (until 1.21)
    old_queue: bool = False  # backoff is kept by a pod's name and forgotten in time, an update ends it (until 1.17)
    backoff_counts_attempts: bool = False  # backoff grows with every attempt, errors are not counted apart (until 1.33)
    backoff_past_its_end: bool = True  # a pod backs off at the very end of its backoff still (1.33)
    incomplete_pools_serve: bool = False  # devices are taken from pools of which slices are missing (until 1.34)
    class_config_requests: bool = True  # configurations of device classes name the requests they are for (1.35)
    invalid_pools_told: bool = True  # a pool that contradicts itself is a reason of its own (1.35)
    sub_requests_mixed_up: bool = False  # alternatives for all devices are taken for the first (until 1.35)
    device_taints: bool = True  # taints of devices keep claims off them (DRADeviceTaints, 1.36)
    shared_counters: bool = True  # devices share counters, or have nodes of their own (DRAPartitionableDevices, 1.36)
    consumable_capacity: bool = True  # several claims share a device's capacities (DRAConsumableCapacity, 1.36)
    binding_conditions: bool = True  # devices are made ready before pods are bound (DRADeviceBindingConditions, 1.36)
    extended_resources: bool = True  # extended resources that device classes provide (DRAExtendedResource, 1.36)
    claim_owner_capital: bool = True  # «Pod is not owner» of a claim has a capital P (1.36)

    @property
    def number(self) -> str:
        """`1.36`: the name without feature gates."""
        return self.name.partition(" ")[0]
