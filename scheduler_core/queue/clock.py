"""Virtual clock of a run, in seconds since its start."""

import datetime

EPOCH = 1767225600.0  # 2026-01-01T00:00:00Z, the start of every run


class Clock:
    """Virtual clock. `now`: seconds since the start of the run. Only the run advances it."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, to: float) -> None:
        """Set the clock to a later (or the same) second."""
        assert to >= self.now, f"the clock cannot go back from {self.now} to {to}"
        self.now = to

    @property
    def unix(self) -> float:
        """Seconds since 1970."""
        return EPOCH + self.now

    def timestamp(self, after: float = 0.0) -> str:
        """Return the time `after` seconds from now, in RFC 3339 format."""
        moment = datetime.datetime.fromtimestamp(self.unix + after, datetime.UTC)
        return moment.isoformat().replace("+00:00", "Z")
