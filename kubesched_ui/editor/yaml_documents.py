"""Multi-document YAML with positions: the value of each document, and where each part of it is in the text.

Documents are parsed separately, so that one incomplete document does not hide the others. The parser of uploads
(`ingest/yaml_reader.py`) rejects hostile input before a node tree is built.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from kubesched_ui.editor.limits import LIMITS, MAX_BYTES, MAX_THINGS
from kubesched_ui.ingest.errors import IngestError, Where
from kubesched_ui.ingest.values import Path
from kubesched_ui.ingest.yaml_reader import documents
from scheduler_core.errors import InputError

Node = Any  # PyYAML's ScalarNode, MappingNode, SequenceNode

_MARKER = re.compile(r"---(\s|$)")
_BREAK = re.compile(r"\r\n?")
_LINE = re.compile(r"(?:\bin |^)line (\d+)(?:, column (\d+))?(?:: )?")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A position in the text. Lines and columns start at 0."""

    line: int
    column: int = 0
    end: int = 0  # column after the last character, 0 if unknown


@dataclass(slots=True)
class Document:
    """One document with its lines, including `---`. `value`: None if the document is empty or unreadable. `problem`:
    why it is unreadable, with the position. `tree`: PyYAML's nodes; their lines are relative to the document."""

    line: int
    lines: list[str]
    value: Any = None
    tree: Node = None
    problem: tuple[TextPosition, str] | None = None

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


def parse(text: str) -> Text:
    """Parse the documents of a text. An unreadable document has a `problem`. Raises InputError if the text is too
    large."""
    text = _BREAK.sub("\n", text)
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InputError("the text", "", f"is larger than {MAX_BYTES:,} bytes, the limit of the editor")
    found = [read_document(line, lines) for line, lines in _split(text.split("\n"))]
    if len(found) > MAX_THINGS:
        raise InputError("the text", "", f"has more than {MAX_THINGS:,} documents")
    return Text(found)


def _split(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, lines) of each document. A `---` at the start of a line always begins a
    document."""
    starts = [number for number, line in enumerate(lines) if number and _MARKER.match(line)]
    for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
        yield start, lines[start:end]


def read_document(line: int, lines: list[str]) -> Document:
    """Parse a document. `line`: number of its first line in the text."""
    document = Document(line, lines)
    text = document.text
    try:
        values = list(documents(text.encode(), Where(""), LIMITS))
        if len(values) > 1:
            document.problem = TextPosition(line), "contains two documents; put a line with --- between them"
        elif values:
            document.value = msgspec.json.decode(values[0][1])
            document.tree = yaml.compose(text, Loader=yaml.CSafeLoader)
    except IngestError as error:
        document.problem = _located(error.problem, line)
    except UnicodeEncodeError:
        document.problem = TextPosition(line), "contains an unpaired surrogate, which is not valid Unicode"
    except (yaml.YAMLError, msgspec.DecodeError, ValueError) as error:
        document.problem = TextPosition(line), f"cannot be read: {str(error).splitlines()[0][:120]}"
    if document.problem:
        document.value = document.tree = None
    return document


def _located(problem: str, line: int) -> tuple[TextPosition, str]:
    """Extract the position from an error message. Return the position and the message without it."""
    match = _LINE.search(problem)
    if match is None:
        return TextPosition(line), problem
    before, after = problem[: match.start()].strip(), problem[match.end() :].lstrip(": ")
    message = ": ".join(part for part in (before, after) if part)
    return TextPosition(line + int(match[1]) - 1, int(match[2] or 1) - 1), message


# ---- positions


def path_steps(path: str) -> Path:
    """Split `spec.containers[0].name` into ("spec", "containers", 0, "name")."""
    return tuple(int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path))


def path_text(path: Sequence[str | int]) -> str:
    """Format ("spec", "containers", 0) as `spec.containers[0]`; names with dots as `labels['a.b/c']`."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif re.fullmatch(r"[^.\[\]' ]+", step):
            out += f".{step}" if out else step
        else:
            out += f"['{step}']"
    return out


def position_of(document: Document, path: Sequence[str | int]) -> TextPosition:
    """Return the position of a path: of its key, or of its value in a list. For a missing path, return the innermost
    existing part."""
    node, shown = document.tree, document.tree
    for step in path:
        found = child(node, step)
        if found is None:
            break
        shown, node = found
    if shown is None:
        return TextPosition(document.line)
    start, end = shown.start_mark, shown.end_mark
    one_line = start.line == end.line
    return TextPosition(document.line + start.line, start.column, end.column if one_line else 0)


def node_of(tree: Node, path: Sequence[str | int]) -> Node:
    """Return the node at a path, or None."""
    for step in path:
        tree = found[1] if (found := child(tree, step)) else None
    return tree


def child(node: Node, step: str | int) -> tuple[Node, Node] | None:
    """Return (node to mark, value node) of a member of a map or list, or None."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def last_line(node: Node, lines: list[str]) -> int:
    """Return the last line of a node, relative to its document, without trailing comments and blank lines."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = node.end_mark
    line = end.line
    if end.column == 0 and line > node.start_mark.line:
        line -= 1  # a block scalar ends at the start of the next line
    while line > node.start_mark.line and not lines[min(line, len(lines) - 1)].strip():
        line -= 1
    return int(min(line, len(lines) - 1))
