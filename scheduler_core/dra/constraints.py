"""Constraints of a claim: attributes that its devices must share, or in which they must differ.

Constraints only become stricter as devices are added, so a search may stop at the first device that violates one.
Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go, constraint.go).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from scheduler_core.api.devices import DeviceAttribute, DeviceConstraint
from scheduler_core.dra.pools import Entry


def _value(attribute: DeviceAttribute) -> tuple[str, Any]:
    """Return (type, value). Versions are compared as text, because their form is canonical."""
    for kind, value in (("string", attribute.string), ("int", attribute.int_), ("bool", attribute.bool_)):
        if value is not None:
            return kind, value
    return "version", attribute.version


class Constraint:
    """A constraint of a claim. `text`: its description."""

    def __init__(self, name: str, requests: list[str]) -> None:
        self.name = name
        self._requests = frozenset(requests)

    @property
    @abstractmethod
    def text(self) -> str: ...

    def concerns(self, request: str, sub: str) -> bool:
        """Return whether it applies to the devices of a request. `sub`: name of the subrequest, "" for none."""
        named = self._requests
        return not named or request in named or (bool(sub) and f"{request}/{sub}" in named)

    @abstractmethod
    def add(self, entry: Entry) -> bool:
        """Add the device if it satisfies the constraint; return whether it does."""

    @abstractmethod
    def remove(self, entry: Entry) -> None:
        """Undo a successful `add`."""


class MatchAttribute(Constraint):
    """All devices have the attribute with the same value."""

    def __init__(self, name: str, requests: list[str]) -> None:
        super().__init__(name, requests)
        self._shared: tuple[str, Any] = ("", None)
        self._devices = 0

    @property
    def text(self) -> str:
        return f"all devices have the same {self.name}"

    def add(self, entry: Entry) -> bool:
        attribute = entry.attribute(self.name)
        if attribute is None:
            return False
        value = _value(attribute)
        if not self._devices:
            self._shared = value
        elif value != self._shared:
            return False
        self._devices += 1
        return True

    def remove(self, entry: Entry) -> None:
        self._devices -= 1


class DistinctAttribute(Constraint):
    """All devices have the attribute, each with a different value."""

    def __init__(self, name: str, requests: list[str]) -> None:
        super().__init__(name, requests)
        self._taken: set[tuple[str, Any]] = set()

    @property
    def text(self) -> str:
        return f"no two devices have the same {self.name}"

    def add(self, entry: Entry) -> bool:
        attribute = entry.attribute(self.name)
        if attribute is None or _value(attribute) in self._taken:
            return False
        self._taken.add(_value(attribute))
        return True

    def remove(self, entry: Entry) -> None:
        attribute = entry.attribute(self.name)
        if attribute is not None:
            self._taken.discard(_value(attribute))


def make(constraint: DeviceConstraint, distinct: bool) -> Constraint | None:
    """Return the constraint; None for a kind that the release does not support. `distinct`: whether it supports
    distinctAttribute."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if distinct and constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None
