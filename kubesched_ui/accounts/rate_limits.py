"""Rate limits across all processes, counted in the shared cache."""

from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import cache


@dataclass(frozen=True)
class Limit:
    """At most `most` attempts in `seconds` for each caller or object."""

    name: str
    most: int
    seconds: int

    def key(self, whose: str) -> str:
        """Return the cache key of the counter."""
        return f"limit:{self.name}:{sha256(whose.encode('utf-8', 'replace')).hexdigest()}"

    def reached(self, whose: str) -> bool:
        """Return whether the limit is reached, so that further attempts are rejected."""
        return cache.get(self.key(whose), 0) >= self.most

    def count(self, whose: str) -> None:
        """Count one attempt."""
        key = self.key(whose)
        if not cache.add(key, 1, self.seconds):
            try:
                cache.incr(key)
            except ValueError:  # the counter has just expired
                cache.set(key, 1, self.seconds)
