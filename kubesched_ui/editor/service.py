"""What is asked of a text: answered here where it is small, else by a process beside this one, bounded in memory and
time. Of the texts of one page the newest counts: who typed on waits for none that came before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from django.conf import settings

from kubesched_ui.beside.pool import NoAnswer, Pool, Process
from kubesched_ui.editor.analysis import reading
from kubesched_ui.editor.apply_edits import changed
from kubesched_ui.editor.limits import MAX_BYTES, SMALL
from scheduler_core.errors import InputError

LOOK_SECONDS = 0.2  # between two looks whether a newer text came
WAIT_SECONDS = 20.0  # for others' texts before one's own
STOPPED_AFTER = 1.0  # seconds that one which nobody waits for any more may take: about what a process needs to start

TEXTS = Pool("kubesched_ui.editor.worker", "COMPOSE_MAX_MEMORY")


class Outdated(Exception):
    """A newer text of the same page came."""


class _Turn:
    """A text of a page on its way. `process`: which reads it, since `since`."""

    def __init__(self) -> None:
        self.outdated = False
        self.process: Process | None = None
        self.since = 0.0

    def end(self) -> None:
        """A newer one came. What will be over soon is not stopped. To be called with the lock."""
        self.outdated = True
        if self.process is not None:
            rest = self.since + STOPPED_AFTER - time.monotonic()
            timer = threading.Timer(max(0.0, rest), self._stop)
            timer.daemon = True
            timer.start()

    def _stop(self) -> None:
        with _lock:
            if self.process is not None:
                self.process.stop()


_turns: dict[str, _Turn] = {}
_lock = threading.Lock()


def read(text: str, page: str = "") -> bytes:
    """What `reading` tells, as JSON. `page`: any word of the page that asks. Raises InputError for a text that is too
    large or takes too much, Outdated, and NoAnswer where too many ask."""
    with _turn(page) as turn:
        if _is_small(text):
            return msgspec.json.encode(reading(text))
        return _beside({"text": text}, turn)


def change(text: str, changes: Any) -> bytes:
    """What `changed` tells, as JSON. Raises as `read`, and what `changed` raises."""
    if _is_small(text):
        return msgspec.json.encode(changed(text, changes))
    return _beside({"text": text, "changes": changes}, _Turn())


def _is_small(text: str) -> bool:
    """Whether it is read here; aliases may make much of little. Raises InputError for one that is too large."""
    if len(text) > MAX_BYTES:
        raise InputError("the text", "", f"is larger than {MAX_BYTES:,} bytes, the most that the composer takes")
    return (len(text) <= SMALL and "*" not in text) or not settings.BESIDE


@contextmanager
def _turn(page: str) -> Iterator[_Turn]:
    """The newest one of a page; the one before is outdated."""
    if not page:
        yield _Turn()
        return
    turn = _Turn()
    with _lock:
        if page in _turns:
            _turns[page].end()
        _turns[page] = turn
    try:
        yield turn
    finally:
        with _lock:
            if _turns.get(page) is turn:
                del _turns[page]


def _beside(question: dict[str, Any], turn: _Turn) -> bytes:
    try:
        asked = msgspec.msgpack.encode(question)
    except UnicodeError:
        raise InputError("the text", "", "holds half of a character, which is no Unicode") from None
    process = _free(turn)
    try:
        reply = _sent(process, asked, turn)
    finally:
        with _lock:
            turn.process = None
        TEXTS.give(process)
    body: bytes = reply["body"]
    if reply["status"] == 400:
        raise InputError("", "", msgspec.json.decode(body))
    if reply["status"] != 200:
        raise RuntimeError("a text could not be read; the log of the process that reads them says why")
    return body


def _free(turn: _Turn) -> Process:
    """A process for it. Raises Outdated, and NoAnswer where all of them are busy with others' texts."""
    end = time.monotonic() + WAIT_SECONDS
    while not turn.outdated:
        try:
            process = TEXTS.take("a text", LOOK_SECONDS)
        except NoAnswer:
            if time.monotonic() > end:
                raise
            continue
        with _lock:
            if not turn.outdated:
                turn.process, turn.since = process, time.monotonic()
                return process
        TEXTS.give(process)
    raise Outdated


def _sent(process: Process, asked: bytes, turn: _Turn) -> dict[str, Any]:
    seconds = settings.COMPOSE_MAX_SECONDS
    begun = time.monotonic()
    try:
        return process.send(asked, seconds)
    except NoAnswer:
        if turn.outdated:
            raise Outdated from None
        took = time.monotonic() - begun >= seconds
        why = f"takes longer than {seconds} s" if took else f"takes more than {process.most >> 20:,} MB of memory"
        raise InputError("the text", "", f"{why} to read and was stopped; take something out of it") from None
    except BaseException:
        process.end()
        raise
