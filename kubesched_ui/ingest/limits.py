"""Limits of uploads, and their counters. Every limit is a setting (INGEST_MAX_BYTES, INGEST_MAX_NODES, ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from kubesched_ui.ingest.errors import LimitError, Where

MB = 1024 * 1024
Watch = Callable[[int, int], None]  # bytes of the upload read so far, objects in them


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one upload, all of its files together.

    Attributes:
        max_bytes: bytes of the uploaded files before unpacking.
        max_text: bytes of the texts that are read, unpacked.
        max_unpacked: bytes unpacked in total, including skipped files (logs).
        max_nodes, max_pods, max_objects: kept objects of kind Node, of kind Pod, of any kind.
        max_object_bytes: bytes of the JSON of one kept object; etcd accepts 1.5 MB.
        max_depth: levels of lists and maps within a document.
        max_nesting: levels of archives in archives, and of Lists in Lists.
        max_members: files in all archives together.
        max_ratio: maximum ratio of unpacked to packed bytes of an archive, checked above `ratio_from` bytes of text.
        max_alias_chars: characters and nodes that YAML aliases may add to a file.
        max_warnings: warnings that are kept; further ones are only counted.
    """

    max_bytes: int = 200 * MB
    max_text: int = 1024 * MB
    max_unpacked: int = 20 * 1024 * MB
    max_nodes: int = 10_000
    max_pods: int = 200_000
    max_objects: int = 500_000
    max_object_bytes: int = 3 * MB
    max_depth: int = 64
    max_nesting: int = 3
    max_members: int = 500_000
    max_ratio: int = 250
    ratio_from: int = 20 * MB
    max_alias_chars: int = 1_000_000
    max_warnings: int = 500

    @classmethod
    def from_settings(cls) -> Limits:
        """Return the defaults, overridden by Django settings named INGEST_ plus the upper-case field name."""
        from django.conf import settings

        given = {f.name: getattr(settings, f"INGEST_{f.name.upper()}", None) for f in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})


# Limit -> the message if it is exceeded.
_EXCEEDED = {
    "max_bytes": "the upload is larger than {}",
    "max_text": "the upload contains more than {} of text (unpacked)",
    "max_unpacked": "the upload is larger than {} (unpacked)",
    "max_members": "the archive contains more than {} files",
    "max_objects": "the upload contains more than {} objects",
    "max_nodes": "the upload contains more than {} nodes",
    "max_pods": "the upload contains more than {} pods",
}
_IN_BYTES = ("max_bytes", "max_text", "max_unpacked")


class Budget:
    """Counts what was read against the limits."""

    def __init__(self, limits: Limits, watch: Watch | None = None) -> None:
        self.limits = limits
        self.watch = watch
        self.taken = dict.fromkeys(_EXCEEDED, 0)  # limit -> what counts towards it so far
        self.done = 0  # bytes of the uploaded files that have been read
        self._before = 0  # bytes of the previous files

    def take(self, limit: str, where: Where, n: int = 1) -> None:
        """Count `n` more towards the limit. Raises LimitError with the limit and the position if it is exceeded."""
        self.taken[limit] += n
        most = getattr(self.limits, limit)
        if self.taken[limit] > most:
            raise LimitError(where, _EXCEEDED[limit].format(size(most) if limit in _IN_BYTES else f"{most:,}"))

    def take_file(self, n: int, where: Where) -> None:
        """Count an uploaded file of `n` bytes."""
        self._before = self.taken["max_bytes"]
        self.take("max_bytes", where, n)

    def at(self, position: int) -> None:
        """Report that the current file has been read up to `position`."""
        if self.watch is not None and self._before + position > self.done:
            self.done = self._before + position
            self.watch(self.done, self.taken["max_objects"])


def size(n: int) -> str:
    """Return a number of bytes as text, such as `200 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1024:
            return f"{n:,.4g} {unit}"
        n = n // 1024 if n % 1024 == 0 else n / 1024  # type: ignore[assignment]
    return f"{n:,.4g} GB"
