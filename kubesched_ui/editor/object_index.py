"""Index of the objects in a text.

An object is a document of its own or an element of a list. The scenario and the configurations are indexed
separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubesched_ui.editor.limits import MAX_THINGS
from kubesched_ui.editor.yaml_documents import Document, Path, Text, last_line, node_of
from kubesched_ui.ingest.formats import OUR_API, SCENARIO_KIND
from scheduler_core.errors import InputError

CONFIG_KINDS = ("KubeSchedulerConfiguration", "Policy")
OBJECTS: Path = ("spec", "objects")


@dataclass(frozen=True, slots=True)
class IndexedObject:
    """An object of the text. `document`: its document; `path`: its path there, () for the whole document."""

    document: int
    path: Path
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return text_of(self.value.get("kind"))

    @property
    def api(self) -> str:
        return text_of(self.value.get("apiVersion"))

    @property
    def name(self) -> str:
        return text_of(_metadata(self.value).get("name"))

    @property
    def namespace(self) -> str:
        return text_of(_metadata(self.value).get("namespace"))


@dataclass(frozen=True, slots=True)
class ObjectIndex:
    """The content of a text.

    `scenario`: number of the Scenario document, or -1. `configs`: documents that configure the scheduler.
    `objects`: all other objects. `odd`: (document, path) of values that are not objects.
    """

    scenario: int
    configs: list[int]
    objects: list[IndexedObject]
    odd: list[tuple[int, Path]]


def text_of(value: Any) -> str:
    """Return a string unchanged, and "" for any other value."""
    return value if isinstance(value, str) else ""


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get("metadata")
    return found if isinstance(found, dict) else {}


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
    if isinstance(value, dict) and text_of(value.get("kind")).endswith("List") and isinstance(value.get("items"), list):
        return ("items",)
    return None


def _objects(value: Any) -> Iterator[tuple[Path, Any]]:
    if value is None:
        return
    at = list_of(value)
    if at is None:
        yield (), value
        return
    content = value
    for step in at:
        content = content.get(step) if isinstance(content, dict) else None
    if isinstance(content, list):
        for index, one in enumerate(content):
            yield (*at, index), one


def lines_of(document: Document, path: Path) -> tuple[int, int]:
    """Return the first and last lines in the text of the value at a path."""
    node = node_of(document.tree, path)
    first: int = node.start_mark.line
    return document.line + first, document.line + max(first, last_line(node, document.lines))
