"""Validation of a run's template like that of an API server: names, scheduler, unknown fields."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from kubesched_ui.models import ClusterObject, Scenario
from kubesched_ui.runs.pod_template import WHERE, objects_of, read
from scheduler_core.api.fields import unknown_fields
from scheduler_core.config import Unknown
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation

MOST = 20  # fields that are listed
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def remarks(scenario: Scenario, text: str, copies: int, release: str, config: str, unknown: Unknown) -> list[str]:
    """Return remarks about the template. Raises InputError with the field."""
    obj = read(text)
    check_names(obj["metadata"], copies)
    if obj["kind"] == "Pod":
        check_scheduler(text, release, config, unknown)
        check_copy_names(scenario, obj["metadata"], copies)
    return [f"{WHERE}: {found}" for found in islice(unknown_fields(obj), MOST)]


def check_names(metadata: dict[str, Any], copies: int) -> None:
    """Raise InputError unless Kubernetes accepts the names and the namespace."""
    name, namespace = f"{metadata['name']}-{max(copies, 1)}", metadata["namespace"]
    if len(name) > 253 or not _NAME.fullmatch(name):
        rule = "a name consists of lower case letters, digits, '-' and '.', and starts with a letter or digit"
        raise InputError(WHERE, "metadata.name", f"{metadata['name'][:80]!r}: {rule}")
    if not isinstance(namespace, str) or not re.fullmatch(_LABEL, namespace):
        raise InputError(WHERE, "metadata.namespace", f"{str(namespace)[:80]!r} is not a valid namespace")


def check_scheduler(text: str, release: str, config: str, unknown: Unknown) -> None:
    """Raise InputError if no profile has the pod's scheduler name."""
    (pod,), _ = objects_of(text, 1)
    key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    try:
        Simulation([pod], release=release, config=config or None, pods=[key], unknown_plugins=unknown)
    except InputError as error:
        raise InputError(WHERE, error.field, error.problem) from None


def check_copy_names(scenario: Scenario, metadata: dict[str, Any], copies: int) -> None:
    """Raise InputError if the cluster has a pod with the name of a copy."""
    base, namespace = f"{metadata['name']}-", metadata["namespace"]
    there = ClusterObject.objects.filter(scenario=scenario, kind="Pod", namespace=namespace, name__startswith=base)
    for name in there.values_list("name", flat=True).iterator():
        number = name.removeprefix(base)
        if number.isdecimal() and str(int(number[:9])) == number and 1 <= int(number) <= copies:
            problem = f"the cluster already has a pod {namespace}/{name}; change the name of the template"
            raise InputError(WHERE, "metadata.name", problem)
