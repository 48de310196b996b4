"""Messages as frames: what a client puts together of them is the message."""

import random
import zlib

import pytest

from kubesched_ui.websockets.ws_frames import PART, frames

dice = random.Random(5)
NOISE = bytes(dice.randrange(32, 127) for _ in range(200_000))  # not to be compressed to less than a part


def put_together(made: tuple[bytes, ...]) -> tuple[bytes, bool]:
    """(payload, whether it is compressed), as RFC 6455 has it."""
    payload, compressed = b"", False
    for number, frame in enumerate(made):
        head, size, start = frame[0], frame[1], 2
        if size > 125:
            start = 4 if size == 126 else 10
            size = int.from_bytes(frame[2:start], "big")
        assert len(frame) == start + size
        assert head & 15 == (0 if number else 1)
        assert bool(head & 128) is (number == len(made) - 1)
        compressed |= bool(head & 64)
        assert not (number and head & 64)
        payload += frame[start:]
    return payload, compressed


@pytest.mark.parametrize("window", [0, 12, 15])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_frames_hold_the_message(size: int, window: int) -> None:
    text = NOISE[:size]
    made = frames(text, window)
    payload, compressed = put_together(made)
    assert compressed is bool(window)
    if window:
        payload = zlib.decompressobj(-window).decompress(payload + b"\0\0\xff\xff")
    assert payload == text
    assert max(map(len, made)) <= PART + 10


def test_events_are_much_smaller_compressed() -> None:
    text = b",".join(b'{"seq":%d,"type":"bind","data":{"node":"node-%d"}}' % (n, n % 7) for n in range(5000))
    assert sum(map(len, frames(text, 15))) * 10 < len(text)
