"""What reading an upload gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kubesched_ui.ingest import redact
from kubesched_ui.ingest.errors import Warn
from kubesched_ui.ingest.run_file import RunFile
from scheduler_core.snapshot.defaults import Filled

Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class Record:
    """One object that is kept. `data` is its JSON."""

    kind: str
    api_version: str
    namespace: str
    name: str
    data: bytes

    def object(self) -> dict[str, Any]:
        """The object itself."""
        return msgspec.json.decode(self.data)


@dataclass
class IngestResult:
    """Everything kept of an upload and everything to be said about it.

    Attributes:
        records: the objects by kind, namespace ("" for cluster-scoped ones) and name, in the order they came.
        unknown: objects of kinds that the scheduler does not look at, `Kind.group` -> number.
        dropped: what was left out at the door, by the keys of redact.NOTES.
        warnings: remarks, at most `Limits.max_warnings` of them.
        outlook: remarks on the cluster that a run of it would make, {code, message, counts}.
        filled: what was filled in of objects that no API server had seen.
        kubernetes: the cluster's version (`v1.28.3`) as `kubectl version` or most kubelets say, "" if nobody does.
        config: the KubeSchedulerConfiguration that came along, as YAML; "" if none did.
        time: what a Scenario document says about time (its spec without objects), {} for a snapshot.
        name, description: as a Scenario document gives them, else "".
        run: the run that a run file asks for, its scenario being all the rest; else None.
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
        """The objects as dicts, apiVersion and kind current; made anew at each call."""
        return list(self.iter_objects())

    def iter_objects(self) -> Iterator[dict[str, Any]]:
        """The same one by one, for clusters that should not be in memory as a whole."""
        return (record.object() for record in self.records.values())

    @property
    def counts(self) -> dict[str, int]:
        """kind -> number of objects kept."""
        return dict(Counter(kind for kind, _, _ in self.records))

    @property
    def dropped_notes(self) -> list[str]:
        """What was left out at the door, one line each: `512 values of environment variables`."""
        return redact.notes(self.dropped)
