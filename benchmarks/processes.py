"""Processes that benchmarks start, and what /proc says of them."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
R = TypeVar("R")


def exit_when_terminated() -> None:
    """Exit on SIGTERM as on an exception, so that processes that this one started are stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def in_new_process(function: Callable[..., R], *arguments: Any) -> R:
    """Return what a function of a module returns in a process with its own memory and imports.

    Raises EOFError if it fails; its traceback is on standard error. Only this thread speaks to the process: SIGTERM can
    raise in it at any point, and the thread of an executor would then wait for ever for a lock that it holds.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        answer: R = receiver.recv()
    except BaseException:
        process.terminate()
        raise
    finally:
        process.join()
    return answer


def _send(sender: Connection, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    exit_when_terminated()
    sender.send(function(*arguments))


def memory_mb(pids: Iterable[int], field: str) -> list[int]:
    """Return the memory of each process: VmRSS, VmHWM (its peak) or Pss (shared pages divided by their users)."""
    found = []
    for pid in pids:
        with suppress(OSError, TypeError):  # it has ended
            text = Path(f"/proc/{pid}/{'smaps_rollup' if field == 'Pss' else 'status'}").read_text()
            found.append(int(re.search(rf"^{field}:\s*(\d+)", text, re.M)[1]) // 1024)  # type: ignore[index]
    return found


def processor_s(pids: Iterable[int]) -> float:
    """Return the processor time of these processes, with that of their children that have ended."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return total / TICKS


def open_files(pids: Iterable[int]) -> int:
    total = 0
    for pid in pids:
        with suppress(OSError):
            total += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return total


def quantile(values: Iterable[float], share: float) -> float:
    """Return a quantile; 0 if there are no values."""
    some = sorted(values)
    return some[min(len(some) - 1, int(len(some) * share))] if some else 0.0
