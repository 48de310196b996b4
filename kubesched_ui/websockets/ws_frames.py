"""Messages as websocket frames: put together and compressed once, then sent to any number of sockets.

RFC 6455 and, for compression, RFC 7692 without context takeover, so that the same bytes do for every socket with the
same window. A long message is cut: pings get through between its parts, and only a part waits for a slow reader.
"""

from __future__ import annotations

import zlib

PART = 64 * 1024
LEVEL = 6  # a fifth smaller than level 1; once for all sockets
TEXT, CONTINUATION = 1, 0
FINAL, DEFLATED = 0x80, 0x40


def frames(text: bytes, window_bits: int) -> tuple[bytes, ...]:
    """A text message as a server sends it, in one frame or several.

    `window_bits`: of permessage-deflate, 9 to 15; 0 where that was not agreed on.
    """
    payload = deflate(text, window_bits) if window_bits else text
    parts = [payload[start : start + PART] for start in range(0, len(payload), PART)] or [b""]
    made = []
    for number, part in enumerate(parts):
        head = CONTINUATION if number else TEXT | (DEFLATED if window_bits else 0)
        head |= FINAL if number == len(parts) - 1 else 0
        made.append(bytes([head]) + length(len(part)) + part)
    return tuple(made)


def deflate(text: bytes, window_bits: int) -> bytes:
    """The payload of a compressed message (RFC 7692, 7.2.1)."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -window_bits)
    return (packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def length(size: int) -> bytes:
    """A payload's length as a frame says it; what servers send is not masked."""
    if size < 126:
        return bytes([size])
    if size < 1 << 16:
        return b"\x7e" + size.to_bytes(2, "big")
    return b"\x7f" + size.to_bytes(8, "big")
