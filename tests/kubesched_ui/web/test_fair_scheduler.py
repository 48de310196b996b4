"""Waiting sockets are served in small groups."""

import asyncio
from typing import Any

import pytest

from kubesched_ui.web.fair_scheduler import AT_ONCE, FairScheduler


@pytest.mark.asyncio
async def test_other_tasks_run_between_the_groups() -> None:
    turns, loop = FairScheduler(), asyncio.get_running_loop()
    waiting: list[asyncio.Future[Any]] = [loop.create_future() for _ in range(3 * AT_ONCE)]
    served: list[int] = []
    turns.call(waiting)

    def look() -> None:
        served.append(sum(future.done() for future in waiting))
        if served[-1] < len(waiting):
            loop.call_soon(look)

    look()
    await asyncio.gather(*waiting)
    assert served[:3] == [0, AT_ONCE, 2 * AT_ONCE]
