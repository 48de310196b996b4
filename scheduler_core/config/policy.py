"""The scheduler Policy of kube-scheduler 1.22 and older: its predicates and priorities.

1.16 runs predicates and priorities; newer releases translate them into plugins. This module parses what all of them
share. The users of a Policy validate names and arguments.

Upstream: pkg/scheduler/api (v1/types.go, 1.16), k8s.io/kube-scheduler/config/v1 (types.go), ValidatePolicy.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import msgspec

from scheduler_core.api.plugin_args import Int64, convert_problem
from scheduler_core.api.scheduler_config import GROUP, POLICY, Extender
from scheduler_core.api.syntax import shown
from scheduler_core.config.validation import check_extenders
from scheduler_core.errors import InputError

MAX_TOTAL_WEIGHT = (1 << 63) - 1
MAX_WEIGHT = MAX_TOTAL_WEIGHT // 10  # a priority's weight must be less: 10 times the weight must fit int64
_HARD_WEIGHTS = range(1, 101)


class _Loose(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """camelCase in the file, snake_case here."""


class ServiceAffinity(_Loose, frozen=True, kw_only=True):
    labels: tuple[str, ...] = ()


class LabelsPresence(_Loose, frozen=True, kw_only=True):
    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(_Loose, frozen=True, kw_only=True):
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class Predicate(_Loose, frozen=True, kw_only=True):
    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(_Loose, frozen=True, kw_only=True):
    label: str = ""


class LabelPreference(_Loose, frozen=True, kw_only=True):
    label: str = ""
    presence: bool = False


class ShapePoint(_Loose, frozen=True, kw_only=True):
    utilization: Int64 = 0
    score: Int64 = 0


class RatioResource(_Loose, frozen=True, kw_only=True):
    name: str = ""
    weight: Int64 = 0


class Ratio(_Loose, frozen=True, kw_only=True):
    shape: tuple[ShapePoint, ...] = ()
    resources: tuple[RatioResource, ...] = ()


class PriorityArgument(_Loose, frozen=True, kw_only=True):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio: Ratio | None = msgspec.field(name="requestedToCapacityRatioArguments", default=None)


class Priority(_Loose, frozen=True, kw_only=True):
    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class _PolicyFile(_Loose, frozen=True, kw_only=True):
    kind: str = ""
    api_version: str = ""
    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[dict[str, Any], ...] = ()
    hard_pod_affinity_symmetric_weight: Int64 = 0
    always_check_all_predicates: bool = False


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A Policy. `predicates`, `priorities`: None runs the defaults, () runs none.

    `hard_pod_affinity_weight`: 1..100, default 1.
    """

    predicates: tuple[Predicate, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    extenders: tuple[Extender, ...] = ()
    hard_pod_affinity_weight: int = 1
    always_check_all_predicates: bool = False


def is_policy(raw: Mapping[str, Any]) -> bool:
    """Whether a document has the kind Policy."""
    return raw.get("kind") == POLICY


def predicate_label(index: int, predicate: Predicate) -> str:
    """Return the name of a predicate for errors."""
    return f"{POLICY} predicates[{index}] {shown(predicate.name)}"


def priority_label(index: int, priority: Priority) -> str:
    """Return the name of a priority for errors."""
    return f"{POLICY} priorities[{index}] {shown(priority.name)}"


def read_policy(raw: Mapping[str, Any], *, unknown_fields: bool, grouped: bool) -> Policy:
    """Parse a Policy from the document that `discovery.find` returns.

    `unknown_fields`: whether unknown fields are ignored, as in 1.16, or an error. `grouped`: whether the version
    `kubescheduler.config.k8s.io/v1` is accepted in addition to `v1`. Raises InputError that names the predicate or
    priority and the field.
    """
    _check_version(raw.get("apiVersion"), grouped)
    try:
        file = msgspec.convert(raw, _PolicyFile)
    except msgspec.ValidationError as problem:
        message, path = convert_problem(problem)
        raise InputError(POLICY, path, message) from problem
    if not unknown_fields:
        _check_fields(raw, _PolicyFile, "")
    for i, priority in enumerate(file.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            wanted = f"must be positive and less than {MAX_WEIGHT}, got {priority.weight}"
            raise InputError(priority_label(i, priority), "weight", wanted)
    if sum(priority.weight * 10 for priority in file.priorities or ()) > MAX_TOTAL_WEIGHT:
        raise InputError(POLICY, "priorities", "the weights are too large together: ten times their sum must fit int64")
    hard = file.hard_pod_affinity_symmetric_weight or 1
    if hard not in _HARD_WEIGHTS:
        raise InputError(POLICY, "hardPodAffinitySymmetricWeight", f"must be in 1..100, got {hard}")
    extenders = tuple(_extender(i, given, unknown_fields) for i, given in enumerate(file.extenders))
    check_extenders(extenders)
    return Policy(
        predicates=file.predicates,
        priorities=file.priorities,
        extenders=extenders,
        hard_pod_affinity_weight=hard,
        always_check_all_predicates=file.always_check_all_predicates,
    )


def _check_version(version: Any, grouped: bool) -> None:
    known = ("v1", f"{GROUP}/v1") if grouped else ("v1",)
    if version not in known:
        got = f"got {shown(version)}" if isinstance(version, str) and version else "it is not given"
        raise InputError(POLICY, "apiVersion", f"must be {' or '.join(known)}, {got}")


def _check_fields(raw: Any, kind: Any, path: str) -> None:
    """Raise InputError for the first field that a Policy does not have."""
    if isinstance(raw, Sequence) and not isinstance(raw, str):
        for i, entry in enumerate(raw):
            _check_fields(entry, kind, f"{path}[{i}]")
    elif isinstance(raw, Mapping) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        for name, value in raw.items():
            inner = f"{path}.{name}" if path else str(name)
            if name not in fields:
                raise InputError(POLICY, inner, "unknown field")
            _check_fields(value, _struct_in(fields[name]), inner)


def _struct_in(annotation: Any) -> Any:
    """Return the struct in a field's type: X for `X | None` and `tuple[X, ...]`."""
    if isinstance(annotation, type):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _struct_in(part))), None)


def _extender(index: int, given: Mapping[str, Any], unknown_fields: bool) -> Extender:
    """Convert an extender of a Policy: its timeout may be in nanoseconds, and HTTPS is spelled `enableHttps`."""
    raw = dict(given)
    if "enableHttps" in raw:
        raw["enableHTTPS"] = raw.pop("enableHttps")
    timeout = raw.get("httpTimeout")
    if isinstance(timeout, int) and not isinstance(timeout, bool):
        raw["httpTimeout"] = f"{timeout}ns"
    if unknown_fields:
        known = {field.encode_name for field in msgspec.structs.fields(Extender)}
        raw = {name: value for name, value in raw.items() if name in known}
    try:
        return msgspec.convert(raw, Extender)
    except msgspec.ValidationError as problem:
        message, path = convert_problem(problem)
        raise InputError(f"{POLICY} extenders[{index}]", path, message) from problem


_NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])")


def check_name(where: str, name: str) -> None:
    """Validate the name of an algorithm: at least two letters, digits or dashes. Raises InputError."""
    if not _NAME.fullmatch(name):
        problem = f"must be letters, digits and dashes, begin and end with a letter or digit, got {shown(name)}"
        raise InputError(where, "name", problem)


def check_one_argument(where: str, argument: PredicateArgument | PriorityArgument | None) -> str:
    """Check that an argument has exactly one field. Return it; "" without an argument. Raises InputError."""
    if argument is None:
        return ""
    fields = msgspec.structs.fields(argument)
    given = [field.encode_name for field in fields if getattr(argument, field.name) is not None]
    if len(given) != 1:
        names, got = ", ".join(field.encode_name for field in fields), " and ".join(given) or "none"
        raise InputError(where, "argument", f"must have exactly one of {names}, got {got}")
    return given[0]


def unknown_problem(name: str, known: Collection[str], what: str) -> str:
    """Return the problem of a name that names no known predicate or priority and selects no algorithm."""
    meant = get_close_matches(name[:80], list(known), 1, 0.8)
    hint = f"was {meant[0]} meant?" if meant else f"there are {', '.join(known)}"
    return f"is no {what}, and it has no argument that selects one; {hint}"


def check_shape(where: str, shape: Sequence[ShapePoint]) -> None:
    """Validate the points of a scoring function. Raises InputError.

    There must be at least one point, utilization must rise within 0..100, and scores must be in 0..10.
    """
    field = "argument.requestedToCapacityRatioArguments.shape"
    if not shape:
        raise InputError(where, field, "must have at least one point")
    for i, point in enumerate(shape):
        if i and point.utilization <= shape[i - 1].utilization:
            before = shape[i - 1].utilization
            raise InputError(where, f"{field}[{i}].utilization", f"must be more than the {before} before it")
        if not 0 <= point.utilization <= 100:
            raise InputError(where, f"{field}[{i}].utilization", f"must be in 0..100, got {point.utilization}")
        if not 0 <= point.score <= 10:
            raise InputError(where, f"{field}[{i}].score", f"must be in 0..10, got {point.score}")
