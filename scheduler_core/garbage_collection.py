"""Python's garbage collector in processes that hold many objects for long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_frozen = False  # gc.get_freeze_count() visits each frozen object, which takes tens of milliseconds


def freeze_objects() -> None:
    """Exempt all present objects from garbage collection."""
    global _frozen
    _frozen = True
    gc.freeze()


def unfreeze_objects() -> None:
    """Return all objects that were exempt to the oldest generation."""
    global _frozen
    _frozen = False
    gc.unfreeze()


@contextmanager
def without_collecting() -> Iterator[None]:
    """Disable garbage collection for a block that creates no garbage.

    Collection would take twice as long as creating the objects. Afterwards, the new objects are in the oldest
    generation, so that the collector does not scan them at once, unless the process has frozen objects.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not _frozen:  # gc.unfreeze() would also return the objects of freeze_objects()
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()
