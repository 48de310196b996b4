"""Finds the messages of FailedScheduling in a text that a person has: a message, or output of kubectl.

Read are a message alone, `kubectl describe pod`, `kubectl get events` in its tables and as YAML or JSON, and the
condition PodScheduled of `kubectl get pod -o yaml`. Lines that a terminal or a page has wrapped are joined.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Part
from scheduler_core.messages.message import MessageAnswer, explain_message, is_known_error
from scheduler_core.messages.text import HEAD

MAX_CHARACTERS = 1_000_000  # of a text
MAX_MESSAGES = 20  # different ones
MAX_MESSAGE = 32_768  # characters of a message
MAX_PODS = 20  # named for a message
MAX_WRAPPED = 20  # further lines of a message
REASONS = ("FailedScheduling", "Unschedulable", "SchedulingGated")

_FOUND = re.compile(r"(?<!preemption: )0/\d{1,10} nodes are available")
_ROW = re.compile(r"^\s*(?:\S+\s+){0,4}?(?:Normal|Warning)\s+[A-Z]\w+(?:\s|$)")
_HEADER = re.compile(r"^\s*(?:Type\s+Reason|LAST SEEN|NAMESPACE\s|---)")
_KEY = re.compile(r"^\s*(?:- )?[A-Za-z][\w.-]*( [A-Z]\w*)*:(?:\s|$)")
_MORE = re.compile(r"^(?:preemption:|no new claims|still not|, preemption:|deletion of|deallocation of)")
_EVENT_POD = re.compile(r"FailedScheduling\s+pods?/(\S+)")
_EVENT_NAMESPACE = re.compile(r"^\s*([a-z0-9][a-z0-9-]*)\s+\S+\s+Warning\s+FailedScheduling\s")
_TABLE_END = re.compile(r"(?<=\.)(?: {2,}|\t).*$")
_FAILED = re.compile(
    r"FailedScheduling:?\s+(?:pods?/\S+\s+|(?:<\w+>|\S+(?: \(x\d+ over \S+\))?)\s{2,}\S+\s{2,})?(\S.*)$"
)
_DESCRIBED = re.compile(r"^(Name|Namespace):\s+(\S+)\s*$")


class MessageReport(Part):
    """The messages in a text, in their order. `remarks`: sentences about what was left out."""

    messages: list[MessageAnswer]
    remarks: list[str] = []


def explain_text(text: str) -> MessageReport:
    """Explain every message in a text. Raises InputError if there is none, or if the text is too long."""
    if len(text) > MAX_CHARACTERS:
        raise InputError("Text", "", f"is longer than {MAX_CHARACTERS:,} characters; paste the events of one pod")
    text = escaped(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), "\n\t")
    found: dict[str, dict[str, None]] = {}
    too_long = 0
    for message, pod in _messages(text):
        too_long += len(message) > MAX_MESSAGE
        pods = found.setdefault(message[:MAX_MESSAGE], {})
        if pod:
            pods[pod] = None
    if not found:
        raise InputError("Text", "", _why_none(text))
    shown = list(found.items())[:MAX_MESSAGES]
    remarks = []
    if len(found) > len(shown):
        remarks.append(
            f"The text has {count(len(found), 'different message')}; the first {MAX_MESSAGES} are explained."
        )
    if too_long:
        remarks.append(f"Cut after {MAX_MESSAGE:,} characters: {count(too_long, 'message')}.")
    return MessageReport([explain_message(one, list(pods)[:MAX_PODS]) for one, pods in shown], remarks)


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """Yield (message, pod) of a text. The pod is "" if it is unknown."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield from _of_json(msgspec.json.decode(text.encode()))
            return
        except (msgspec.DecodeError, RecursionError):
            pass  # a part of a document, read as lines
    found = False
    for found_one in _of_lines(text.split("\n")):
        found = True
        yield found_one
    if not found and is_known_error(whole := " ".join(text.split())):
        yield whole, ""


def _of_json(value: Any) -> Iterator[tuple[str, str]]:
    rest: list[Any] = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, list):
            rest += reversed(one)
        elif isinstance(one, dict):
            message = one.get("message") or one.get("note")
            if isinstance(message, str) and (one.get("reason") in REASONS or HEAD.match(message)):
                yield " ".join(message.split()), _pod_of(one.get("involvedObject") or one.get("regarding"))
                continue
            conditions = one["status"].get("conditions") if isinstance(one.get("status"), dict) else None
            if one.get("kind") == "Pod" and isinstance(conditions, list):
                pod = _pod_of(one.get("metadata"))
                yield from ((message, pod) for condition in conditions for message, _ in _of_json(condition))
                continue
            rest += reversed(one.values())


def _pod_of(reference: Any) -> str:
    names = reference if isinstance(reference, dict) else {}
    parts = [names.get("namespace"), names.get("name")]
    return "/".join(part for part in parts if isinstance(part, str) and part)


def _of_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    described = {"Name": "", "Namespace": ""}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if about := _DESCRIBED.match(line):
            described = described | {about[1]: about[2]} if about[1] != "Name" else {"Name": about[2], "Namespace": ""}
            continue
        start = _FOUND.search(line)
        if start is not None:
            message, number = _joined(lines, number, line[start.start() :], line[: start.start()][-1:])
            yield message, _pod_in(line[: start.start()]) or _key(described)
        elif (failed := _FAILED.search(line)) and not any(_FOUND.search(one) for one in lines[number : number + 1]):
            yield " ".join(failed[1].split()), _pod_in(line) or _key(described)


def _key(described: dict[str, str]) -> str:
    return "/".join(part for part in (described["Namespace"], described["Name"]) if part)


def _pod_in(row: str) -> str:
    pod, namespace = _EVENT_POD.search(row), _EVENT_NAMESPACE.match(row)
    return "/".join(part for part in (namespace[1] if namespace else "", pod[1]) if part) if pod else ""


def _joined(lines: list[str], number: int, begin: str, before: str) -> tuple[str, int]:
    """Return a message with its further lines, and the number of the line after it. `before`: the character before the
    message, perhaps a quote."""
    parts = [_TABLE_END.sub("", begin.rstrip())]
    end = min(len(lines), number + MAX_WRAPPED)
    while number < end and _closed(parts[-1], before) is None:
        line = lines[number].strip()
        if not line or _ROW.match(line) or _HEADER.match(line):
            break
        if not _MORE.match(line) and (
            parts[-1].endswith(".")
            or _KEY.match(line)
            or (_FOUND.search(line) and not parts[-1].endswith("preemption:"))
        ):
            break
        parts.append(line)
        number += 1
    text = " ".join(" ".join(parts).split())
    closed = _closed(text, before)
    if closed is None:
        return text.strip(), number
    text = text[:closed]
    return (text.replace("''", "'") if before == "'" else text.replace('\\"', '"') if before == '"' else text), number


def _closed(text: str, before: str) -> int | None:
    """Return where a text that follows a quote ends; None if it does not, or if no quote is before it."""
    if before not in ("'", '"', "`", "“"):
        return None
    end = re.search({"'": r"(?<!')'(?!'|\w)", '"': r'(?<!\\)"', "`": "`", "“": "”"}[before], text)
    return end.start() if end else None


def _why_none(text: str) -> str:
    if not text.strip():
        return "is empty; paste a message of FailedScheduling, or the output of kubectl describe pod"
    if "nodes are unavailable" in text:
        return "has a message of Volcano, which is not kube-scheduler: its reasons are those of Volcano's plugins"
    if "No nodes are available that match all of" in text or "failed to fit in any node" in text:
        return "has a message of a release before 1.16, whose form is not read here"
    if "trigger scale-up" in text:
        return "has a message of the cluster autoscaler; paste the event FailedScheduling of the same pod"
    return (
        "has no message of FailedScheduling, such as “0/3 nodes are available: 3 Insufficient cpu.”; kubectl "
        "describe pod prints it below Events"
    )
