"""Time as a run has it: virtual, in seconds since the run began."""

from __future__ import annotations

import datetime

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, when every run begins


class Clock:
    """`now`: seconds since the run began. Moved forward by the run alone."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, to: float) -> None:
        """Time goes on; it never goes back."""
        assert to >= self.now, f"the clock cannot go back from {self.now} to {to}"
        self.now = to

    @property
    def unix(self) -> float:
        """Seconds since 1970."""
        return EPOCH + self.now

    def timestamp(self, after: float = 0.0) -> str:
        """RFC 3339, `after` seconds from now."""
        moment = datetime.datetime.fromtimestamp(self.unix + after, datetime.UTC)
        return moment.isoformat().replace("+00:00", "Z")
