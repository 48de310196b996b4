"""Metrics of this process's websockets. They are plain values that only the event loop writes.

`sockets`: open sockets. `messages`: messages sent since the process began; `octets`: their bytes before compression.
`readings`: reads of the log. `refused`: sockets rejected because there were too many. `failures`: failed database
queries.
"""

from collections.abc import Iterator
from typing import Protocol

from kubesched_ui.observability.metric_sources import Sample, of_this_process


class Socket(Protocol):
    """An open socket. `lag`: number of its run's events not yet handed to its connection."""

    @property
    def lag(self) -> int: ...


sockets: set[Socket] = set()
messages = 0
octets = 0
readings = 0
refused = 0
failures = 0


def lags() -> list[int]:
    """Return for each open socket how many events it is behind its run."""
    return [socket.lag for socket in list(sockets)]  # a copy, since the event loop keeps running


def samples() -> Iterator[Sample]:
    """Yield the metrics for Prometheus."""
    behind = lags()
    yield Sample("websockets", "Open websockets.", len(behind))
    most = "Events that the slowest websocket has not received yet."
    yield Sample("websocket_lag_events_max", most, max(behind, default=0))
    total = "Events that all open websockets together have not received yet."
    yield Sample("websocket_lag_events_sum", total, sum(behind))
    for name, about, value in (
        ("websocket_messages", "Messages sent to websockets.", messages),
        ("websocket_bytes", "Bytes sent to websockets, before compression.", octets),
        ("log_readings", "Database reads of event logs for websockets.", readings),
        ("websockets_refused", "Websockets rejected because of the limit.", refused),
        ("websocket_failures", "Failed database reads for websockets.", failures),
    ):
        yield Sample(name, about, value, counter=True)


of_this_process.append(samples)
