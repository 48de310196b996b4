"""The queue and its events."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import RETRIES, off, on


@dataclass(frozen=True, kw_only=True)
class QueueBehaviors:
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
