"""The part of a pool that runs in its worker processes. It does not import Django."""

import ctypes
import multiprocessing
import os
import pkgutil
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

PAGE = resource.getpagesize()
# Kept when all other variables are removed, because they may be secret.
ENVIRONMENT = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH")


def prepare(memory: int, nice: int, environment: bool, setup: str, setup_args: tuple[Any, ...]) -> None:
    """Prepare a new worker: its setup function runs first, then its memory is limited."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ends the process at once, even inside a C library
    threading.Thread(target=exit_with_parent, daemon=True).start()
    os.nice(nice)
    if not environment:
        clear_environment()
    pkgutil.resolve_name(setup)(*setup_args)
    if sys.platform == "linux":  # on other systems this limit does not count memory
        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.RLIM_INFINITY))


def execute(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, int]:
    """Return the result of a task and the memory in use afterwards."""
    return function(*args), resident_memory()


def exit_with_parent() -> None:
    """End this process when the web process ends for any reason."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def resident_memory() -> int:
    """Return the resident memory in bytes; 0 if it is unknown."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * PAGE
    except OSError:
        return 0


def clear_environment() -> None:
    """Overwrite the environment, so that even /proc/self/environ contains no secrets."""
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    variables = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    for index in range(len(os.environ)):
        if address := variables[index]:
            ctypes.memset(address, 0, len(ctypes.string_at(address)))
    os.environ.clear()
    os.environ.update(kept)
