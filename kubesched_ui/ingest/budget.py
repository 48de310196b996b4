"""Counters for the limits of an upload while it is read."""

from __future__ import annotations

from collections.abc import Callable

from kubesched_ui.ingest.errors import LimitError, Where
from kubesched_ui.ingest.limits import Limits

Watch = Callable[[int, int], None]  # bytes of the upload read so far, objects in them


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
            raise LimitError(where, f"the upload holds more than {size(self.limits.max_text)} of text (unpacked)")

    def take_unpacked(self, n: int, where: Where) -> None:
        """Count `n` more unpacked bytes, whether read or skipped."""
        self.unpacked += n
        if self.unpacked > self.limits.max_unpacked:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_unpacked)} (unpacked)")

    def take_member(self, where: Where) -> None:
        """Count one more file of an archive."""
        self.members += 1
        if self.members > self.limits.max_members:
            raise LimitError(where, f"the archive holds more than {self.limits.max_members:,} files")

    def take_object(self, where: Where) -> None:
        """Count one more object of any kind."""
        self.objects += 1
        if self.objects > self.limits.max_objects:
            raise LimitError(where, f"the upload holds more than {self.limits.max_objects:,} objects")

    def take_kind(self, kind: str, where: Where) -> None:
        """Count one more kept object of this kind."""
        if kind in self.kinds:
            self.kinds[kind] += 1
            most = self.limits.max_nodes if kind == "Node" else self.limits.max_pods
            if self.kinds[kind] > most:
                raise LimitError(where, f"the upload holds more than {most:,} {kind.lower()}s")


def size(n: int) -> str:
    """Return a number of bytes as text, such as `200 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1024:
            return f"{n:,.4g} {unit}"
        n = n // 1024 if n % 1024 == 0 else n / 1024  # type: ignore[assignment]
    return f"{n:,.4g} GB"
