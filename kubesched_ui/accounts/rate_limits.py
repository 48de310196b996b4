"""How often something may be tried, by all processes together: counted in the cache that they share."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import cache


@dataclass(frozen=True)
class Limit:
    """`most` tries of `seconds`; by whom or for what is said with each."""

    name: str
    most: int
    seconds: int

    def key(self, whose: str) -> str:
        """Where it is counted."""
        return f"limit:{self.name}:{sha256(whose.encode('utf-8', 'replace')).hexdigest()}"

    def reached(self, whose: str) -> bool:
        """Whether there were so many that no further one is looked at."""
        return cache.get(self.key(whose), 0) >= self.most

    def count(self, whose: str) -> None:
        """One more."""
        key = self.key(whose)
        if not cache.add(key, 1, self.seconds):
            try:
                cache.incr(key)
            except ValueError:  # it went by its time just now
                cache.set(key, 1, self.seconds)
