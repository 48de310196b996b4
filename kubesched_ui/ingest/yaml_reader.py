"""Reads YAML as JSON documents in the way of Kubernetes, and safely for hostile input.

It uses the events of libyaml and visits each written node once: the loaders of PyYAML overflow the C stack on deep
nesting and expand aliases without limit. Plain scalars follow sigs.k8s.io/yaml (YAML 1.1 as in go-yaml v2): `yes`, `on`
and `y` are booleans, `0x10`, `0o10`, `010` and `1_000` are numbers; timestamps stay text.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from kubesched_ui.ingest.errors import IngestError, LimitError, Where, shown
from kubesched_ui.ingest.limits import Limits

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NUMBER_START = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"\.(nan|NaN|NAN)|[-+]?\.(inf|Inf|INF)")
_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = {None, "!", f"{_TAG}map", f"{_TAG}seq"}
_NO_KEY, _MERGE = object(), object()


def documents(text: bytes, where: Where, limits: Limits, before: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield each nonempty document as JSON, with its number, counted from `before` + 1.

    Raises IngestError with document and line for invalid YAML, keys that are duplicate or not scalar, tags
    other than the core ones, NaN, infinity, too deep nesting, too many aliases, and objects larger than
    `limits.max_object_bytes`.
    """
    parser = CParser(text)
    reader = _Reader(parser, where, limits, before)
    try:
        yield from reader.documents()
    except yaml.YAMLError as error:
        raise IngestError(where.at(document=max(reader.number, 1)), _problem(error)) from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        problem = f"is not valid YAML: {error.reason}"
        raise IngestError(where.at(document=max(reader.number, 1)), problem) from None
    finally:
        parser.dispose()


def _problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    line = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"is not valid YAML{line}: {shown(problem)}"


@dataclass(slots=True)
class _Frame:
    """A list or map that is still open."""

    value: Any
    anchor: str | None
    cost: int  # cost of the document up to the start of this frame
    live: int  # the same, without what has been encoded as text
    key: Any = _NO_KEY
    merged: set[str] | None = None  # the members that come from a merge key


class _Reader:
    def __init__(self, parser: Any, where: Where, limits: Limits, before: int) -> None:
        self.parser = parser
        self.where = where
        self.limits = limits
        self.number = before  # number of the document
        self.expanded = 0  # nodes and characters added by aliases

    def documents(self) -> Iterator[tuple[int, bytes]]:
        while not self.parser.check_event(StreamEndEvent):
            event = self.parser.get_event()
            if type(event) is DocumentStartEvent:
                self.number += 1
                document = self._document()
                if document is not None:
                    yield self.number, msgspec.json.encode(document)

    def _document(self) -> Any:  # one loop instead of small functions, because it runs once per scalar of the file
        get, limits = self.parser.get_event, self.limits
        stack: list[_Frame] = []
        anchors: dict[str, tuple[Any, int]] = {}
        cost = 0  # nodes and characters read, including those that aliases repeat
        encoded = 0  # cost of what has been encoded as JSON text
        root: Any = None
        while True:
            event = get()
            cls = type(event)
            closed: _Frame | None = None
            if cls is ScalarEvent:
                value: Any = self._scalar(event)
                cost += 1 + len(event.value)
                if event.anchor:
                    anchors[event.anchor] = (value, 1 + len(event.value))
            elif cls is MappingStartEvent or cls is SequenceStartEvent:
                if len(stack) >= limits.max_depth:
                    raise LimitError(*self._at(event, f"is nested more than {limits.max_depth} levels deep"))
                if event.tag not in _COLLECTIONS:
                    raise IngestError(*self._at(event, f"the tag {shown(event.tag)} is not supported"))
                if stack and type(stack[-1].value) is dict and stack[-1].key is _NO_KEY:
                    raise IngestError(*self._at(event, "a list or map is used as a key"))
                stack.append(_Frame({} if cls is MappingStartEvent else [], event.anchor, cost, cost - encoded))
                cost += 1
                continue
            elif cls is MappingEndEvent or cls is SequenceEndEvent:
                closed = stack.pop()
                value = closed.value
                if closed.anchor:
                    anchors[closed.anchor] = (value, cost - closed.cost)
            elif cls is AliasEvent:
                if event.anchor not in anchors:
                    problem = f"the alias *{shown(event.anchor)} refers to no complete anchor before it"
                    raise IngestError(*self._at(event, problem))
                value, repeated = anchors[event.anchor]
                cost += repeated
                self.expanded += repeated
                if self.expanded > limits.max_alias_chars:
                    problem = f"aliases expand to more than {limits.max_alias_chars:,} characters"
                    raise LimitError(*self._at(event, problem))
            elif cls is DocumentEndEvent:
                return root
            else:
                raise IngestError(*self._at(event, "is not valid YAML"))

            if cost - encoded > limits.max_object_bytes:
                raise LimitError(*self._at(event, f"one object is larger than {limits.max_object_bytes:,} bytes"))
            if not stack:
                root = value
                continue
            parent = stack[-1]
            if type(parent.value) is list:
                if closed is not None and len(stack) <= 3:
                    # An element of a list near the root, usually an object of a List: as text it takes less memory than
                    # as Python values.
                    parent.value.append(msgspec.Raw(msgspec.json.encode(value)))
                    encoded = cost - closed.live
                    if len(parent.value) > limits.max_objects:
                        raise LimitError(*self._at(event, f"a list has more than {limits.max_objects:,} elements"))
                else:
                    parent.value.append(value)
            elif parent.key is _NO_KEY:
                parent.key = self._key(event, value)
                if parent.key in parent.value and (parent.merged is None or parent.key not in parent.merged):
                    problem = f'the key "{shown(parent.key)}" occurs twice in one object'
                    raise IngestError(*self._at(event, problem))
            elif parent.key is _MERGE:
                self._merge(event, parent, value)
                parent.key = _NO_KEY
            else:
                if parent.merged:
                    parent.merged.discard(parent.key)
                parent.value[parent.key] = value
                parent.key = _NO_KEY

    def _merge(self, event: Any, parent: _Frame, value: Any) -> None:
        """Add the members of maps. As in go-yaml v2, which kubectl uses, the first of several has precedence, and a
        member that is written after the merge key replaces a merged one."""
        maps = value if type(value) is list else [value]
        maps = [msgspec.json.decode(one) if type(one) is msgspec.Raw else one for one in maps]
        if not all(type(one) is dict for one in maps):
            raise IngestError(*self._at(event, "a merge key (<<) needs a map or a list of maps"))
        parent.merged = parent.merged or set()
        for one in reversed(maps):
            parent.merged.update(one.keys() - parent.value.keys())
            parent.value.update(one)

    def _at(self, event: Any, problem: str) -> tuple[Where, str]:
        return self.where.at(document=self.number), f"line {event.start_mark.line + 1}: {problem}"

    def _key(self, event: Any, value: Any) -> Any:
        """Return the key of a map as text; numbers and booleans as in JSON. _MERGE stands for a merge key."""
        if type(value) is str:
            merges = value == "<<" and type(event) is ScalarEvent and event.implicit[0] and not event.style
            return _MERGE if merges else value
        if value is None or isinstance(value, (dict, list)):
            raise IngestError(*self._at(event, "a key of a map is empty or is not text"))
        return msgspec.json.encode(value).decode()

    def _scalar(self, event: Any) -> Any:
        text = event.value
        tag = event.tag
        if tag is None:
            if event.style or not event.implicit[0]:
                return text
            if text not in _WORDS and text[0] not in _NUMBER_START:
                return text
        elif tag in ("!", f"{_TAG}str"):
            return text
        elif tag not in (f"{_TAG}bool", f"{_TAG}int", f"{_TAG}float", f"{_TAG}null", f"{_TAG}timestamp"):
            raise IngestError(*self._at(event, f"the tag {shown(tag)} is not supported"))
        try:
            return plain(text)
        except ValueError as error:
            raise IngestError(*self._at(event, str(error))) from None


def plain(text: str) -> Any:
    """Return the value of an unquoted scalar. Raises ValueError for NaN, infinity and numbers too large for float64."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _SPECIAL.fullmatch(text):
        raise ValueError(f"the number {text} is not allowed")
    digits = text.replace("_", "") if text[0] != "." else text
    if based := _BASED.fullmatch(digits):
        # Go determines the base from 0x, 0b, 0o or a leading 0; Python requires 0o for the latter.
        body = based[2]
        base = {"x": 16, "b": 2}.get(body[1].lower(), 8)
        return _fitting(int(based[1] + (body[2:] if not body[1].isdigit() else body), base), text)
    if _DECIMAL.fullmatch(digits) and len(digits) <= 400:
        unsigned = digits.lstrip("+-")
        return _fitting(int(digits), text) if unsigned[0] != "0" or unsigned == "0" else _whole(float(digits), text)
    if _FLOAT.fullmatch(digits):
        return _whole(float(digits), text)
    return text


def _fitting(number: int, text: str) -> int | float:
    if -(1 << 63) <= number < 1 << 64:
        return number
    return _whole(float(number) if abs(number) < 1 << 1000 else math.inf, text)


def _whole(number: float, text: str) -> int | float:
    """Return a whole number without a fraction, as in the JSON of Go."""
    if math.isinf(number):
        raise ValueError(f"the number {shown(text)} is too large")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
