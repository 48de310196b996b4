"""Position of a live class in a run: the cycle of the shown page, and the addresses of the previous and next cycles.

It is computed from the address and the cycle rows; a timepoint in seconds needs the recording. An attempt of a pod
is the cycle in which it was tried.
"""

from bisect import bisect_right
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.http import QueryDict
from django.urls import resolve

from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters.attempts import chosen_index
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from scheduler_core.errors import InputError
from scheduler_core.recording.timepoints import Timepoint

# Query parameters that are dropped on navigation: the timepoint, the selected node, and the page of the node list.
DROPPED_PARAMETERS = ("cycle", "attempt", "t", "seq", "node", "page")


class RunPosition(NamedTuple):
    """A position in a run.

    `page`: URL name of the page. `cycles`: cycle numbers that the buttons step through. `at`: index of the shown
    cycle, -1 if unknown. `text`: the position in words. `between`: whether the page shows a timepoint before that
    cycle.
    """

    page: str
    path: str
    named: dict[str, Any]
    query: QueryDict
    cycles: range | list[int]
    at: int
    text: str
    between: bool = False

    @property
    def cycle(self) -> int:
        """The number of the shown cycle, or 0."""
        return self.cycles[self.at] if self.at >= 0 and not self.between else 0

    @property
    def sentence(self) -> str:
        """What is shown, with its attempt: `default/web-1: attempt 2 of 3`."""
        what = "/".join(self.named[key] for key in ("namespace", "name") if key in self.named)
        if not what or not self.text:
            return what or self.text
        return f"{what}: {self.text[0].lower()}{self.text[1:]}"

    def address(self, by: int) -> str:
        """Return the address of this page one cycle earlier (-1) or later (1), or "" if there is none."""
        to = self.at + (0 if self.between and by > 0 else by)
        if self.at < 0 or not 0 <= to < len(self.cycles):
            return ""
        query = self.query.copy()
        for key in DROPPED_PARAMETERS:
            query.pop(key, None)
        query["cycle"] = str(self.cycles[to])
        return f"{self.path}?{query.urlencode()}"


def position_of(run: Run, address: str) -> RunPosition:
    """Return the position of a run's page. `address` must be a URL of this product."""
    parts = urlsplit(address)
    match, query = resolve(parts.path), QueryDict(parts.query)
    page = match.url_name or ""
    return RunPosition(page, parts.path, match.kwargs, query, *_among(run, page, match.kwargs, query))


def _among(run: Run, page: str, named: dict[str, Any], query: QueryDict) -> tuple[range | list[int], int, str, bool]:
    if page == "pod":
        key = {"namespace": named["namespace"], "name": named["name"]}
        rows = list(Cycle.objects.filter(run=run, **key).order_by("number").only("number", "attempt"))
        at = chosen_index(rows, query)
        return [row.number for row in rows], at, f"Attempt {at + 1:,} of {len(rows):,}" if rows else "", False
    if page == "group":
        groups = run.group_cycles.filter(namespace=named["namespace"], name=named["name"])
        firsts = list(groups.order_by("first").values_list("first", flat=True))
        at = bisect_right(firsts, number_in(query)) - 1 if number_in(query) else len(firsts) - 1
        return firsts, at, f"Attempt {at + 1:,} of {len(firsts):,}" if at >= 0 else "", False
    return _in_run(run, query)


def _in_run(run: Run, query: QueryDict) -> tuple[range, int, str, bool]:
    """Return the position among all cycles of the run and its end."""
    last = run.cycles_done
    cycles, number, between = range(1, last + 2), number_in(query) or last + 1, False
    if not number_in(query) and (query.get("t") or query.get("seq")):
        try:
            number, between = recording_of(run).cycle_after(timepoint_of(run, query)), True
        except (NotRecorded, InputError, ValueError):
            return cycles, -1, "", False
    at = min(number, last + 1) - 1
    text = f"{'Before c' if between else 'C'}ycle {number:,} of {last:,}" if number <= last else "The end of the run"
    return cycles, at, text, between


def number_in(query: QueryDict) -> int:
    """Return the cycle that an address names, or 0."""
    text = query.get("cycle", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def timepoint_of(run: Run, query: QueryDict) -> int:
    """Return the timepoint that an address names, as an index into the recording. Raises NotRecorded, InputError,
    ValueError."""
    recording = recording_of(run)
    if cycle := number_in(query):
        return recording.before_cycle(min(cycle, run.cycles_done + 1))
    if text := query.get("t", ""):
        return Timepoint(t=float(text[:40])).moment(recording)
    seq = query.get("seq", "")
    return Timepoint(seq=max(0, int(seq[:18])) if seq else None).moment(recording)
