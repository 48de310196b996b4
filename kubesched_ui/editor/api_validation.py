"""Validation of values as by the API server, beyond their types: names, labels, operators and their values, ranges.

A rule checks one value of its type and ignores values of the wrong type, which schema_validation.py reports.
Sources: pkg/apis/core/validation, pkg/apis/apps/validation, and the label and name validation of apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from kubesched_ui.editor.diagnostics import Diagnostics
from kubesched_ui.editor.yaml_documents import Path
from kubesched_ui.ingest.errors import shown
from scheduler_core.api import quantity
from scheduler_core.controllers.admission import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES

Rule = Callable[[dict[str, Any], Path, Diagnostics], None]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_OF_LABELS = {"Namespace", "Service"}  # kinds whose names are DNS labels and not subdomains
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SELECTS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
SELECTS_NODES = {**SELECTS, "Gt": True, "Lt": True}


def name(kind: str, metadata: dict[str, Any], path: Path, found: Diagnostics) -> None:
    """Check the name and namespace of an object."""
    given, namespace = metadata.get("name"), metadata.get("namespace")
    if isinstance(given, str):
        if kind in _OF_LABELS:
            _is_label(given, (*path, "name"), found)
        elif not _SUBDOMAIN.fullmatch(given) or len(given) > 253:
            rule_text = "lower case letters, digits, - and ., beginning and ending with a letter or digit, at most 253"
            found.error((*path, "name"), f'"{shown(given)}" cannot be a name: {rule_text}')
    if isinstance(namespace, str) and namespace:
        _is_label(namespace, (*path, "namespace"), found)


def _is_label(text: str, path: Path, found: Diagnostics) -> None:
    if not _LABEL.fullmatch(text) or len(text) > 63:
        rule_text = "lower case letters, digits and -, beginning and ending with a letter or digit, at most 63"
        found.error(path, f'"{shown(text)}" cannot be a name: {rule_text}')


def _one_of(value: dict[str, Any], field: str, words: Iterable[str], path: Path, found: Diagnostics) -> None:
    given = value.get(field)
    if isinstance(given, str) and given and given not in words:
        found.error((*path, field), f'"{shown(given)}" is not one of {", ".join(words)}')


def _at_least(value: dict[str, Any], field: str, least: int, path: Path, found: Diagnostics) -> None:
    given = value.get(field)
    if isinstance(given, int) and not isinstance(given, bool) and given < least:
        found.error((*path, field), f"must be {least} or more, found {given}")


def _key(key: str) -> str:
    """Return why the key of a label or taint is invalid, or ""."""
    prefix, slash, rest = key.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(prefix) or len(prefix) > 253):
        return f'"{shown(key)}" cannot be a key: the part before / must be a domain such as example.com'
    if not _KEY.fullmatch(rest) or len(rest) > 63:
        return (
            f'"{shown(key)}" cannot be a key: letters, digits, -, _ and ., at most 63, optionally after a domain and /'
        )
    return ""


def _label_value(text: str) -> str:
    if text and (not _KEY.fullmatch(text) or len(text) > 63):
        return f'"{shown(text)}" cannot be the value of a label: letters, digits, -, _ and ., at most 63'
    return ""


def _labels(labels: Any, path: Path, found: Diagnostics) -> None:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if problem := _key(key) or (_label_value(value) if isinstance(value, str) else ""):
            found.error((*path, key), problem)


def _requirement(operators: dict[str, bool]) -> Rule:
    def rule(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
        _one_of(value, "operator", operators, path, found)
        operator, values = value.get("operator"), value.get("values")
        if isinstance(value.get("key"), str) and (problem := _key(value["key"])):
            found.error((*path, "key"), problem)
        if not isinstance(operator, str) or operator not in operators:
            return
        if operators[operator] and not values:
            found.error((*path, "values") if values is not None else path, f"values must not be empty with {operator}")
        if not operators[operator] and values:
            found.error((*path, "values"), f"must be empty with {operator}")
        if operator in ("Gt", "Lt") and isinstance(values, list) and values:
            whole = isinstance(values[0], str) and re.fullmatch(r"[+-]?\d{1,19}", values[0])
            if len(values) != 1 or not whole:
                found.error((*path, "values"), f"must be one whole number, in quotes, with {operator}")

    return rule


def _metadata(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _labels(value.get("labels"), (*path, "labels"), found)


def _taint(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _one_of(value, "effect", EFFECTS, path, found)
    if isinstance(value.get("key"), str) and (problem := _key(value["key"])):
        found.error((*path, "key"), problem)


def _toleration(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _one_of(value, "operator", ("Exists", "Equal", "Gt", "Lt"), path, found)
    _one_of(value, "effect", EFFECTS, path, found)
    if value.get("operator") == "Exists" and value.get("value"):
        found.error((*path, "value"), "must be empty with operator Exists")
    if not value.get("key") and value.get("operator") != "Exists":
        found.error(path, "operator must be Exists if key is empty")
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        found.error((*path, "tolerationSeconds"), "is allowed only with the effect NoExecute")


def _spread(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _at_least(value, "maxSkew", 1, path, found)
    _at_least(value, "minDomains", 1, path, found)
    _one_of(value, "whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), path, found)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        _one_of(value, field, ("Honor", "Ignore"), path, found)
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") == "ScheduleAnyway":
        found.error((*path, "minDomains"), "is allowed only with DoNotSchedule")
    if value.get("labelSelector") is None:
        found.warn(path, "has no labelSelector, so it counts no pods and has no effect")


def _weighted(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    weight = value.get("weight")
    if isinstance(weight, int) and not isinstance(weight, bool) and not 1 <= weight <= 100:
        found.error((*path, "weight"), f"must be from 1 to 100, found {weight}")


def _resources(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    requests, limits = value.get("requests"), value.get("limits")
    if not isinstance(requests, dict) or not isinstance(limits, dict):
        return
    for resource, request in requests.items():
        limit = limits.get(resource)
        try:
            more = limit is not None and quantity.nano_value(request) > quantity.nano_value(limit)
        except (ValueError, TypeError, AttributeError):
            continue
        if more:
            problem = f"{shown(request)} is more than the limit of {shown(limit)}"
            found.error((*path, "requests", resource), problem)


def _container(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if isinstance(value.get("name"), str) and value["name"]:
        _is_label(value["name"], (*path, "name"), found)


def _port(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    for field in ("containerPort", "hostPort"):
        port = value.get(field)
        if isinstance(port, int) and not 1 <= port <= 65535:
            found.error((*path, field), f"must be from 1 to 65535, found {port}")


def _pod_spec(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _one_of(value, "restartPolicy", ("Always", "OnFailure", "Never"), path, found)
    _one_of(value, "preemptionPolicy", ("PreemptLowerPriority", "Never"), path, found)
    _labels(value.get("nodeSelector"), (*path, "nodeSelector"), found)
    containers = value.get("containers")
    if containers == []:
        found.error((*path, "containers"), "a pod needs at least one container")
    names = (
        [one.get("name") for one in containers or () if isinstance(one, dict)] if isinstance(containers, list) else []
    )
    for index, given in enumerate(names):
        if given and given in names[:index]:
            found.error((*path, "containers", index, "name"), f"two containers have the name {shown(given)}")
    if value.get("nodeName") and value.get("schedulingGates"):
        found.error((*path, "nodeName"), "a pod with scheduling gates cannot be on a node yet")


def _workload(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _at_least(value, "replicas", 0, path, found)
    selector, template = value.get("selector"), value.get("template")
    wanted = selector.get("matchLabels") if isinstance(selector, dict) else None
    metadata = template.get("metadata") if isinstance(template, dict) else None
    labels = (metadata or {}).get("labels") if isinstance(metadata, dict | None) else None
    if not isinstance(wanted, dict) or not isinstance(template, dict):
        return
    missing = {key: text for key, text in wanted.items() if not isinstance(labels, dict) or labels.get(key) != text}
    if missing:
        key, text = next(iter(missing.items()))
        rule_text = f"selects {shown(key)}={shown(text)}, which the template's labels do not have"
        found.error((*path, "selector"), rule_text)


def _job(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    for field in ("completions", "parallelism", "backoffLimit"):
        _at_least(value, field, 0, path, found)
    template = value.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    if isinstance(spec, dict) and spec.get("restartPolicy") not in ("OnFailure", "Never"):
        found.error((*path, "template", "spec"), "restartPolicy of a Job's pods must be OnFailure or Never", "Never")


def _budget(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    if value.get("minAvailable") is not None and value.get("maxUnavailable") is not None:
        found.error((*path, "maxUnavailable"), "must not be set together with minAvailable")


def _priority_class(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _one_of(value, "preemptionPolicy", ("PreemptLowerPriority", "Never"), path, found)
    given, metadata = value.get("value"), value.get("metadata")
    named = metadata.get("name") if isinstance(metadata, dict) else None
    if isinstance(named, str) and SYSTEM_CLASSES.get(named) == given:
        return
    if isinstance(given, int) and given > HIGHEST_USER_PRIORITY:
        found.error(
            (*path, "value"), f"must be at most {HIGHEST_USER_PRIORITY:,}; higher values are reserved for the system"
        )


def _storage_class(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    _one_of(value, "volumeBindingMode", ("Immediate", "WaitForFirstConsumer"), path, found)


def _volume(value: dict[str, Any], path: Path, found: Diagnostics) -> None:
    modes = value.get("accessModes")
    for index, mode in enumerate(modes if isinstance(modes, list) else ()):
        known = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
        if isinstance(mode, str) and mode not in known:
            found.error((*path, "accessModes", index), f'"{shown(mode)}" is not one of {", ".join(known)}')


OF_TYPE: dict[str, Rule] = {
    "ObjectMeta": _metadata,
    "Taint": _taint,
    "Toleration": _toleration,
    "NodeSelectorRequirement": _requirement(SELECTS_NODES),
    "LabelSelectorRequirement": _requirement(SELECTS),
    "TopologySpreadConstraint": _spread,
    "PreferredSchedulingTerm": _weighted,
    "WeightedPodAffinityTerm": _weighted,
    "ResourceRequirements": _resources,
    "Container": _container,
    "ContainerPort": _port,
    "PodSpec": _pod_spec,
    "DeploymentSpec": _workload,
    "ReplicaSetSpec": _workload,
    "StatefulSetSpec": _workload,
    "DaemonSetSpec": _workload,
    "JobSpec": _job,
    "PodDisruptionBudgetSpec": _budget,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
    "PersistentVolumeClaimSpec": _volume,
    "PersistentVolumeSpec": _volume,
}
