"""Templates of a run: a pod that is copied, or a workload that creates pods."""

from __future__ import annotations

import copy
from typing import Any

from django.conf import settings

from scheduler_core.api.objects import decode
from scheduler_core.config.document import read_documents
from scheduler_core.controllers import pod_template
from scheduler_core.controllers.pod_template import KINDS as WORKLOADS
from scheduler_core.errors import InputError
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
