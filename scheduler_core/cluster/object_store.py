"""A store of objects of one kind by key, with change notifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ObjectTable(dict[str, T]):
    """A dict that notifies its watchers of each assignment and deletion. `version`: the number of them.

    Change it by `table[key] = ...` and `del table[key]` only.
    """

    __slots__ = ("_watchers", "version")

    def __init__(self) -> None:
        self._watchers: list[Callable[[str, T | None, T | None], object]] = []
        self.version = 0

    def watch(self, callback: Callable[[str, T | None, T | None], object]) -> None:
        """Call `callback(key, old, new)` after each change. `old` is None for an addition, `new` for a removal."""
        self._watchers.append(callback)

    def _notify(self, key: str, old: T | None, new: T | None) -> None:
        self.version += 1
        for callback in self._watchers:
            callback(key, old, new)

    def __setitem__(self, key: str, new: T) -> None:
        old = self.get(key)
        super().__setitem__(key, new)
        self._notify(key, old, new)

    def __delitem__(self, key: str) -> None:
        self._notify(key, self.pop(key), None)
