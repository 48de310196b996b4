"""Who looks. Whoever lets people in (accounts/) says so for the time of a request; models ask.

Nobody is said to look in workers, in commands and where there are no accounts: everything is seen, and what is made
has no owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Viewer(Protocol):
    """What the models need to know of who looks."""

    @property
    def owner_id(self) -> int | None:
        """The user to whom belongs what is made now; None for nobody."""

    def seen(self, rows: Any) -> Any:
        """Of a QuerySet those that they may see."""

    def may(self, action: str, thing: Any) -> bool:
        """Whether they may start something of theirs from a thing, or do with it what its owner may."""


_viewer: ContextVar[Viewer | None] = ContextVar("viewer", default=None)


class By:
    """Somebody for whom things are made in another process, where all that matters was decided before."""

    def __init__(self, owner_id: int | None) -> None:
        self.owner_id = owner_id

    def seen(self, rows: Any) -> Any:
        return rows

    def may(self, action: str, thing: Any) -> bool:
        return True


def viewer() -> Viewer | None:
    """Who looks; None for everything that is no request of a person."""
    return _viewer.get()


def owner_id() -> int | None:
    """The user to whom belongs what is made now. The default of every `owner`."""
    found = _viewer.get()
    return found.owner_id if found else None


def seen(rows: Any) -> Any:
    """Of a QuerySet what may be seen by who looks."""
    found = _viewer.get()
    return found.seen(rows) if found else rows


def sees(model: Any, pk: int | None) -> bool:
    """Whether who looks may see a row that another one names; there is none of None."""
    return pk is not None and (_viewer.get() is None or model.objects.filter(pk=pk).exists())


@contextmanager
def looking(who: Viewer | None) -> Iterator[None]:
    """`who` looks inside the `with`."""
    token = _viewer.set(who)
    try:
        yield
    finally:
        _viewer.reset(token)
