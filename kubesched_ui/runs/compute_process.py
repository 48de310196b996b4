"""A second process that computes a run, so that its worker writes on another core meanwhile.

The worker reads what the run needs. The child loads the run from that, computes it, and sends what it yields through a
pipe; it has no connection to the database or broker (SQLite's would not survive the fork). The worker holds the run,
writes, and reacts to cancelling and time limits. It stays small, and most memory pages that the child changes are its
own, which need no copy. If the worker dies, the pipe closes and the child ends with its next batch.
"""

import gc
import logging
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import BinaryIO, NoReturn, TypeVar

from django.db import connection

from scheduler_core.errors import InputError
from scheduler_core.garbage_collection import freeze_objects, unfreeze_objects

logger = logging.getLogger(__name__)

PIPE_BYTES = 1 << 20  # how far the child may be ahead, besides the batch that it makes
YOUNG_OBJECTS = 20_000  # allocated before they are searched for cycles; a run makes few cycles
_SIZE = 8
_ITEM, _ERROR, _END = b"i", b"e", b"."

_T = TypeVar("_T")


class ComputingLost(Exception):
    """Raised if the process that computes was killed."""


def available() -> bool:
    """Return whether a second process can compute at the same time."""
    return hasattr(os, "fork") and (os.cpu_count() or 1) > 1


def computed(items: Generator[_T, None, None]) -> Generator[_T, None, None]:
    """Yield `items`, which another process computes ahead. Raises their exceptions, or ComputingLost."""
    reading, writing = os.pipe()
    with suppress(OSError, ImportError, AttributeError):  # not on every system; then the child is less ahead
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    sys.stdout.flush()
    sys.stderr.flush()
    freeze_objects()  # a collection writes to each object that it examines, and so copies its page, in both processes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the child uses none of their locks
        pid = os.fork()
    if not pid:
        _compute(items, reading, writing)
    os.close(writing)
    items.close()  # what was read for the child is not needed here
    try:
        with open(reading, "rb", buffering=1 << 16) as pipe:
            yield from _received(pipe)
    finally:
        unfreeze_objects()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _received(pipe: BinaryIO) -> Iterator[_T]:
    while True:
        head = pipe.read(1 + _SIZE)
        size = int.from_bytes(head[1:])
        data = pipe.read(size) if len(head) == 1 + _SIZE else b""
        if len(head) < 1 + _SIZE or len(data) < size:
            raise ComputingLost("the process that computes the run was killed")
        if head[:1] == _END:
            return
        value = pickle.loads(data)
        if head[:1] == _ERROR:
            raise value
        yield value


def _compute(items: Iterator[_T], reading: int, writing: int) -> None:
    """Be the child: send all items and exit."""
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        keep = writing
        os.closerange(3, keep)
        os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
        gc.disable()
        gc.set_threshold(YOUNG_OBJECTS)
        connection.execute_wrappers.append(_refuse)
        try:
            for item in items:
                if not gc.isenabled():  # what was loaded for the first item stays, too
                    freeze_objects()
                    gc.enable()
                _send(writing, _ITEM, pickle.dumps(item, pickle.HIGHEST_PROTOCOL))
            _send(writing, _END, b"")
        except BaseException as caught:
            error = caught
            if isinstance(error, InputError):  # constructors of subclasses have other arguments
                error = InputError(error.where, error.field, error.problem)
            error.add_note("".join(traceback.format_exception(error)))
            try:
                data = pickle.dumps(error)
                pickle.loads(data)
            except Exception:
                data = pickle.dumps(RuntimeError("".join(traceback.format_exception(error))))
            _send(writing, _ERROR, data)
        status = 0
    finally:
        os._exit(status)


def _refuse(*_: object) -> NoReturn:
    raise RuntimeError("the process that computes a run has no database")


def _send(pipe: int, kind: bytes, data: bytes) -> None:
    rest = memoryview(kind + len(data).to_bytes(_SIZE) + data)
    while rest:
        rest = rest[os.write(pipe, rest) :]
