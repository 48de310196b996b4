"""Preemption."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import RETRIES, WORDING, behavior, off, on


@dataclass(frozen=True, kw_only=True)
class PreemptionBehaviors:
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
    preempts_asynchronously: bool = on(
        "preemption writes after the cycle, and clears no nominations if a release skips all victims as terminating",
        "preemption writes in the cycle and always clears the nominations of lower priority on the node",
        "a pod can keep its nomination if a pod of higher priority waits for the same terminating victims",
        since="1.33",
        gate="SchedulerAsyncPreemption",
        kep=4832,
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
