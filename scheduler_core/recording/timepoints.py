"""A timepoint as users give it: a cycle, a virtual second, or an event; and the cluster at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.recording.cluster_state import StateAtTimepoint, changes
from scheduler_core.recording.recording import Recording


@dataclass(frozen=True, slots=True)
class Timepoint:
    """A timepoint: before a cycle, after a second or an event; the end by default. Raises InputError for several."""

    cycle: int | None = None
    t: float | None = None
    seq: int | None = None

    def __post_init__(self) -> None:
        if [self.cycle, self.t, self.seq].count(None) < 2:
            raise InputError("moment", "", "must be one of cycle, t and seq")

    def moment(self, recording: Recording) -> int:
        """Convert to the recording's number of the timepoint. Raises InputError."""
        if self.cycle is not None:
            return recording.before_cycle(self.cycle)
        if self.t is not None:
            return recording.after_time(self.t)
        return recording.end if self.seq is None else min(self.seq, recording.end)

    def another(self, value: float) -> Timepoint:
        """Return another timepoint in the same unit; the unit is cycles if this is the end. Raises InputError."""
        if self.t is not None:
            return Timepoint(t=value)
        if not value.is_integer():
            raise InputError("since", "", f"must be a whole number, got {value:g}")
        return Timepoint(seq=int(value)) if self.seq is not None else Timepoint(cycle=int(value))


def cluster_at(recording: Recording, timepoint: Timepoint, since: float | None = None) -> dict[str, Any]:
    """Return the cluster at a timepoint, or the changes `since` another, as in docs/debugger.md. Raises InputError."""
    now = StateAtTimepoint(recording, timepoint.moment(recording))
    if since is None:
        answer = now.as_dict()
    else:
        then = timepoint.another(since)
        answer = changes(StateAtTimepoint(recording, then.moment(recording)), now)
        answer["since"] = since if then.t is not None else int(since)
    if timepoint.cycle is not None:
        answer |= {"cycle": timepoint.cycle, "t": recording.time_of_cycle(timepoint.cycle)}
    return answer | ({"t": timepoint.t} if timepoint.t is not None else {})
