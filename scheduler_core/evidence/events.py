"""Reads the events of a cluster without its objects: which pods wait, what kube-scheduler says, and what is missing.

Read are `kubectl get events` and `kubectl events` as JSON, YAML and tables, in the forms of core/v1 and events.k8s.io.
An event of a component that is not a scheduler is never taken for a message of kube-scheduler, whatever its reason.

Upstream: pkg/printers/internalversion/printers.go (printEvent), kubectl/pkg/cmd/events/event_printer.go.
"""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api.objects import timestamp
from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.formatting import agree, count, some
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Part
from scheduler_core.live.lines import LeftOut
from scheduler_core.messages.message import MessageAnswer, explain_message, is_known_error
from scheduler_core.messages.text import HEAD
from scheduler_core.snapshot.files import each_object
from scheduler_core.snapshot.wrong_input_hints import KUBECTL

MAX_EVENTS = 500_000
MAX_TABLE = 20_000_000  # bytes of a table
MAX_YAML = 20_000_000  # bytes
MAX_LEFT_OUT = 1_000  # lines that cannot be read
MAX_MESSAGES = 100  # different messages that are explained
MAX_MESSAGE = 32_768  # characters of a message

# Components that use the reasons of kube-scheduler and are none.
OTHERS = ("karpenter", "cluster-autoscaler", "volcano", "kueue", "descheduler", "yunikorn", "keda")
_CREATION_FAILED = ("FailedCreate",)
_EVICTED = {"Preempted": "evicted by preemption", "TaintManagerEviction": "evicted because of a taint",
            "Evicted": "evicted by the kubelet", "DisruptionTarget": "evicted"}  # fmt: skip
_HEADER = re.compile(
    rb"\s*(?:NAMESPACE +)?(?:LAST SEEN|LASTSEEN|LAST-SEEN) +(?:[A-Z][A-Z-]* +)*[A-Z][A-Z-]*\s*(?:\n|$)"
)
_COLUMN = re.compile(r"\S+(?: \S+)*(?: {2,}|\s*$)")
_AGE = re.compile(r"(\d+)([dhms]|y)")
_SECONDS = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_ASSIGNED = re.compile(r"Successfully assigned (?:(\S+)/)?(\S+) to (\S+)")
_EVENT_KIND = re.compile(rb'"kind"\s*:\s*"(?:Event|EventList|List)"|^kind:\s*"?(?:Event|EventList|List)\b', re.M)
_REASON = re.compile(rb'"?reason"?\s*:\s*"?[A-Z]')


class PodEvent(NamedTuple):
    """An event. `about`: `namespace/name`. `writer`: the component, "" if the form does not name it. `time`: Unix
    seconds, or in a table seconds before it was printed, as a negative number. `times`: how often it happened."""

    kind: str
    about: str
    reason: str
    message: str
    writer: str
    time: float
    times: int


class PodsOfMessage(Part):
    """Pods whose last message of kube-scheduler is the same. `attempts`: messages that were counted, of all of them."""

    message: MessageAnswer
    pods: list[str]
    attempts: int


class EventReport(Part):
    """What events say. `bound`: pod -> node. `evicted`: pod -> how. `never_created`: object -> why its pods were not
    created. `others`: sentences of components that are no kube-scheduler, by pod. `adds`: what must be added to say
    more. `notes`: what was left out."""

    events: int
    waiting: list[PodsOfMessage] = []
    bound: dict[str, str] = {}
    evicted: dict[str, str] = {}
    never_created: dict[str, str] = {}
    others: dict[str, str] = {}
    adds: str = ""
    notes: list[str] = []


def is_table(data: bytes) -> bool:
    """Return whether a text is a table of events."""
    head = data[:10_000]
    header = _HEADER.match(head)
    return header is not None and b"REASON" in header[0] and b"MESSAGE" in header[0]


def read(data: bytes, path: str) -> EventReport | None:
    """Return what a file of events says; None if it is none, if it holds other objects too, or if its events say
    nothing about scheduling. Raises InputError."""
    if is_table(data):
        return _with_content(report(_of_table(data)))
    left_out = LeftOut()
    objects = _objects(data, path, left_out)
    if not objects or any(obj.get("kind") != "Event" or _is_audit(obj) for obj in objects):
        return None
    if len(objects) > MAX_EVENTS:
        raise InputError(path, "", f"has more than {MAX_EVENTS:,} events")
    answer = report_of(objects)
    if answer is not None and left_out.number:
        answer.notes.append(f"{path}: {left_out.note('not readable')}.")
    return answer


def report_of(objects: Iterable[dict[str, Any]]) -> EventReport | None:
    """Return what the events among the objects say; None if they say nothing about scheduling."""
    found = (_event(obj) for obj in objects if obj.get("kind") == "Event")
    return _with_content(report(event for event in found if event is not None))


def _with_content(answer: EventReport) -> EventReport | None:
    says = answer.waiting or answer.bound or answer.evicted or answer.never_created or answer.others
    return answer if says else None


def report(events: Iterable[PodEvent]) -> EventReport:
    """Return what the events say about pods at their end."""
    ordered = sorted(events, key=lambda event: event.time)
    answer = EventReport(len(ordered), bound={}, evicted={}, never_created={}, others={})
    last: dict[str, PodEvent] = {}
    attempts: dict[str, int] = {}
    for event in ordered:
        message = event.message[:MAX_MESSAGE]
        if event.reason in _CREATION_FAILED and event.kind != "Pod":
            answer.never_created[f"{event.kind} {event.about}"] = message
        elif event.kind not in ("", "Pod"):
            continue
        elif event.reason == "Scheduled" and (assigned := _ASSIGNED.match(message)) and not _is_other(event):
            answer.bound[event.about] = assigned[3]
            last.pop(event.about, None)
        elif event.reason == "FailedScheduling" and is_of_kube_scheduler(event):
            last[event.about] = event
            attempts[event.about] = attempts.get(event.about, 0) + event.times
        elif event.reason in _EVICTED:
            answer.evicted[event.about] = _EVICTED[event.reason]
            last.pop(event.about, None)
        elif event.writer and (event.reason == "FailedScheduling" or _is_other(event)):
            answer.others[event.about] = f"{event.writer}: {event.reason}: {message}"
    messages: dict[str, list[str]] = {}
    for pod, event in last.items():
        messages.setdefault(event.message[:MAX_MESSAGE], []).append(pod)
    for message, pods in list(messages.items())[:MAX_MESSAGES]:
        number = sum(attempts[pod] for pod in pods)
        answer.waiting.append(PodsOfMessage(explain_message(message, pods[:20]), pods, number))
    if len(messages) > MAX_MESSAGES:
        answer.notes.append(f"Of {count(len(messages), 'different message')}, the first {MAX_MESSAGES} are explained.")
    answer.notes += _limits(answer)
    answer.adds = (
        f"Events have neither nodes nor requests. `{KUBECTL}` writes both, and then every reason can be checked."
    )
    return answer


def _limits(answer: EventReport) -> Iterator[str]:
    yield "The API server keeps events for an hour; a pod that waits longer may have no event left."
    if answer.waiting:
        yield "A series of events keeps its first message: the reasons can be older than the last attempt."


def sentence(answer: EventReport) -> str:
    """Return one sentence about all events."""
    waiting = [pod for one in answer.waiting for pod in one.pods]
    wait = f"{count(len(waiting), 'pod')} wait{'s' if len(waiting) == 1 else ''} for a node"
    parts = [wait, f"{len(answer.bound):,} {agree(len(answer.bound), 'were bound')}"]
    if answer.evicted:
        parts.append(f"{len(answer.evicted):,} {agree(len(answer.evicted), 'were evicted')}")
    if answer.never_created:
        parts.append(f"{some(list(answer.never_created), 3)} could not create pods")
    return f"By {count(answer.events, 'event')}, {', '.join(parts)}."


def is_of_kube_scheduler(event: PodEvent) -> bool:
    """Return whether a FailedScheduling event is kube-scheduler's, whatever name its profile has: by its message."""
    return not _is_other(event) and (HEAD.match(event.message) is not None or is_known_error(event.message))


def _is_other(event: PodEvent) -> bool:
    writer = event.writer.lower()
    return any(name in writer for name in OTHERS)


# ---- forms


def _is_audit(obj: dict[str, Any]) -> bool:
    return str(obj.get("apiVersion") or "").startswith("audit.")


def _objects(data: bytes, path: str, left_out: LeftOut) -> list[dict[str, Any]]:
    """Return the objects of a text that looks as if it holds events; [] if it does not. `left_out` takes the lines of
    JSON lines that cannot be read."""
    if not _EVENT_KIND.search(data[:100_000]) or not _REASON.search(data):
        return []
    try:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            text = data.removeprefix(b"\xef\xbb\xbf")
            try:
                documents = [msgspec.json.decode(text)]
            except msgspec.DecodeError:
                documents = list(_in_lines(text, left_out))
        elif len(data) > MAX_YAML:
            return []
        else:
            documents = read_documents(data, path, MAX_YAML)
        return [obj for document in documents for _, obj in each_object(document, path, "")]
    except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _in_lines(text: bytes, left_out: LeftOut) -> Iterator[Any]:
    """Yield the values of JSON lines. Raises DecodeError if too many lines have none: these are no JSON lines."""
    for number, line in enumerate(io.BytesIO(text), 1):
        if line.isspace():
            continue
        try:
            yield msgspec.json.decode(line.rstrip())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            left_out.add(f"line {number}", str(problem))
            if left_out.number > MAX_LEFT_OUT:
                raise


def _event(obj: dict[str, Any]) -> PodEvent | None:
    """Return an event of core/v1 or events.k8s.io; None if it names no object."""
    about = _map(obj.get("involvedObject") or obj.get("regarding"))
    if not (name := _text(about.get("name"))):
        return None
    namespace = _text(about.get("namespace"))
    series, metadata = _map(obj.get("series")), _map(obj.get("metadata"))
    times = (
        *(series.get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("deprecatedLastTimestamp")),
        *(obj.get("eventTime"), obj.get("firstTimestamp"), metadata.get("creationTimestamp")),
    )
    counts = (series.get("count"), obj.get("count"), obj.get("deprecatedCount"))
    source = _map(obj.get("source")) or _map(obj.get("deprecatedSource"))
    writers = (source.get("component"), obj.get("reportingController"), obj.get("reportingComponent"))
    return PodEvent(
        _text(about.get("kind")),
        f"{namespace}/{name}" if namespace else name,
        _text(obj.get("reason")),
        " ".join((_text(obj.get("message")) or _text(obj.get("note"))).split()),
        next((text for text in map(_text, writers) if text), ""),
        next((_seconds(text) for text in map(_text, times) if text), 0.0),
        next((number for number in counts if type(number) is int and 0 < number < 10**9), 1),
    )


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return escaped(value) if isinstance(value, str) else ""


def _seconds(text: str) -> float:
    try:
        return timestamp(text, "Event", "time")
    except InputError:
        return 0.0


def _of_table(data: bytes) -> Iterator[PodEvent]:
    """Yield the events of a table: columns begin where their headings do. A table without the column NAMESPACE is of
    one namespace, which bindings name."""
    lines = escaped(data[:MAX_TABLE].decode("utf-8", "replace"), "\n").split("\n")
    starts: dict[str, tuple[int, int | None]] = {}
    only = next((found for line in lines[:MAX_EVENTS] if (found := _ASSIGNED.search(line))), None)
    for line in lines[:MAX_EVENTS]:
        if _HEADER.match(line.encode()) and "MESSAGE" in line:
            names = [(one[0].strip(), one.start()) for one in _COLUMN.finditer(line)]
            ends = [start for _, start in names[1:]]
            starts = {name: (start, end) for (name, start), end in zip(names, [*ends, None], strict=True)}
            continue
        cells = {name: line[start:end].strip() for name, (start, end) in starts.items()}
        kind, _, name = cells.get("OBJECT", "").partition("/")
        if not name or not cells.get("REASON"):
            continue
        seen = cells.get("LAST SEEN", "")
        times = cells.get("COUNT") or next(iter(re.findall(r"\(x(\d{1,9}) over", seen)), "1")
        namespace = cells.get("NAMESPACE", "") or (only[1] or "" if only else "")
        message = cells.get("MESSAGE", "")
        yield PodEvent(
            {"pod": "Pod", "replicaset": "ReplicaSet", "job": "Job", "statefulset": "StatefulSet"}.get(
                kind.lower().partition(".")[0], kind
            ),
            f"{namespace}/{name}" if namespace else name,
            cells["REASON"],
            message,
            cells.get("SOURCE", "").partition(",")[0],
            -_age(seen),
            int(times) if times.isdecimal() and len(times) < 10 else 1,
        )


def _age(text: str) -> float:
    """Return the seconds of an age such as `3m12s (x5 over 10m)`."""
    first = text.partition(" ")[0]
    return float(sum(int(number[:9]) * _SECONDS[unit] for number, unit in _AGE.findall(first)))
