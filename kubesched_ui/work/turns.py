"""The turns of users, with which everything that waits for a worker is ordered.

The user with the fewest active tasks is first, then the one whose last task began the longest ago. Of one user's tasks,
the oldest is first.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any, TypeVar

NEVER = datetime(1970, 1, 1, tzinfo=UTC)

_T = TypeVar("_T")

UserKey = tuple[str, int]


def user_key(work: Any) -> UserKey:
    """Return the party that takes turns: the owner of a run or experiment, or its scenario if the owner is unknown."""
    return ("user", work.owner_id) if work.owner_id is not None else ("scenario", work.scenario_id)


def in_turns(
    waiting: Iterable[_T],
    user_of: Callable[[_T], Hashable],
    active: Mapping[Any, int],
    began: Mapping[Any, datetime | None] = {},
    most: float = inf,
    is_low: Callable[[_T], bool] = lambda task: False,
) -> Iterator[_T]:
    """Yield the waiting tasks in the order of turns, assuming that no task ends.

    `waiting`: in the order of each user. `active`: number of active tasks per user; users with `most` of them have no
    turn. `began`: when the last task of each user began. `is_low`: whether a task comes after those of all other users;
    it is also after the others of its user in `waiting`.
    """
    lines: dict[Hashable, deque[tuple[int, _T]]] = {}
    for position, task in enumerate(waiting):
        if active.get(user_of(task), 0) < most:
            lines.setdefault(user_of(task), deque()).append((position, task))
    counts, turns = Counter(active), dict.fromkeys(lines, 0)

    def rank(user: Hashable) -> tuple[bool, int, int, datetime, int]:
        position, task = lines[user][0]
        return is_low(task), counts[user], turns[user], began.get(user) or NEVER, position

    turn = 0
    while lines:
        user = min(lines, key=rank)
        yield lines[user].popleft()[1]
        turn += 1
        counts[user] += 1
        turns[user] = turn
        if not lines[user]:
            del lines[user]
