"""What a suggested fix changes that the API server does not let change in place.

Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate, ValidatePersistentVolumeClaimUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.api.objects import Pod
from scheduler_core.metrics.groups import workload_of

Raw = dict[str, Any]
_MUTABLE = frozenset({"schedulingGates", "activeDeadlineSeconds", "terminationGracePeriodSeconds"})
_OF_CLAIM = frozenset({"storageClassName", "accessModes", "volumeName", "selector", "dataSource", "dataSourceRef"})


def remark(pod: Pod, changes: Iterable[Raw]) -> str:
    """Return where a fix is to be made if its objects must be created anew, as a phrase in brackets; "" otherwise.

    `pod`: before the fix. `changes`: of the fix, in the format of forks.
    """
    for change in changes:
        patch = change.get("patch")
        if not patch:
            continue
        fields = patch["patch"].get("spec") or {}
        if patch["kind"] == "PersistentVolumeClaim" and _OF_CLAIM & fields.keys():
            return " (in a new claim: these fields of a claim cannot change)"
        mine = (patch.get("namespace") or "default", patch["name"]) == (pod.namespace, pod.name)
        if patch["kind"] == "Pod" and mine and any(_is_fixed(pod, name, fields[name]) for name in fields):
            owner = workload_of(pod)
            place = f"the template of {' '.join(owner)}" if owner else "a new pod"
            return f" (in {place}: the spec of a pod cannot change)"
    return ""


def _is_fixed(pod: Pod, name: str, value: Any) -> bool:
    """Return whether a field of the spec cannot get this value. Tolerations can be added, gates removed."""
    if name == "tolerations":
        given = [(one.get("key"), one.get("effect"), one.get("value")) for one in value or []]
        return any((one.key, one.effect, one.value) not in _blank(given) for one in pod.spec.tolerations)
    return name not in _MUTABLE


def _blank(given: Iterable[tuple[Any, Any, Any]]) -> set[tuple[str, str, str]]:
    return {(key or "", effect or "", value or "") for key, effect, value in given}
