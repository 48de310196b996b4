"""Decodes what an API server sends into typed objects. Only the fields of the types are kept.

So values of environment variables, managedFields and the data of Secrets and ConfigMaps never become part of an
object; annotations with the last applied configuration are removed. Parts that objects have in common, such as the
containers of the pods of one template, are kept once. So such parts must not be changed.
"""

import copy
import re
import sys
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api import devices, objects, text_checks, workloads
from scheduler_core.api.objects import INT64_MAX, Metadata, Node, Object, Pod, PodSpec, Struct, Volume
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.errors import InputError
from scheduler_core.live.objects import TYPES, Event

_REGISTERS_KINDS = (devices, workloads)  # importing them adds their kinds to objects.KINDS
MAX_PROBLEM = 300  # characters of an error about an object
_NOTHING: list[Any] = []
_NO_SPEC = PodSpec()
_TOKEN_VOLUME = "kube-api-access-"  # each pod has a volume with this prefix and a random name
_LAST_APPLIED = ("last-applied", "objectset.rio.cattle.io/applied")
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError)
# metadata begins with the name, and Go writes the fields of an object in a fixed order
_IDENTITY = re.compile(
    rb'"metadata":\{"name":"([^"\\]{1,253})"'
    rb'(?:,"(?:generateName|selfLink)":"[^"\\]*"|,"namespace":"(?P<namespace>[^"\\]{1,253})"|,"uid":"(?P<uid>[^"\\]*)"'
    rb'|,"resourceVersion":"(?P<version>\d{1,19})")*'
)
_TYPE = re.compile(rb'^\s*\{"type":"([A-Z]+)"')


class Line(Struct):
    """A line of a watch (upstream: metav1.WatchEvent)."""

    type: str
    object: msgspec.Raw


class ServerStatus(Struct):
    """An error of the API server (upstream: metav1.Status)."""

    code: int = 0
    reason: str | None = ""
    message: str | None = ""
    details: dict[str, Any] | None = None

    @property
    def retry_after(self) -> float:
        """The seconds that the server demands; 0 for none."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return float(min(seconds, INT64_MAX)) if isinstance(seconds, int) and seconds > 0 else 0.0


class _ListMetadata(Struct):
    resource_version: str = ""
    continue_token: str | None = msgspec.field(default="", name="continue")


class _ListBody(Struct):
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)
    items: list[msgspec.Raw] | None = None


class _MetadataOnly(Struct):
    metadata: Metadata


class _BookmarkObject(Struct):
    metadata: dict[str, Any]


class Page(NamedTuple):
    """A page of a list. `token`: for the next page, "" for the last one."""

    resource_version: int
    token: str
    items: list[msgspec.Raw]


class Identity(NamedTuple):
    """What is known of an object that cannot be decoded. `resource_version`: 0 if it is not known."""

    key: str
    uid: str
    resource_version: int


_decode_line = msgspec.json.Decoder(Line).decode
_decode_page = msgspec.json.Decoder(_ListBody).decode
_decode_status = msgspec.json.Decoder(ServerStatus).decode
_decode_known = msgspec.json.Decoder(_MetadataOnly).decode
_decode_bookmark = msgspec.json.Decoder(_BookmarkObject).decode


def decode_line(line: bytes) -> Line:
    """Decode a line of a watch. Raises InputError if it is not one."""
    try:
        return _decode_line(line)
    except _ERRORS as error:
        raise InputError("A line of the watch", "", shortened(error)) from None


def decode_page(body: bytes, resource: str) -> Page:
    """Decode a page of a list. Raises InputError if it is not one."""
    try:
        page = _decode_page(body)
    except _ERRORS as error:
        raise InputError(f"A page of {resource}", "", shortened(error)) from None
    version = version_number(page.metadata.resource_version, f"The list of {resource}")
    return Page(version, page.metadata.continue_token or "", page.items or [])


def decode_status(body: bytes | msgspec.Raw) -> ServerStatus:
    """Decode an error of the API server; an empty one if the body is not one."""
    try:
        return _decode_status(body)
    except _ERRORS:
        return ServerStatus()


def decode_bookmark(raw: msgspec.Raw) -> tuple[int, bool]:
    """Return the resourceVersion of a bookmark, and whether it ends the initial events. Raises InputError."""
    try:
        metadata = _decode_bookmark(raw).metadata
    except _ERRORS as error:
        raise InputError("A bookmark", "", shortened(error)) from None
    annotations = metadata.get("annotations")
    ends = isinstance(annotations, dict) and annotations.get("k8s.io/initial-events-end") == "true"
    return version_number(metadata.get("resourceVersion"), "A bookmark"), ends


def version_number(text: object, where: str) -> int:
    """Return a resourceVersion as a number. Raises InputError."""
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= INT64_MAX:
        return int(text)
    raise InputError(where, "metadata.resourceVersion", f"{str(text)[:63]!r} is not a resourceVersion")


def identify(raw: bytes | msgspec.Raw) -> Identity | None:
    """Return the identity of an object that cannot be decoded as a whole; None if not even that is possible."""
    try:
        metadata = _decode_known(raw).metadata
    except _ERRORS:
        return identify_prefix(bytes(raw[:4096] if isinstance(raw, bytes) else memoryview(raw)[:4096]))
    version = metadata.resource_version
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 19 else 0
    return Identity(_key(metadata.namespace, metadata.name), metadata.uid, number) if metadata.name else None


def identify_prefix(prefix: bytes) -> Identity | None:
    """Return the identity of an object of which only the beginning is known, as an API server writes it."""
    match = _IDENTITY.search(prefix)
    if match is None:
        return None
    name, namespace, uid = (
        (found or b"").decode(errors="replace") for found in (match[1], *match.group("namespace", "uid"))
    )
    return Identity(_key(namespace, name), uid, int(match["version"] or 0))


def line_type(prefix: bytes) -> str:
    """Return the type of a line of which only the beginning is known; "" if it is not a line of a watch."""
    match = _TYPE.match(prefix)
    return match[1].decode() if match else ""


def shortened(error: Exception | str) -> str:
    """Return a bounded text of an error, with escapes: it may quote what the server sent."""
    text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return text_checks.escaped(text[:MAX_PROBLEM])


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class ObjectDecoder:
    """Decodes objects of one kind. `kind`: as in `scheduler_core.live.kinds.KINDS`."""

    def __init__(self, kind: str, shared: SharedParts | None = None) -> None:
        self.kind = kind
        self._type = TYPES[kind]
        self._decode = msgspec.json.Decoder(self._type).decode
        self._shared = shared if shared is not None else SharedParts()

    def decode(self, raw: bytes | msgspec.Raw) -> Object:
        """Decode, redact and validate an object of the API server. Raises InputError that names object and field."""
        try:
            obj = self._decode(raw)
        except _ERRORS:
            obj = self._decode_with_nulls(raw)
        where = f"{self.kind} {obj.key}"
        version_number(obj.metadata.resource_version, where)
        if text_checks.ESCAPED_NUL in bytes(raw):
            text_checks.refuse_nul(msgspec.to_builtins(obj), where)
        try:
            self._redact(obj.metadata)
            if isinstance(obj, Pod):
                self._share_pod(obj, where)
            else:
                objects.validate(obj, where)
                self._shared.encode(obj)  # refuses numbers that nothing can store
                if isinstance(obj, Node):
                    self._shared.share_node(obj)
                elif isinstance(obj, Event):
                    self._share_event(obj)
        except _ERRORS as error:
            raise InputError(where, "", shortened(error)) from None
        return obj

    def _decode_with_nulls(self, raw: bytes | msgspec.Raw) -> Any:
        """Decode an object with null members, which Go writes for empty values that it does not omit."""
        try:
            value = msgspec.json.decode(raw)
        except _ERRORS as error:
            found = identify(raw)
            raise InputError(f"{self.kind} {found.key if found else 'without a name'}", "", shortened(error)) from None
        where = f"{self.kind} {objects.describe(value).partition(' ')[2]}" if isinstance(value, dict) else self.kind
        return objects.convert(value, self._type, where)

    def _redact(self, metadata: Metadata) -> None:
        """Remove annotations with the last applied configuration, and share what other objects have as well."""
        shared = self._shared.shared
        if metadata.annotations:
            kept = {k: v for k, v in metadata.annotations.items() if not any(part in k for part in _LAST_APPLIED)}
            metadata.annotations = shared(b"map ", kept)
        if metadata.labels:
            metadata.labels = shared(b"map ", metadata.labels)
        if metadata.owner_references:
            metadata.owner_references = shared(b"owners ", metadata.owner_references)
        metadata.namespace = sys.intern(metadata.namespace)
        metadata.creation_timestamp = sys.intern(metadata.creation_timestamp)

    def _share_pod(self, pod: Pod, where: str) -> None:
        """Validate a pod, and share with other pods what they have of their template. A known template is valid."""
        spec, status, shared = pod.spec, pod.status, self._shared.shared
        node_name, volumes = sys.intern(spec.node_name), [self._shared_volume(volume) for volume in spec.volumes]
        for condition in status.conditions:
            # Of all conditions, only the time of this one says how long a pod waits.
            if condition.type != "PodScheduled":
                condition.last_transition_time = None
        spec.node_name, spec.volumes = "", _NOTHING
        statuses = (status.container_statuses, status.init_container_statuses)
        key = self._shared.key(b"template ", (spec, statuses))
        template = self._shared.get(key)
        if template is not None:
            pod.spec, status.container_statuses, status.init_container_statuses = _NO_SPEC, _NOTHING, _NOTHING
        objects.validate(pod, where)
        if template is None:
            # Pods of a DaemonSet differ in their affinity alone.
            spec.containers = shared(b"containers ", spec.containers)
            spec.init_containers = shared(b"containers ", spec.init_containers)
            spec.tolerations = shared(b"tolerations ", spec.tolerations)
            template = (spec, *statuses)
            self._shared.add(key, template)
        spec, status.container_statuses, status.init_container_statuses = template
        pod.spec = spec = copy.copy(spec)
        spec.node_name, spec.volumes = node_name, volumes
        status.conditions = shared(b"conditions ", status.conditions)
        status.phase, status.start_time = sys.intern(status.phase), sys.intern(status.start_time)
        if not status.resource_claim_statuses:
            status.resource_claim_statuses = _NOTHING

    def _shared_volume(self, volume: Volume) -> Volume:
        if volume.name.startswith(_TOKEN_VOLUME):
            volume.projected = self._shared.shared(b"projected ", volume.projected)
            return volume
        return self._shared.shared(b"volume ", volume)

    def _share_event(self, event: Event) -> None:
        event.type, event.reason = sys.intern(event.type), sys.intern(event.reason)
        event.reporting_component, event.source = sys.intern(event.reporter), None
