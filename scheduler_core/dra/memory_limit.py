"""A limit for the memory that a step may take from the operating system."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PAGE = resource.getpagesize()


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Let allocations inside the `with` block fail with MemoryError once this process has grown by about `size` bytes.
    This includes allocations of C libraries. On systems other than Linux there is no limit."""
    if sys.platform != "linux":
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data_size() + size
    soft = wanted if before == resource.RLIM_INFINITY else min(wanted, before)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def data_size() -> int:
    """Return the bytes of this process that the limit counts."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[5]) * PAGE
