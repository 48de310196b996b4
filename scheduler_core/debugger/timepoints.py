"""The moment that a person means: a cycle, a virtual second, or an event; and the cluster then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler_core.debugger.cluster_state import State, changes
from scheduler_core.debugger.recording import Recording
from scheduler_core.errors import InputError


@dataclass(frozen=True, slots=True)
class Asked:
    """Before a cycle, after a second, or after an event; the end without any of them. Raises InputError for more than
    one."""

    cycle: int | None = None
    t: float | None = None
    seq: int | None = None

    def __post_init__(self) -> None:
        if [self.cycle, self.t, self.seq].count(None) < 2:
            raise InputError("moment", "", "must be one of cycle, t and seq")

    def moment(self, recording: Recording) -> int:
        """As the recording counts. Raises InputError."""
        if self.cycle is not None:
            return recording.before_cycle(self.cycle)
        if self.t is not None:
            return recording.after_time(self.t)
        return recording.end if self.seq is None else min(self.seq, recording.end)

    def another(self, value: float) -> Asked:
        """Another moment, in the same unit; cycles if there is none. Raises InputError."""
        if self.t is not None:
            return Asked(t=value)
        if not value.is_integer():
            raise InputError("since", "", f"must be a whole number, got {value:g}")
        return Asked(seq=int(value)) if self.seq is not None else Asked(cycle=int(value))


def tell(recording: Recording, asked: Asked, since: float | None = None) -> dict[str, Any]:
    """The cluster at a moment, or what changed `since` another, as docs/debugger.md has it. Raises InputError."""
    now = State(recording, asked.moment(recording))
    if since is None:
        answer = now.as_dict()
    else:
        then = asked.another(since)
        answer = changes(State(recording, then.moment(recording)), now)
        answer["since"] = since if then.t is not None else int(since)
    if asked.cycle is not None:
        answer |= {"cycle": asked.cycle, "t": recording.time_of_cycle(asked.cycle)}
    return answer | ({"t": asked.t} if asked.t is not None else {})
