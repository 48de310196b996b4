"""Predicates and priorities, before the scheduling framework."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import off, on


@dataclass(frozen=True, kw_only=True)
class LegacyBehaviors:
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
