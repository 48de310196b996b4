"""Cluster drawing for students: the nodes at the timepoint of the shown page, with the verdicts of its attempt.

It looks as in present mode, but its size is limited: with more than a dozen nodes each node is a small square, and
more than 600 nodes are grouped by zone and verdict. The drawing is part of the message; clients fetch nothing.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.template.loader import render_to_string

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.exports import slides
from kubesched_ui.live_classes.run_position import RunPosition, position_of, timepoint_of
from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters import capacity_bars
from kubesched_ui.presenters.capacity_bars import Amounts, BarRow
from kubesched_ui.queries.recording_cache import recording_of
from kubesched_ui.queries.shortfalls import headroom_of
from kubesched_ui.scenarios.cluster_columns import view_at
from kubesched_ui.scenarios.cluster_overview import ZONES, NodeLine, PodLine
from scheduler_core.api.duration import clock
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Preemption
from scheduler_core.explain.matrix import Matrix, matrix_of
from scheduler_core.explain.preemption import preemption_of
from scheduler_core.recording.cluster_state import StateAtTimepoint

PODS = 40  # maximum number of pod blocks in a capacity bar
TOGETHER = 24  # maximum number of bars when nodes are grouped
WORDS = {
    "chosen": "chosen",
    "fits": "fit the pod",
    "made": "fit after evicting pods",
    "refused": "rejected here",
    "out": "out",
    "unseen": "not evaluated",
    "": "without a verdict",
}


class Count(NamedTuple):
    """A legend line for a cluster whose nodes are too small for labels."""

    mark: str
    words: str
    number: int


class Verdicts(NamedTuple):
    """The verdicts of an attempt on the nodes at the shown extension point."""

    found: list[slides.Slide]
    at: int
    matrix: Matrix
    trace: CycleTrace
    names: Sequence[str]
    preemption: Preemption | None

    def on(self, shelf: BarRow) -> BarRow:
        """Return the nodes with these verdicts."""
        return slides.coloured(shelf, *self)

    @property
    def victims(self) -> set[str]:
        """Keys of the pods to evict."""
        return set(self.preemption.victims) if self.preemption else set()


def card(run: Run, address: str) -> str:
    """Return the HTML of the cluster, or "" if there is nothing to draw (the pod was not tried, or the timepoint does
    not exist). Raises NotRecorded, also if the run is too large for this process."""
    position = position_of(run, address)
    context: dict[str, Any]
    row = Cycle.objects.filter(run=run, number=position.cycle).first() if position.cycle else None
    if position.page == "pod" and row is None:
        return ""
    try:
        recording = recording_of(run)
        moment = recording.before_cycle(row.number) if row else timepoint_of(run, position.query)
        state = StateAtTimepoint(recording, moment)
        context = (
            _of_attempt(run, position, row, state)
            if row
            else {"shelf": drawn(list(view_at(state).nodes.values()), None, None)}
        )
    except (InputError, ValueError):
        return ""
    t = recording.time_of_cycle(row.number) if row else recording.time_of(moment)
    timepoint = {"position": position.text, "at": clock(t) if run.in_time else "", "row": row}
    context["counts"] = [] if context["shelf"].named else counts(context["shelf"])
    return render_to_string("parts/live_class_map.html", {"run": run, **timepoint, **context})


def _of_attempt(run: Run, position: RunPosition, row: Cycle, state: StateAtTimepoint) -> dict[str, Any]:
    pod = f"{row.namespace}/{row.name}"
    verdicts = _verdicts(run, row, position)
    view = view_at(state)
    shelf = drawn(list(view.nodes.values()), view.requests_of(pod), verdicts)
    return {"shelf": shelf, "pod": row.name, "slide": verdicts.found[verdicts.at]}


def _verdicts(run: Run, row: Cycle, position: RunPosition) -> Verdicts:
    """Return the verdicts at the extension point that the address names, else the result of the attempt."""
    trace = trace_of(row)
    matrix, preemption = matrix_of(trace, row.nodes), preemption_of(trace)
    if (headroom := headroom_of(run, row, trace)) is not None:
        headroom.add_to(matrix)
    found = slides.of_cycle(trace, matrix, preemption)
    at = slides.at(found, position.query.get("point", ""), position.query.get("plugin", ""))
    if found[at].point in slides.WITHOUT_NODES or found[at].point == "nodes":
        at = len(found) - 1
    return Verdicts(found, at, matrix, trace, row.nodes, preemption)


def drawn(nodes: Sequence[NodeLine], asks: Amounts | None, verdicts: Verdicts | None) -> BarRow:
    """Return the nodes with their verdicts, grouped by zone and verdict if there are too many to draw one by one."""
    many = len(nodes) > capacity_bars.NAMED
    kept = verdicts.victims if verdicts else set()
    nodes = [_packed(node, kept, 0 if many else PODS) for node in nodes]
    if len(nodes) > capacity_bars.DRAWN:
        return _together(nodes, asks, verdicts)
    shelf = capacity_bars.bar_row(nodes, asks)
    return verdicts.on(shelf) if verdicts else shelf


def _packed(node: NodeLine, kept: Collection[str], most: int) -> NodeLine:
    """Keep the first `most` pods and those in `kept` as single pods, and merge the others into one."""
    alone = [pod for position, pod in enumerate(node.pods) if pod.key in kept or position < most]
    rest = [pod.requests for position, pod in enumerate(node.pods) if pod.key not in kept and position >= most]
    together = [PodLine(f"{len(rest):,} pods", requests=_sum(rest))] if rest else []
    return replace(node, pods=[*alone, *together])


def _sum(amounts: Sequence[Amounts]) -> Amounts:
    total: Counter[str] = Counter()
    for one in amounts:
        total.update(one)
    return total


def _together(nodes: Sequence[NodeLine], asks: Amounts | None, verdicts: Verdicts | None) -> BarRow:
    """Merge the nodes of a zone that have the same verdict into one bar. Ignore zones if that gives too many bars."""
    single = [capacity_bars.CapacityBar(node.name, node.zone, (), False, 0, [], "") for node in nodes]
    shelf = capacity_bars.BarRow("", single)
    texts = {v.name: (v.mark, v.text) for v in (verdicts.on(shelf) if verdicts else shelf).bars}
    groups: dict[tuple[str, str], list[NodeLine]] = {}
    for zones in (True, False):
        groups = {}
        for node in nodes:
            groups.setdefault((node.zone if zones else "", texts[node.name][0]), []).append(node)
        if len(groups) <= TOGETHER:
            break
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], list(WORDS).index(group[0][1])))
    found = capacity_bars.bar_row([_as_one(zone, members) for (zone, _), members in ordered], asks)
    marked = [
        replace(bar, mark=mark, text=_most_common_text(mark, [texts[node.name][1] for node in members]))
        for bar, ((_, mark), members) in zip(found.bars, ordered, strict=True)
    ]
    return replace(found, bars=marked, spoken=True)


def _as_one(zone: str, members: Sequence[NodeLine]) -> NodeLine:
    name = members[0].name if len(members) == 1 else f"{len(members):,} nodes"
    requested = PodLine("requested", requests=_sum([node.requested for node in members]))
    return NodeLine(name, _sum([node.allocatable for node in members]), {ZONES[0]: zone}, pods=[requested])


def _most_common_text(mark: str, texts: Sequence[str]) -> str:
    """Return a short text for nodes with the same verdict."""
    if mark == "out":
        return ", ".join(f"{plugin} {number:,}" for plugin, number in Counter(texts).most_common(3))
    return WORDS[mark] if mark else ""


def counts(shelf: BarRow) -> list[Count]:
    """Return the number of nodes per verdict, in words. Rejected nodes are counted by plugin."""
    found = Counter((bar.mark, bar.text if bar.mark == "out" else "") for bar in shelf.bars)
    if set(found) == {("", "")}:
        return []
    order = list(WORDS)
    lines = sorted(found.items(), key=lambda line: (order.index(line[0][0]), -line[1]))
    return [Count(mark, f"{WORDS[mark]}{f': {by}' if by else ''}", number) for (mark, by), number in lines][:PODS]
