"""Shared output code of the commands."""

from collections.abc import Sequence
from typing import IO, Any

import msgspec


def print_json(value: Any, out: IO[str]) -> None:
    """Write a value as one line of JSON."""
    print(msgspec.json.encode(value).decode(), file=out, flush=True)


def write_table(rows: Sequence[tuple[str, ...]], out: IO[str]) -> None:
    """Write rows with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), file=out)
