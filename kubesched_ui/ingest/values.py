"""Reads parts of an uploaded value, which may have any shape."""

from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]

# Kind -> the path of its pod spec.
_POD_SPECS: dict[str, Path] = {
    "Pod": ("spec",),
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"),
        ("spec", "template", "spec"),
    ),
}


def as_map(value: Any) -> dict[str, Any]:
    """Return a map unchanged, and {} for any other value."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return a string unchanged, and "" for any other value."""
    return value if isinstance(value, str) else ""


def maps_in(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (index, element) of a list's elements that are maps."""
    for index, element in enumerate(value if isinstance(value, list) else ()):
        if isinstance(element, dict):
            yield index, element


def member(value: Any, path: Path) -> Any:
    """Return the value at a path of names, or None."""
    for step in path:
        value = as_map(value).get(str(step))
    return value


def pod_spec(obj: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Return the path and the value of a pod's or workload's pod spec; {} if there is none."""
    path = _POD_SPECS.get(as_text(obj.get("kind")), ())
    return path, as_map(member(obj, path)) if path else {}
