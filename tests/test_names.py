"""Names of modules, classes, functions, attributes and parameters use the terms of the field."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import modules

BANNED = {
    *("told", "untold", "asked", "said", "heard", "beside", "nobody", "somebody", "whoever", "room", "rooms"),
    *("door", "doors", "lookout", "fate", "fates", "reel", "reels", "vessel", "vessels"),
}
BANNED_IN_CLASSES = BANNED | {"seen"}
BANNED_FUNCTIONS = {"of", "told", "tell", "asked"}
OF_DJANGO = {"Command", "Meta"}  # class names that Django prescribes

# Names in the JSON of the HTTP API, and `told`, a column of stored rows. By module; resolvers are named after fields.
WIRE_NAMES: dict[str, str] = {
    "kubesched_ui.api.groups": "said",
    "kubesched_ui.api.provenance": "said",
    "kubesched_ui.api.runs": "resolve_told told",
    "kubesched_ui.api.time": "said told",
    "kubesched_ui.event_log.rows": "told",
    "kubesched_ui.models": "told",
}
# Upstream uses these names twice: for a type of the API or of a configuration, and for a plugin or a type of a CRD.
OF_UPSTREAM = {"NodeAffinity", "Plugin", "PodGroup", "PodGroupSpec", "ServiceAffinity", "WaitingPod"}


def is_banned(name: str, kind: str) -> bool:
    """Tell whether a part of the name, between underscores or capitals, is a banned word."""
    parts = {part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)}
    words = BANNED_IN_CLASSES if kind == "class" else BANNED
    return bool(parts & words) or (kind == "function" and name in BANNED_FUNCTIONS)


def names(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of each name that a module defines, except local variables."""
    tree = ast.parse(file.read_text())
    yield "module", file.stem
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield "class", node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "function", node.name
        elif isinstance(node, ast.arg):
            yield "parameter", node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "attribute", node.attr
        if isinstance(node, ast.Module | ast.ClassDef):
            targets = (t for s in node.body if isinstance(s, ast.Assign | ast.AnnAssign) for t in ast.walk(s))
            yield from (
                ("attribute", t.id) for t in targets if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
            )


def banned_names(package: str) -> dict[str, str]:
    """Return the banned names of each module that has any."""
    left = {
        module: " ".join(sorted({name for kind, name in names(file) if is_banned(name, kind)}))
        for module, file in modules(package).items()
    }
    return {module: text for module, text in left.items() if text}


def duplicate_classes(package: str) -> str:
    """Return the names that more than one class of the package has. Nested classes have a qualified name."""
    trees = [ast.parse(file.read_text()) for file in modules(package).values()]
    counts = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return " ".join(sorted({name for name, count in counts.items() if count > 1} - OF_DJANGO - OF_UPSTREAM))


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core"])
def test_no_name_has_a_banned_word(package: str) -> None:
    assert banned_names(package) == {m: names for m, names in WIRE_NAMES.items() if m.split(".")[0] == package}


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core"])
def test_a_class_name_occurs_once_in_a_package(package: str) -> None:
    assert duplicate_classes(package) == ""


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        *[("room", "parameter", True), ("RoomKey", "class", True), ("_no_ROOM", "attribute", True)],
        *[("headroom", "module", False), ("Seen", "class", True), ("seen", "attribute", False)],
        *[
            ("of", "function", True),
            ("of", "parameter", False),
            ("HTTPRoom", "class", True),
            ("untolds", "class", False),
        ],
    ],
)
def test_a_banned_word_is_a_whole_part_of_a_name(name: str, kind: str, expected: bool) -> None:
    assert is_banned(name, kind) is expected
