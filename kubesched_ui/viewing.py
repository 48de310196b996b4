"""Who looks. Whoever lets people in says so for the time of a request; models ask.

Nobody is said to look in workers, in commands and where there are no accounts: what is made then has no owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Viewer(Protocol):
    """What the models need to know of who looks."""

    @property
    def owner_id(self) -> int | None:
        """The user to whom belongs what is made now; None for nobody."""


_viewer: ContextVar[Viewer | None] = ContextVar("viewer", default=None)


class By(Viewer):
    """Somebody of whom only the number is known: in a process that makes things for another one."""

    owner_id: int | None = None

    def __init__(self, owner_id: int | None) -> None:
        self.owner_id = owner_id


def viewer() -> Viewer | None:
    """Who looks; None for everything that is no request of a person."""
    return _viewer.get()


def owner_id() -> int | None:
    """The user to whom belongs what is made now. The default of every `owner`."""
    found = _viewer.get()
    return found.owner_id if found else None


@contextmanager
def looking(who: Viewer | None) -> Iterator[None]:
    """`who` looks inside the `with`."""
    token = _viewer.set(who)
    try:
        yield
    finally:
        _viewer.reset(token)
