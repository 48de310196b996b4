"""What a screenshot shows: where a colour is."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]


def decoded(png: bytes) -> Image:
    """The pixels of a PNG with 8 bits a channel, (height, width, channels)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, data = 8, b""
    width = height = channels = 0
    while place < len(png):
        size, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
        place += size + 12
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, width * channels + 1)
    rows = np.zeros((height, width * channels), np.uint8)
    before = np.zeros(width * channels, np.uint8)
    for number, line in enumerate(lines):
        before = rows[number] = _unfiltered(int(line[0]), line[1:], before, channels)
    return rows.reshape(height, width, channels)


def _unfiltered(kind: int, line: npt.NDArray[np.uint8], above: npt.NDArray[np.uint8], step: int) -> Image:
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    row = line.astype(np.int64)
    for i in range(len(row)):
        left = int(row[i - step]) if i >= step else 0
        up, corner = int(above[i]), int(above[i - step]) if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            estimate = left + up - corner
            guess = min((left, up, corner), key=lambda value: abs(estimate - value))
        row[i] = (row[i] + guess) % 256
    return row.astype(np.uint8)


def middle_of(image: Image, colour: tuple[int, int, int]) -> float:
    """The middle of the columns in which the colour is, in pixels from the left edge."""
    columns = np.flatnonzero((np.abs(image[:, :, :3].astype(int) - colour).max(axis=2) <= 2).any(axis=0))
    assert len(columns), "the colour is nowhere"
    return float(columns[0] + columns[-1] + 1) / 2
