"""Reads the objects of a stored snapshot, whose JSON was made of objects that `decode` accepted.

The pods of a template differ in their metadata, status and node. Their specs have the same text but for the name of the
node, also in the affinity of a DaemonSet's pods, and that of the volume with the token of their service account: it is
read once, and the pods share its parts.
"""

import re
from collections.abc import Iterable
from sys import intern
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api import text_checks
from scheduler_core.api.objects import (
    Affinity,
    Metadata,
    Node,
    Object,
    OwnerReference,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Struct,
    check_metadata,
    check_pod_spec,
    check_pod_status,
    decode,
    timestamp,
    validate,
)
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.controllers.pod_template import KINDS
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.defaults import Filled, Note

Raw = dict[str, Any]
_SpecKey = tuple[bytes, bytes, bool]  # its text around the name of the node, with _HOLE; whether a user wrote the pod
MAX_TEXTS = 8_000  # of specs, and of statuses; with more specs, pods are read as a whole
MAKERS = (*KINDS, "CronJob")

_POD = b'{"apiVersion":"v1","kind":"Pod",'
_ANY_NODE = b'{"apiVersion":"v1","kind":"Node",'
_NODE = b'"nodeName":"'
_LABEL_KEYS = b"atchLabelKeys"  # these make selectors of the pod's labels
_HOLE = b"\0"  # in the text of a spec, in the place of what a pod has of its own; JSON contains no NUL
_TOKEN = re.compile(rb"kube-api-access-[a-z0-9]{5}")  # Source: plugin/pkg/admission/serviceaccount
# Source: pkg/controller/daemon/util (ReplaceDaemonSetPodNodeNameNodeAffinity)
_OF_DAEMON = b'{"key":"metadata.name","operator":"In","values":["%s"]}'


_NONE, _EMPTY = msgspec.Raw(b"{}"), msgspec.Raw(b"[]")


class _StoredMetadata(Struct):
    """Metadata with the texts of parts that pods have in common."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: msgspec.Raw = _NONE
    annotations: msgspec.Raw = _NONE
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: msgspec.Raw = _EMPTY
    resource_version: str = ""
    finalizers: list[str] = []


class _StoredStatus(PodStatus):
    conditions: msgspec.Raw = _EMPTY  # type: ignore[assignment]


class _StoredPod(Struct):
    metadata: _StoredMetadata
    spec: msgspec.Raw = _NONE
    status: msgspec.Raw = _NONE


_read_pod = msgspec.json.Decoder(_StoredPod).decode
_decode_pod = msgspec.json.Decoder(Pod).decode
_decode_node = msgspec.json.Decoder(Node).decode
_decode_spec = msgspec.json.Decoder(PodSpec).decode
_read_status = msgspec.json.Decoder(_StoredStatus).decode
_decode_conditions = msgspec.json.Decoder(list[PodCondition]).decode
_decode_map = msgspec.json.Decoder(dict[str, str]).decode
_decode_owners = msgspec.json.Decoder(list[OwnerReference]).decode
_decode_affinity = msgspec.json.Decoder(Affinity).decode
_encode = msgspec.json.Encoder().encode


class _KnownSpec(NamedTuple):
    """A spec, and the defaults in it. `token`: the index of the volume with the pod's own name, or -1. `affinity`: its
    text with _HOLE if it names the pod's node, or b""."""

    spec: PodSpec
    notes: list[Note]
    token: int
    affinity: bytes


class StoredObjects:
    """Reads one snapshot with the defaults of a release.

    `workloads`: the objects that make pods, as raw dicts. `filled`: the defaults that were applied.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.workloads: list[Raw] = []
        self.filled = Filled()
        self._shared = SharedParts()
        self._statuses: dict[bytes, PodStatus] = {}
        self._nodes: dict[bytes, str] = {}
        self._specs: dict[_SpecKey, _KnownSpec] = {}
        self._affinities: dict[tuple[bytes, bytes], Affinity] = {}  # by its text and the node

    def decoded(self, text: bytes) -> Object | None:
        """Return an object from its stored JSON; None if the scheduler does not use its kind. Raises InputError."""
        found: Object | None = None
        if text.startswith(_POD):
            found = self._pod(text)
        elif text.startswith(_ANY_NODE):
            found = self._node(text)
        return found if found is not None else self.object(msgspec.json.decode(text))

    def object(self, raw: Raw) -> Object | None:
        """Return an object, which is changed; None if the scheduler does not use its kind. Raises InputError."""
        self.filled.add(defaults.fill(raw, self.release), defaults.title(raw))
        obj = decode(raw)
        if raw.get("kind") in MAKERS:
            self.workloads.append(raw)
        if isinstance(obj, Node):
            self._shared.share_node(obj)
        elif isinstance(obj, Pod):
            self._share(obj)
        return obj

    def _node(self, text: bytes) -> Node | None:
        """Return a node. None if it is invalid, lacks defaults or has nulls or characters that `object` examines."""
        if text_checks.ESCAPED_NUL in text:
            return None
        try:
            node = _decode_node(text)
            validate(node, "")
        except (msgspec.ValidationError, InputError):
            return None
        if not node.status.allocatable:
            return None
        self._shared.share_node(node)
        return node

    def _pod(self, text: bytes) -> Pod | None:
        """Return a pod, with parts that other pods have as well. None if it has nulls, which only earlier versions
        stored, or characters or selectors that are examined in each pod."""
        if b"\\" in text and text_checks.ESCAPED_NUL in text:  # one byte is found in a tenth of the time
            return None
        try:
            pod = self._pod_of_texts(text) if len(self._specs) < MAX_TEXTS else self._whole_pod(text)
            if pod is not None:
                check_metadata(pod, "")
        except (msgspec.ValidationError, InputError):
            return None  # `object` names it
        return pod

    def _metadata(self, stored: _StoredMetadata) -> Metadata:
        read = self._shared.read
        return Metadata(
            stored.name,
            intern(stored.namespace),
            stored.uid,
            read(b"map text ", stored.labels, _decode_map),
            {} if stored.annotations is _NONE else read(b"map text ", stored.annotations, _decode_map),
            stored.creation_timestamp,
            stored.deletion_timestamp,
            [] if stored.owner_references is _EMPTY else read(b"owners text ", stored.owner_references, _decode_owners),
            stored.resource_version,
            stored.finalizers,
        )

    def _status(self, stored: _StoredStatus) -> PodStatus:
        shared = self._shared.shared
        return PodStatus(
            intern(stored.phase),
            stored.nominated_node_name,
            intern(stored.start_time),
            self._shared.read(b"conditions text ", stored.conditions, _decode_conditions),
            stored.container_statuses and shared(b"container_statuses", stored.container_statuses),
            stored.init_container_statuses and shared(b"init_container_statuses", stored.init_container_statuses),
            stored.resize,
            stored.resource_claim_statuses,
        )

    def _pod_of_texts(self, text: bytes) -> Pod | None:
        """Return a pod whose spec and status were read before, if others have the same text."""
        stored = _read_pod(text)
        metadata, status_text = self._metadata(stored.metadata), bytes(stored.status)
        status = self._statuses.get(status_text)
        if status is None:
            status = self._status(_read_status(status_text))
            check_pod_status(status, "")
            if len(self._statuses) < MAX_TEXTS:
                self._statuses[status_text] = status
        before, named, after = bytes(stored.spec).partition(_NODE)
        node, _, after = after.partition(b'"')
        if named and (not node or b"\\" in node or _NODE in after):
            return None
        typed, token, selecting = not metadata.uid and status_text == b"{}", b"", _OF_DAEMON % node
        if found := _TOKEN.search(before) or _TOKEN.search(after):
            token = found[0]
            before, after = before.replace(token, _HOLE), after.replace(token, _HOLE)
        before, after = before.replace(selecting, _HOLE), after.replace(selecting, _HOLE)
        key = before, after, typed
        known = self._specs.get(key)
        if known is None:
            if _LABEL_KEYS in before or _LABEL_KEYS in after:
                return None
            spec, notes = self._typed_spec(text) if typed else (self._checked_spec(stored.spec), [])
            known = self._known_spec(spec, notes, token.decode(), selecting)
            if known is None:
                return self._whole_pod(text)
            self._specs[key] = known
        if named and not known.spec.node_name:
            return None  # it is another field
        pod = Pod(metadata, known.spec.__copy__(), status)  # type: ignore[attr-defined]
        spec = pod.spec
        if named:
            spec.node_name = self._nodes.get(node) or self._nodes.setdefault(node, intern(node.decode()))
        if known.token >= 0:
            spec.volumes = spec.volumes.copy()
            spec.volumes[known.token] = volume = spec.volumes[known.token].__copy__()  # type: ignore[attr-defined]
            volume.name = token.decode()
        if known.affinity:
            spec.affinity = self._affinities.get((known.affinity, node))
            if spec.affinity is None:
                spec.affinity = _decode_affinity(known.affinity.replace(_HOLE, selecting))
                self._affinities[known.affinity, node] = spec.affinity
        if known.notes:
            self.filled.add(known.notes, "pod")
        return pod

    @staticmethod
    def _known_spec(spec: PodSpec, notes: list[Note], token: str, selecting: bytes) -> _KnownSpec | None:
        """Return a spec. None if other fields than a volume and the affinity have what is the pod's own."""
        tokens = [index for index, volume in enumerate(spec.volumes) if volume.name == token]
        affinity = _encode(spec.affinity).replace(selecting, _HOLE)
        rest = msgspec.structs.replace(spec, node_name="", affinity=None)
        if tokens:
            rest.volumes = [volume for volume in spec.volumes if volume.name != token]
        text = _encode((rest, [msgspec.structs.replace(spec.volumes[index], name="") for index in tokens]))
        if len(tokens) > 1 or selecting in text or (token and token.encode() in text + affinity):
            return None
        return _KnownSpec(spec, notes, tokens[0] if tokens else -1, affinity if _HOLE in affinity else b"")

    def _whole_pod(self, text: bytes) -> Pod | None:
        """Return a pod as `_pod_of_texts` does, if most have texts of their own: each pod of a template has a volume
        with a name of its own, for the token of its service account. None for a pod that a user wrote."""
        pod = _decode_pod(text)
        if pod.typed:
            return None
        spec, status = pod.spec, pod.status
        node, volumes = spec.node_name, spec.volumes
        spec.node_name, spec.volumes = "", []
        key = self._shared.key(b"template ", (spec, status.container_statuses, status.init_container_statuses))
        template = self._shared.get(key)
        if template is None:
            pod.check("")
            template = spec, status.container_statuses, status.init_container_statuses
            self._shared.add(key, template)
        else:
            timestamp(status.start_time)
        spec, status.container_statuses, status.init_container_statuses = template
        self._share_metadata(pod.metadata)
        pod.spec = spec = spec.__copy__()
        spec.node_name, spec.volumes = intern(node), volumes
        status.phase, status.start_time = intern(status.phase), intern(status.start_time)
        if status.conditions:
            status.conditions = self._shared.shared(b"conditions", status.conditions)
        return pod

    @staticmethod
    def _checked_spec(text: msgspec.Raw) -> PodSpec:
        spec = _decode_spec(text)
        check_pod_spec(spec, "")
        return spec

    def _typed_spec(self, text: bytes) -> tuple[PodSpec, list[Note]]:
        """Return the spec of a pod that a user wrote, with the defaults, and these."""
        raw = msgspec.json.decode(text)
        notes = defaults.fill(raw, self.release)
        pod = decode(raw)
        assert isinstance(pod, Pod)
        return pod.spec, notes

    def _share(self, pod: Pod) -> None:
        self._share_metadata(pod.metadata)
        self._share_status(pod.status)

    def _share_metadata(self, metadata: Metadata) -> None:
        shared = self._shared.shared
        metadata.namespace = intern(metadata.namespace)
        metadata.labels = shared(b"map ", metadata.labels)
        if metadata.annotations:
            metadata.annotations = shared(b"map ", metadata.annotations)
        if metadata.owner_references:
            metadata.owner_references = shared(b"owners ", metadata.owner_references)

    def _share_status(self, status: PodStatus) -> None:
        status.phase, status.start_time = intern(status.phase), intern(status.start_time)
        for name in ("conditions", "container_statuses", "init_container_statuses"):
            if part := getattr(status, name):
                setattr(status, name, self._shared.shared(name.encode(), part))


def refuse_repetition(objects: Iterable[Object]) -> None:
    """Raise InputError if two of a kind have the same name."""
    seen: dict[tuple[type[Object], str], set[str]] = {}  # kind and namespace -> names
    for obj in objects:
        metadata = obj.metadata
        key = type(obj), metadata.namespace
        names = seen.get(key)
        if names is None:
            names = seen[key] = set()
        if metadata.name in names:
            raise InputError(f"{type(obj).__name__} {obj.key}", "metadata.name", "occurs twice")
        names.add(metadata.name)
