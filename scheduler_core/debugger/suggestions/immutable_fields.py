"""What of a pod the API server does not let change in place.

Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.api.objects import Pod

_MUTABLE = frozenset({"schedulingGates", "activeDeadlineSeconds", "terminationGracePeriodSeconds"})


def changes_immutable(pod: Pod, patch: dict[str, Any]) -> bool:
    """Return whether a merge patch of a pod needs a new pod. Tolerations can be added, gates removed."""
    return any(_is_fixed(pod, name, value) for name, value in (patch.get("spec") or {}).items())


def _is_fixed(pod: Pod, name: str, value: Any) -> bool:
    if name == "tolerations":
        given = [(one.get("key"), one.get("effect"), one.get("value")) for one in value or []]
        return any((one.key, one.effect, one.value) not in _blank(given) for one in pod.spec.tolerations)
    return name not in _MUTABLE


def _blank(given: Iterable[tuple[Any, Any, Any]]) -> set[tuple[str, str, str]]:
    return {(key or "", effect or "", value or "") for key, effect, value in given}
