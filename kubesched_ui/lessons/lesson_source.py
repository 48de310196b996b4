"""The text of a written lesson as parts that forms edit: the keys of its head, and its steps.

Each part keeps its lines until it is replaced, so forms lose nothing that they do not show.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
import yaml

from kubesched_ui.ingest import IngestError, Limits
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.yaml_reader import documents
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons import parser
from kubesched_ui.lessons.errors import LessonError

FILE = "lesson.md"
REFERENCES = (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken)
LINE_BREAKS = re.compile("[\x85\u2028\u2029]")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class HeadKey:
    """A key of the head with its lines; those of `steps` end before the first step."""

    name: str
    lines: list[str]


@dataclass
class StepSource:
    """A step: the lines of its item in the head, and of its section."""

    head: list[str]
    section: list[str]


@dataclass
class LessonSource:
    """A text in parts. `opening`: lines before the first key. `closing`: lines from the end of the head to the first
    section."""

    opening: list[str]
    keys: list[HeadKey]
    steps: list[StepSource]
    closing: list[str]

    @property
    def text(self) -> str:
        """The whole text."""
        lines = list(self.opening)
        for key in self.keys:
            lines += key.lines
            if key.name == "steps":
                lines += [line for step in self.steps for line in step.head]
        lines += self.closing
        for number, step in enumerate(self.steps):
            last = number == len(self.steps) - 1
            lines += step.section if last or not step.section[-1:] or not step.section[-1] else [*step.section, ""]
        return "\n".join(lines)

    @property
    def indent(self) -> int:
        """The column of the hyphens of the steps."""
        first = self.steps[0].head[0] if self.steps else "  -"
        return first.index("-")

    def section_line(self, number: int) -> int:
        """Return the line of the heading of a step, from 1."""
        before = sum(len(key.lines) for key in self.keys) + sum(len(step.head) for step in self.steps)
        sections = sum(len(step.section) + bool(step.section[-1]) for step in self.steps[: number - 1])
        return len(self.opening) + before + len(self.closing) + sections + 1

    def head_value(self, name: str) -> Any:
        """Return the value of a key of the head, or None."""
        lines = next((key.lines for key in self.keys if key.name == name), [])
        return value_of(lines)[name] if lines else None

    def editable(self, name: str) -> bool:
        """Return whether a form shows all of a key of the head."""
        return all(is_plain(content(key.lines, 0)) for key in self.keys if key.name == name)

    def set_head(self, name: str, value: Any) -> None:
        """Replace the value of a key of the head; an empty one removes the key."""
        if (self.head_value(name) or None) == (value or None):
            return
        new = to_yaml({name: value}).rstrip("\n").split("\n") if value else []
        for key in self.keys:
            if key.name == name:
                key.lines = [*new, *key.lines[len(content(key.lines, 0)) :]]
                return
        at = next(i for i, key in enumerate(self.keys) if key.name == "steps")
        self.keys.insert(at, HeadKey(name, new))

    def set_item(self, number: int, value: dict[str, Any]) -> None:
        """Replace the item of a step in the head."""
        step = self.steps[number - 1]
        step.head = [*self.item(value), *step.head[len(content(step.head, self.indent)) :]]

    def item(self, value: dict[str, Any]) -> list[str]:
        """Return the lines of a step in the head."""
        return [" " * self.indent + line for line in to_yaml([value]).rstrip("\n").split("\n")]

    def add(self, after: int, value: dict[str, Any], text: str = "") -> None:
        """Add a step after the one with this number."""
        section = [f"## {value['title']}", "", *text.split("\n"), ""]
        self.steps.insert(after, StepSource(self.item(value), section))


def split(text: str) -> LessonSource:
    """Return the parts of a text. Raises LessonError if forms cannot edit it, whatever its steps contain."""
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise LessonError(FILE, 1, "must begin with a head in YAML between two lines of ---")
    end = lines.index("---", 1)
    root = composed(lines[1:end])
    keys = [(key.value, key.start_mark.line + 1) for key, _ in root.value]
    bounds = [line for _, line in keys[1:]] + [end]
    source = LessonSource(lines[: keys[0][1]], [], [], [])
    items: list[list[str]] = []
    for (name, line), until, (_, node) in zip(keys, bounds, root.value, strict=True):
        if name == "steps":
            starts = item_starts(lines, node)
            items = [lines[a:b] for a, b in pairwise([*starts, until])]
            until = starts[0]
        source.keys.append(HeadKey(name, lines[line:until]))
    headings = [*parser.headings(lines, end + 1)]
    source.closing = lines[end : headings[0] if headings else len(lines)]
    sections = [lines[a:b] for a, b in pairwise([*headings, len(lines)])]
    titles = [item.get("title") if isinstance(item := value_of(one)[0], dict) else None for one in items]
    shown = [one[0].removeprefix("## ").strip() for one in sections]
    if titles != shown:
        pairs = list(zip(titles, shown, strict=False))
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
        problem = f"step {at + 1} must have the same title in the head and in the text"
        raise LessonError(FILE, headings[at] + 1 if at < len(headings) else len(lines), problem)
    source.steps = [StepSource(head, section) for head, section in zip(items, sections, strict=True)]
    return source


def composed(lines: Sequence[str]) -> Any:
    """Return the mapping of a head as nodes with positions. Raises LessonError."""
    head = "\n".join(lines)
    if found := LINE_BREAKS.search(head):
        problem = "has a character that YAML reads as the end of a line, but Markdown does not"
        raise LessonError(FILE, head.count("\n", 0, found.start()) + 2, problem)
    parse(head)
    root: Any = yaml.compose(head, Loader=LOADER)
    block = isinstance(root, yaml.MappingNode) and not root.flow_style
    if not block or "steps" not in [key.value for key, _ in root.value]:
        raise LessonError(FILE, 2, "must have keys at the beginning of lines, among them `steps`")
    if any(key.start_mark.column for key, _ in root.value):
        raise LessonError(FILE, 2, "must have keys at the beginning of lines")
    return root


def item_starts(lines: Sequence[str], node: Any) -> list[int]:
    """Return the first line of each step. Raises LessonError."""
    block = isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value
    marks = [one.start_mark for one in node.value] if block else []
    if not marks or any(lines[mark.line + 1][: mark.column].strip() != "-" for mark in marks):
        raise LessonError(FILE, node.start_mark.line + 2, "steps: must be a list with a hyphen on a line for each step")
    return [mark.line + 1 for mark in marks]


def parse(text: str) -> Any:
    """Return YAML as JSON. Raises LessonError with the line, counted from 2."""
    try:
        return value_of(text.split("\n"))
    except IngestError as problem:
        raise parser.yaml_error(FILE, problem) from None


def value_of(lines: Sequence[str]) -> Any:
    """Return valid YAML as JSON."""
    found = list(documents("\n".join(lines).encode(), Where(FILE), Limits()))
    return msgspec.json.decode(found[0][1]) if found else None


def content(lines: Sequence[str], indent: int) -> list[str]:
    """Return the lines of a part without blank lines and comments after it."""
    end = len(lines)
    while end and (
        not lines[end - 1].strip() or (lines[end - 1].lstrip().startswith("#") and outer(lines[end - 1], indent))
    ):
        end -= 1
    return list(lines[:end])


def outer(line: str, indent: int) -> bool:
    return len(line) - len(line.lstrip()) <= indent


def is_plain(lines: Sequence[str]) -> bool:
    """Return whether YAML has neither comments nor anchors, aliases or tags, so that its value is all of it."""
    rest = [list(line) for line in lines]
    for token in yaml.scan("\n".join(lines), Loader=LOADER):
        if isinstance(token, REFERENCES):
            return False
        if isinstance(token, yaml.ScalarToken):
            begin, end = token.start_mark, token.end_mark
            if token.style in ("|", ">"):
                header = rest[begin.line][begin.column :]
                if "#" in header:
                    return False
            for number in range(begin.line, min(end.line + 1, len(rest))):
                row = rest[number]
                first = begin.column if number == begin.line else 0
                last = end.column if number == end.line else len(row)
                row[first:last] = " " * (last - first)
    return not any("#" in row for row in rest)
