"""The keys of etcd with all revisions that a database still holds.

Source: etcd, server/storage/mvcc (revision.go, kvstore.go) and api/mvccpb/kv.proto.
"""

from collections.abc import Iterator
from typing import NamedTuple

from scheduler_core.etcd.bbolt import Bolt, DamagedFile
from scheduler_core.etcd.protobuf import DamagedValue, fields

_REVISION, _DELETION = 17, 18  # bytes of a key of the bucket: with a `t` at the end, it marks a deletion
_KEY, _CREATED, _VERSION, _VALUE = 1, 2, 4, 5  # fields of mvccpb.KeyValue


class Revision(NamedTuple):
    """A revision of a key. `revision`: the resourceVersion of the object. `created`: the revision at which the key was
    created; 0 for a deletion. `value`: a part of the database, which is not copied; None for a deletion."""

    revision: int
    key: str
    created: int
    value: memoryview | None


class Keyspace:
    """The content of a database. Raises DamagedFile, as all methods do."""

    def __init__(self, data: bytes) -> None:
        self._bolt = Bolt(data)
        self._data = data
        marks = {key: data[start:end] for key, start, end in self._bolt.bucket(b"meta")}
        self.compacted = int.from_bytes(marks.get(b"finishedCompactRev", b"")[:8], "big")
        """The revision before which only the newest change of each key is left; 0 if all changes are there."""

    def changes(self) -> Iterator[Revision]:
        """Yield all changes in the order in which they were made. Call it once."""
        view = memoryview(self._data)
        for key, start, end in self._bolt.bucket(b"key"):
            if len(key) not in (_REVISION, _DELETION):
                raise DamagedFile("is a damaged database of etcd: a revision is not readable")
            revision, deleted = int.from_bytes(key[:8], "big"), len(key) == _DELETION
            try:
                held = dict(fields(view, start, end))
                name, value = held.get(_KEY, view[:0]), held.get(_VALUE, view[:0])
                if isinstance(name, int) or isinstance(value, int):
                    raise DamagedValue("holds a number where a text is expected")
                created = held.get(_CREATED, 0)
                text = str(name, errors="replace")
                yield Revision(revision, text, created if isinstance(created, int) else 0, None if deleted else value)
            except DamagedValue as problem:
                raise DamagedFile(f"is a damaged database of etcd: revision {revision:,} {problem}") from None
