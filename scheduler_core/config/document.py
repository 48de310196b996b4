"""Converts JSON or YAML text to plain data and refuses the dangerous features of YAML.

Aliases and merge keys are read as Kubernetes does, up to a limit. Tags, duplicate keys, deep nesting and big texts are
refused. YAML is read from the parser's events, because PyYAML's composer recurses and can overflow the stack.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import yaml

from scheduler_core.api.text_checks import refuse_nul
from scheduler_core.errors import InputError

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_ALIAS_CHARS = 1_000_000  # nodes and characters that aliases and merge keys may add to a text
MAX_ERROR = 1000  # characters of a path or a problem

_Document = TypeVar("_Document", bound=msgspec.Struct)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "yes", "on", "y"})
_FALSE = frozenset({"false", "no", "off", "n"})
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?")
TEMPLATE = re.compile(r"\{\{-?\s*[\w.$(/\"]")
UNFILLED = "is this a template without values? `helm template` renders a chart"
_NUL = re.compile(r"\\(?:u0000|0|x00|U0{8})")  # as escaped in JSON and YAML
_STRING_TAGS = frozenset({None, "!", "tag:yaml.org,2002:str"})


class NullEntry(InputError):
    """A list contains a null. An API server also refuses it."""


def read_documents(source: str | bytes, where: str, limit: int = MAX_BYTES) -> list[Any]:
    """Return the documents of a JSON or YAML text (separated by `---`), without empty ones.

    `where` names the text in errors; `limit` is in bytes. Raises InputError if the text is too big, too deep, not JSON
    or YAML, uses a tag or a duplicate key, has aliases that add more than MAX_ALIAS_CHARS, or has a NUL character;
    NullEntry for a null in a list.
    """
    try:
        data = source.encode() if isinstance(source, str) else bytes(source)
        if len(data) > limit:
            raise InputError(where, "", f"is larger than {limit // 1_000_000} MB")
        text = data.decode("utf-8-sig")
    except UnicodeError as error:
        raise InputError(where, "", "is not UTF-8 text") from error
    try:
        documents = [_read_json(text, where)] if text.lstrip().startswith("{") else _read_yaml(text, where)
    except json.JSONDecodeError:
        # a text that begins like JSON may be a YAML flow mapping
        documents = _read_yaml(text, where)
    found = [without_nulls(document, where) for document in documents if document is not None]
    if _NUL.search(text):
        refuse_nul(found[0] if len(found) == 1 else found, where)
    return found


def without_nulls(value: Any, where: str, depth: int = 0) -> Any:
    """Return a copy without mapping entries that are null: like Go, treat them as missing.

    Raises InputError if the nesting is deeper than 64 (as a cycle is), NullEntry if a list contains a null.
    """
    if depth > MAX_DEPTH:
        raise InputError(where, "", f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        kept = ((str(key), key, item) for key, item in value.items() if item is not None)
        return {key: _inside(item, where, depth, f".{name}") for name, key, item in kept}
    if isinstance(value, list | tuple):
        return [_inside(item, where, depth, f"[{index}]") for index, item in enumerate(value)]
    return value


def _inside(item: Any, where: str, depth: int, step: str) -> Any:
    """Return an entry of a map or list without nulls.

    The path of a null in a list is built while the error propagates.
    """
    if item is None:
        raise NullEntry(where, step.lstrip("."), "is null; leave it out")
    try:
        return without_nulls(item, where, depth + 1)
    except NullEntry as error:
        inner = error.field if error.field.startswith("[") else f".{error.field}"
        raise NullEntry(where, f"{step}{inner}".lstrip("."), error.problem) from None


def _read_json(text: str, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in pairs:
            if key in mapping:
                raise InputError(where, key[:80], "is given twice in one object")
            mapping[key] = value
        return mapping

    try:
        value = json.loads(text, object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError as error:
        raise InputError(where, "", f"is nested deeper than {MAX_DEPTH} levels") from error
    except (json.JSONDecodeError, InputError):
        raise
    except UnicodeError as error:
        raise InputError(where, "", "has an escape that is no character (a lone surrogate)") from error
    except ValueError as error:
        raise InputError(where, "", f"has a number that cannot be read: {error}") from error
    return value


_NO_KEY = object()


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is still open. `cost`: that of the document before it; `merged`: keys by a merge key."""

    value: dict[str, Any] | list[Any]
    anchor: str | None = None
    cost: int = 0
    key: Any = _NO_KEY
    merging: bool = False
    merged: set[str] = field(default_factory=set)


def _read_yaml(text: str, where: str) -> list[Any]:
    reader = _YamlReader(where)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.read(event)
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        if TEMPLATE.search(text):
            raise InputError(where, place, UNFILLED) from error
        raise InputError(where, place, f"is not valid YAML or JSON: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InputError(where, "", f"is not valid YAML or JSON: {str(error)[:200]}") from error
    return reader.documents


class _YamlReader:
    """Builds documents from the parser's events. Values of anchors are shared by their aliases."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.documents: list[Any] = []
        self._stack: list[_Frame] = []  # from the document's list of roots inwards
        self._anchors: dict[str, tuple[Any, int]] = {}  # the value and its cost
        self._cost = 0  # nodes and characters of the document, with those that aliases repeat
        self._expanded = 0  # those that aliases added to the text

    def read(self, event: yaml.Event) -> None:
        """Raises InputError."""
        match event:
            case yaml.DocumentStartEvent():
                self._stack, self._anchors, self._cost = [_Frame([])], {}, 0
            case yaml.DocumentEndEvent():
                self.documents.extend(self._stack[0].value)
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                frame = self._stack.pop()
                if frame.anchor:
                    self._anchors[frame.anchor] = frame.value, self._cost - frame.cost
                self._put(frame.value, event)
            case yaml.AliasEvent():
                self._alias(event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._cost += 1 + len(event.value)
        frame = self._stack[-1]
        if isinstance(frame.value, dict) and frame.key is _NO_KEY:
            if event.value == "<<" and event.implicit[0]:
                frame.key, frame.merging = event.value, True
            else:
                self._key(event.value, event)
            if event.anchor:
                self._anchors[event.anchor] = event.value, 1 + len(event.value)
            return
        if event.tag not in _STRING_TAGS:
            raise self._at(event, f"the YAML tag {str(event.tag)[:80]} is not accepted")
        try:
            # implicit[0]: neither quoted nor tagged
            value = _plain(event.value) if event.implicit[0] else event.value
        except ValueError as error:
            raise self._at(event, f"has a number that cannot be read: {error}") from error
        if event.anchor:
            self._anchors[event.anchor] = value, 1 + len(event.value)
        self._put(value, event)

    def _key(self, key: str, event: yaml.Event) -> None:
        frame = self._stack[-1]
        if key in frame.value and key not in frame.merged:
            raise self._at(event, f"{key[:80]!r} is given twice in one mapping")
        frame.merged.discard(key)
        frame.key = key

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        frame = self._stack[-1]
        if len(self._stack) > MAX_DEPTH:
            raise self._at(event, f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(frame.value, dict) and frame.key is _NO_KEY:
            raise self._at(event, f"a mapping's key must be a plain text: {UNFILLED}")
        if event.tag not in (None, "!"):
            raise self._at(event, f"the YAML tag {str(event.tag)[:80]} is not accepted")
        new: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._stack.append(_Frame(new, event.anchor, self._cost))
        self._cost += 1

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor = str(event.anchor)
        if anchor not in self._anchors:
            raise self._at(event, f"the alias *{anchor[:80]} refers to no complete anchor before it")
        value, repeated = self._anchors[anchor]
        self._cost += repeated
        self._expanded += repeated
        if self._expanded > MAX_ALIAS_CHARS:
            raise self._at(event, f"YAML aliases add more than {MAX_ALIAS_CHARS:,} characters")
        frame = self._stack[-1]
        if isinstance(frame.value, dict) and frame.key is _NO_KEY:
            if not isinstance(value, str):
                raise self._at(event, "a mapping's key must be a plain text")
            self._key(value, event)
        else:
            self._put(value, event)

    def _put(self, value: Any, event: yaml.Event) -> None:
        """Add a complete value to the innermost open list or mapping."""
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.merging:
            self._merge(frame, value, event)
        else:
            frame.value[frame.key] = value
            frame.key = _NO_KEY

    def _merge(self, frame: _Frame, value: Any, event: yaml.Event) -> None:
        """Add the members of mappings. As in go-yaml v2, which kubectl uses, the first of several has precedence, and
        a member that is written after the merge key replaces a merged one."""
        maps = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in maps):
            raise self._at(event, "a YAML merge key needs a mapping or a list of mappings")
        assert isinstance(frame.value, dict)
        for one in reversed(maps):
            frame.merged.update(one.keys() - frame.value.keys())
            frame.value.update(one)
        frame.key, frame.merging = _NO_KEY, False

    def _at(self, event: yaml.Event, problem: str) -> InputError:
        return InputError(self.where, _place(event.start_mark), problem)


def _plain(text: str) -> Any:
    """Convert an unquoted scalar as the YAML 1.1 parser of Kubernetes does."""
    if text in _NULLS:
        return None
    if text in (text.lower(), text.title(), text.upper()):
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
    if _INT.fullmatch(text):
        if len(text) > 100:
            raise ValueError("it has more than 100 digits")
        digits = text.replace("_", "")
        octal = re.fullmatch(r"([-+]?)0(\d+)", digits)
        if octal and not set(octal[2]) <= set("01234567"):
            return float(digits)
        return int(f"{octal[1]}0o{octal[2]}" if octal else digits, 0)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    return text


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""


# ---- lines

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def located(source: str | bytes, where: str, path: str, problem: str) -> InputError:
    """Return an error about the field at `path` of a document, with its line number if it is found. Long texts, which
    may quote the document, are cut."""
    path, problem = path[:MAX_ERROR], problem[:MAX_ERROR]
    try:
        line = line_of(source, path)
    except (yaml.YAMLError, RecursionError, UnicodeError):  # such as several documents
        return InputError(where, path, problem)
    return InputError(where, f"line {line}: {path}" if path else f"line {line}", problem)


def line_of(source: str | bytes, path: str) -> int:
    """Return the 1-based line of a path such as `spec.timeline[3].at`, or of its innermost part that exists."""
    node = yaml.compose(source, Loader=_LOADER)
    if node is None:
        return 1
    line = node.start_mark.line
    for match in _STEP.finditer(path):
        key, index = match[1], match[2]
        if isinstance(node, yaml.MappingNode) and key is not None:
            found = next(((k, v) for k, v in node.value if k.value == key), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and index is not None and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def load_document(
    source: str | bytes, where: str, kind: type[_Document], max_bytes: int, check: Callable[[_Document], None]
) -> _Document:
    """Load the only document of a JSON or YAML text as a struct named like its kind, and check it.

    Raises InputError whose field begins with the line: `line 12: spec.timeline[3].at`.
    """
    try:
        documents = read_documents(source, where, max_bytes)
    except NullEntry as error:
        raise located(source, where, error.field, error.problem) from None
    if len(documents) != 1:
        raise InputError(where, "", f"must hold one document, of kind {kind.__name__}, got {len(documents)}")
    try:
        document = msgspec.convert(documents[0], kind)
        check(document)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise located(source, where, path.rstrip("`").lstrip("."), problem) from None
    except InputError as error:
        raise located(source, where, error.field, error.problem) from None
    return document
