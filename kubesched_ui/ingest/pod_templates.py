"""Pods of templates that were read before.

The pods of a template have the same text but for a few values: names, the node, times and addresses. Such a value is
valid wherever it stands: it has a form that only values of its kind have, and nothing that the reader examines depends
on it. So what the reader found out about one pod holds for all others of its template, and their JSON is that of the
first with their own values.
"""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from kubesched_ui.ingest.formats import UploadedObject
from kubesched_ui.ingest.result import Record
from scheduler_core.snapshot.defaults import Note

MAX_BYTES = 32_000_000  # of the templates that are kept
MAX_SEEN = 1_000_000  # hashes of templates that were read once
_TIME = rb"\d{4}-(?:0[1-9]|1[0-2])-(?:[01]\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_NAME = rb"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,251}[A-Za-z0-9])?"
_CONTAINER = rb"[a-z-]+://[0-9a-f]{64}"
_ADDRESS = rb"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"


def _values(**forms: bytes) -> re.Pattern[bytes]:
    """Return a pattern for members with these keys, separated by `_`, and forms: (the text before the value, the
    value)."""
    members = [rb'"(?:%s)"\s*:\s*"(?=%s")' % (keys.replace("_", "|").encode(), form) for keys, form in forms.items()]
    return re.compile(rb'(%s)([^"]+)' % b"|".join(members))


# The parts of a pod, and the values in which the pods of a template differ.
_PARTS = {
    "metadata": _values(name_uid_resourceVersion=_NAME, creationTimestamp=_TIME),
    "spec": _values(nodeName=_NAME),
    "status": _values(
        startTime_lastTransitionTime_startedAt_finishedAt=_TIME, podIP_hostIP_ip=_ADDRESS, containerID=_CONTAINER
    ),
}


class PodText(NamedTuple):
    """The text of a pod. `template`: without the values of its own. `values`: these, of each part."""

    template: bytes
    values: list[list[bytes]]


class PodTemplate(NamedTuple):
    """What was found out about a pod. `pieces`: its JSON, in turn a text and the place of a value. `name`: the index of
    its name among the values. `model`: its first pod. `notes`: about defaults. `dropped`: the data that is not
    stored, by the keys of redact.NOTES."""

    pieces: list[bytes]
    name: int
    model: Record
    notes: list[Note]
    dropped: Counter[str]

    def pod(self, text: PodText) -> Record:
        """Return a pod of this template."""
        metadata, spec, status = text.values
        pieces = self.pieces.copy()
        pieces[1::2] = metadata + spec + status
        name, node, model = metadata[self.name].decode(), spec[0].decode() if spec else "", self.model
        return Record(model.kind, model.api_version, model.namespace, name, b"".join(pieces), node, model)


class PodTemplates:
    """The templates of an upload. A template is kept when it is read for the second time."""

    def __init__(self) -> None:
        self._known: dict[bytes, PodTemplate] = {}
        self._bytes = 0
        self._seen: set[int] = set()

    def text_of(self, found: UploadedObject) -> PodText | None:
        """Return the text of a pod; None if its template was not read before."""
        head = found.head
        if head.metadata is UNSET or head.spec is UNSET:
            return None
        text, pieces, values = bytes(found.value), list[bytes](), list[list[bytes]]()
        for part, pattern in _PARTS.items():
            raw = getattr(head, part)
            mine = b"" if raw is UNSET else bytes(memoryview(raw))
            if mine:
                text = text.replace(mine, b"\0%s" % part.encode(), 1)
            split = pattern.split(mine)
            values.append(split[2::3])
            del split[2::3]
            pieces += split
        template = b"\0".join([text, *pieces])
        found_before = hash(template)
        if found_before not in self._seen:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            self._seen.add(found_before)
            return None
        return PodText(template, values)

    def get(self, text: PodText) -> PodTemplate | None:
        return self._known.get(text.template)

    def add(
        self, text: PodText, pod: dict[str, Any], model: Record, notes: Collection[Note], dropped: Counter[str]
    ) -> None:
        """Keep the template of a pod that was read without a warning. `pod`, `model`: as it is stored."""
        fields = ["apiVersion", "kind", *(part for part in _PARTS if part in pod)]
        if list(pod) != fields or text.values[1] not in ([], [pod["spec"].get("nodeName", "").encode()]):
            return
        if not text.values[1] and pod["spec"].get("nodeName"):
            return
        names = [n for n, value in enumerate(text.values[0]) if value.decode() == pod["metadata"]["name"]]
        joined = b'{"apiVersion":"v1","kind":"Pod"'
        pieces = list[bytes]()
        for (part, pattern), values in zip(_PARTS.items(), text.values, strict=True):
            if part in pod:
                split = pattern.split(msgspec.json.encode(pod[part]))
                if split[2::3] != values:
                    return
                split[0] = b'%s,"%s":%s' % (joined, part.encode(), split[0])
                pieces += [split[0]]
                for before, value, after in zip(split[1::3], split[2::3], split[3::3], strict=True):
                    pieces[-1] += before
                    pieces += [value, after]
                joined = pieces.pop()
        pieces.append(joined + b"}")
        if len(names) != 1:
            return
        self._bytes += len(text.template) + sum(map(len, pieces))
        if self._bytes > MAX_BYTES:
            self._known, self._bytes = {}, 0
        self._known[text.template] = PodTemplate(pieces, names[0], model, list(notes), dropped)
