"""Label and field selectors of lists and watches.

Source: k8s.io/apimachinery/pkg/labels/selector.go, pkg/fields/selector.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.api_server.resources import Resource

_SET = re.compile(r"^(\S+) (in|notin) \((.*)\)$")


class UnknownField(Exception):
    """The field cannot be selected."""


class Selector:
    """Selects objects by namespace, labels and fields. `selects`: whether it excludes any. Raises UnknownField."""

    def __init__(self, resource: Resource, query: Mapping[str, str], namespace: str) -> None:
        self._prefix = f"{namespace}/" if namespace else ""
        self._tests: list[Callable[[Any], bool]] = []
        allowed = ("metadata.name", *(("metadata.namespace",) if resource.namespaced else ()), *resource.fields)
        for part in filter(None, query.get("fieldSelector", "").split(",")):
            path, operator, value = _split(part)
            if path not in allowed or not operator:
                raise UnknownField(f"field label not supported: {path}")
            self._tests.append(_field_test(path.split("."), value, operator != "!="))
        for part in filter(None, re.split(r",(?![^(]*\))", query.get("labelSelector", ""))):
            self._tests.append(_label_test(part.strip()))
        self.selects = bool(self._prefix or self._tests)

    def matches(self, key: str, raw: bytes) -> bool:
        """Tell whether an object is selected."""
        if not key.startswith(self._prefix):
            return False
        if not self._tests:
            return True
        obj = msgspec.json.decode(raw)
        return all(test(obj) for test in self._tests)


def _split(part: str) -> tuple[str, str, str]:
    found = re.match(r"(.*?)(!=|==|=)(.*)", part)
    return (found[1], found[2], found[3]) if found else (part, "", "")


def _field_test(path: list[str], value: str, equal: bool) -> Callable[[Any], bool]:
    def test(obj: Any) -> bool:
        for name in path:
            obj = (obj or {}).get(name)
        if isinstance(obj, bool):
            obj = str(obj).lower()
        elif isinstance(obj, dict):  # Event: source means source.component
            obj = obj.get("component")
        return (("" if obj is None else str(obj)) == value) is equal

    return test


def _label_test(part: str) -> Callable[[Any], bool]:
    key, operator, value = _split(part)
    values = [value]
    if found := _SET.match(part):
        key, operator, values = found[1], found[2], [v.strip() for v in found[3].split(",")]

    def test(obj: Any) -> bool:
        labels = obj["metadata"].get("labels") or {}
        if not operator:
            return key[1:] not in labels if key.startswith("!") else key in labels
        return (labels.get(key) in values) is (operator in ("=", "==", "in"))

    return test
