"""What is read for all sockets: kept up to a bound, packed once for each kind of reader, handed out in turns."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kubesched_ui.models import Run
from kubesched_ui.runtime.fair_scheduler import AT_ONCE, Turns
from kubesched_ui.websockets import message_cache, socket_metrics
from tests.kubesched_ui.websockets.viewing import LAST, written

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.asyncio,
    pytest.mark.usefixtures("forgetful_layer"),
]


async def to_the_end(here: message_cache.Feed, run: Run) -> list[int]:
    """The seqs that a reader gets who begins now."""
    since, got = 0, []
    while since < LAST:
        message = await here.after((run.pk, "", since), None, LAST, ())
        got += [event["seq"] for frame in message.frames for event in json.loads(frame)["events"]]
        since = message.last
    return got


async def test_who_fell_behind_what_is_kept_reads_for_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_cache, "KEPT_BYTES", 8000)  # four messages
    run, here = await written(), message_cache.Feed(Turns())
    assert await to_the_end(here, run) == list(range(1, LAST + 1))
    assert 0 < here.size == sum(message.size for message in here.kept.values()) <= 8000
    assert (run.pk, "", 0) not in {place for place, _ in here.kept}
    before = socket_metrics.readings
    assert await to_the_end(here, run) == list(range(1, LAST + 1))
    assert socket_metrics.readings > before
    assert here.size <= 8000


async def test_a_message_is_read_once_and_packed_once_for_all_who_take_it_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed: list[int] = []
    pack = message_cache.frames

    def counting(text: bytes, window: int) -> tuple[bytes, ...]:
        packed.append(window)
        return pack(text, window)

    monkeypatch.setattr(message_cache, "frames", counting)
    run, here, before = await written(), message_cache.Feed(Turns()), socket_metrics.readings
    place, windows = (run.pk, "", 0), [15] * 10 + [12] * 5
    got = await asyncio.gather(*(here.after(place, window, LAST, {12, 15}) for window in windows))
    got += [await here.after(place, window, LAST, {12, 15}) for window in windows]  # and who comes later
    assert (socket_metrics.readings - before, sorted(packed)) == (1, [12, 15])
    assert len({id(message.frames[0]) for message in got}) == 2


async def test_others_get_through_between_the_turns_of_many() -> None:
    turns, loop = Turns(), asyncio.get_running_loop()
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
