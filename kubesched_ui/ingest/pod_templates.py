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
from kubesched_ui.ingest.json_values import Json
from kubesched_ui.ingest.result import ObjectRecord, PodTemplate, TemplatePod
from scheduler_core.snapshot.defaults import Note

MAX_BYTES = 32_000_000  # of the templates that are kept
MAX_SEEN = 1_000_000  # hashes of templates that were read once
_TIME = rb"\d{4}-(?:0[1-9]|1[0-2])-(?:[01]\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_NAME = rb"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,251}[A-Za-z0-9])?"
_CONTAINER = rb"[a-z-]+://[0-9a-f]{64}"
_TOKEN_VOLUME = rb"kube-api-access-[a-z0-9]{5}"  # and its mounts. Source: plugin/pkg/admission/serviceaccount
_ADDRESS = rb"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"
_BEFORE = rb'%s"\s*:\s*"'  # a value, from its key on
# The node of a pod of a DaemonSet. Source: pkg/controller/daemon/util (ReplaceDaemonSetPodNodeNameNodeAffinity)
_BEFORE_NODE = rb'%s"\s*,\s*"operator"\s*:\s*"In"\s*,\s*"values"\s*:\s*\[\s*"'

_OWN: dict[str, dict[str, bytes]] = {
    "metadata": {"name": _NAME, "uid": _NAME, "resourceVersion": _NAME, "creationTimestamp": _TIME},
    "spec": {"nodeName": _NAME, "name": _TOKEN_VOLUME, "metadata.name": _NAME},
    "status": {
        "name": _TOKEN_VOLUME,  # mounted, since Kubernetes 1.31
        **dict.fromkeys(("startTime", "lastTransitionTime", "startedAt", "finishedAt"), _TIME),
        **dict.fromkeys(("podIP", "hostIP", "ip"), _ADDRESS),
        "containerID": _CONTAINER,
    },
}
"""The parts of a pod, and the values in which the pods of a template differ: key -> its form."""


def _values(forms: dict[str, bytes]) -> re.Pattern[bytes]:
    """Return a pattern for members with these keys and forms: (the text before the value, the value)."""
    members = [
        (_BEFORE_NODE if key == "metadata.name" else _BEFORE) % re.escape(key).encode() + rb'(?=%s")' % form
        for key, form in forms.items()
    ]
    return re.compile(rb'("(?:%s))([^"]+)' % b"|".join(members))


_OF_PART = {part: _values(forms) for part, forms in _OWN.items()}
# Also finds values that the pods of a template have in common, such as the names of containers.
_ANYWHERE = _values({**_OWN["spec"], **_OWN["status"], **_OWN["metadata"]})  # names of all forms
_OTHER_KIND = re.compile(rb'\s*\{\s*(?:"apiVersion"\s*:\s*"[^"]*"\s*,\s*)?"kind"\s*:\s*"(?!Pod")')


class PodText(NamedTuple):
    """The text of a pod. `frame`: without the values of _ANYWHERE. `values`: these, in order."""

    frame: bytes
    values: list[bytes]


class KnownPod(NamedTuple):
    """A pod of a template. `values`: as in PodText."""

    values: list[bytes]
    template: PodTemplate

    @property
    def record(self) -> TemplatePod:
        """The pod as it is stored."""
        return TemplatePod(self.template, b"\0".join([self.values[index] for index in self.template.own]))


class _TemplatesOfFrame(NamedTuple):
    """The templates of a frame, by the values that their pods have in common. `common`: the indices of these."""

    common: list[int]
    templates: dict[tuple[bytes, ...], PodTemplate]


class PodTemplates:
    """The templates of an upload. A template is kept when its frame is read for the second time."""

    def __init__(self, largest: int) -> None:
        """`largest`: bytes of the largest object that is read."""
        self._largest = largest
        self._last: tuple[Json, PodText] = b"", PodText(b"", [])  # text of the element that `known` saw last
        self._frames: dict[bytes, _TemplatesOfFrame] = {}
        self._bytes = 0
        self._seen: set[int] = set()

    def known(self, value: Json) -> KnownPod | None:
        """Return what is known about an element of a List from its text alone; None if nothing is."""
        if not self._frames or len(value) > self._largest or b'"Pod"' not in (data := bytes(value)):
            return None
        if b'"containers"' not in data or _OTHER_KIND.match(data):  # an event about a pod, or a Workload of one
            return None
        text = self._split(data)
        self._last = value, text
        template = self.get(text)
        return KnownPod(text.values, template) if template is not None and template.says_kind else None

    def text_of(self, found: UploadedObject) -> PodText | None:
        """Return the text of a pod; None if its frame was not read before."""
        if found.head.metadata is UNSET or found.head.spec is UNSET:
            return None
        before, text = self._last
        if found.value is not before:
            text = self._split(found.value)
        if text.frame in self._frames:
            return text
        found_before = hash(text.frame)
        if found_before not in self._seen:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()
            self._seen.add(found_before)
            return None
        return text

    @staticmethod
    def _split(value: Json) -> PodText:
        split = _ANYWHERE.split(value)
        values = split[2::3]
        del split[2::3]
        return PodText(b"\0".join(split), values)  # JSON contains no NUL

    def get(self, text: PodText) -> PodTemplate | None:
        frame = self._frames.get(text.frame)
        return frame and frame.templates.get(tuple([text.values[index] for index in frame.common]))

    def add(
        self,
        found: UploadedObject,
        text: PodText,
        pod: dict[str, Any],
        model: ObjectRecord,
        notes: Collection[Note],
        dropped: Counter[str],
    ) -> None:
        """Keep the template of a pod that was read without a warning. `pod`, `model`: as it is stored."""
        if list(pod) != ["apiVersion", "kind", *(part for part in _OWN if part in pod)]:
            return
        own, common, index = {part: list[int]() for part in _OWN}, list[int](), 0
        nodes = list[int]()
        for part, raw in msgspec.json.decode(found.value, type=dict[str, msgspec.Raw]).items():
            for before, value in _ANYWHERE.findall(raw):
                key = before.split(b'"', 2)[1].decode()
                form = _OWN.get(part, {}).get(key)
                (own[part] if form and re.fullmatch(form, value) else common).append(index)
                nodes += [index] * (part == "spec" and key == "nodeName")
                index += 1
        values = text.values
        names = [place for place in own["metadata"] if values[place].decode() == pod["metadata"]["name"]]
        node = pod["spec"].get("nodeName", "").encode()
        if index != len(values) or len(names) != 1 or [values[place] for place in nodes] != [node] * bool(node):
            return
        joined = b'{"apiVersion":"v1","kind":"Pod"'
        pieces = list[bytes]()
        for part, pattern in _OF_PART.items():
            if part in pod:
                split = pattern.split(msgspec.json.encode(pod[part]))
                if split[2::3] != [values[index] for index in own[part]]:
                    return
                split[0] = b'%s,"%s":%s' % (joined, part.encode(), split[0])
                pieces += [split[0]]
                for before, value, after in zip(split[1::3], split[2::3], split[3::3], strict=True):
                    pieces[-1] += before
                    pieces += [value, after]
                joined = pieces.pop()
        pieces.append(joined + b"}")
        self._bytes += len(text.frame) + sum(map(len, pieces))
        if self._bytes > MAX_BYTES:
            self._frames, self._bytes = {}, 0
        places = [index for indices in own.values() for index in indices]
        frame = self._frames.setdefault(text.frame, _TemplatesOfFrame(common, {}))
        if frame.common != common:  # it has another volume in the place of that with the token
            return
        key = tuple([values[index] for index in common])
        name_at, node_at = places.index(names[0]), places.index(nodes[0]) if node else None
        says_kind = bool(found.head.kind)
        frame.templates[key] = PodTemplate(pieces, places, name_at, node_at, model, says_kind, list(notes), dropped)
