"""Arguments of the in-tree plugins, with upstream's defaults and validation.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types_pluginargs.go, pkg/scheduler/apis/config/v1/defaults.go
and pkg/scheduler/apis/config/validation/validation_pluginargs.go.

A class holds the values of the file. `finish(complain)` applies the defaults that depend on values, then validates.
`complain(field, problem)` raises InputError with the place filled in.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NoReturn, Self

import msgspec
from msgspec import Meta, structs

from scheduler_core.config.syntax import go_duration, label_value_problem, qualified_name_problem, shown

Complain = Callable[[str, str], NoReturn]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """camelCase in the file, snake_case here. An unknown field is an error, as in upstream's strict decoding."""


class PluginArgs(Strict, frozen=True, kw_only=True):
    """Base class of all arguments. `not_in`: API version -> the fields that it does not have yet."""

    not_in: ClassVar[dict[str, tuple[str, ...]]] = {}

    def finish(self, complain: Complain) -> Self:
        """Return these arguments with the defaults applied. Calls `complain` for invalid ones."""
        return self


class ResourceSpec(Strict, frozen=True, kw_only=True):
    """A resource and its weight in a score."""

    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(Strict, frozen=True, kw_only=True):
    """A point of a scoring function: utilization 0..100 (percent), score 0..10."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(Strict, frozen=True, kw_only=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


class ScoringStrategy(Strict, frozen=True, kw_only=True):
    """The scoring of NodeResourcesFit: LeastAllocated, MostAllocated or RequestedToCapacityRatio."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(PluginArgs, frozen=True, kw_only=True):
    """The number of candidate nodes of the preemption dry run: max(nodes x percentage / 100, absolute)."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def finish(self, complain: Complain) -> Self:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        check_range(complain, "minCandidateNodesPercentage", percentage, 0, 100)
        if absolute < 0:
            complain("minCandidateNodesAbsolute", f"must not be negative, got {absolute}")
        if percentage == absolute == 0:
            complain("minCandidateNodesPercentage", "cannot be zero at the same time as minCandidateNodesAbsolute")
        return self


class InterPodAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("ignorePreferredTermsOfExistingPods",))

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def finish(self, complain: Complain) -> Self:
        check_range(complain, "hardPodAffinityWeight", self.hard_pod_affinity_weight, 0, 100)
        return self


class NodeAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of NodeAffinity.

    `added_affinity` is a v1 NodeAffinity (validated, not decoded) that every pod must also satisfy.
    """

    added_affinity: dict[str, Any] | None = None

    def finish(self, complain: Complain) -> Self:
        if self.added_affinity is not None:
            check_node_affinity(complain, self.added_affinity)
        return self


class NodeResourcesFitArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of NodeResourcesFit. `scoring_strategy` is never None after `finish`."""

    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("scoringStrategy",))

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None

    def finish(self, complain: Complain) -> Self:
        for i, name in enumerate(self.ignored_resources):
            check_qualified_name(complain, f"ignoredResources[{i}]", name)
        for i, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                complain(f"ignoredResourceGroups[{i}]", f"must not contain '/', got {shown(group)}")
            check_qualified_name(complain, f"ignoredResourceGroups[{i}]", group)
        strategy = self.scoring_strategy or ScoringStrategy(type="LeastAllocated")
        strategy = structs.replace(strategy, resources=with_weights(strategy.resources))
        check_scoring_strategy(complain, strategy)
        return structs.replace(self, scoring_strategy=strategy)


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        resources = with_weights(self.resources)
        seen: set[str] = set()
        for i, resource in enumerate(resources):
            if resource.name in seen:
                complain(f"resources[{i}].name", f"{shown(resource.name)} is given twice")
            if resource.weight != 1:
                complain(f"resources[{i}].weight", f"must be 1, got {resource.weight}")
            seen.add(resource.name)
        return structs.replace(self, resources=resources)


class TopologySpreadConstraint(Strict, frozen=True, kw_only=True):
    """A default constraint. It has no selector, because the selector is deduced for each pod."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: dict[str, Any] | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodTopologySpreadArgs(PluginArgs, frozen=True, kw_only=True):
    """`defaulting_type` System selects upstream's built-in constraints, List selects `default_constraints`."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = ""

    def finish(self, complain: Complain) -> Self:
        defaulting_type = self.defaulting_type or "System"
        check_choice(complain, "defaultingType", defaulting_type, ("System", "List"))
        if defaulting_type == "System" and self.default_constraints:
            complain("defaultingType", "must be List when defaultConstraints are given, got System")
        seen: set[tuple[str, str]] = set()
        for i, constraint in enumerate(self.default_constraints):
            path = f"defaultConstraints[{i}]"
            if constraint.max_skew <= 0:
                complain(f"{path}.maxSkew", f"must be greater than 0, got {constraint.max_skew}")
            check_qualified_name(complain, f"{path}.topologyKey", constraint.topology_key)
            choices = ("DoNotSchedule", "ScheduleAnyway")
            check_choice(complain, f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, choices)
            if constraint.label_selector is not None:
                complain(f"{path}.labelSelector", "must not be given, it is deduced for each pod")
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                complain(path, f"topologyKey {shown(pair[0])} with whenUnsatisfiable {pair[1]} is given twice")
            seen.add(pair)
        return structs.replace(self, defaulting_type=defaulting_type)


class VolumeBindingArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of VolumeBinding.

    `shape` is known but refused, as upstream refuses it by default: its feature gate (StorageCapacityScoring, before
    1.33 VolumeCapacityPriority) is off by default.
    """

    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("shape",))

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def finish(self, complain: Complain) -> Self:
        if self.bind_timeout_seconds < 0:
            complain("bindTimeoutSeconds", f"must not be negative, got {self.bind_timeout_seconds}")
        if self.shape is not None:
            complain("shape", "unexpected: the feature gate for scoring by storage capacity is off by default")
        return self


class NodeResourcesLeastAllocatedArgs(PluginArgs, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        return structs.replace(self, resources=checked_resources(complain, self.resources))


class NodeResourcesMostAllocatedArgs(PluginArgs, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        return structs.replace(self, resources=checked_resources(complain, self.resources))


class RequestedToCapacityRatioArgs(PluginArgs, frozen=True, kw_only=True):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        check_shape(complain, "shape", self.shape)
        return structs.replace(self, resources=checked_resources(complain, self.resources))


class NodeLabelArgs(PluginArgs, frozen=True, kw_only=True):
    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()

    def finish(self, complain: Complain) -> Self:
        check_apart(complain, "presentLabels", self.present_labels, "absentLabels", self.absent_labels)
        present, absent = self.present_labels_preference, self.absent_labels_preference
        check_apart(complain, "presentLabelsPreference", present, "absentLabelsPreference", absent)
        return self


class ServiceAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


class DynamicResourcesArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of DynamicResources. `filter_timeout`: a Go duration; zero means no limit."""

    filter_timeout: str = "10s"

    def finish(self, complain: Complain) -> Self:
        seconds = go_duration(self.filter_timeout)
        if seconds is None:
            complain("filterTimeout", f"must be a duration such as 10s, got {shown(self.filter_timeout)}")
        if seconds < 0:
            complain("filterTimeout", f"must not be negative, got {shown(self.filter_timeout)}")
        return self


ARGS: dict[str, type[PluginArgs]] = {
    cls.__name__.removesuffix("Args"): cls for cls in sorted(PluginArgs.__subclasses__(), key=lambda cls: cls.__name__)
}
"""Plugin -> the class of its arguments. The class has the plugin's name and the suffix `Args`."""


def with_weights(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Return cpu and memory if `resources` is empty; a weight of 0 becomes 1."""
    return tuple(structs.replace(r, weight=r.weight or 1) for r in resources) or CPU_AND_MEMORY


def checked_resources(complain: Complain, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """Return the resources with weights, which must be in 1..100."""
    weighted = with_weights(resources)
    for i, resource in enumerate(weighted):
        check_range(complain, f"resources[{i}].weight", resource.weight, 1, 100)
    return weighted


def check_apart(complain: Complain, field: str, present: tuple[str, ...], other: str, absent: tuple[str, ...]) -> None:
    """Complain about a label that must be both present and absent."""
    for i, label in enumerate(present):
        if label in absent:
            complain(f"{field}[{i}]", f"{shown(label)} is in {other}, too")


def check_range(complain: Complain, field: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        complain(field, f"must be in {low}..{high}, got {value}")


def check_choice(complain: Complain, field: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        complain(field, f"must be one of {', '.join(choices)}, got {shown(value)}")


def check_qualified_name(complain: Complain, field: str, name: str) -> None:
    if problem := qualified_name_problem(name):
        complain(field, f"{problem}, got {shown(name)}")


def check_scoring_strategy(complain: Complain, strategy: ScoringStrategy) -> None:
    choices = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    check_choice(complain, "scoringStrategy.type", strategy.type, choices)
    for i, resource in enumerate(strategy.resources):
        check_range(complain, f"scoringStrategy.resources[{i}].weight", resource.weight, 1, 100)
    ratio, path = strategy.requested_to_capacity_ratio, "scoringStrategy.requestedToCapacityRatio"
    if strategy.type != "RequestedToCapacityRatio":
        if ratio is not None:
            complain(path, f"must not be given when type is {strategy.type}")
    elif ratio is None:
        complain(path, "must be given when type is RequestedToCapacityRatio")
    else:
        check_shape(complain, f"{path}.shape", ratio.shape)


def check_shape(complain: Complain, field: str, shape: tuple[UtilizationShapePoint, ...]) -> None:
    if not shape:
        complain(field, "must have at least one point")
    for i, point in enumerate(shape):
        check_range(complain, f"{field}[{i}].utilization", point.utilization, 0, 100)
        check_range(complain, f"{field}[{i}].score", point.score, 0, 10)
        if i and point.utilization <= shape[i - 1].utilization:
            complain(f"{field}[{i}].utilization", f"must be greater than the point before it, got {point.utilization}")


class _Requirement(Strict, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _Term(Strict, frozen=True, kw_only=True):
    match_expressions: tuple[_Requirement, ...] = ()
    match_fields: tuple[_Requirement, ...] = ()


class _NodeSelector(Strict, frozen=True, kw_only=True):
    node_selector_terms: tuple[_Term, ...] = ()


class _PreferredTerm(Strict, frozen=True, kw_only=True):
    weight: Int32 = 0
    preference: _Term = _Term()


class _NodeAffinity(Strict, frozen=True, kw_only=True):
    required: _NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[_PreferredTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


def added_affinity() -> type[Strict]:
    """Return the type that `added_affinity` of NodeAffinityArgs must have."""
    return _NodeAffinity


def check_node_affinity(complain: Complain, affinity: dict[str, Any]) -> None:
    """Validate as upstream's nodeaffinity.NewNodeSelector and NewPreferredSchedulingTerms.

    Terms of weight 0 are skipped, as upstream does.
    """
    try:
        parsed = msgspec.convert(affinity, _NodeAffinity)
    except msgspec.ValidationError as error:
        problem, field = convert_problem(error)
        complain(f"addedAffinity.{field}".rstrip("."), problem)
    path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for i, term in enumerate(parsed.required.node_selector_terms if parsed.required else ()):
        check_term(complain, f"{path}[{i}]", term)
    path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for i, preferred in enumerate(parsed.preferred):
        if preferred.weight:
            check_term(complain, f"{path}[{i}].preference", preferred.preference)


def check_term(complain: Complain, path: str, term: _Term) -> None:
    for i, expression in enumerate(term.match_expressions):
        check_expression(complain, f"{path}.matchExpressions[{i}]", expression)
    for i, requirement in enumerate(term.match_fields):
        at = f"{path}.matchFields[{i}]"
        check_choice(complain, f"{at}.operator", requirement.operator, ("In", "NotIn"))
        if len(requirement.values) != 1:
            complain(f"{at}.values", f"must have one element, got {len(requirement.values)}")


def check_expression(complain: Complain, path: str, expression: _Requirement) -> None:
    """Validate as upstream's labels.NewRequirement."""
    check_choice(
        complain, f"{path}.operator", expression.operator, ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    )
    check_qualified_name(complain, f"{path}.key", expression.key)
    values, at = expression.values, f"{path}.values"
    match expression.operator:
        case "In" | "NotIn" if not values:
            complain(at, f"must not be empty for {expression.operator}")
        case "Exists" | "DoesNotExist" if values:
            complain(at, f"must be empty for {expression.operator}")
        case "Gt" | "Lt" if len(values) != 1 or not re.fullmatch(r"[+-]?\d{1,19}", values[0]):
            complain(at, f"must be one integer for {expression.operator}, got {list(values)}")
    for i, value in enumerate(values):
        if problem := label_value_problem(value):
            complain(f"{at}[{i}]", f"{problem}, got {shown(value)}")


_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "a mapping",
    "str": "a text",
}


def convert_problem(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return (problem, path) of a msgspec message such as "Expected `int`, got `str` - at `$.profiles[0].weight`"."""
    problem, _, path = str(error).partition(" - at `")
    problem = problem.replace("Object contains unknown field", "unknown field").replace("Expected", "must be")
    problem = re.sub(r"`(\w+)(?: \| null)?`", lambda match: _KINDS.get(match[1], match[1]), problem)
    return problem.replace("`", "")[:200], path.rstrip("`").removeprefix("$").removeprefix(".")
