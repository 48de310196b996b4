"""Taints of devices, and tolerations of requests.

Source: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim (devicetoleration.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler_core.api.devices import NO_EXECUTE, NO_SCHEDULE, DeviceTaint, DeviceToleration


def untolerated(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> DeviceTaint | None:
    """Return the first taint that prevents the request from getting the device."""
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not any(tolerates(one, taint) for one in tolerations):
            return taint
    return None


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether the toleration matches the taint; its empty effect or key matches any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
