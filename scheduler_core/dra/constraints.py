"""Constraints of a claim: what its devices must have in common, or must not.

Both only ever get stricter as devices are added, so a search may stop at the first that does not fit.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go, constraint.go).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from scheduler_core.api.devices import DeviceAttribute, DeviceConstraint
from scheduler_core.dra.pools import Entry


def _value(attribute: DeviceAttribute) -> tuple[str, Any]:
    """(type, value): versions are compared as texts, their form is canonical."""
    for kind, value in (("string", attribute.string), ("int", attribute.int_), ("bool", attribute.bool_)):
        if value is not None:
            return kind, value
    return "version", attribute.version


class Constraint:
    """`text`: what it demands, for a person."""

    def __init__(self, name: str, requests: list[str]) -> None:
        self.name = name
        self._requests = frozenset(requests)

    @property
    @abstractmethod
    def text(self) -> str: ...

    def concerns(self, request: str, sub: str) -> bool:
        """Whether it is about the devices of a request; `sub`: the subrequest's name, "" for none."""
        named = self._requests
        return not named or request in named or (bool(sub) and f"{request}/{sub}" in named)

    @abstractmethod
    def add(self, entry: Entry) -> bool:
        """Takes the device in, if it fits."""

    @abstractmethod
    def remove(self, entry: Entry) -> None:
        """Undoes an `add` that was true."""


class MatchAttribute(Constraint):
    """All devices have the attribute, with the same value."""

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
    """All devices have the attribute, each with another value."""

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
    """None for a kind that the release does not know. `distinct`: whether it knows distinctAttribute."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if distinct and constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None
