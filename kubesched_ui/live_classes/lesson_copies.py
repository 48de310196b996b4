"""Copies of written lessons for live classes. A class keeps the lesson and the scenario that it began with.

Users write these lessons, so a worker process computes what a class shows of them (offload/pools.py); this process
caches the results.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import connections

from kubesched_ui.lessons import parser
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.models import GONE, LessonCopy, LiveClass, Rejected
from kubesched_ui.offload.pool import OffloadError, Ticket
from kubesched_ui.offload.pools import get_pool
from scheduler_core.errors import InputError

CACHE_SIZE = 40  # lessons; in a worker also their runs
Wanted = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of a lesson, and its other arguments

logger = logging.getLogger(__name__)

_waits: ContextVar[bool] = ContextVar("waits", default=True)
_pending: set[int] = set()
_lock = threading.Lock()


class NotReady(Rejected):
    """The worker has not computed a result, or is busy."""

    def __init__(self, message: str = "This lesson is loading. Reload the page in a few seconds.") -> None:
        super().__init__(message, 503)


class CopiedLesson(Lesson):
    """The lesson of a live class. `place`: primary key and code of the class."""

    def __init__(self, file: parser.LessonFile, place: tuple[int, str]) -> None:
        super().__init__(file)
        self.place = place


def copied(live_class: LiveClass) -> CopiedLesson:
    """Return the copy of a class, without its runs. Raises LessonError, Rejected."""
    return _copied(live_class.pk, live_class.code)


@lru_cache(CACHE_SIZE)
def _copied(live_class: int, code: str) -> CopiedLesson:
    text = LessonCopy.objects.filter(live_class=live_class).values_list("text", flat=True).first()
    if text is None:
        raise Rejected(GONE, 404)
    return CopiedLesson(parser.parsed("lesson", text.encode()), (live_class, code))


def computed(lesson: CopiedLesson, wanted: Sequence[Wanted]) -> list[Any]:
    """Return the results of functions of a lesson. Raises Rejected."""
    if not settings.OFFLOAD:
        return compute(*lesson.place, wanted)
    ticket = Ticket(f"class {lesson.place[0]}", f"class {lesson.place[0]}")
    try:
        found: list[Any] = get_pool("lessons").run(compute, *lesson.place, wanted, ticket=ticket)
    except OffloadError as problem:
        raise NotReady(str(problem)) from None
    return found


def compute(live_class: int, code: str, wanted: Sequence[Wanted]) -> list[Any]:
    """Compute these results in this process. Raises Rejected."""
    try:
        lesson = _copied(live_class, code)
        return [function(lesson, *args) for function, args in wanted]
    except (LessonError, Unknown, InputError) as problem:
        raise Rejected(f"The lesson has a problem: {problem}") from None


@contextmanager
def without_waiting() -> Iterator[None]:
    """Let `compute_later` not wait inside the `with`: one lesson must not delay the sockets of other classes."""
    token = _waits.set(False)
    try:
        yield
    finally:
        _waits.reset(token)


def compute_later(lesson: CopiedLesson, compute_now: Callable[[], Any]) -> None:
    """If this thread must not wait for a worker, compute the result in another thread, notify the class when it is
    there, and raise NotReady."""
    if _waits.get() or not settings.OFFLOAD:
        return
    live_class = lesson.place[0]
    with _lock:
        if live_class not in _pending:
            _pending.add(live_class)
            compute_in_thread(live_class, compute_now)
    raise NotReady


def compute_in_thread(live_class: int, compute_now: Callable[[], Any]) -> None:
    """Start `run_now` in a thread."""

    def run() -> None:
        try:
            run_now(live_class, compute_now)
        finally:
            connections.close_all()

    threading.Thread(target=run, name="live-class-lesson", daemon=True).start()


def run_now(live_class: int, compute_now: Callable[[], Any]) -> None:
    """Compute a result and notify the class. If it fails, the sockets request it again."""
    try:
        compute_now()
    except Rejected as problem:
        logger.warning("Live class %s: %s", live_class, problem)
        return
    finally:
        with _lock:
            _pending.discard(live_class)
    publisher.publish(live_class)
