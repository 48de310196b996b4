"""The result of reading an upload."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import msgspec

from kubesched_ui.ingest.errors import Warn
from kubesched_ui.ingest.run_file import RunFile
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER
from scheduler_core.snapshot.defaults import Filled, Note

Key = tuple[str, str, str]  # kind, namespace, name


class _StoredObject(msgspec.Struct, gc=False):
    @property
    def data(self) -> bytes:
        """The JSON of the object."""
        raise NotImplementedError

    def object(self) -> dict[str, Any]:
        """Return the object as a dict."""
        return msgspec.json.decode(self.data)

    def scheduler_name(self) -> str:
        """Return the name of the scheduler of a pod."""
        spec = _POD.decode(self.data).spec
        return (spec.scheduler_name if spec else None) or DEFAULT_SCHEDULER


class ObjectRecord(_StoredObject, gc=False):
    """One object of the upload that is stored. `data`: its JSON. `node`: of a pod; "" if it has none."""

    kind: str
    api_version: str
    namespace: str
    name: str
    data: bytes
    node: str = ""
    model: ClassVar[None] = None

    @property
    def has_node(self) -> bool:
        return bool(self.node)


class PodTemplate(NamedTuple):
    """What was found out about a pod. `pieces`: its JSON, in turn a text and the place of a value. `own`: the indices
    of these values in the text (pod_templates.PodText). `name`, `node`: the place of the pod's name among them, and of
    its node or None. `model`: its first pod. `says_kind`: whether the text says that it is a pod, and not only where it
    is. `notes`: about defaults. `dropped`: the data that is not stored, by the keys of redact.NOTES."""

    pieces: list[bytes]
    own: list[int]
    name: int
    node: int | None
    model: ObjectRecord
    says_kind: bool
    notes: list[Note]
    dropped: Counter[str]


class TemplatePod(_StoredObject, gc=False):
    """A pod of a template that is stored. `values`: its own values, joined by NUL, which take a small part of the
    memory of its JSON. `model`: the first pod of its template; they differ in the values that pod_templates.py names.
    """

    template: PodTemplate
    values: bytes

    @property
    def kind(self) -> str:
        return self.template.model.kind

    @property
    def api_version(self) -> str:
        return self.template.model.api_version

    @property
    def namespace(self) -> str:
        return self.template.model.namespace

    @property
    def name(self) -> str:
        return self.values.split(b"\0")[self.template.name].decode()

    @property
    def node(self) -> str:
        at = self.template.node
        return "" if at is None else self.values.split(b"\0")[at].decode()

    @property
    def has_node(self) -> bool:
        return self.template.node is not None  # takes a tenth of the time of `node`

    @property
    def model(self) -> ObjectRecord:
        return self.template.model

    @property
    def data(self) -> bytes:
        pieces = self.template.pieces.copy()
        pieces[1::2] = self.values.split(b"\0")
        return b"".join(pieces)


Record = ObjectRecord | TemplatePod


class _ObjectSpec(msgspec.Struct):
    scheduler_name: str | None = msgspec.field(name="schedulerName", default=None)


class _Pod(msgspec.Struct):
    spec: _ObjectSpec | None = None


_POD = msgspec.json.Decoder(_Pod)


@dataclass
class IngestResult:
    """All objects and warnings of an upload.

    Attributes:
        records: the objects by kind, namespace ("" if cluster-scoped) and name, in their original order.
        unknown: objects of kinds that the scheduler does not use, `Kind.group` -> number.
        dropped: data that was never stored, by the keys of redact.NOTES.
        warnings: warnings, at most `Limits.max_warnings`.
        outlook: warnings that a run of this cluster would have, {code, message, counts}.
        filled: defaults that were set in objects that no API server has processed.
        kubernetes: the version of the cluster (`v1.28.3`) by `kubectl version` or most kubelets; "" if unknown.
        config: the uploaded KubeSchedulerConfiguration as YAML; "" if there is none.
        time: the virtual-time part of a Scenario document (its spec without objects); {} for a snapshot.
        name, description: from a Scenario document, else "".
        run: the run of a run file, whose scenario is the rest of the upload; else None.
    """

    records: dict[Key, Record] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    warnings: list[Warn] = field(default_factory=list)
    outlook: list[dict[str, Any]] = field(default_factory=list)
    filled: Filled = field(default_factory=Filled)
    kubernetes: str = ""
    config: str = ""
    time: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    description: str = ""
    run: RunFile | None = None

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The objects as dicts with current apiVersion and kind; decoded at each access."""
        return [record.object() for record in self.records.values()]

    @property
    def counts(self) -> dict[str, int]:
        """kind -> number of stored objects."""
        return dict(Counter(kind for kind, _, _ in self.records))
