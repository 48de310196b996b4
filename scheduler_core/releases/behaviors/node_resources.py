"""Plugins that filter and score by resources."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class NodeResourcesBehaviors:
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
