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


class Budget:
    """Counts what was read against the limits. Every `take_*` raises LimitError with the limit and the position."""

    def __init__(self, limits: Limits, watch: Watch | None = None) -> None:
        self.limits = limits
        self.watch = watch
        self.bytes = 0  # bytes of the uploaded files; `done`: bytes of them that have been read
        self.done = 0
        self.texts = 0  # bytes of text taken from archives
        self.unpacked = 0  # bytes unpacked, including skipped files
        self.members = 0
        self.objects = 0
        self.kinds = {"Node": 0, "Pod": 0}
        self._before = 0  # bytes of the previous files

    def take_file(self, n: int, where: Where) -> None:
        """Count an uploaded file of `n` bytes."""
        self._before = self.bytes
        self.bytes += n
        if self.bytes > self.limits.max_bytes:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_bytes)}")

    def at(self, position: int) -> None:
        """Report that the current file has been read up to `position`."""
        if self.watch is not None and self._before + position > self.done:
            self.done = self._before + position
            self.watch(self.done, self.objects)

    def take_text(self, n: int, where: Where) -> None:
        """Count `n` more bytes of text of a file or an archive member."""
        self.texts += n
        if self.texts > self.limits.max_text:
            raise LimitError(where, f"the upload contains more than {size(self.limits.max_text)} of text (unpacked)")

    def take_unpacked(self, n: int, where: Where) -> None:
        """Count `n` more unpacked bytes, whether read or skipped."""
        self.unpacked += n
        if self.unpacked > self.limits.max_unpacked:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_unpacked)} (unpacked)")

    def take_member(self, where: Where) -> None:
        """Count one more file of an archive."""
        self.members += 1
        if self.members > self.limits.max_members:
            raise LimitError(where, f"the archive contains more than {self.limits.max_members:,} files")

    def take_object(self, where: Where) -> None:
        """Count one more object of any kind."""
        self.objects += 1
        if self.objects > self.limits.max_objects:
            raise LimitError(where, f"the upload contains more than {self.limits.max_objects:,} objects")

    def take_kind(self, kind: str, where: Where) -> None:
        """Count one more kept object of this kind."""
        if kind in self.kinds:
            self.kinds[kind] += 1
            most = self.limits.max_nodes if kind == "Node" else self.limits.max_pods
            if self.kinds[kind] > most:
                raise LimitError(where, f"the upload contains more than {most:,} {kind.lower()}s")


def size(n: int) -> str:
    """Return a number of bytes as text, such as `200 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1024:
            return f"{n:,.4g} {unit}"
        n = n // 1024 if n % 1024 == 0 else n / 1024  # type: ignore[assignment]
    return f"{n:,.4g} GB"
