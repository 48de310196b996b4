"""Reads the lines of a log of a Kubernetes component: klog's text with its header, or JSON.

Lines can begin with what `kubectl logs --prefix --timestamps`, container runtimes and journald write before them.
Source: k8s.io/klog/v2/internal/serialize (KVListFormat), internal/buffer (FormatHeader);
k8s.io/component-base/logs/json/json.go.
"""

import io
import json
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from scheduler_core.live.lines import LeftOut

MAX_LINE = 1_000_000  # bytes; longer lines are left out
MAX_VALUE = 1_000_000  # bytes of a value of several lines
_LEAP_YEAR = 2000  # klog's text has no year: any year with all days
_YEAR = timedelta(days=366)

_BEFORE = re.compile(
    rb"(?:\[(?P<container>[^\]\s]{1,400})\] )?"
    rb"(?:\d{4}-\d\d-\d\dT\S{1,40} (?P<runtime>std(?:out|err) (?P<part>[FP]) )?)?"
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,200} \S{1,200}: )?"
)
_HEADER = re.compile(rb"([IWEF])(\d{4} \d\d:\d\d:\d\d\.\d{6}) +\d+ [\w./-]{1,200}:\d+\] ")
_MESSAGE = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r" ([\w./ -]{1,100}?)=")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abfnrtv\\"]))')
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}
_JSON_MESSAGE = re.compile(rb'"msg"\s*:\s*"((?:[^"\\]|\\.)*)"')
_DOCKER = re.compile(rb'\{\s*"log"\s*:')
_SECRET = re.compile(
    r"(?i)\bbearer\s+[\w.~+/-]{8}|authorization['\"]?\s*[:=]|-----BEGIN |\beyJ[\w-]{8,}\.|"
    r"(?:token|password|client-key-data|client-certificate-data|keyData)['\"]?\s*[:=]\s*['\"]?[\w.~+/-]{8}"
)
_DECODER = json.JSONDecoder()


class LogRecord(NamedTuple):
    """A line. `number`: from 1. `time`: seconds since 1970 in UTC, or since the beginning of an unknown year in an
    unknown zone. `at`: the time as text. `source`: of the container that wrote it, "" if the line does not say.
    `values`: key -> text, or the value of JSON."""

    number: int
    time: float
    at: str
    source: str
    level: str
    message: str
    values: dict[str, Any]


class Klog:
    """The lines with given messages. `lines`, `secret`: numbers of all lines, and of lines with a token or a
    certificate, which are left out. `cut`: incomplete ones, which are left out as well."""

    def __init__(self, data: bytes, messages: Collection[str]) -> None:
        self.lines = self.secret = 0
        self.cut = LeftOut()
        self._data = data
        self._wanted = {name.encode(): name for name in messages}
        self._open: dict[str, tuple[LogRecord, str, list[str]]] = {}  # source -> record, key, lines of its value
        self._parts: dict[str, bytes] = {}  # source -> the beginning of a line that a container runtime has split
        self._last = datetime(_LEAP_YEAR, 1, 1, tzinfo=UTC)
        self._years = timedelta()

    def records(self) -> Iterator[LogRecord]:
        """Yield the complete lines whose message is wanted, in their order."""
        for number, whole in enumerate(io.BytesIO(self._data), 1):
            self.lines = number
            if len(whole) > MAX_LINE:
                self.cut.add(f"line {number}")
                continue
            ended = whole.endswith(b"\n")
            before = _BEFORE.match(whole)
            assert before is not None  # everything in it is optional
            source = (before["container"] or b"").decode(errors="replace")
            line = self._parts.pop(source, b"") + whole[before.end() :].rstrip(b"\r\n")
            if _DOCKER.match(line):
                line = _of_docker(line)
            if before["part"] == b"P":
                if len(line) <= MAX_LINE:
                    self._parts[source] = line
                continue
            if source in self._open and not _HEADER.match(line):
                record = self._continued(source, line)
            elif line.startswith(b"{"):
                record = self._of_json(line, number, source)
            else:
                self._open.pop(source, None)
                record = self._of_text(line, number, source, ended)
            if record is not None and not self._is_secret(record):
                yield record

    def _is_secret(self, record: LogRecord) -> bool:
        found = any(_SECRET.search(value) for value in record.values.values() if isinstance(value, str))
        self.secret += found
        return found

    def _of_text(self, line: bytes, number: int, source: str, ended: bool) -> LogRecord | None:
        header = _HEADER.match(line)
        if header is None:
            return None
        message = _MESSAGE.match(line, header.end())
        if message is None:
            rest = line[header.end() :]
            if rest.startswith(b"FLAG: ") and b"FLAG" in self._wanted:
                return self._record(header, number, source, "FLAG", {"flag": rest[6:].decode(errors="replace")})
            if rest.startswith(b'"'):
                self.cut.add(f"line {number}")
            return None
        wanted = self._wanted.get(message[1])
        if wanted is None and b"\\" in message[1]:
            wanted = self._wanted.get(_unquoted(message[1].decode(errors="replace")).encode())
        if wanted is None:
            return None
        text = line[message.end() :].decode(errors="replace")
        values, opened, complete = _values(text)
        if not complete or not (ended or text.endswith(('"', "}", "]"))):
            self.cut.add(f"line {number}")
            return None
        record = self._record(header, number, source, wanted, values)
        if opened:
            self._open[source] = record, opened, []
            return None
        return record

    def _record(
        self, header: re.Match[bytes], number: int, source: str, message: str, values: dict[str, Any]
    ) -> LogRecord:
        text = header[2].decode()
        at = f"{text[:2]}-{text[2:4]} {text[5:]}"
        try:
            time = datetime.fromisoformat(f"{_LEAP_YEAR}-{at}+00:00")
        except ValueError:
            time = self._last
        if self._last - time > _YEAR / 2:  # past the end of a year
            self._years += _YEAR
        self._last = time
        seconds = (time + self._years - datetime(_LEAP_YEAR, 1, 1, tzinfo=UTC)).total_seconds()
        return LogRecord(number, seconds, at, source, header[1].decode(), message, values)

    def _continued(self, source: str, line: bytes) -> LogRecord | None:
        """Add a line to a value of several lines. Return the record if it is complete."""
        record, key, lines = self._open[source]
        text = line.decode(errors="replace")
        if text.startswith("\t"):
            lines.append(text[1:])
            if sum(map(len, lines)) > MAX_VALUE:
                del self._open[source]
                self.cut.add(f"line {record.number}")
            return None
        del self._open[source]
        if not text.startswith(" >"):
            self.cut.add(f"line {record.number}")
            return None
        values, opened, complete = _values(text[2:])
        record = record._replace(values=record.values | {key: "\n".join(lines)} | values)
        if opened and complete:
            self._open[source] = record, opened, []
            return None
        if not complete:
            self.cut.add(f"line {record.number}")
            return None
        return record

    def _of_json(self, line: bytes, number: int, source: str) -> LogRecord | None:
        message = _JSON_MESSAGE.search(line)
        if message is None:
            if not line.endswith(b"}"):
                self.cut.add(f"line {number}")
            return None
        found = _unquoted(message[1].decode(errors="replace"))
        if found.startswith("FLAG: ") and b"FLAG" in self._wanted:
            wanted = "FLAG"
        elif found.encode() in self._wanted:
            wanted = found
        else:
            return None
        try:
            values = msgspec.json.decode(line)  # of a key that stands twice, the last one counts
            time = float(values["ts"])
            seconds = time / 1000 if time > 1e11 else time  # milliseconds since 1970
            at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.cut.add(f"line {number}")
            return None
        except (KeyError, TypeError, ValueError, OverflowError, OSError):
            return None
        if wanted == "FLAG":
            values["flag"] = found.removeprefix("FLAG: ")
        level = "E" if "v" not in values else "I"
        values = {key: _name(value) for key, value in values.items()}
        return LogRecord(number, seconds, at, source, level, wanted, values)


def _of_docker(line: bytes) -> bytes:
    """Return the line in an entry of a log file of Docker."""
    try:
        return msgspec.json.decode(line, type=_DockerEntry).log.rstrip("\r\n").encode(errors="replace")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line


class _DockerEntry(msgspec.Struct):
    log: str


def _name(value: Any) -> Any:
    """Return `namespace/name` for a reference to an object."""
    if isinstance(value, dict) and isinstance(value.get("name"), str) and value.keys() <= {"name", "namespace"}:
        return f"{value['namespace']}/{value['name']}" if value.get("namespace") else value["name"]
    return value


def _values(text: str) -> tuple[dict[str, Any], str, bool]:
    """Return the values of ` key=value key=value`, the key whose value follows on further lines ("" if none does), and
    whether the text is complete."""
    values: dict[str, Any] = {}
    end = 0
    while end < len(text):
        key = _KEY.match(text, end)
        if key is None:
            return values, "", False
        start = key.end()
        first = text[start : start + 1]
        if text[start:] == "<":
            return values, key[1], True
        if first == '"':
            quoted = _QUOTED.match(text, start)
            if quoted is None:
                return values, "", False
            values[key[1]] = _unquoted(quoted[1])
            end = quoted.end()
            continue
        if first in ("{", "["):
            try:
                values[key[1]], end = _DECODER.raw_decode(text, start)
                continue
            except (ValueError, RecursionError):
                closing = {"{": "}", "[": "]"}[first]
                end = text.find(closing, start) + 1  # Go's own form of a value
                if not end:
                    return values, "", False
        else:
            end = text.find(" ", start)
            end = len(text) if end < 0 else end
        values[key[1]] = text[start:end]
    return values, "", True


def _unquoted(text: str) -> str:
    """Return a text without the escapes of Go's strconv.Quote."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if not code:
        return _ESCAPED[found[4]]
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\N{REPLACEMENT CHARACTER}"
