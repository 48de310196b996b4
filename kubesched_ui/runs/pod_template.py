"""Templates of a run: a pod that is copied, or a workload that creates pods."""

import copy
import re
from itertools import islice
from typing import Any

from django.conf import settings

from kubesched_ui.models import ClusterObject, Scenario
from scheduler_core.api.fields import unknown_fields
from scheduler_core.api.objects import decode
from scheduler_core.config import Unknown
from scheduler_core.config.document import read_documents
from scheduler_core.controllers import pod_template
from scheduler_core.controllers.pod_template import KINDS as WORKLOADS
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.workload_pods import title

WHERE = "Template"
IDENTITY = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
Raw = dict[str, Any]


def read(text: str) -> Raw:
    """Parse the pod or workload in `text`, and add defaults for name and namespace. Raises InputError."""
    documents = read_documents(text, WHERE)
    obj = documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else {}
    kind = obj.get("kind") or "Pod"
    if kind == "CronJob":
        raise InputError(WHERE, "kind", "a CronJob creates Jobs on a schedule; enter the Job of its jobTemplate")
    if not obj or kind not in ("Pod", *WORKLOADS):
        raise InputError(WHERE, "kind", f"must be one object of kind Pod, {', '.join(WORKLOADS)}")
    metadata = obj.get("metadata") or {}
    if not isinstance(obj.get("spec"), dict) or not isinstance(metadata, dict):
        raise InputError(WHERE, "spec", "must be a mapping, and so must metadata")
    name = str(metadata.get("name") or metadata.get("generateName") or kind.lower()).rstrip("-")
    metadata = metadata | {"name": name, "namespace": metadata.get("namespace") or "default"}
    return as_written(obj | {"apiVersion": WORKLOADS.get(kind, "v1"), "kind": kind, "metadata": metadata})


def check(text: str, copies: int) -> None:
    """Raise InputError for a template with which a run cannot begin."""
    obj = read(text)
    most = settings.RUN_MAX_PODS
    defaults.fill(obj)
    try:
        if obj["kind"] == "Pod":
            decode(obj)
        else:
            pod_template.read(obj)
    except InputError as error:
        raise InputError(WHERE, error.field, error.problem) from None
    if obj["kind"] != "Pod" and copies > 1:
        raise InputError("Run", "copies", f"is for pods; a {obj['kind']} defines its own number of pods")
    if obj["kind"] == "Pod" and not 1 <= copies <= most:
        raise InputError("Run", "copies", f"must be between 1 and {most}")


def is_workload(text: str) -> bool:
    """Return whether a template, which may be invalid, is a workload."""
    try:
        return read(text)["kind"] != "Pod"
    except InputError:
        return False


def objects_of(text: str, copies: int) -> tuple[list[Raw], list[str]]:
    """Return the objects that a template adds, and the titles of the workloads among them. Pods are named NAME-1,
    NAME-2 ..."""
    obj = read(text)
    if obj["kind"] != "Pod":
        return [obj], [title(obj)]
    named = [{**obj["metadata"], "name": f"{obj['metadata']['name']}-{n}"} for n in range(1, copies + 1)]
    return [copy.deepcopy(obj) | {"metadata": metadata} for metadata in named], []


def as_written(obj: Raw) -> Raw:
    """Remove identity, status and node from an object copied from a cluster."""
    if defaults.is_typed(obj):
        return obj
    spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in IDENTITY}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata, "spec": spec}


# ---- checks of a run's template


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
