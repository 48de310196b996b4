"""Names of modules, classes, functions, attributes and parameters use the terms of the field."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.architecture import modules

BANNED = {
    *("told", "untold", "asked", "said", "heard", "beside", "nobody", "somebody", "whoever", "room", "rooms"),
    *("door", "doors", "lookout", "fate", "fates", "reel", "reels", "vessel", "vessels"),
}
BANNED_IN_CLASSES = BANNED | {"seen"}
BANNED_FUNCTIONS = {"of", "told", "tell", "asked"}
# Matches each text with a banned name, so that the other modules need not be parsed.
MAY_BE_BANNED = re.compile(rf"(?i:{'|'.join(BANNED_IN_CLASSES)})|def (?:of|tell)\b")
TEMPLATES = Path(__file__).parents[1] / "templates"
STATIC = Path(__file__).parents[1] / "static"
OF_DJANGO = {"Command", "Meta"}  # class names that Django prescribes

# Names outside of the code, by module: in the JSON of the HTTP API and of websockets (resolvers are named after
# fields), of a column of stored rows, of URLs, and of environment variables.
OUTER_NAMES: dict[str, set[str]] = {
    "kubesched_ui.api.groups": {"said"},
    "kubesched_ui.api.provenance": {"said"},
    "kubesched_ui.api.runs": {"told"},
    "kubesched_ui.event_log.rows": {"told"},
    "kubesched_ui.live_classes.hub": {"room"},
    "kubesched_ui.models.records": {"told"},
    "scheduler_core.pod_groups.serialize": {"said"},
}
# The key of a websocket message, the path of its address, and of a draft in the browser.
OUTER_NAMES_IN_FILES = {f"js/live_class/{name}.js": {"room"} for name in ("run", "student", "teacher", "wall")}
# Upstream uses these names twice: for a type of the API or of a configuration, and for a plugin or a type of a CRD.
OF_UPSTREAM = {"NodeAffinity", "Plugin", "PodGroup", "PodGroupSpec", "PodState", "ServiceAffinity", "WaitingPod"}


@cache
def is_banned(name: str, kind: str) -> bool:
    """Tell whether a part of the name, between underscores or capitals, is a banned word."""
    parts = {part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)}
    words = BANNED_IN_CLASSES if kind == "class" else BANNED
    return bool(parts & words) or (kind == "function" and name in BANNED_FUNCTIONS)


def names(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of each name that a module defines, and of each string key that it sets: template context."""
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
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "variable", node.id
        elif isinstance(node, ast.Dict):
            yield from (("key", key.value) for key in node.keys if is_text(key))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_text(node.slice):
            yield "key", node.slice.value


def is_text(node: ast.expr | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()


def banned_names(package: str) -> dict[str, set[str]]:
    """Return the banned names of each module that has any."""
    left = {
        module: {name for kind, name in names(file) if is_banned(name, kind)}
        for module, file in modules(package).items()
        if MAY_BE_BANNED.search(f"{file.stem}\n{file.read_text()}")
    }
    return {module: found for module, found in left.items() if found}


def duplicate_classes(package: str) -> str:
    """Return the names that more than one class of the package has. Nested classes have a qualified name."""
    texts = [file.read_text() for file in modules(package).values()]
    counts = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.M))
    return " ".join(sorted({name for name, count in counts.items() if count > 1} - OF_DJANGO - OF_UPSTREAM))


@pytest.mark.parametrize("package", ["kubesched_ui", "scheduler_core", "tests", "scripts", "benchmarks"])
def test_no_name_has_a_banned_word(package: str) -> None:
    assert banned_names(package) == {m: names for m, names in OUTER_NAMES.items() if m.split(".")[0] == package}


def template_names(path: Path) -> set[str]:
    """Return the names in the tags of a template, without texts."""
    tags = re.findall(r"{[{%](.*?)[%}]}", path.read_text(), re.S)
    return {name for tag in tags for name in re.findall(r"[^\W\d]\w*", re.sub(r"""(["']).*?\1""", "", tag))}


def test_no_name_in_a_template_has_a_banned_word() -> None:
    files = sorted(TEMPLATES.rglob("*.html"))
    found = {str(file.relative_to(TEMPLATES)): {name for name in template_names(file) if is_banned(name, "variable")}
             for file in files}  # fmt: skip
    assert {name: " ".join(words) for name, words in found.items() if words} == {}


def file_names(path: Path) -> set[str]:
    """Return the names of a front-end file: classes and ids of a style sheet or a template, identifiers of a script."""
    text = path.read_text()
    if path.suffix == ".html":
        return set(
            re.findall(
                r"[\w-]+", " ".join(re.findall(r'\b(?:class|id)="([^"]*)"', re.sub(r"{[{%].*?[%}]}", " ", text)))
            )
        )
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    if path.suffix == ".css":
        return set(re.findall(r"[.#]([a-z][\w-]*)", text))
    return set(re.findall(r"[^\W\d]\w*", re.sub(r"(?<!:)//.*|\"[^\"\n]*\"|`[^`]*`", "", text)))


def test_no_name_in_a_style_or_script_has_a_banned_word() -> None:
    files = [file for kind in ("css", "js") for file in sorted((STATIC / kind).rglob(f"*.{kind}"))]
    names = {str(file.relative_to(STATIC)): file_names(file) for file in files}
    names |= {file.name: file_names(file) for file in TEMPLATES.rglob("*.html")}
    found = {file: {one for one in all_of if is_banned(one, "variable")} for file, all_of in names.items()}
    assert {file: words for file, words in found.items() if words} == OUTER_NAMES_IN_FILES


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
