"""A store of objects of one kind by key, with change notifications."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from scheduler_core.api.objects import Object

T = TypeVar("T", bound=Object)


class ObjectTable(dict[str, T]):
    """A dict that notifies its watchers of each assignment and deletion. `version`: the number of them.

    Change it by `table[key] = ...` and `del table[key]` only.
    """

    __slots__ = ("_by_namespace", "_indexed_version", "_watchers", "version")

    def __init__(self) -> None:
        self._by_namespace: dict[str, list[T]] = {}
        self._indexed_version = 0
        self._watchers: list[Callable[[str, T | None, T | None], object]] = []
        self.version = 0

    def watch(self, callback: Callable[[str, T | None, T | None], object]) -> None:
        """Call `callback(key, old, new)` after each change. `old` is None for an addition, `new` for a removal."""
        self._watchers.append(callback)

    def in_namespace(self, namespace: str) -> Sequence[T]:
        """Return the objects of a namespace, in the order of the table."""
        if self._indexed_version != self.version:
            self._indexed_version, self._by_namespace = self.version, {}
            for one in self.values():
                self._by_namespace.setdefault(one.namespace, []).append(one)
        return self._by_namespace.get(namespace, ())

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
