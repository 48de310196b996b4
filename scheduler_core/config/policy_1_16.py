"""Interprets a Policy as 1.16 did: its predicates and priorities with their arguments.

* mandatory predicates always run, in the fixed order of all predicates
* a predicate with a custom name is accepted but never runs, because the order does not contain its name
* a priority that is named twice counts once, with the last weight

Source: pkg/scheduler/factory (plugins.go, factory.go), pkg/scheduler/algorithmprovider/defaults.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

from scheduler_core.api.plugin_args import ResourceSpec, UtilizationShapePoint
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, POLICY
from scheduler_core.config.configuration import Configuration
from scheduler_core.config.policy import (
    Policy,
    Predicate,
    Priority,
    check_name,
    check_one_argument,
    check_shape,
    predicate_label,
    priority_label,
    unknown_problem,
)
from scheduler_core.config.profile_1_16 import (
    default_predicates,
    default_priorities,
    known_predicates,
    known_priorities,
    mandatory_predicates,
    profile_of,
)
from scheduler_core.config.validation import extender_warnings, ignored_resources
from scheduler_core.errors import InputError
from scheduler_core.legacy.predicates import PREDICATES
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinityArgs
from scheduler_core.plugins.node_label import NodeLabelArgs
from scheduler_core.plugins.requested_to_capacity_ratio import RequestedToCapacityRatioArgs
from scheduler_core.plugins.resource_allocation import CPU_AND_MEMORY
from scheduler_core.plugins.service_affinity import ServiceAffinityArgs
from scheduler_core.releases import Release

RESOURCES = ("GeneralPredicates", "PodFitsResources")


class _Chosen(NamedTuple):
    """A predicate or priority of the Policy. `kind`: the algorithm that runs under the name; "" if none does."""

    kind: str
    args: Any
    weight: int = 0


def configuration_of(policy: Policy, release: Release) -> Configuration:
    """Return the configuration that a Policy describes. Raises InputError where upstream would not start."""
    predicates = _predicates(policy, release)
    priorities = _priorities(policy, release)
    ignored = ignored_resources(policy.extenders)
    args = {name: chosen.args for name, chosen in (predicates | priorities).items() if chosen.args is not None}
    args |= {name: SimpleNamespace(ignored=ignored) for name in RESOURCES if ignored and name not in args}
    hard = InterPodAffinityArgs(hard_pod_affinity_weight=policy.hard_pod_affinity_weight)
    args |= {name: hard for name in priorities if name == "InterPodAffinityPriority"}
    kinds = {name: chosen.kind for name, chosen in (predicates | priorities).items() if chosen.kind not in ("", name)}
    unasked = [name for name, chosen in predicates.items() if not chosen.kind]
    profile = profile_of(
        DEFAULT_SCHEDULER,
        [name for name in PREDICATES if name in predicates],
        tuple((name, chosen.weight) for name, chosen in priorities.items()),
        args,
        kinds,
        always_check_all=policy.always_check_all_predicates,
    )
    texts = [f"predicate {name}: upstream accepts it but never runs it" for name in unasked]
    texts += extender_warnings(policy.extenders)
    return Configuration(
        profiles=[profile], warnings=texts, extenders=list(policy.extenders), given=frozenset((POLICY,))
    )


def _predicates(policy: Policy, release: Release) -> dict[str, _Chosen]:
    names = mandatory_predicates(release)
    if policy.predicates is None:
        names = [*default_predicates(release), *names]
    chosen = {name: _Chosen(name, None) for name in names}
    for i, predicate in enumerate(policy.predicates or ()):
        chosen[predicate.name] = _predicate(predicate_label(i, predicate), predicate, release)
    return chosen


def _predicate(where: str, predicate: Predicate, release: Release) -> _Chosen:
    check_name(where, predicate.name)
    check_one_argument(where, predicate.argument)
    given = predicate.argument
    if given is None:
        if predicate.name not in known_predicates(release):
            problem = unknown_problem(predicate.name, sorted(known_predicates(release)), f"predicate of {release.name}")
            raise InputError(where, "name", problem)
        return _Chosen(predicate.name if predicate.name in PREDICATES else "", None)
    if given.service_affinity is not None:
        chosen = _Chosen("CheckServiceAffinity", ServiceAffinityArgs(affinity_labels=given.service_affinity.labels))
    else:
        assert given.labels_presence is not None
        field = "present_labels" if given.labels_presence.presence else "absent_labels"
        chosen = _Chosen("CheckNodeLabelPresence", NodeLabelArgs(**{field: given.labels_presence.labels}))
    return chosen if predicate.name in PREDICATES else chosen._replace(kind="")


def _priorities(policy: Policy, release: Release) -> dict[str, _Chosen]:
    if policy.priorities is None:
        return {name: _Chosen(name, None, weight) for name, weight in default_priorities(release)}
    chosen: dict[str, _Chosen] = {}
    for i, priority in enumerate(policy.priorities):
        chosen[priority.name] = _priority(priority_label(i, priority), priority, release)
    return chosen


def _priority(where: str, priority: Priority, release: Release) -> _Chosen:
    check_name(where, priority.name)
    check_one_argument(where, priority.argument)
    given = priority.argument
    if given is None:
        if priority.name not in known_priorities(release):
            problem = unknown_problem(priority.name, sorted(known_priorities(release)), f"priority of {release.name}")
            raise InputError(where, "name", problem)
        return _Chosen(priority.name, None, priority.weight)
    if given.requested_to_capacity_ratio is not None:
        ratio = given.requested_to_capacity_ratio
        check_shape(where, ratio.shape)
        field = "argument.requestedToCapacityRatioArguments.resources"
        for i, resource in enumerate(ratio.resources):
            if resource.weight < 0:
                raise InputError(where, f"{field}[{i}].weight", f"must not be negative, got {resource.weight}")
        weights = {resource.name: resource.weight or 1 for resource in ratio.resources}
        resources = tuple(ResourceSpec(name=name, weight=weight) for name, weight in weights.items())
        shape = tuple(UtilizationShapePoint(utilization=p.utilization, score=p.score) for p in ratio.shape)
        ratio_args = RequestedToCapacityRatioArgs(shape=shape, resources=resources or CPU_AND_MEMORY)
        return _Chosen("RequestedToCapacityRatioPriority", ratio_args, priority.weight)
    if given.label_preference is not None:
        field = "present_labels_preference" if given.label_preference.presence else "absent_labels_preference"
        label_args = NodeLabelArgs(**{field: (given.label_preference.label,)})
        return _Chosen("NodeLabelPriority", label_args, priority.weight)
    assert given.service_anti_affinity is not None
    service_args = ServiceAffinityArgs(anti_affinity_labels_preference=(given.service_anti_affinity.label,))
    return _Chosen("ServiceAntiAffinityPriority", service_args, priority.weight)
