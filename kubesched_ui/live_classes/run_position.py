"""Where in a run a class stands: the cycle of the page that is shown, and the pages of the ones before and after it.

Read from an address and the rows of cycles alone; of a moment in seconds, from the recording. An attempt of a pod is
the cycle in which it was tried.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.http import QueryDict
from django.urls import resolve

from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters.attempts import chosen
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from scheduler_core.debugger.timepoints import Asked
from scheduler_core.errors import InputError

# Of an address, what belongs to the moment that is left: how it is named, a node that was asked about, a page of those.
LEFT = ("cycle", "attempt", "t", "seq", "node", "page")


class Place(NamedTuple):
    """`page`: the name of the address. `cycles`: the numbers that the buttons lead through; `at`: index of the one that
    is shown, -1 where that is not known; `between`: what is shown is a moment before it. `told`: that in words."""

    page: str
    path: str
    named: dict[str, Any]
    query: QueryDict
    cycles: range | list[int]
    at: int
    told: str
    between: bool = False

    @property
    def cycle(self) -> int:
        """The number of the cycle that is shown; 0 for none."""
        return self.cycles[self.at] if self.at >= 0 and not self.between else 0

    @property
    def sentence(self) -> str:
        """What is shown, and which attempt: `default/web-1: attempt 2 of 3`."""
        what = "/".join(self.named[key] for key in ("namespace", "name") if key in self.named)
        if not what or not self.told:
            return what or self.told
        return f"{what}: {self.told[0].lower()}{self.told[1:]}"

    def address(self, by: int) -> str:
        """The same page at the cycle before (-1) or after (1); "" where there is none."""
        to = self.at + (0 if self.between and by > 0 else by)
        if self.at < 0 or not 0 <= to < len(self.cycles):
            return ""
        query = self.query.copy()
        for key in LEFT:
            query.pop(key, None)
        query["cycle"] = str(self.cycles[to])
        return f"{self.path}?{query.urlencode()}"


def place_of(run: Run, address: str) -> Place:
    """Where the page of the run at this address stands. The address is one of ours."""
    parts = urlsplit(address)
    match, query = resolve(parts.path), QueryDict(parts.query)
    page = match.url_name or ""
    return Place(page, parts.path, match.kwargs, query, *_among(run, page, match.kwargs, query))


def _among(run: Run, page: str, named: dict[str, Any], query: QueryDict) -> tuple[range | list[int], int, str, bool]:
    if page == "pod":
        key = {"namespace": named["namespace"], "name": named["name"]}
        rows = list(Cycle.objects.filter(run=run, **key).order_by("number").only("number", "attempt"))
        at = chosen(rows, query)
        return [row.number for row in rows], at, f"Attempt {at + 1:,} of {len(rows):,}" if rows else "", False
    if page == "group":
        groups = run.group_cycles.filter(namespace=named["namespace"], name=named["name"])
        firsts = list(groups.order_by("first").values_list("first", flat=True))
        at = bisect_right(firsts, number_in(query)) - 1 if number_in(query) else len(firsts) - 1
        return firsts, at, f"Attempt {at + 1:,} of {len(firsts):,}" if at >= 0 else "", False
    return _in_run(run, query)


def _in_run(run: Run, query: QueryDict) -> tuple[range, int, str, bool]:
    """The cycles of the run, and its end."""
    last = run.cycles_done
    cycles, number, between = range(1, last + 2), number_in(query) or last + 1, False
    if not number_in(query) and (query.get("t") or query.get("seq")):
        try:
            number, between = recording_of(run).cycle_after(moment_of(run, query)), True
        except (NotRecorded, InputError, ValueError):
            return cycles, -1, "", False
    at = min(number, last + 1) - 1
    told = f"{'Before c' if between else 'C'}ycle {number:,} of {last:,}" if number <= last else "The end of the run"
    return cycles, at, told, between


def number_in(query: QueryDict) -> int:
    """The cycle that an address names; 0 for none."""
    text = query.get("cycle", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def moment_of(run: Run, query: QueryDict) -> int:
    """The moment that an address names, as the run's recording counts. Raises NotRecorded, InputError, ValueError."""
    recording = recording_of(run)
    if cycle := number_in(query):
        return recording.before_cycle(min(cycle, run.cycles_done + 1))
    if text := query.get("t", ""):
        return Asked(t=float(text[:40])).moment(recording)
    seq = query.get("seq", "")
    return Asked(seq=max(0, int(seq[:18])) if seq else None).moment(recording)
