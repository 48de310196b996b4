"""An event loop with a virtual clock: when nothing is ready, the clock jumps to the next timer.

Sockets are real, so that a client and a server in one loop live through hours in milliseconds.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

_T = TypeVar("_T")
START = 1_790_000_000.0  # Unix seconds at which the clock begins
LONG = 0.5  # seconds; before the clock jumps further, what was written to a socket gets real time to arrive
GRACE = 0.0005


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        events = super().select(0) or (timeout > LONG and super().select(GRACE))
        if not events:
            self.loop.now += max(timeout, 0.0)
        return events or []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`now`: seconds of the virtual clock."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.now = START
        super().__init__(selector)
        self._clock_resolution = 1e-6  # a timer of now is due, in spite of rounding

    def time(self) -> float:
        return self.now


def run_virtual(main: Coroutine[Any, Any, _T], monkeypatch: pytest.MonkeyPatch) -> _T:
    """Run a coroutine with a virtual clock, which the transport and the test API server use as well."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        clock = SimpleNamespace(time=loop.time, monotonic=loop.time)
        for module in ("tests.api_server.server", "scheduler_core.live.aiohttp_transport"):
            monkeypatch.setattr(f"{module}.time", clock)
        return runner.run(main)
