"""What is left of an upload's limits while it is being read."""

from __future__ import annotations

from collections.abc import Callable

from kubesched_ui.ingest.errors import LimitError, Where
from kubesched_ui.ingest.limits import Limits

Watch = Callable[[int, int], None]  # bytes of the upload that were read, objects in them


class Budget:
    """Counts what was read against the limits; every `take_*` raises LimitError naming limit and place."""

    def __init__(self, limits: Limits, watch: Watch | None = None) -> None:
        self.limits = limits
        self.watch = watch
        self.bytes = 0  # of the uploaded files, and how far they have been read
        self.done = 0
        self.texts = 0  # bytes of texts taken from archives
        self.unpacked = 0  # bytes of all that was unpacked, what is passed over too
        self.members = 0
        self.objects = 0
        self.kinds = {"Node": 0, "Pod": 0}
        self._before = 0  # bytes of the files before this one

    def take_file(self, n: int, where: Where) -> None:
        """A file of `n` bytes was uploaded."""
        self._before = self.bytes
        self.bytes += n
        if self.bytes > self.limits.max_bytes:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_bytes)}")

    def at(self, position: int) -> None:
        """The present file was read up to `position`."""
        if self.watch is not None and self._before + position > self.done:
            self.done = self._before + position
            self.watch(self.done, self.objects)

    def take_text(self, n: int, where: Where) -> None:
        """`n` bytes more of text were read, of a file or of an archive's member."""
        self.texts += n
        if self.texts > self.limits.max_text:
            raise LimitError(where, f"the upload holds more than {size(self.limits.max_text)} of text (unpacked)")

    def take_unpacked(self, n: int, where: Where) -> None:
        """`n` bytes more were unpacked, to be read or passed over."""
        self.unpacked += n
        if self.unpacked > self.limits.max_unpacked:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_unpacked)} (unpacked)")

    def take_member(self, where: Where) -> None:
        """One more file of an archive was looked at."""
        self.members += 1
        if self.members > self.limits.max_members:
            raise LimitError(where, f"the archive holds more than {self.limits.max_members:,} files")

    def take_object(self, where: Where) -> None:
        """One more object was seen, of whatever kind."""
        self.objects += 1
        if self.objects > self.limits.max_objects:
            raise LimitError(where, f"the upload holds more than {self.limits.max_objects:,} objects")

    def take_kind(self, kind: str, where: Where) -> None:
        """One more object of this kind is kept."""
        if kind in self.kinds:
            self.kinds[kind] += 1
            most = self.limits.max_nodes if kind == "Node" else self.limits.max_pods
            if self.kinds[kind] > most:
                raise LimitError(where, f"the upload holds more than {most:,} {kind.lower()}s")


def size(n: int) -> str:
    """A number of bytes as people read it."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1024:
            return f"{n:,.4g} {unit}"
        n = n // 1024 if n % 1024 == 0 else n / 1024  # type: ignore[assignment]
    return f"{n:,.4g} GB"
