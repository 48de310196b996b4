"""What is left of an upload's limits while it is being read."""

from __future__ import annotations

from kubesched_ui.ingest.errors import LimitError, Where
from kubesched_ui.ingest.limits import Limits


class Budget:
    """Counts what was read against the limits; every `take_*` raises LimitError naming limit and place."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.bytes = 0
        self.members = 0
        self.objects = 0
        self.kinds = {"Node": 0, "Pod": 0}

    def take_bytes(self, n: int, where: Where) -> None:
        """`n` bytes more were uploaded or unpacked."""
        self.bytes += n
        if self.bytes > self.limits.max_bytes:
            raise LimitError(where, f"the upload is larger than {size(self.limits.max_bytes)} (unpacked)")

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
