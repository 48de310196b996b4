"""What there is to tell of this process's sockets, for whoever measures: plain values, written by the event loop alone.

`sockets`: those that are open. `messages`: sent to sockets since the process began; `octets`: their bytes before
compression. `readings`: of the log. `refused`: sockets turned away because there were too many. `failures`: times
that the database could not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kubesched_ui.observability.metric_sources import Sample, of_this_process


class Socket(Protocol):
    """`lag`: how many events its run has that were not handed to its connection yet."""

    @property
    def lag(self) -> int: ...


sockets: set[Socket] = set()
messages = 0
octets = 0
readings = 0
refused = 0
failures = 0


def lags() -> list[int]:
    """Of each open socket, by how many events it is behind its run."""
    return [socket.lag for socket in list(sockets)]  # the event loop goes on meanwhile


def samples() -> Iterator[Sample]:
    """The same for Prometheus."""
    behind = lags()
    yield Sample("websockets", "Open websockets.", len(behind))
    yield Sample("websocket_lag_events_max", "Events of its run that the slowest has not got.", max(behind, default=0))
    yield Sample("websocket_lag_events_sum", "The same, of all open ones together.", sum(behind))
    for name, told, value in (
        ("websocket_messages", "Sent to websockets.", messages),
        ("websocket_bytes", "Sent to websockets, before compression.", octets),
        ("log_readings", "Reads of the log for websockets.", readings),
        ("websockets_refused", "Turned away because there were too many.", refused),
        ("websocket_failures", "Times that the database could not be asked for them.", failures),
    ):
        yield Sample(name, told, value, counter=True)


of_this_process.append(samples)
