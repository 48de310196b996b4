"""Index of the objects in a text.

An object is a separate document or an element of a list. The scenario and the configurations are indexed
separately.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubesched_ui.editor.limits import MAX_THINGS
from kubesched_ui.editor.yaml_documents import Document, Text, last_line, node_of
from kubesched_ui.ingest.formats import OUR_API, SCENARIO_KIND
from kubesched_ui.ingest.values import Path, as_map, as_text, member
from scheduler_core.errors import InputError

CONFIG_KINDS = ("KubeSchedulerConfiguration", "Policy")
OBJECTS: Path = ("spec", "objects")
ITEMS: Path = ("items",)


@dataclass(frozen=True, slots=True)
class IndexedObject:
    """An object of the text. `document`: its document; `path`: its path there, () for the whole document."""

    document: int
    path: Path
    value: dict[str, Any]

    @property
    def index(self) -> int:
        """The index in its list; -1 for a whole document."""
        return int(self.path[-1]) if self.path else -1

    @property
    def kind(self) -> str:
        return as_text(self.value.get("kind"))

    @property
    def api(self) -> str:
        return as_text(self.value.get("apiVersion"))

    @property
    def name(self) -> str:
        return as_text(as_map(self.value.get("metadata")).get("name"))

    @property
    def namespace(self) -> str:
        return as_text(as_map(self.value.get("metadata")).get("namespace"))


@dataclass(frozen=True, slots=True)
class ObjectIndex:
    """The content of a text. `scenario`: number of the Scenario document, or -1. `configs`: documents that configure
    the scheduler. `objects`: all other objects. `odd`: (document, path) of values that are not objects."""

    scenario: int
    configs: list[int]
    objects: list[IndexedObject]
    odd: list[tuple[int, Path]]


def index_objects(text: Text) -> ObjectIndex:
    """Index a text. Raises InputError if it has too many objects."""
    scenario, configs, odd = -1, [], []
    objects: list[IndexedObject] = []
    for number, document in enumerate(text.documents):
        value = document.value
        if is_scenario(value) and scenario < 0:
            scenario = number
        elif isinstance(value, dict) and value.get("kind") in CONFIG_KINDS:
            configs.append(number)
            continue
        for path, content in _objects(value):
            if isinstance(content, dict):
                objects.append(IndexedObject(number, path, content))
            else:
                odd.append((number, path))
        if len(objects) > MAX_THINGS:
            raise InputError("the text", "", f"has more than {MAX_THINGS:,} objects")
    return ObjectIndex(scenario, configs, objects, odd)


def is_scenario(value: Any) -> bool:
    """Whether a document is a Scenario of this product."""
    return isinstance(value, dict) and value.get("kind") == SCENARIO_KIND and value.get("apiVersion") in (OUR_API, None)


def list_of(value: Any) -> Path | None:
    """Return the path of a document's list of objects, or None if the document is itself an object."""
    if isinstance(value, list):
        return ()
    if is_scenario(value):
        return OBJECTS
    if isinstance(value, dict) and as_text(value.get("kind")).endswith("List") and isinstance(value.get("items"), list):
        return ITEMS
    return None


def _objects(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if value is None:
        return
    at = list_of(value)
    if at is None:
        yield path, value
        return
    content = member(value, at)
    for index, one in enumerate(content if isinstance(content, list) else ()):
        inner = (*path, *at, index)
        if list_of(one) == ITEMS:
            yield from _objects(one, inner)
        else:
            yield inner, one


def lines_of(document: Document, path: Path) -> tuple[int, int]:
    """Return the first and last lines in the text of the value at a path."""
    node = node_of(document.tree, path)
    first: int = node.start_mark.line
    return document.line + first, document.line + max(first, last_line(node, document.lines))
