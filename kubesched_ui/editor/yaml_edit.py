"""Edits YAML and preserves comments: only the lines of changed values are rewritten.

The result is parsed again and compared with the intended value. If an in-place edit would give another value, the
whole document is rewritten.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from kubesched_ui.editor.yaml_documents import Document, Node, Text, last_line, read_document
from kubesched_ui.ingest.yaml_writer import to_yaml

SHORT = 100  # maximum width of a map that is kept on one line


class Splice(NamedTuple):
    """Replaces the lines `first` to `last` of a document. If `last` < `first`, inserts before `first`."""

    first: int
    last: int
    lines: list[str]


class _Whole(Exception):
    """The value cannot be edited in place."""


def rewritten(document: Document, value: Any) -> list[str]:
    """Return the lines of the document after its value is replaced by `value`."""
    if same(document.value, value):
        return document.lines
    if document.tree is not None:
        try:
            lines = list(document.lines)
            splices = sorted(_changes(document.tree, document.value, value, document.lines), reverse=True)
            for first, last, put in splices:
                lines[first : last + 1] = put
            if same(read_document(0, lines).value, value):
                return lines
        except _Whole:
            pass
    return _whole(document, value)


def _whole(document: Document, value: Any) -> list[str]:
    """Return the whole document reformatted, after its leading comments."""
    head = []
    for line in document.lines:
        if line.strip() and not line.lstrip().startswith(("#", "---")):
            break
        head.append(line if not line.startswith("---") else "---")
    if not head and document.line:
        head = ["---"]
    return [*head, *to_yaml(value).rstrip("\n").split("\n")]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal as JSON: 1 and true differ, 1 and 1.0 are equal, the order of members does not
    matter."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and isinstance(a, bool) == isinstance(b, bool)


# ---- in-place edits


def _changes(node: Node, old: Any, new: Any, lines: list[str]) -> Iterator[Splice]:
    """Yield the splices that change `old` to `new`. Raises _Whole."""
    if same(old, new):
        return
    if isinstance(node, yaml.MappingNode) and isinstance(new, dict) and new and old and not node.flow_style:
        yield from _map(node, old, new, lines)
    elif isinstance(node, yaml.SequenceNode) and isinstance(new, list) and new and old and not node.flow_style:
        yield from _list(node, old, new, lines)
    else:
        raise _Whole


def _map(node: Node, old: dict[str, Any], new: dict[str, Any], lines: list[str]) -> Iterator[Splice]:
    pairs = {key.value: (key, value) for key, value in node.value}
    if pairs.keys() != old.keys():
        raise _Whole  # some keys are numbers
    column = node.start_mark.column
    for name, (key, value) in pairs.items():
        if name not in new:
            yield _without(key, value, lines)
        elif not same(old[name], new[name]):
            yield from _pair(key, value, old[name], new[name], lines)
    last = next(value for key, value in reversed(node.value))
    end = last_line(last, lines)
    if added := {name: held for name, held in new.items() if name not in old}:
        if all(name not in new for name in old):
            raise _Whole
        yield Splice(end + 1, end, _indented(to_yaml(added), column))


def _without(key: Node, value: Node, lines: list[str]) -> Splice:
    first = key.start_mark.line
    if lines[first][: key.start_mark.column].strip():
        raise _Whole  # the key follows a dash on the same line
    return Splice(first, last_line(value, lines), [])


def _pair(key: Node, value: Node, old: Any, new: Any, lines: list[str]) -> Iterator[Splice]:
    """Yield the splices that change a member's value, inside its block or as a whole."""
    first, column = key.start_mark.line, key.start_mark.column
    if value.start_mark.line >= first:  # otherwise it is an alias, whose target must not change
        try:
            yield from list(_changes(value, old, new, lines))
            return
        except _Whole:
            pass
    before = lines[first][:column]
    if before.strip() not in ("", "-"):
        raise _Whole
    put = _indented(_dumped(key.value, new, value), column)
    put[0] = before + put[0][column:]
    last = last_line(value, lines) if value.start_mark.line >= first else first
    if comment := _comment(value, lines, first, last):
        put[0] += comment if len(put) == 1 else ""
    yield Splice(first, last, put)


def _comment(value: Node, lines: list[str], first: int, last: int) -> str:
    """Return the comment after a one-line value."""
    if first != last or not isinstance(value, yaml.ScalarNode) or value.style in ("|", ">"):
        return ""
    rest = lines[last][value.end_mark.column :]
    return rest if rest.lstrip().startswith("#") else ""


def _dumped(key: str, new: Any, before: Node) -> str:
    """Format a member as YAML, on one line if it was on one line and is short enough."""
    held = getattr(before, "flow_style", False) and before.value
    flow = held and before.start_mark.line == before.end_mark.line
    if flow and isinstance(new, dict | list) and new:
        text = to_yaml({key: new}, flow=True).strip()[1:-1]
        if len(text) <= SHORT and "\n" not in text:
            return text
    return to_yaml({key: new})


def _list(node: Node, old: list[Any], new: list[Any], lines: list[str]) -> Iterator[Splice]:
    """Yield the splices that change a list. Equal elements at the start and at the end are kept; those between are
    replaced."""
    start, end = _equal_ends(old, new, same)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    dash = node.start_mark.column
    for index in range(min(len(gone), len(come))):
        item = node.value[start + index]
        if item.start_mark.line < node.start_mark.line:
            raise _Whole
        try:
            yield from list(_changes(item, gone[index], come[index], lines))
        except _Whole:
            first, last = _lines_of_item(item, lines, dash)
            yield Splice(first, last, _on_one_line(item, come[index], lines) or _indented(to_yaml([come[index]]), dash))
    for index in range(len(come), len(gone)):
        yield Splice(*_lines_of_item(node.value[start + index], lines, dash), [])
    if len(come) > len(gone):
        before = start + len(gone) - 1
        after = last_line(node.value[before], lines) if before >= 0 else node.start_mark.line - 1
        put = [line for one in come[len(gone) :] for line in _indented(to_yaml([one]), dash)]
        yield Splice(after + 1, after, put)


def _equal_ends(old: list[Any], new: list[Any], equal: Callable[[Any, Any], bool]) -> tuple[int, int]:
    """Return how many elements are equal at the start and, of the others, at the end."""
    most = min(len(old), len(new))
    start = next((index for index in range(most) if not equal(old[index], new[index])), most)
    most -= start
    return start, next((index for index in range(most) if not equal(old[-1 - index], new[-1 - index])), most)


def _lines_of_item(item: Node, lines: list[str], dash: int) -> tuple[int, int]:
    first = item.start_mark.line
    if lines[first][:dash].strip() or lines[first][dash : item.start_mark.column].strip() != "-":
        raise _Whole
    return first, last_line(item, lines)


def _on_one_line(item: Node, value: Any, lines: list[str]) -> list[str]:
    """Return the line of an element with another value if both fit on one line, else []."""
    start, end = item.start_mark, item.end_mark
    if start.line != end.line or getattr(item, "style", None) in ("|", ">"):
        return []
    rest = lines[end.line][end.column :]
    if rest.strip() and not rest.lstrip().startswith("#"):
        return []
    text = to_yaml([value], flow=True).strip()[1:-1]
    was_scalar, is_scalar = isinstance(item, yaml.ScalarNode), not isinstance(value, dict | list)
    if len(text) > SHORT or "\n" in text or not text or was_scalar != is_scalar:
        return []
    return [lines[start.line][: start.column] + text + rest]


def _indented(text: str, column: int) -> list[str]:
    return [" " * column + line if line else line for line in text.rstrip("\n").split("\n")]


# ---- whole text


def new_document(value: Any, first: bool = False) -> list[str]:
    """Return the lines of a new document."""
    body = to_yaml(value).rstrip("\n").split("\n")
    return body if first else ["---", *body]


def edits(before: Text, after: list[list[str]]) -> dict[str, Any] | None:
    """Return the one range of lines that differs: {first, last, lines}, or None. If `last` < `first`, the lines are
    inserted before `first`."""
    old = before.text.split("\n")
    new = [line for lines in after for line in lines]
    start, end = _equal_ends(old, new, operator.eq)
    if start == len(old) == len(new):
        return None
    return {"first": start, "last": len(old) - end - 1, "lines": new[start : len(new) - end]}
