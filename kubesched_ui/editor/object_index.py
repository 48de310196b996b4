"""What a text holds: objects, each a document of its own or an element of a list, the scenario, the configuration."""

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
class Thing:
    """An object of the text. `document`: which; `path`: where in it, () for the whole of it."""

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
class Things:
    """`scenario`: the document that says what happens, -1 if there is none; `configs`: those that configure the
    scheduler; `objects`: all others; `odd`: (document, path) of what is no object at all."""

    scenario: int
    configs: list[int]
    objects: list[Thing]
    odd: list[tuple[int, Path]]


def text_of(value: Any) -> str:
    """Text as it is, everything else as ""."""
    return value if isinstance(value, str) else ""


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get("metadata")
    return found if isinstance(found, dict) else {}


def things_of(text: Text) -> Things:
    """Raises InputError for more objects than the composer takes."""
    scenario, configs, odd = -1, [], []
    objects: list[Thing] = []
    for number, document in enumerate(text.documents):
        value = document.value
        if is_scenario(value) and scenario < 0:
            scenario = number
        elif isinstance(value, dict) and value.get("kind") in CONFIG_KINDS:
            configs.append(number)
            continue
        for path, held in _objects(value):
            if isinstance(held, dict):
                objects.append(Thing(number, path, held))
            else:
                odd.append((number, path))
        if len(objects) > MAX_THINGS:
            raise InputError("the text", "", f"has more than {MAX_THINGS:,} objects")
    return Things(scenario, configs, objects, odd)


def is_scenario(value: Any) -> bool:
    """Whether a document is one of ours."""
    return isinstance(value, dict) and value.get("kind") == SCENARIO_KIND and value.get("apiVersion") in (OUR_API, None)


def list_of(value: Any) -> Path | None:
    """Where in a document its list of objects stands; None if it is an object itself."""
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
    held = value
    for step in at:
        held = held.get(step) if isinstance(held, dict) else None
    if isinstance(held, list):
        for index, one in enumerate(held):
            yield (*at, index), one


def lines_of(document: Document, path: Path) -> tuple[int, int]:
    """The first and last line, of the text, of what stands at a path of a document."""
    node = node_of(document.tree, path)
    first: int = node.start_mark.line
    return document.line + first, document.line + max(first, last_line(node, document.lines))
