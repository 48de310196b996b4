"""Names for objects with `metadata.generateName`, which an API server names when it stores them.

Source: staging/src/k8s.io/apiserver/pkg/storage/names/generate.go.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

from scheduler_core.controllers.pod_template import NAME_LETTERS

MAX_BASE = 58  # characters kept of generateName, so that names have at most 63
SUFFIX = 5

NAMED = "name from generateName"  # the note, as one of a default


class GeneratedNames:
    """Creates the names of one input. The same input always gets the same names."""

    def __init__(self) -> None:
        self._made: Counter[tuple[str, str, str]] = Counter()

    def name(self, kind: str, namespace: str, base: str, taken: Callable[[str], bool]) -> str:
        """Return the next name that begins with `base`. `taken`: whether another object has a name."""
        while True:
            number = self._made[kind, namespace, base]
            self._made[kind, namespace, base] += 1
            seed = f"{kind}/{namespace}/{base}/{number}".encode(errors="replace")
            letters = (NAME_LETTERS[byte % len(NAME_LETTERS)] for byte in blake2b(seed, digest_size=SUFFIX).digest())
            name = base[:MAX_BASE] + "".join(letters)
            if not taken(name):
                return name


def generate_name(metadata: Any) -> str:
    """Return the generateName of an object without a name; "" if it has a name, or neither."""
    if not isinstance(metadata, dict) or metadata.get("name"):
        return ""
    base = metadata.get("generateName")
    return base if isinstance(base, str) else ""


def name_objects(raws: Iterable[Any]) -> list[dict[str, Any]]:
    """Name the objects that have a generateName and no name, in place. Return them."""
    raws = [raw for raw in raws if isinstance(raw, dict) and isinstance(raw.get("metadata"), dict)]
    unnamed = [raw for raw in raws if generate_name(raw["metadata"])]
    if not unnamed:
        return []
    taken: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for raw in raws:
        taken[_place(raw)].add(str(raw["metadata"].get("name")))
    names = GeneratedNames()
    for raw in unnamed:
        kind, namespace = place = _place(raw)
        base = generate_name(raw["metadata"])
        raw["metadata"]["name"] = names.name(kind, namespace, base, taken[place].__contains__)
        taken[place].add(raw["metadata"]["name"])
    return unnamed


def _place(raw: dict[str, Any]) -> tuple[str, str]:
    return str(raw.get("kind")), str(raw["metadata"].get("namespace") or "default")
