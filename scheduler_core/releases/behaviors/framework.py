"""The framework: extension points, their statuses and order."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import RETRIES, WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class FrameworkBehaviors:
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
