"""Validation of values as by the API server, beyond their types: names, labels, operators and their values, ranges.

A rule checks one value of its type and ignores values of the wrong type, which schema_validation.py reports.
Sources: pkg/apis/core/validation, pkg/apis/apps/validation, and the label and name validation of apimachinery.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kubesched_ui.editor.diagnostics import Diagnostics
from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.values import Path, as_map, as_text, maps_in
from scheduler_core.api import fields, quantity
from scheduler_core.controllers.admission import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_OF_LABELS = {"Namespace", "Service"}  # kinds whose names are DNS labels and not subdomains
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES = ("Honor", "Ignore")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_ACCESS = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_WORKLOADS = ("DeploymentSpec", "ReplicaSetSpec", "StatefulSetSpec", "DaemonSetSpec")
# Operator -> whether it needs values.
_SELECTS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
_SELECTS_NODES = {**_SELECTS, "Gt": True, "Lt": True}

# Type -> field -> its permitted words.
_WORDS: dict[str, dict[str, Iterable[str]]] = {
    "Taint": {"effect": _EFFECTS},
    "Toleration": {"operator": ("Exists", "Equal", "Gt", "Lt"), "effect": _EFFECTS},
    "NodeSelectorRequirement": {"operator": _SELECTS_NODES},
    "LabelSelectorRequirement": {"operator": _SELECTS},
    "TopologySpreadConstraint": {
        "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": _POLICIES,
        "nodeTaintsPolicy": _POLICIES,
    },
    "PodSpec": {"restartPolicy": ("Always", "OnFailure", "Never"), "preemptionPolicy": _PREEMPTION},
    "PriorityClass": {"preemptionPolicy": _PREEMPTION},
    "StorageClass": {"volumeBindingMode": ("Immediate", "WaitForFirstConsumer")},
}
# Type -> field -> its least and its highest value (0: unlimited).
_RANGES: dict[str, dict[str, tuple[int, int]]] = {
    "TopologySpreadConstraint": {"maxSkew": (1, 0), "minDomains": (1, 0)},
    "PreferredSchedulingTerm": {"weight": (1, 100)},
    "WeightedPodAffinityTerm": {"weight": (1, 100)},
    "ContainerPort": {"containerPort": (1, 65535), "hostPort": (1, 65535)},
    "JobSpec": {"completions": (0, 0), "parallelism": (0, 0), "backoffLimit": (0, 0)},
    **{kind: {"replicas": (0, 0)} for kind in _WORKLOADS},
}


def check(type_name: str, value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    """Check a value of this type."""
    for field, words in _WORDS.get(type_name, {}).items():
        _one_of(value.get(field), words, (*path, field), found)
    for field, (least, most) in _RANGES.get(type_name, {}).items():
        given = value.get(field)
        if isinstance(given, int) and not isinstance(given, bool) and not least <= given <= (most or given):
            limits = f"from {least} to {most}" if most else f"{least} or more"
            found.error((*path, field), f"must be {limits}, found {given}")
    if rule := _RULES.get(type_name):
        rule(value, path, found)


def name(kind: str, metadata: dict[str, Any], path: Path, found: Diagnostics) -> None:
    """Check the name and namespace of an object."""
    _name(metadata.get("name"), (*path, "name"), found, subdomain=kind not in _OF_LABELS)
    _name(metadata.get("namespace"), (*path, "namespace"), found)


def _name(given: Any, path: Path, found: Diagnostics, subdomain: bool = False) -> None:
    """Check a name: a DNS label or a DNS subdomain."""
    pattern, most, signs = (_SUBDOMAIN, 253, "digits, - and .") if subdomain else (_LABEL, 63, "digits and -")
    if as_text(given) and (not pattern.fullmatch(given) or len(given) > most):
        rule_text = f"lower case letters, {signs}, beginning and ending with a letter or digit, at most {most}"
        found.error(path, f'"{shown(given)}" cannot be a name: {rule_text}')


def _one_of(given: Any, words: Iterable[str], path: Path, found: Diagnostics) -> None:
    if as_text(given) and given not in words:
        found.error(path, f'"{shown(given)}" is not one of {", ".join(words)}')


def _key(key: str) -> str:
    """Return why the key of a label or taint is invalid, or ""."""
    prefix, slash, rest = key.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(prefix) or len(prefix) > 253):
        return f'"{shown(key)}" cannot be a key: the part before / must be a domain such as example.com'
    if not _KEY.fullmatch(rest) or len(rest) > 63:
        signs = "letters, digits, -, _ and ., at most 63, optionally after a domain and /"
        return f'"{shown(key)}" cannot be a key: {signs}'
    return ""


def _label_value(text: str) -> str:
    if text and (not _KEY.fullmatch(text) or len(text) > 63):
        return f'"{shown(text)}" cannot be the value of a label: letters, digits, -, _ and ., at most 63'
    return ""


def _labels(labels: Any, path: Path, found: Diagnostics) -> None:
    for key, value in as_map(labels).items():
        if problem := _key(key) or _label_value(as_text(value)):
            found.error((*path, key), problem)


def _metadata(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _labels(value.get("labels"), (*path, "labels"), found)


def _taint(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if isinstance(value.get("key"), str) and (problem := _key(value["key"])):
        found.error((*path, "key"), problem)


def _requirement(operators: dict[str, bool], value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _taint(value, path, found)
    operator, values = value.get("operator"), value.get("values")
    if not isinstance(operator, str) or operator not in operators:
        return
    if operators[operator] and not values:
        found.error((*path, "values") if values is not None else path, f"values must not be empty with {operator}")
    if not operators[operator] and values:
        found.error((*path, "values"), f"must be empty with {operator}")
    if operator in ("Gt", "Lt") and isinstance(values, list) and values:
        whole = re.fullmatch(r"[+-]?\d{1,19}", as_text(values[0]))
        if len(values) != 1 or not whole:
            found.error((*path, "values"), f"must be one whole number, in quotes, with {operator}")


def _toleration(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if value.get("operator") == "Exists" and value.get("value"):
        found.error((*path, "value"), "must be empty with operator Exists")
    if not value.get("key") and value.get("operator") != "Exists":
        found.error(path, "operator must be Exists if key is empty")
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        found.error((*path, "tolerationSeconds"), "is allowed only with the effect NoExecute")


def _spread(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") == "ScheduleAnyway":
        found.error((*path, "minDomains"), "is allowed only with DoNotSchedule")
    if value.get("labelSelector") is None:
        found.warn(path, "has no labelSelector, so it counts no pods and has no effect")


def _resources(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    for part, resource, problem in fields.resource_problems(value):
        found.error((*path, part, resource), problem)
    limits = as_map(value.get("limits"))
    for resource, request in as_map(value.get("requests")).items():
        limit = limits.get(resource)
        try:
            more = limit is not None and quantity.nano_value(request) > quantity.nano_value(limit)
        except (ValueError, TypeError, AttributeError):
            continue
        if more:
            problem = f"{shown(request)} is more than the limit of {shown(limit)}"
            found.error((*path, "requests", resource), problem)


def _container(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _name(value.get("name"), (*path, "name"), found)


def _pod_spec(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _labels(value.get("nodeSelector"), (*path, "nodeSelector"), found)
    if value.get("containers") == []:
        found.error((*path, "containers"), "a pod needs at least one container")
    names: list[Any] = []
    for index, container in maps_in(value.get("containers")):
        given = container.get("name")
        if given and given in names:
            found.error((*path, "containers", index, "name"), f"two containers have the name {shown(given)}")
        names.append(given)
    if value.get("nodeName") and value.get("schedulingGates"):
        found.error((*path, "nodeName"), "a pod with scheduling gates cannot be on a node yet")


def _workload(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    wanted, template = as_map(value.get("selector")).get("matchLabels"), value.get("template")
    if not isinstance(template, dict):
        return
    labels = as_map(as_map(template.get("metadata")).get("labels"))
    for key, text in as_map(wanted).items():
        if labels.get(key) != text:
            problem = f"selects {shown(key)}={shown(text)}, which the template's labels do not have"
            found.error((*path, "selector"), problem)
            return


def _job(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    spec = as_map(value.get("template")).get("spec")
    if isinstance(spec, dict) and spec.get("restartPolicy") not in ("OnFailure", "Never"):
        found.error((*path, "template", "spec"), "restartPolicy of a Job's pods must be OnFailure or Never", "Never")


def _budget(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if value.get("minAvailable") is not None and value.get("maxUnavailable") is not None:
        found.error((*path, "maxUnavailable"), "must not be set together with minAvailable")


def _priority_class(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    given, own_name = value.get("value"), as_map(value.get("metadata")).get("name")
    if isinstance(own_name, str) and SYSTEM_CLASSES.get(own_name) == given:
        return
    if isinstance(given, int) and given > HIGHEST_USER_PRIORITY:
        problem = f"must be at most {HIGHEST_USER_PRIORITY:,}; higher values are reserved for the system"
        found.error((*path, "value"), problem)


def _volume(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    modes = value.get("accessModes")
    for index, mode in enumerate(modes if isinstance(modes, list) else ()):
        _one_of(mode, _ACCESS, (*path, "accessModes", index), found)


_RULES: dict[str, Callable[[dict[str, Any], Path, Diagnostics], None]] = {
    "ObjectMeta": _metadata,
    "Taint": _taint,
    "Toleration": _toleration,
    "NodeSelectorRequirement": partial(_requirement, _SELECTS_NODES),
    "LabelSelectorRequirement": partial(_requirement, _SELECTS),
    "TopologySpreadConstraint": _spread,
    "ResourceRequirements": _resources,
    "Container": _container,
    "PodSpec": _pod_spec,
    **dict.fromkeys(_WORKLOADS, _workload),
    "JobSpec": _job,
    "PodDisruptionBudgetSpec": _budget,
    "PriorityClass": _priority_class,
    "PersistentVolumeClaimSpec": _volume,
    "PersistentVolumeSpec": _volume,
}
