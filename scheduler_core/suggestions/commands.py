"""Commands for kubectl that make a change, in the syntax of a POSIX shell."""

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from scheduler_core.explain.answer import Target

Raw = dict[str, Any]
_SHORT = {"PersistentVolumeClaim": "pvc", "PersistentVolume": "pv"}
_FROM_CONTROLLER = ("controller-uid", "batch.kubernetes.io/controller-uid")
_WITHOUT_SELECTOR: Raw = {
    "selector": None,
    "template": {"metadata": {"labels": dict.fromkeys(_FROM_CONTROLLER)}},
}
"""What a new Job gets from the API server, and so must not have."""


def patch(target: Target, patch: Any, kind: str = "strategic", names: Sequence[str] = ()) -> str:
    """Return the command that patches an object, or several of its kind by `names`."""
    named = " ".join(f"{target.kind.lower()}/{shlex.quote(name)}" for name in names)
    what = named or f"{target.kind.lower()} {shlex.quote(target.name)}"
    return f"kubectl patch {what}{_namespace(target)} --type={kind} -p {_json(patch)}"


def replaced(target: Target, patch: Raw, kind: str = "strategic", names: Sequence[str] = ()) -> str:
    """Return the command that deletes objects and creates them again with a patch, in place of immutable fields."""
    what = " ".join(map(shlex.quote, names or (target.name,)))
    if target.kind == "Job":
        spec = patch["spec"]
        template = {**spec["template"], **_WITHOUT_SELECTOR["template"]}
        patch = {"spec": {**spec, **_WITHOUT_SELECTOR, "template": template}}
    steps = (
        f"kubectl get {target.kind.lower()} {what}{_namespace(target)} -o json",
        f"kubectl patch --local -f - --type={kind} -p {_json(patch)} -o json",
        "kubectl replace --force -f -",
    )
    return " | ".join(steps)


def create(document: Raw, again: bool = False) -> str:
    """Return the command that creates an object. `again`: the object exists and is deleted first."""
    verb = "replace --force" if again else "create"
    return f"kubectl {verb} -f - <<'EOF'\n{yaml.safe_dump(document, sort_keys=False)}EOF"


def uncordon(nodes: Sequence[str]) -> str:
    """Return the command that uncordons nodes."""
    return f"kubectl uncordon {' '.join(map(shlex.quote, nodes))}"


def label(node: str, labels: dict[str, str]) -> str:
    """Return the command that sets labels of a node."""
    parts = [f"{key}={value}" for key, value in labels.items()]
    return f"kubectl label node {shlex.quote(node)} --overwrite {' '.join(map(shlex.quote, parts))}"


def delete_pods(namespace: str, names: Sequence[str]) -> str:
    """Return the command that deletes pods."""
    return f"kubectl delete pod -n {shlex.quote(namespace)} {' '.join(map(shlex.quote, names))}"


def describe(target: Target) -> str:
    """Return the command that shows an object with its events. It changes nothing."""
    kind = _SHORT.get(target.kind, target.kind.lower())
    return f"kubectl describe {kind} {shlex.quote(target.name)}{_namespace(target)}"


def show_resource(resource: str) -> str:
    """Return the command that lists how much of a resource each node has. It changes nothing."""
    path = resource.replace(".", r"\.")
    title = resource.rpartition("/")[2].upper()
    columns = f"NODE:.metadata.name,{title}:.status.allocatable.{path}"
    return f"kubectl get nodes -o custom-columns={shlex.quote(columns)}"


def _namespace(target: Target) -> str:
    return f" -n {shlex.quote(target.namespace)}" if target.namespace else ""


def _json(value: Any) -> str:
    return shlex.quote(msgspec.json.encode(value).decode())
