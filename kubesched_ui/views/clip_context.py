"""Context of a clip: a stretch of a run in one file that plays without a server."""

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import numpy as np
from django.http import Http404

from kubesched_ui.event_log.cycle_batches import TraceReader
from kubesched_ui.exports import single_file
from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters.cycle_presenter import OLD_POINTS, POINTS
from kubesched_ui.queries import cycles, remedies
from kubesched_ui.queries.recording_cache import recording_of
from kubesched_ui.views.form_fields import to_number
from scheduler_core.api.duration import clock
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.recording.change_stream import changes_between, cluster_columns, pods_at
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import PENDING, Recording
from scheduler_core.releases import get_release
from scheduler_core.search.cycle_steps import ranges

MOST_BYTES = 1_000_000  # of the file
MOST_CYCLES = 50
AROUND = 5  # cycles before and after the shown one, by default
PARTS = 12  # results of plugins of an extension point in the list of decisions
FOCUS = ("point", "plugin", "node")
LOOK = ("group", "fill", "colour")
TEXT = 700  # maximum length of an option: two keys of labels have at most 635 characters
SHEETS = ("css/tokens.css", "css/base.css", "css/parts.css", "css/map.css", "css/clip.css")
ROLES = ("node-role.kubernetes.io/", "kubernetes.io/role")
MOST_GROUPS = 60  # values of a label that groups nodes if no other one was chosen
SKIPPED = "is skipped for this pod"


class Stretch(NamedTuple):
    """Cycles `first` to `last` of a run; the clip opens at cycle `shown`."""

    first: int
    last: int
    shown: int

    @classmethod
    def requested(cls, cycles: int, first: int | None, last: int | None, shown: int | None) -> "Stretch":
        """Return the requested cycles, of those that exist, including the shown one."""
        here = min(max(shown or first or 1, 1), cycles)
        begin = min(max(first or here - AROUND, 1), here)
        end = max(min(last or here + AROUND, cycles), here)
        return cls(begin, end, here)

    @property
    def number(self) -> int:
        return self.last - self.first + 1

    def cut(self, most: int) -> "Stretch":
        """Return at most so many cycles, with about as many before and after the shown one."""
        begin = max(self.first, min(self.shown - most // 2, self.last - most + 1))
        return Stretch(begin, min(self.last, begin + most - 1), self.shown)


def context(run: Run, query: Mapping[str, str], most: int = MOST_CYCLES) -> dict[str, Any]:
    """Return the context of clip.html, with at most so many cycles. Raises Http404, NotRecorded, InputError."""
    recording = recording_of(run)
    done = min(run.cycles_done, recording.cycles)
    if not done:
        raise Http404(f"Run {run.pk} has no cycle yet.")
    stretch = Stretch.requested(done, *(to_number(query.get(key, "")) for key in ("first", "last", "cycle"))).cut(most)
    rows = list(run.cycles.filter(number__range=(stretch.first, stretch.last)).order_by("number"))
    reader, focus = TraceReader(run.pk), {key: query[key][:TEXT] for key in FOCUS if query.get(key)}
    listed = [decision(run, row, reader.trace(row.number, row.trace), stretch) for row in rows]
    data = {
        **cluster(recording, stretch, {one["pod"] for one in listed}, query.get("group", "")),
        "cycles": listed,
        "look": {key: query[key][:TEXT] for key in LOOK if key in query},
        "focus": {"cycle": stretch.shown - stretch.first + 1} | focus,
    }
    data["names"] = node_lists(rows, data["picture"]["nodes"]["name"])
    script, style = single_file.script_of("js/clip.js"), single_file.style_of(SHEETS)
    packed = gzip.compress(msgspec.json.encode(data), mtime=0)
    return {
        "run": run,
        "at": urlencode({"cycle": stretch.shown} | focus),
        "stretch": stretch,
        "decisions": [one | {"points": points_of(run, one["steps"])} for one in listed],
        "shown": listed[stretch.shown - stretch.first],
        "data": base64.b64encode(packed).decode(),
        "script": script.text,
        "style": style.text,
        "policy": f"default-src 'none'; script-src {script.source}; style-src {style.source}; "
        "base-uri 'none'; form-action 'none'",
    }


def decision(run: Run, row: Cycle, trace: CycleTrace, stretch: Stretch) -> dict[str, Any]:
    """Return a cycle as the map needs it, numbered from 1 within the clip.

    `points`: Score plugin -> points. `ladder`: [{changes, each, rows}], the nodes by what the pod needs there.
    """
    found, answer = cycles.steps_of(run, row, trace), remedies.ladder_at(run, row)
    at = f" at {clock(found['t'])}" if run.in_time else ""
    within = {key: renumbered(found[key], stretch) for key in ("number", "before", "after")}
    place = {name: index for index, name in enumerate(row.nodes)}
    ladder = [
        {"changes": rung.changes, "each": rung.each, "rows": ranges(sorted(place[name] for name in rung.nodes))}
        for rung in answer.ladder
    ]
    return {
        **found,
        **within,
        "heading": f"Cycle {row.number:,}{at}, attempt {row.attempt}",
        "sentence": answer.sentence,
        "ladder": ladder,
        "points": {plugin: score.normalized.tolist() for plugin, score in trace.scores.items()},
    }


def renumbered(number: int | None, stretch: Stretch) -> int | None:
    return number - stretch.first + 1 if number and stretch.first <= number <= stretch.last else None


def cluster(recording: Recording, stretch: Stretch, pods: set[str], group: str) -> dict[str, Any]:
    """Return {picture, changes}: the cluster before the stretch, and what changes in it, as the map needs them.

    Left out are the pods without a node that the stretch does not concern, and the labels that group no nodes.
    """
    begin, end = recording.before_cycle(stretch.first), recording.before_cycle(stretch.last + 1)
    state = StateAtTimepoint(recording, begin)
    picture, changes = cluster_columns(state), changes_between(recording, begin, end)
    waiting = np.flatnonzero(state.state == PENDING)
    wanted = pods | picture["nominated"].keys() | {one["pod"] for one in changes["nominated"]}
    keys = recording.tables["pods"].text("key", waiting)
    kept = waiting[np.fromiter((key in wanted for key in keys), bool, len(waiting))]
    picture |= {"pods": pods_at(state, np.concatenate([state.placed, kept])), "end": end, "cycles": stretch.number}
    nodes, labels = picture["nodes"], picture["nodes"]["labels"]
    few = {key: column for key, column in labels.items() if may_group(key, column["values"], group)}
    picture["nodes"] = nodes | {"labels": few}
    numbers = changes["cycles"]["number"]
    inside = [index for index, number in enumerate(numbers) if number <= stretch.last]
    changes["cycles"] = {
        "number": [numbers[index] - stretch.first + 1 for index in inside],
        "at": [changes["cycles"]["at"][index] for index in inside],
        "pod": [""] * len(inside),
    }
    return {"picture": picture, "changes": changes | {"end": end, "total": stretch.number}}


def may_group(key: str, values: Sequence[str], group: str) -> bool:
    """Return whether nodes may be grouped by a label. `group`: keys of labels, separated by commas, or `role`."""
    return key in group.split(",") or key.startswith(ROLES) or len(values) <= MOST_GROUPS


def node_lists(rows: Sequence[Cycle], usual: list[str]) -> dict[int, list[str]]:
    """Return version -> node names of the rows, without those that equal the usual names."""
    names = {row.nodes_version: row for row in rows}
    found = {version: row.nodes for version, row in names.items()}
    return {version: listed for version, listed in found.items() if listed != usual}


def points_of(run: Run, steps: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield (extension point, its label, what its plugins found) for the list of decisions."""
    labels = OLD_POINTS if get_release(run.release).predicates else POINTS
    for point, group in groupby(steps, lambda step: step["point"]):
        yield point, labels.get(point, point), "; ".join(texts(list(group)))


def texts(steps: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield the results of an extension point, at most PARTS; the skipped plugins are one."""
    done = [step for step in steps if step["message"] != SKIPPED]
    for step in done[:PARTS]:
        who = " ".join(filter(None, (step["plugin"], step["node"])))
        yield f"{who}: {step['message']}" if who and step["message"] else who or step["message"]
    if len(done) > PARTS:
        yield f"and {len(done) - PARTS:,} more"
    if skipped := [step["plugin"] for step in steps if step["message"] == SKIPPED]:
        yield f"skipped: {', '.join(skipped)}"
