"""The text of a scenario, document by document: what each holds, and where in the text everything stands.

Documents are read one by one, so that one that is being typed hides none of the others. What is hostile is refused by
the reader of uploads (`ingest/yaml_reader.py`) before a tree of places is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from kubesched_ui.editor.limits import LIMITS, MAX_BYTES, MAX_THINGS
from kubesched_ui.ingest.errors import IngestError, Where
from kubesched_ui.ingest.yaml_reader import documents
from scheduler_core.errors import InputError

Path = tuple[str | int, ...]
Node = Any  # of PyYAML: ScalarNode, MappingNode, SequenceNode

_MARKER = re.compile(r"---(\s|$)")
_BREAK = re.compile(r"\r\n?")
_LINE = re.compile(r"(?:\bin |^)line (\d+)(?:, column (\d+))?(?:: )?")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines and columns count from 0."""

    line: int
    column: int = 0
    end: int = 0  # column after the last character, 0 where it is not known


@dataclass(slots=True)
class Document:
    """One document: its lines of the text, `---` included. `value`: None where it is empty or could not be read.

    `problem`: why it could not, with its place. `tree`: PyYAML's nodes, whose lines count from the document's first.
    """

    line: int
    lines: list[str]
    value: Any = None
    tree: Node = None
    problem: tuple[Place, str] | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def last(self) -> int:
        return self.line + len(self.lines) - 1


@dataclass(slots=True)
class Text:
    documents: list[Document] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(document.text for document in self.documents)


def read(text: str) -> Text:
    """The documents of a text; what is wrong with one is its `problem`. Raises InputError for one that is too large."""
    text = _BREAK.sub("\n", text)
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InputError("the text", "", f"is larger than {MAX_BYTES:,} bytes, the most that the composer takes")
    found = [read_document(line, lines) for line, lines in _split(text.split("\n"))]
    if len(found) > MAX_THINGS:
        raise InputError("the text", "", f"has more than {MAX_THINGS:,} documents")
    return Text(found)


def _split(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of each document: `---` at the beginning of a line always begins one."""
    starts = [number for number, line in enumerate(lines) if number and _MARKER.match(line)]
    for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
        yield start, lines[start:end]


def read_document(line: int, lines: list[str]) -> Document:
    """The document of these lines, the first of which has this number."""
    document = Document(line, lines)
    text = document.text
    try:
        values = list(documents(text.encode(), Where(""), LIMITS))
        if len(values) > 1:
            document.problem = Place(line), "holds two documents; put a line with --- between them"
        elif values:
            document.value = msgspec.json.decode(values[0][1])
            document.tree = yaml.compose(text, Loader=yaml.CSafeLoader)
    except IngestError as error:
        document.problem = _located(error.problem, line)
    except UnicodeEncodeError:
        document.problem = Place(line), "holds half of a character, which is no Unicode"
    except (yaml.YAMLError, msgspec.DecodeError, ValueError) as error:
        document.problem = Place(line), f"cannot be read: {str(error).splitlines()[0][:120]}"
    if document.problem:
        document.value = document.tree = None
    return document


def _located(problem: str, line: int) -> tuple[Place, str]:
    """The line that a refusal names, as a place, and the refusal without it."""
    match = _LINE.search(problem)
    if match is None:
        return Place(line), problem
    before, after = problem[: match.start()].strip(), problem[match.end() :].lstrip(": ")
    said = ": ".join(part for part in (before, after) if part)
    return Place(line + int(match[1]) - 1, int(match[2] or 1) - 1), said


# ---- where something stands


def steps(path: str) -> Path:
    """`spec.containers[0].name` as ("spec", "containers", 0, "name")."""
    found: list[str | int] = []
    for name, index, quoted in _STEP.findall(path):
        found.append(int(index) if index else name or quoted)
    return tuple(found)


def spelled(path: Sequence[str | int]) -> str:
    """("spec", "containers", 0) as `spec.containers[0]`; names with dots in them as `labels['a.b/c']`."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif re.fullmatch(r"[^.\[\]' ]+", step):
            out += f".{step}" if out else step
        else:
            out += f"['{step}']"
    return out


def place_of(document: Document, path: Sequence[str | int]) -> Place:
    """Where a path stands: its key, or its value in a list; of what is not there, the innermost that is."""
    node, shown = document.tree, document.tree
    for step in path:
        found = _child(node, step)
        if found is None:
            break
        shown, node = found
    if shown is None:
        return Place(document.line)
    start, end = shown.start_mark, shown.end_mark
    one_line = start.line == end.line
    return Place(document.line + start.line, start.column, end.column if one_line else 0)


def node_of(tree: Node, path: Sequence[str | int]) -> Node:
    """The node at a path, None where there is none."""
    for step in path:
        found = _child(tree, step)
        if found is None:
            return None
        tree = found[1]
    return tree


def _child(node: Node, step: str | int) -> tuple[Node, Node] | None:
    """(what is marked, the node itself) of a member of a map or list."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def last_line(node: Node, lines: list[str]) -> int:
    """The last line, of these of its document, that belongs to a node: comments and blank lines after it do not."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = node.end_mark
    line = end.line
    if end.column == 0 and line > node.start_mark.line:
        line -= 1  # a block of text ends where the next line begins
    while line > node.start_mark.line and not lines[min(line, len(lines) - 1)].strip():
        line -= 1
    return int(min(line, len(lines) - 1))
