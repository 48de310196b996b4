"""Watch a run with many viewers in one process: real websockets; each distinct message is parsed once.

    python -m benchmarks watchers ws://127.0.0.1:8000/ws/runs/1?since=0 1000

Event numbers of the log (/ws/runs/{id}) and cycle numbers of the decisions (/ws/runs/{id}/decisions) must be
consecutive, in and between messages. Event numbers of the progress (/ws/runs/{id}/progress) must not decrease. The row
comes when all sockets are closed. --plain: do not ask for compression. --gaps: the address has pod=.
"""

import base64
import json
import os
import selectors
import socket
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

HELLO = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)
DEFLATE = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
AT_ONCE = 64  # simultaneous handshakes
PATIENCE_S = 600.0


@dataclass(frozen=True)
class MessageFields:
    """Content of a message: first and last event number; `whole`: they follow each other; `error`, if any."""

    first: int
    last: int
    whole: bool
    error: str = ""


@dataclass(eq=False)
class Viewer:
    """One socket. `code`: its close code, 0 if the connection broke."""

    since: int
    connection: socket.socket
    data: bytearray = field(default_factory=bytearray)
    parts: list[bytes] = field(default_factory=list)
    open: bool = False
    deflated: bool = False
    began: float = field(default_factory=time.perf_counter)
    first_s: float | None = None
    over_s: float = 0.0
    seen: int = 0
    code: int | None = None
    wrong: str = ""


@dataclass
class Crowd:
    """All viewers. `gaps`: `pod=` leaves out events, so numbers need only rise."""

    host: str
    port: int
    path: str
    since: int = 0
    deflate: bool = True
    gaps: bool = False
    known: dict[tuple[bool, bytes], MessageFields] = field(default_factory=dict)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    viewers: list[Viewer] = field(default_factory=list)
    messages: int = 0
    octets: int = 0

    def join(self) -> None:
        """Add a viewer."""
        connection = socket.create_connection((self.host, self.port), timeout=30)
        viewer = Viewer(self.since, connection, seen=self.since)
        key = base64.b64encode(os.urandom(16)).decode()
        more = DEFLATE if self.deflate else ""
        hello = HELLO.format(path=self.path, host=f"{self.host}:{self.port}", key=key, more=more)
        connection.sendall(hello.encode())
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ, viewer)
        self.viewers.append(viewer)

    def watch(self, number: int, seconds: float = PATIENCE_S) -> None:
        """Watch until all sockets are closed, or the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shaking = sum(1 for viewer in self.viewers[-4 * AT_ONCE :] if not viewer.open and viewer.code is None)
            for _ in range(min(number - len(self.viewers), AT_ONCE - shaking)):
                self.join()
            if len(self.viewers) == number and not self.selector.get_map():
                return
            for key, _ in self.selector.select(0.05):
                self.read(key.data)

    def read(self, viewer: Viewer) -> None:
        """Read the available bytes of one socket."""
        try:
            data = viewer.connection.recv(262_144)
        except OSError:
            data = b""
        if not data:
            self.leave(viewer, viewer.code or 0)
            return
        self.octets += len(data)
        viewer.data += data
        if not viewer.open:
            head, found, rest = bytes(viewer.data).partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head.split(b"\r\n", 1)[0]:
                viewer.wrong = head.split(b"\r\n", 1)[0].decode()
                self.leave(viewer, 0)
                return
            viewer.open, viewer.deflated, viewer.data = True, b"permessage-deflate" in head, bytearray(rest)
        while viewer.code is None and (taken := frame(viewer.data)):
            self.take(viewer, *taken)

    def take(self, viewer: Viewer, head: int, payload: bytes) -> None:
        """Handle one websocket frame: a part of a message, a ping, the end."""
        opcode = head & 15
        if opcode == 9:
            viewer.connection.send(masked(10, payload))
        elif opcode == 8:
            viewer.code = int.from_bytes(payload[:2], "big")
            viewer.over_s = time.perf_counter() - viewer.began
            viewer.connection.send(masked(8, payload[:2]))
        elif opcode in (0, 1):
            viewer.deflated = bool(head & 64) if opcode else viewer.deflated
            viewer.parts.append(payload)
            if head & 128:
                whole, viewer.parts = b"".join(viewer.parts), []
                self.receive(viewer, whole)

    def receive(self, viewer: Viewer, payload: bytes) -> None:
        """Handle one message."""
        self.messages += 1
        if (content := self.known.get((viewer.deflated, payload))) is None:
            content = self.known[viewer.deflated, payload] = content_of(payload, viewer.deflated, self.gaps)
        if viewer.first_s is None:
            viewer.first_s = time.perf_counter() - viewer.began
        if "/progress" in self.path:
            follows = content.first >= viewer.seen
        else:
            follows = content.first > viewer.seen if self.gaps else content.first == viewer.seen + 1
        if content.error or not content.whole or not follows:
            viewer.wrong = viewer.wrong or content.error or f"{content.first} to {content.last} after {viewer.seen}"
        viewer.seen = content.last

    def leave(self, viewer: Viewer, code: int) -> None:
        self.selector.unregister(viewer.connection)
        viewer.connection.close()
        viewer.code = code
        viewer.over_s = viewer.over_s or time.perf_counter() - viewer.began

    def report(self) -> dict[str, object]:
        """Return the figures."""
        first = sorted(viewer.first_s for viewer in self.viewers if viewer.first_s is not None)
        return {
            "viewers": len(self.viewers),
            "codes": dict(Counter(str(viewer.code) for viewer in self.viewers)),
            "wrong": dict(Counter(viewer.wrong for viewer in self.viewers if viewer.wrong).most_common(5)),
            "last_seq": dict(Counter(str(viewer.seen) for viewer in self.viewers).most_common(5)),
            "first_event_s": {"median": round(first[len(first) // 2], 3), "max": round(first[-1], 3)} if first else {},
            "slowest_s": round(max((viewer.over_s for viewer in self.viewers), default=0.0), 2),
            "messages": self.messages,
            "distinct": len(self.known),
            "mb": round(self.octets / 1e6, 1),
        }


def frame(data: bytearray) -> tuple[int, bytes] | None:
    """Return (first byte, payload) of the first complete frame, and remove it from `data`."""
    if len(data) < 2:
        return None
    size, start = data[1] & 127, 2
    if size > 125:
        start = 4 if size == 126 else 10
        size = int.from_bytes(data[2:start], "big")
    if len(data) < start + size:
        return None
    head, payload = data[0], bytes(data[start : start + size])
    del data[: start + size]
    return head, payload


def masked(opcode: int, payload: bytes) -> bytes:
    """Return a frame as clients send it, with a mask of zero."""
    return bytes([128 | opcode, 128 | len(payload), 0, 0, 0, 0]) + payload


def content_of(payload: bytes, deflated: bool, gaps: bool) -> MessageFields:
    """Parse a message."""
    text = zlib.decompressobj(-15).decompress(payload + b"\0\0\xff\xff") if deflated else payload
    message = json.loads(text)
    if "error" in message:
        return MessageFields(0, 0, True, message["error"])
    if "progress" in message:
        return MessageFields(message["progress"]["last_seq"], message["progress"]["last_seq"], True)
    if "decisions" in message:
        numbers = [decision["cycle"] for decision in message["decisions"]]
    else:
        numbers = [event["seq"] for event in message["events"]]
    first, last = numbers[0], numbers[-1]
    whole = numbers == sorted(set(numbers)) if gaps else numbers == list(range(first, last + 1))
    return MessageFields(first, last, whole)


def measure(
    url: str, number: int, plain: bool = False, gaps: bool = False, seconds: float = PATIENCE_S
) -> Iterator[dict[str, object]]:
    parts = urlsplit(url)
    since = int(next((part[6:] for part in parts.query.split("&") if part.startswith("since=")), "0"))
    path = f"{parts.path}?{parts.query}"
    crowd = Crowd(parts.hostname or "", parts.port or 80, path, since, not plain, gaps)
    crowd.watch(number, seconds)
    yield crowd.report()
