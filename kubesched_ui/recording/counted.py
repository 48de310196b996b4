"""What there is to tell of this process's sockets, for whoever measures: plain values, written by the event loop alone.

`sockets`: those that are open. `messages`: sent to sockets since the process began; `octets`: their bytes on the wire.
`readings`: messages made from the log. `refused`: sockets turned away because there were too many. `failures`: times
that the database could not be asked.
"""

from __future__ import annotations

from typing import Protocol


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
    return [socket.lag for socket in sockets]
