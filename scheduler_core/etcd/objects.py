"""The objects of a cluster in a database of etcd: a snapshot, or the file of a member."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import DamagedFile
from scheduler_core.etcd.keyspace import Keyspace
from scheduler_core.etcd.protobuf import PREFIX, DamagedValue, ProtobufDecoder

_ENCRYPTED = b"k8s:enc:"
_PRIVATE = {"secrets", "configmaps"}  # never decoded


class _KindOnly(msgspec.Struct):
    kind: str = ""


class ValueReader:
    """Decodes stored values. `notes`: what was left out, as sentences without the name of the file."""

    def __init__(self) -> None:
        self._decoder = ProtobufDecoder()
        self._encrypted: Counter[str] = Counter()
        self._broken: list[str] = []

    def object(self, key: str, stored: memoryview, revision: int) -> dict[str, Any] | None:
        """Return the object of a key as kubectl prints it; None if it is of no kind that is read, or not readable."""
        if _PRIVATE.intersection(key.split("/")):
            return None
        value = bytes(stored)
        if value.startswith(_ENCRYPTED):
            self._encrypted[key.split("/")[2] if key.count("/") > 1 else key] += 1
            return None
        try:
            if value.startswith(PREFIX):
                found = self._decoder.decode(value)
            else:
                found = _json(value)
        except DamagedValue as problem:
            self._broken.append(f"{key} {problem}")
            return None
        if found is not None:
            metadata = found.get("metadata")
            found["metadata"] = (metadata if isinstance(metadata, dict) else {}) | {"resourceVersion": str(revision)}
        return found

    @property
    def notes(self) -> list[str]:
        """What was left out, as sentences."""
        found = [f"{text}, and was left out" for text in self._broken[:20]]
        if len(self._broken) > 20:
            found.append(f"{len(self._broken) - 20:,} more objects are not readable, and were left out")
        found += [f"{n:,} encrypted {resource} were left out" for resource, n in sorted(self._encrypted.items())]
        if self._decoder.unknown:
            names = ", ".join(sorted(self._decoder.unknown))
            found.append(f"fields that are newer than Kubernetes 1.37 were left out: {names}")
        return found


def _json(value: bytes) -> dict[str, Any] | None:
    """Return an object that is stored as JSON, as custom resources are; None for other values and private kinds."""
    if value[:1] != b"{":
        return None
    try:
        if msgspec.json.decode(value, type=_KindOnly).kind in ("", "Secret", "ConfigMap"):
            return None
        found: dict[str, Any] = msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DamagedValue("is not valid JSON") from None
    return found


def objects(data: bytes, path: str, notes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a database in the order of their keys. `notes` takes what was left out. Secrets and
    ConfigMaps are not decoded. Raises InputError with the path."""
    reader = ValueReader()
    try:
        newest = {change.key: change for change in Keyspace(data).changes()}
    except DamagedFile as problem:
        raise InputError(path, "", str(problem)) from None
    for key in sorted(newest):
        change = newest[key]
        if change.value is not None and (found := reader.object(key, change.value, change.revision)) is not None:
            yield found
    notes += reader.notes
