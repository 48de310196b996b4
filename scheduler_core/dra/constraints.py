"""Constraints of a claim: attributes that its devices must share, or in which they must differ.

Constraints only become stricter as devices are added, so a search may stop at the first device that violates one.
Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go, constraint.go).
"""

from typing import Any

from scheduler_core.api.devices import DeviceAttribute, DeviceConstraint
from scheduler_core.dra.pools import PoolDevice


def _value(attribute: DeviceAttribute) -> tuple[str, Any]:
    """Return (type, value). Versions are compared as text, because their form is canonical."""
    for kind, value in (("string", attribute.string), ("int", attribute.int_), ("bool", attribute.bool_)):
        if value is not None:
            return kind, value
    return "version", attribute.version


class ClaimConstraint:
    """A constraint of a claim: all devices have the attribute with the same value or, if `distinct`, each with a
    different one."""

    def __init__(self, name: str, requests: list[str], distinct: bool) -> None:
        self.name = name
        self._requests = frozenset(requests)
        self._distinct = distinct
        self._values: list[tuple[str, Any]] = []  # of the devices added

    @property
    def text(self) -> str:
        """Its description."""
        return f"{'no two' if self._distinct else 'all'} devices have the same {self.name}"

    def concerns(self, request: str, sub: str) -> bool:
        """Return whether it applies to the devices of a request. `sub`: name of the subrequest, "" for none."""
        named = self._requests
        return not named or request in named or (bool(sub) and f"{request}/{sub}" in named)

    def add(self, entry: PoolDevice) -> bool:
        """Add the device if it satisfies the constraint; return whether it does."""
        attribute = entry.attribute(self.name)
        if attribute is None:
            return False
        value = _value(attribute)
        if self._values and (value in self._values) == self._distinct:
            return False
        self._values.append(value)
        return True

    def remove(self, entry: PoolDevice) -> None:
        """Undo a successful `add`."""
        attribute = entry.attribute(self.name)
        if attribute is not None:
            self._values.remove(_value(attribute))


def make(constraint: DeviceConstraint, distinct: bool) -> ClaimConstraint | None:
    """Return the constraint; None for a kind that the release does not support. `distinct`: whether it supports
    distinctAttribute."""
    if constraint.match_attribute is not None:
        return ClaimConstraint(constraint.match_attribute, constraint.requests, distinct=False)
    if distinct and constraint.distinct_attribute is not None:
        return ClaimConstraint(constraint.distinct_attribute, constraint.requests, distinct=True)
    return None
