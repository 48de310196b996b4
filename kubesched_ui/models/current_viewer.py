"""The current viewer.

`accounts` sets it for the duration of a request; model managers read it. There is no viewer in workers, in commands
or without accounts: then all rows are visible, and new rows have no owner.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class ViewerProtocol(Protocol):
    """What the models need to know about the viewer."""

    @property
    def owner_id(self) -> int | None:
        """Return the ID of the user who owns new rows; None for no owner."""

    def visible(self, rows: Any) -> Any:
        """Return the rows of a QuerySet that the viewer may see."""

    def has_permission(self, action: str, thing: Any) -> bool:
        """Return whether the viewer may start new work from an object, or act on it as its owner."""


_viewer: ContextVar[ViewerProtocol | None] = ContextVar("viewer", default=None)


class OwnerViewer:
    """A viewer for code in another process that creates rows for a user. The permissions have been checked before."""

    def __init__(self, owner_id: int | None) -> None:
        self.owner_id = owner_id

    def visible(self, rows: Any) -> Any:
        return rows

    def has_permission(self, action: str, thing: Any) -> bool:
        return True


def viewer() -> ViewerProtocol | None:
    """Return the current viewer; None outside a user's request."""
    return _viewer.get()


def owner_id() -> int | None:
    """Return the ID of the user who owns new rows. This is the default of every `owner` field."""
    found = _viewer.get()
    return found.owner_id if found else None


def visible(rows: Any) -> Any:
    """Return the rows of a QuerySet that the current viewer may see."""
    found = _viewer.get()
    return found.visible(rows) if found else rows


def can_view(model: Any, pk: int | None) -> bool:
    """Return whether the current viewer may see the row with this primary key. Return False if `pk` is None."""
    return pk is not None and (_viewer.get() is None or model.objects.filter(pk=pk).exists())


@contextmanager
def as_viewer(who: ViewerProtocol | None) -> Iterator[None]:
    """Make `who` the current viewer inside the `with` block."""
    token = _viewer.set(who)
    try:
        yield
    finally:
        _viewer.reset(token)
