"""Finds unknown fields such as `nodeSelectorr`, which an API server and KubeSched ignore without a warning, and
resources of containers that an API server refuses.

Source: the OpenAPI description of Kubernetes 1.37 (`fields.txt`), for the kinds that affect scheduling, with fields
that older versions of their groups have. Kinds of other groups with the same name have their group in the table.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from scheduler_core.api import quantity

FILE = Path(__file__).with_name("fields.txt")
DEPTH = 32
MAP = "*"
REQUIREMENTS = "ResourceRequirements"
RESOURCES = ("cpu", "memory", "ephemeral-storage")
LIKELY = ("PodSpec", "Container", "ObjectMeta", "Affinity")  # types that may have a misplaced field


class Unknown(NamedTuple):
    """An unknown field, such as `spec.nodeSelectorr`.

    `problem`: a text such as `is not a field of PodSpec; did you mean nodeSelector?`
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


@cache
def types() -> Mapping[str, Mapping[str, str]]:
    """Return type -> field -> the type of its value, "" for text, numbers and maps. With a `*` before it: the type of
    the values of a map."""
    lines = [line.split() for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return {kind: {field: held for field, _, held in (f.partition(":") for f in fields)} for kind, *fields in lines}


def unknown_fields(obj: Any, kind: str = "") -> Iterator[Unknown]:
    """Yield the fields that the object's kind (or `kind`) does not have; none for kinds outside the table."""
    if isinstance(obj, Mapping):
        yield from _walk(obj, kind or str(obj.get("kind", "")), "", 0)


def _walk(obj: Any, kind: str, path: str, depth: int) -> Iterator[Unknown]:
    known = types().get(kind)
    if known is None or depth > DEPTH:
        return
    if isinstance(obj, list):
        for index, item in enumerate(obj):
            yield from _walk(item, kind, f"{path}[{index}]", depth + 1)
    elif isinstance(obj, dict):
        for name, value in obj.items():
            held = known.get(name)
            if held is None:
                at = f"{path}.{name}" if path else str(name)
                yield Unknown(at, f"is not a field of {kind}{_instead(str(name), known)}")
            elif held and isinstance(value, list | dict):
                for inner, below in values_of(value, held, f"{path}.{name}" if path else str(name)):
                    yield from _walk(inner, held.lstrip(MAP), below, depth + 1)
        if kind == REQUIREMENTS:
            for part, resource, problem in resource_problems(obj):
                yield Unknown(f"{path}.{part}.{resource}", f"{problem}; an API server refuses it")


def values_of(value: Any, kind: str, path: str) -> Iterator[tuple[Any, str]]:
    """Yield the values of a field and their paths: those of a map for a `kind` with a `*`, else the value itself."""
    if kind.startswith(MAP) and isinstance(value, dict):
        yield from ((inner, f"{path}[{str(name)[:63]!r}]") for name, inner in value.items())
    else:
        yield value, path


def resource_problems(requirements: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (requests or limits, resource, problem) of resources that an API server refuses for a container.

    Source: pkg/apis/core/validation (ValidateResourceRequirements).
    """
    parts = {part: requirements.get(part) for part in ("requests", "limits")}
    maps = {part: value for part, value in parts.items() if isinstance(value, Mapping)}
    for part, quantities in maps.items():
        for resource in map(str, quantities):
            if "/" not in resource and resource not in RESOURCES and not resource.startswith("hugepages-"):
                meant = get_close_matches(resource[:100], RESOURCES, 1, 0.7)
                yield (
                    part,
                    resource,
                    "is not a resource of containers" + (f"; did you mean {meant[0]}?" if meant else ""),
                )
    limits = maps.get("limits", {})
    for resource, request in maps.get("requests", {}).items():
        name = str(resource)
        extended = "/" in name and "kubernetes.io/" not in name
        if not extended and not name.startswith("hugepages-"):
            continue
        if resource not in limits:
            yield "requests", name, "has no limit, which this resource requires"
        elif str(limits[resource]) != str(request) and not _equal(limits[resource], request):
            yield "requests", name, "differs from the limit, which must be equal for this resource"


def _equal(one: Any, other: Any) -> bool:
    """Return whether two quantities are equal, or one of them is invalid."""
    try:
        return quantity.nano_value(one) == quantity.nano_value(other)
    except (ValueError, TypeError, AttributeError):
        return True


def _instead(name: str, known: Mapping[str, str]) -> str:
    """Return a suggestion: a similar field name, or a type that has the field."""
    by_letters = {field.lower(): field for field in known}
    close = get_close_matches(name.lower()[:100], by_letters, 1, 0.75)
    if close:
        return f"; did you mean {by_letters[close[0]]}?"
    owner = next((kind for kind in LIKELY if name in types()[kind]), "")
    return f"; {owner} has a field with this name" if owner else ""
