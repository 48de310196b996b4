"""Readers of uploads that go wrong, run in the reading process in place of `isolated.read`."""

from __future__ import annotations

import os
from typing import Any

from kubesched_ui.scenarios import isolated


def crash(*args: Any) -> int:
    os.abort()


def hang(*args: Any) -> int:
    def forever(*_: Any) -> int:
        while True:
            pass

    return instead(forever, args)


def hog(*args: Any) -> int:
    def much(*_: Any) -> int:
        return len([bytearray(10**8) for _ in range(100)])

    return instead(much, args)


def instead(read_and_store: Any, args: Any) -> int:
    """`isolated.read` with its bounds, around something else."""
    from kubesched_ui.scenarios import making

    making.read_and_store = read_and_store
    return isolated.read(*args)
