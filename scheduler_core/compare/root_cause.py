"""Finds, by replaying runs, which differences between two runs cause a pod's outcome in the second.

A difference is a unit that can be applied to the first run separately: a behaviour of the release, a setting, a part of
the configuration, an object, an entry of the scenario, or a change or setting of a fork. The answer is a smallest set
of units that gives the second run's outcome.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, TypeVar

from scheduler_core.compare.deltas import Delta, applied_to, deltas_of
from scheduler_core.compare.inputs import Inputs, Placement, play
from scheduler_core.errors import InputError

MOST_RUNS = 600
MOST_SECONDS = 10.0
MOST_UNITS = 200
UNKNOWN: Placement = ("unknown", "")
T = TypeVar("T")
NOT_EVEN_ALL = "even all applicable differences together do not give the second run's outcome"


@dataclass
class RootCause:
    """A cause.

    `units`: the smallest set found, None if there is none. `minimal`: all smaller sets were run and do not suffice.
    `settled`: in virtual time, the second of the pod's last attempt in each run.
    """

    a: Placement
    b: Placement
    settled: tuple[float | None, float | None] = (None, None)
    units: list[Delta] | None = None
    minimal: bool = False
    runs: int = 0
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        sides: dict[str, Any] = {}
        for name, outcome, t in zip(("a", "b"), (self.a, self.b), self.settled, strict=True):
            sides[name] = dict(zip(("result", "node"), outcome, strict=True)) | ({} if t is None else {"t": t})
        causes = None if self.units is None else [unit._asdict() for unit in self.units]
        return sides | {"causes": causes, "minimal": self.minimal, "runs": self.runs, "note": self.note}


class LimitReached(Exception):
    """Raised if the limit of runs or time is reached."""


def cause_of(a: Inputs, b: Inputs, pod: str, clock: Callable[[], float] = time.monotonic) -> RootCause:
    """Find the differences that cause the pod's outcome in b. Raises InputError for runs that cannot be compared."""
    if (a.time is None) != (b.time is None):
        raise InputError("cause", "", "both runs must be single passes, or both in virtual time")
    search = _CauseSearch(a, b, pod, clock)
    if (number := len(search.units)) > MOST_UNITS:
        raise InputError("cause", "", f"the runs differ in {number:,} things; at most {MOST_UNITS} are tried")
    found = RootCause(UNKNOWN, UNKNOWN)
    try:
        found.a, one = search.play(a)
        found.b, other = search.play(b)
    except LimitReached:
        found.note = f"running a and b takes more than {MOST_SECONDS:g} seconds, so no difference could be tried"
        return found
    found.settled = one, other
    search.known[frozenset()] = found.a, one
    if found.a == found.b == ("", ""):
        raise InputError(f"Pod {pod[:300]}", "", "was tried in neither run")
    try:
        search.find(found)
    except LimitReached:
        found.note = f"stopped after {search.runs} runs; these differences suffice, but a smaller set may exist"
        if found.units is None:
            found.note = f"stopped after {search.runs} runs without a result"
    found.runs = search.runs
    return found


class UnitSearch(Generic[T]):
    """Replays a with some of the differences to b. `known`: results by the indexes of the applied units."""

    def __init__(self, a: Inputs, b: Inputs, most_runs: int) -> None:
        self.a, self.b, self.units, self.most_runs = a, b, deltas_of(a, b), most_runs
        self.runs = 0
        self.known: dict[frozenset[int], T] = {}

    def play(self, inputs: Inputs) -> T:
        raise NotImplementedError

    def with_units(self, applied: frozenset[int]) -> T:
        """Return the result of a with these differences. Raises LimitReached."""
        if applied not in self.known:
            if self.runs >= self.most_runs:
                raise LimitReached
            self.known[applied] = self.play(applied_to(self.a, self.b, [self.units[i] for i in sorted(applied)]))
        return self.known[applied]


class _CauseSearch(UnitSearch[tuple[Placement, float | None]]):
    def __init__(self, a: Inputs, b: Inputs, pod: str, clock: Callable[[], float]) -> None:
        super().__init__(a, b, MOST_RUNS)
        self.pod, self.clock = pod, clock
        self.began = clock()

    def play(self, inputs: Inputs) -> tuple[Placement, float | None]:
        """Return the pod's outcome. Raises LimitReached when the time is up, also during a run."""
        self.tick()
        self.runs += 1
        return play(inputs, self.pod, self.tick)

    def tick(self) -> None:
        if self.clock() - self.began > MOST_SECONDS:
            raise LimitReached

    def find(self, cause: RootCause) -> None:
        if cause.a == cause.b:
            cause.units, cause.minimal = [], True
            cause.note = "both runs have the same outcome"
            return
        smallest = MinimalCause()

        def does(applied: frozenset[int]) -> bool:
            return self.with_units(applied)[0] == cause.b

        try:
            smallest.find(range(len(self.units)), does)
            smallest.reduce(does)
            smallest.prove(range(len(self.units)), does)
        finally:
            if smallest.applied is not None:
                cause.units, cause.minimal = [self.units[i] for i in sorted(smallest.applied)], smallest.minimal
        if cause.units is None:
            cause.note = NOT_EVEN_ALL


@dataclass
class MinimalCause:
    """The indexes of a smallest set of units, None if none was found. `minimal`: all smaller sets were tried."""

    applied: frozenset[int] | None = None
    minimal: bool = False

    def find(self, units: Sequence[int], does: Callable[[frozenset[int]], bool]) -> None:
        """Search among `units` for one that suffices, otherwise try all together. `does` may raise to stop."""
        for one in units:
            if does(frozenset({one})):
                self.applied, self.minimal = frozenset({one}), True
                return
        everything = frozenset(units)
        if does(everything):
            self.applied = everything

    def reduce(self, does: Callable[[frozenset[int]], bool]) -> None:
        """Leave out units until every one is necessary. No single unit may suffice."""
        if self.applied is None or self.minimal:
            return
        for one in sorted(self.applied):
            if does(self.applied - {one}):
                self.applied -= {one}

    def prove(self, units: Sequence[int], does: Callable[[frozenset[int]], bool]) -> None:
        """Try every smaller set than the one found."""
        if self.applied is None or self.minimal:
            return
        for size in range(1, len(self.applied)):
            for some in combinations(units, size):
                if does(frozenset(some)):
                    self.applied, self.minimal = frozenset(some), True
                    return
        self.minimal = True
