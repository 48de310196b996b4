"""Names of modules, classes, functions, attributes and parameters say what they are in the words of the field."""

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

# Fixed by JSON of the HTTP API, and `told` by a column of stored rows. By module; a resolver has the name of its field.
WIRE_NAMES: dict[str, str] = {
    "kubesched_ui.api.groups": "said",
    "kubesched_ui.api.provenance": "said",
    "kubesched_ui.api.runs": "resolve_told told",
    "kubesched_ui.api.time": "said told",
    "kubesched_ui.event_log.rows": "told",
    "kubesched_ui.models": "told",
}
# Upstream has two things of these names, too: a type of the API or of a configuration, and a plugin or a type of a CRD.
OF_UPSTREAM = {"NodeAffinity", "Plugin", "PodGroup", "PodGroupSpec", "ServiceAffinity", "WaitingPod"}


def banned(name: str, kind: str) -> bool:
    """Whether a part of the name, between underscores or capitals, is a banned word."""
    parts = {part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)}
    words = BANNED_IN_CLASSES if kind == "class" else BANNED
    return bool(parts & words) or (kind == "function" and name in BANNED_FUNCTIONS)


def names(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of all that a module defines but local variables."""
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


def found(package: str) -> dict[str, str]:
    """Return the banned names of each module that has some."""
    left = {
        module: " ".join(sorted({name for kind, name in names(file) if banned(name, kind)}))
        for module, file in modules(package).items()
    }
    return {module: text for module, text in left.items() if text}


def twice(package: str) -> str:
    """Return the names that more than one class of the package has. Nested classes have a qualified name."""
    trees = [ast.parse(file.read_text()) for file in modules(package).values()]
    counts = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return " ".join(sorted({name for name, count in counts.items() if count > 1} - OF_DJANGO - OF_UPSTREAM))


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core"])
def test_no_name_has_a_banned_word(package: str) -> None:
    assert found(package) == {m: names for m, names in WIRE_NAMES.items() if m.split(".")[0] == package}


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core"])
def test_a_class_name_occurs_once_in_a_package(package: str) -> None:
    assert twice(package) == ""


@pytest.mark.parametrize(
    ("name", "kind", "is_banned"),
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
def test_whole_parts_of_names_are_banned(name: str, kind: str, is_banned: bool) -> None:
    assert banned(name, kind) is is_banned
