"""The result of reading an upload."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kubesched_ui.ingest.errors import Warn
from kubesched_ui.ingest.run_file import RunFile
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER
from scheduler_core.snapshot.defaults import Filled

Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(slots=True)
class Record:
    """One object of the upload that is stored. `data`: its JSON. `node`: of a pod; "" if it has none. `model`: the
    first pod of its template; the two differ in the values that pod_templates.py names."""

    kind: str
    api_version: str
    namespace: str
    name: str
    data: bytes
    node: str = ""
    model: Record | None = field(default=None, compare=False)

    def object(self) -> dict[str, Any]:
        """Return the object as a dict."""
        return msgspec.json.decode(self.data)

    def scheduler_name(self) -> str:
        """Return the name of the scheduler of a pod."""
        spec = _POD.decode(self.data).spec
        return (spec.scheduler_name if spec else None) or DEFAULT_SCHEDULER


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
