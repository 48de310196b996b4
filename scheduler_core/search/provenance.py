"""Explanations of the numbers of a cycle, computed by the plugins (`explain_...`) on the cluster before the cycle.

Nothing is scheduled again: decisions are read from the cycle's trace. A tree is shown only if its value equals the
recorded one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from scheduler_core.api.objects import KINDS, Object
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import (
    CycleState,
    FilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreScorePlugin,
    Status,
)
from scheduler_core.framework.runtime import Framework
from scheduler_core.provenance.context import PAGE, View
from scheduler_core.provenance.tree import Tree, constant, multiply, total
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import Recording
from scheduler_core.recording.restore import Make, restore_run
from scheduler_core.releases import Release

POINTS = ("filter", "raw", "normalized", "weighted", "total", "preemption")
# Points of our own: where a plugin may reject or delay the pod, or reject the node that was chosen for it.
BINDING = {"reserve": "reserve", "permit": "permit", "prebind": "pre_bind", "bind": "bind"}
OWN_POINTS = ("preenqueue", *BINDING)
_SCORE_POINTS = frozenset(("raw", "normalized", "weighted"))
_FEW = 6  # terms of long sums if several scores are in one explanation
UNEXPLAINED = "recorded; the plugin does not report its inputs"
DISAGREES = "recorded; the explanation computed now has another value"


class NotDecided(InputError):
    """Raised if the question is valid but the cycle did not decide it."""


def row_of(framework: Framework, node: str) -> int:
    """Return the row of a node. Raises NotDecided."""
    row = framework.cluster.nodes.rows.get(node, -1)
    if row < 0:
        raise NotDecided("node", "", f"there was no node {node[:253]!r} before this cycle")
    return row


def page_of(items: Sequence[Any], page: int, size: int) -> tuple[Sequence[Any], dict[str, int]]:
    """Return (the items of a page, {total, page, pages}). Raises InputError."""
    pages = max(1, -(-len(items) // size))
    if not 1 <= page <= pages:
        raise InputError("page", "", f"must be from 1 to {pages}, got {page}")
    return items[(page - 1) * size : page * size], {"total": len(items), "page": page, "pages": pages}


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a cycle at one of POINTS or OWN_POINTS.

    `node`: "" for the chosen or nominated node. `plugin`: "" for totals. `page`: the page of long sums.
    """

    point: str
    node: str = ""
    plugin: str = ""
    page: int = 1

    def __post_init__(self) -> None:
        points = (*POINTS, *OWN_POINTS)
        if self.point not in points:
            raise InputError("point", "", f"must be one of {', '.join(points)}, got {self.point[:63]!r}")
        if self.page < 1:
            raise InputError("page", "", f"must be 1 or more, got {self.page}")


class Provenance:
    """Explains the numbers of one cycle.

    `framework` is the profile's framework on the cluster before the cycle, and `pod` the pod at that timepoint.
    `cycles` maps a pod to the earlier cycle that placed it. `given` maps (kind, key) to claims and volumes as they were
    in the input.
    """

    def __init__(
        self,
        framework: Framework,
        pod: PodInfo,
        trace: CycleTrace,
        cycles: Mapping[str, int],
        given: Mapping[tuple[str, str], Object],
    ) -> None:
        framework.cluster.nodes.refresh()
        self.framework, self.pod, self.trace = framework, pod, trace
        self._cycles, self._given = cycles, given

    def explain(self, question: Question) -> Tree:
        """Return the explanation tree; its root is the recorded value. Raises InputError for what the cycle did not
        decide."""
        node = question.node or self.trace.node or self.trace.nominated_node
        if question.point == "preenqueue":
            node = next(iter(self.framework.cluster.nodes.names), "")  # PreEnqueue does not depend on a node
        if not node:
            raise InputError("node", "", "must be given: the cycle chose none")
        row = row_of(self.framework, node)
        rows: Any = slice(None) if self.trace.feasible is None else self.trace.feasible
        size = _FEW if question.point in ("total", "preemption") else PAGE
        around = (self.framework.profile, rows, self._cycles, self._given)
        view = View(self.framework.cluster, self.pod, row, *around, question.page, size)
        explain: dict[str, Callable[[View, str, str], Tree]] = {
            "filter": self._filter,
            "total": self._total,
            "preenqueue": self._pre_enqueue,
            "preemption": self._preemption,
            **dict.fromkeys(_SCORE_POINTS, self._score),
            **dict.fromkeys(BINDING, self._binding),
        }
        tree = explain[question.point](view, question.point, question.plugin)
        tree.pages = view.pages
        return tree

    def _pre_enqueue(self, view: View, _: str, name: str) -> Tree:
        plugin = _named(self.framework.pre_enqueue, name, "preEnqueue")
        status = self.trace.preenqueue
        return _checked(plugin.explain_pre_enqueue(view), status is not None and status.plugin == name, status)

    def _filter(self, view: View, _: str, name: str) -> Tree:
        trace, state = self.trace, CycleState()
        rejected = trace.prefilter is not None and trace.prefilter.plugin == name
        plugin: Any = _named(self.framework.pre_filter if rejected else self.framework.filter, name, "filter")
        if isinstance(plugin, PreFilterPlugin):
            plugin.pre_filter(state, view.pod)
        if rejected:
            return _checked(plugin.explain_pre_filter(state, view), True, trace.prefilter)
        if name not in trace.verdicts:
            raise NotDecided("plugin", "", _silent(trace, name, trace.skipped_filter, "filter"))
        assert isinstance(plugin, FilterPlugin)
        plugin.filter(state, view.pod)
        if self.framework.cluster.release.predicates and view.row in trace.nominated:  # these pods count
            view = view.changed(self.framework.nominated_ahead(view.pod, view.node.name))
        status = trace.verdicts[name].at(view.row)
        tree = _checked(plugin.explain_filter(state, view), status is not None, status)
        with_nominated = trace.nominated.get(view.row)
        if status is None and with_nominated is not None and with_nominated.plugin == name:
            pods = ", ".join(pod.key for pod in self.framework.nominated_ahead(view.pod, view.node.name))
            tree.text += f"; but with the pods nominated to the node ({pods}) it refuses: {with_nominated.message}"
        return tree

    def _score(self, view: View, point: str, name: str) -> Tree:
        score = self.trace.scores.get(name)
        if score is None:
            _named(self.framework.score, name, "score")
            raise NotDecided("plugin", "", _silent(self.trace, name, self.trace.skipped_score, "score"))
        place = self._place(view)
        state = CycleState()
        plugin = next((plugin for plugin in self.framework.score if plugin.name == name), None)
        if isinstance(plugin, PreScorePlugin):
            plugin.pre_score(state, view.pod, view.rows)
        raw = _checked(plugin.explain_score(state, view) if plugin else None, int(score.raw[place]), None)
        if point == "raw":
            return raw
        tree = raw
        if plugin is None or plugin.normalize is not None:
            explained = plugin.explain_normalize(state, view, raw, score.raw) if plugin else None
            tree = _checked(explained, int(score.normalized[place]), None)
        if point == "normalized":
            return tree
        weighted = multiply(tree, view.weight(name, score.weight), f"{name} x weight")
        value, unweighted = weighted.value, tree.value
        return weighted.with_text(f"{value} = {unweighted} of {name} x weight {score.weight} ({view.node.name})")

    def _place(self, view: View) -> int:
        """Return the index of the node among the feasible ones."""
        found = np.flatnonzero(self.trace.feasible_rows() == view.row)
        if not len(found):
            raise NotDecided("node", "", f"{view.node.name} was not scored in this cycle: it was not feasible")
        return int(found[0])

    def _total(self, view: View, *_: str) -> Tree:
        trace = self.trace
        if not trace.scores:
            raise NotDecided("point", "", "nothing was scored in this cycle")
        place = self._place(view)
        parts = [self._score(view, "weighted", name) for name in trace.scores]
        tree = total(parts, "sum of the weighted scores")
        named = zip(trace.scores, parts, strict=True)
        summands = " + ".join(f"{part.value} {name}" for name, part in named if part.value)
        tree.text = f"{tree.value} = {summands or 0} ({view.node.name})"
        return _checked(tree, int(trace.total()[place]), None)

    def _preemption(self, view: View, _: str, name: str) -> Tree:
        if self.framework.cluster.release.predicates:
            raise NotDecided("point", "", "preemption was part of the scheduler in this release; it has no explanation")
        trace, state, pods = self.trace, CycleState(), self.framework.cluster.pods
        found = trace.postfilter
        if found is None:
            raise NotDecided("point", "", "no PostFilter plugin ran in this cycle")
        plugin = _named(self.framework.post_filter, name or found.plugin, "postFilter")
        self.framework.run_pre_filter(state, view.pod)
        self.framework.run_filter(state, view.pod)
        victims = [pods[key] for key in trace.victims if key in pods]
        how = (found.candidates, found.rejected, found.nominated_any_of, found.rule)
        result = PostFilterResult(found.nominated_node, victims, *how)
        here = view.node.name == found.nominated_node
        return _checked(plugin.explain_post_filter(state, view, trace, result), here, found.status)

    def _binding(self, view: View, point: str, name: str) -> Tree:
        """Explain whether the plugin rejects the chosen node, or for how many seconds Permit lets the pod wait."""
        trace, method = self.trace, BINDING[point]
        plugins = getattr(self.framework, method)
        plugin = _named(plugins, name, point)
        if view.node.name != trace.node:
            raise NotDecided("node", "", f"{point} is about the chosen node, {trace.node or 'and there is none'}")
        status: Status | None = getattr(trace, point)
        names = [one.name for one in plugins]
        refusing = status.plugin if status is not None and status.rejected and status.plugin in names else ""
        before = [getattr(trace, earlier) for earlier in list(BINDING)[: list(BINDING).index(point)]]
        stopped = any(one is not None and one.rejected for one in before)
        if stopped or (refusing and names.index(refusing) < names.index(name)):
            raise NotDecided("plugin", "", f"{name} did not run: the cycle ended before")
        if point in ("prebind", "bind") and trace.permit_waits:
            raise NotDecided("point", "", "Permit held the pod: its binding came later, if at all")
        state = CycleState()
        self.framework.run_pre_filter(state, view.pod)
        self.framework.run_filter(state, view.pod)
        waits = trace.permit_waits.get(name) if point == "permit" else None
        recorded = waits if waits is not None else bool(refusing) and refusing == name
        return _checked(getattr(plugin, f"explain_{method}")(state, view), recorded, status if refusing else None)


def provenance_of(
    recording: Recording, fetch: Fetch, make: Make, release: Release, number: int, trace: CycleTrace
) -> Provenance:
    """Return the explanations of a cycle. The arguments are those of `restore_run`. Raises InputError."""
    moment = recording.before_cycle(number)
    state, start = StateAtTimepoint(recording, moment), trace.start_index
    simulation = restore_run(
        recording, fetch, moment, make, release, waiting={trace.pod}, start_index=start, state=state
    )
    pod = next((pod for pod in simulation.pending if pod.key == trace.pod), None)
    framework = simulation.scheduler.profiles.get(trace.profile)
    if pod is None or framework is None:
        raise NotDecided("cycle", "", f"pod {trace.pod} was not waiting for a node before cycle {number}")
    cycles, given = _placing_cycles(state), _as_given(recording, fetch, moment)
    return Provenance(framework, pod, trace, cycles, given)


def _placing_cycles(state: StateAtTimepoint) -> dict[str, int]:
    """Map each pod on a node to the cycle that placed it."""
    recording, pods = state.recording, state.recording.tables["pods"]
    cycles = recording.tables["cycles"]["at"]
    came = recording.tables["places"]["at"][state.came[state.placed]]
    found = np.searchsorted(cycles, came)
    placed = (came > 0) & (found < len(cycles)) & (np.append(cycles, -1)[found] == came)
    return dict(zip(pods.text("key", state.placed[placed]), (found[placed] + 1).tolist(), strict=True))


def _as_given(recording: Recording, fetch: Fetch, moment: int) -> dict[tuple[str, str], Object]:
    """Map (kind, key) to the initial version of each claim and volume that cycles have changed since."""
    others = recording.tables["others"]
    kinds, keys, at = others.texts["kind"], others.texts["key"], others["at"]
    rows = np.flatnonzero((at > 0) & (at <= moment))
    changed = {(kinds[others["kind"][row]], keys[others["key"][row]]) for row in rows.tolist()}
    changed = {pair for pair in changed if pair[0] in ("PersistentVolumeClaim", "PersistentVolume")}
    found: dict[tuple[str, str], Object] = {}
    for row in np.flatnonzero(at == 0).tolist() if changed else ():
        pair = kinds[others["kind"][row]], keys[others["key"][row]]
        if pair in changed:
            found[pair] = msgspec.json.decode(fetch(int(others["object"][row]))[1], type=KINDS[pair[0]])
    return found


def _named(plugins: Any, name: str, point: str) -> Any:
    for plugin in plugins:
        if plugin.name == name:
            return plugin
    names = ", ".join(plugin.name for plugin in plugins) or "none"
    if not name:
        raise InputError("plugin", "", f"must be given, one of {names}")
    raise NotDecided("plugin", "", f"{name[:63]!r} is not at {point} in the pod's profile; there are {names}")


def _silent(trace: CycleTrace, name: str, skipped: list[str], point: str) -> str:
    """Return why a plugin gave no result."""
    if name in skipped:
        return f"{name} had nothing to {point} for this pod and was skipped"
    if point == "filter" and trace.prefilter is not None:
        return f"{name} did not run: {trace.prefilter.plugin or 'PreFilter'} had rejected the pod"
    return f"{name} did not run in this cycle"


def _checked(tree: Tree | None, recorded: Any, status: Status | None) -> Tree:
    """Return the tree if its value is the recorded one, else a leaf with the recorded value."""
    if tree is not None and tree.value == recorded:
        return tree
    message = f": {status.message}" if status is not None else ""
    return constant(recorded, UNEXPLAINED if tree is None else DISAGREES).with_text(f"{recorded}{message}")
