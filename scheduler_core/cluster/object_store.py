"""A store of objects of one kind by key, with change notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, ValuesView
from typing import TypeVar

T = TypeVar("T")


class Table(MutableMapping[str, T]):
    """A dict that notifies its watchers of every change. `version`: the number of changes."""

    __slots__ = ("_objects", "_watchers", "version")

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}
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
        old = self._objects.get(key)
        self._objects[key] = new
        self._notify(key, old, new)

    def __delitem__(self, key: str) -> None:
        self._notify(key, self._objects.pop(key), None)

    def __getitem__(self, key: str) -> T:
        return self._objects[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def values(self) -> ValuesView[T]:
        return self._objects.values()
