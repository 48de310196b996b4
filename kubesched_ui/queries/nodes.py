"""A node at a timepoint of a run, and its history, from the recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kubesched_ui.models import Run
from kubesched_ui.queries.claims import devices_at
from kubesched_ui.queries.recording_cache import recording_of, stored_object
from kubesched_ui.scenarios import cluster_overview
from kubesched_ui.scenarios.cluster_columns import pods_on
from kubesched_ui.scenarios.cluster_overview import NodeLine, PodLine, Use, percent
from scheduler_core.api.objects import Node
from scheduler_core.errors import InputError
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.node_history import Int64, NodeHistory, history_of
from scheduler_core.recording.recording import Recording
from scheduler_core.recording.timepoints import Timepoint
from scheduler_core.search.node_devices import PoolThen

STEPS = 300  # columns of a curve


class Curve(NamedTuple):
    """Utilisation of the node over the run.

    `path` is an SVG path of STEPS by 100. `lowest` and `highest` are shares in percent.
    """

    path: str
    lowest: float
    highest: float


class ResourceUse(NamedTuple):
    """Use of a resource at the timepoint, and in a run at its beginning and in between."""

    then: Use
    before: Use | None = None
    curve: Curve | None = None


@dataclass(frozen=True, slots=True)
class NodeAtTimepoint:
    """A node at a timepoint.

    `line`: the node then, or its last known state; `there`: whether it exists then. `first`, `now`: the pods on it at
    the beginning of the run and at the timepoint. `pools`: its device pools. `moment`: the timepoint in the recording;
    `t`: its virtual second; `cursor`: its position in the curves, in percent.
    """

    line: NodeLine
    there: bool
    first: dict[str, PodLine]
    now: dict[str, PodLine]
    fullness: list[ResourceUse]
    pools: list[PoolThen]
    history: NodeHistory
    moment: int
    t: float
    cycle: int
    cursor: float


class InvalidTimepoint(InputError):
    """Raised if a URL names a timepoint that does not exist."""


def moment_of(query: Mapping[str, str], recording: Recording) -> tuple[Timepoint, int]:
    """Return the timepoint of a URL, as given and as the recording's number. Raises InvalidTimepoint."""
    found: dict[str, Any] = {}
    try:
        for key in ("cycle", "t", "seq"):
            if text := query.get(key, ""):
                found[key] = float(text) if key == "t" else int(text)
        position = Timepoint(**found)
        return position, position.moment(recording)
    except InputError as error:
        raise InvalidTimepoint(error.where, error.field, error.problem) from None
    except ValueError:
        raise InvalidTimepoint(key, "", f"must be a number, got {text[:40]!r}") from None


def node_at(run: Run, name: str, query: Mapping[str, str]) -> NodeAtTimepoint | None:
    """Return the node at the timepoint given by cycle, t or seq in a URL, by default the end.

    Return None if the node never existed in the run. Raises NotRecorded, InvalidTimepoint, InputError.
    """
    recording = recording_of(run)
    history = history_of(recording, name)
    if history is None or not history.versions:
        return None
    position, moment = moment_of(query, recording)
    stored = int(recording.tables["nodes"]["object"][history.last_known(moment)])
    node = msgspec.json.decode(stored_object(run, stored)[1], type=Node)
    line = cluster_overview.node_line(node)
    axis = _axis(recording, run.in_time, history.at)
    end = run.clock if run.in_time else float(recording.end)
    now = end
    if moment < recording.end:
        now = _axis(recording, run.in_time, np.array([moment]))[0] if position.t is None else position.t
    return NodeAtTimepoint(
        line=line,
        there=history.version(moment) not in (None, -1),
        first=pods_on(StateAtTimepoint(recording, 0), name),
        now=pods_on(StateAtTimepoint(recording, moment), name),
        fullness=[
            ResourceUse(
                Use(resource, history.used(moment).get(resource, 0), line.allocatable.get(resource, 0)),
                Use(resource, history.used(0).get(resource, 0), line.allocatable.get(resource, 0)),
                _curve(axis, end, history.requested.get(resource), line.allocatable.get(resource, 0)),
            )
            for resource in line.resources(history.requested)
        ],
        pools=devices_at(run, node, moment),
        history=history,
        moment=moment,
        t=now if run.in_time else 0.0,
        cycle=recording.cycle_after(moment),
        cursor=100 * now / end if end else 100.0,
    )


def _axis(recording: Recording, in_time: bool, moments: Int64) -> list[float]:
    """Return the virtual second of each timepoint; in a single pass, the timepoint itself."""
    if in_time:
        return [recording.time_of(moment) for moment in moments.tolist()]
    return [float(moment) for moment in moments.tolist()]


def _curve(axis: list[float], end: float, amounts: Int64 | None, allocatable: int) -> Curve:
    """Return a step line. It shows the highest of several changes in a column."""
    if amounts is None:
        return Curve(f"M0 100H{STEPS}", 0.0, 0.0)
    shares = [percent(amount, allocatable) for amount in amounts.tolist()]
    steps: dict[int, tuple[float, float]] = {}  # column -> the highest share in it, the last share
    for at, share in zip(axis, shares, strict=True):
        column = min(STEPS - 1, int(STEPS * at / end)) if end else 0
        steps[column] = max(steps.get(column, (0.0, 0.0))[0], share), share
    path, level = ["M0 100"], 0.0
    for column, (fullest, last) in steps.items():
        path.append(f"H{column}V{100 - min(max(level, fullest), 100):.1f}H{column + 1}V{100 - min(last, 100):.1f}")
        level = last
    return Curve("".join([*path, f"H{STEPS}V100Z"]), min(shares), max(shares))
