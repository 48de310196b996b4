"""A scheduling cycle for display: steps, the filter matrix, scores and preemption.

Pure functions from a cycle with the keys of the golden format to small structures for templates and charts. They do not
access the database and make no scheduling decisions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scheduler_core.framework.interface import FilterPlugin
from scheduler_core.plugins import REGISTRY
from scheduler_core.releases import NEWEST, RELEASES

Cycle = Mapping[str, Any]

LABELS = (
    *("PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
    *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
)
POINTS = {label.lower(): label for label in LABELS}

# Releases before the scheduling framework had fewer points with other names. The keys correspond to the function.
OLD_POINTS = {
    "filter": "Predicates",
    "postfilter": "Preemption",
    "score": "Priorities",
    "reserve": "Assume",
    "bind": "Bind",
}

# Filter order of the newest default profile; other plugins follow in order of appearance.
FILTER_ORDER = [name for name, _ in RELEASES[NEWEST].default_plugins if issubclass(REGISTRY[name], FilterPlugin)]

PASSING = ("Success", "Skip", "Wait")
OUTSIDE = "are outside the topology domain evaluated for the pod group"
NOTHING_AFTER: Mapping[str, tuple[str, str]] = {}

PASS, HOT, ALSO, LATE, UNSEEN = "pass", "hot", "also", "late", "skip"
CELLS = {
    PASS: ("✓", "passes"),
    HOT: ("✕", "decisive: rejects"),
    ALSO: ("!", "would also reject"),
    LATE: ("·", "not evaluated; would pass"),
    UNSEEN: ("–", "not evaluated"),
}


@dataclass(frozen=True)
class PointStep:
    """An extension point in the stepper. `state`: pass, reject, skip, wait or none (not reached)."""

    key: str
    label: str
    state: str
    figure: str = ""

    @property
    def mark(self) -> str:
        return {"pass": "✓", "reject": "✕", "skip": "–", "wait": "⋯", "none": "·"}[self.state]

    @property
    def spoken(self) -> str:
        words = {"pass": "passed", "reject": "rejected", "skip": "skipped", "wait": "waits", "none": "not reached"}
        return words[self.state]


@dataclass(frozen=True)
class Cell:
    plugin: str
    kind: str
    reasons: tuple[str, ...] = ()
    detailed: tuple[str, ...] = ()  # the reasons with quantities

    @property
    def glyph(self) -> str:
        return CELLS[self.kind][0]

    @property
    def text(self) -> str:
        return "; ".join(self.detailed or self.reasons)

    @property
    def title(self) -> str:
        return f"{self.plugin}: {CELLS[self.kind][1]}" + (f" ({'; '.join(self.reasons)})" if self.reasons else "")


@dataclass
class NodeGroup:
    """Nodes with the same row in the matrix. `state`: feasible, refused or unseen."""

    state: str
    plugin: str
    code: str
    reasons: tuple[str, ...]
    cells: list[Cell]
    nodes: list[str] = field(default_factory=list)
    chosen: bool = False
    detailed: tuple[str, ...] = ()  # the reasons with quantities; `each`: those of each node, if they differ
    each: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        if self.state == "feasible":
            return "fit the pod"
        if self.state == "unseen":
            return "; ".join(self.detailed) or "were not evaluated"
        return "; ".join(self.detailed or self.reasons) or "excluded by PreFilter"


@dataclass(frozen=True)
class Matrix:
    plugins: list[str]
    skipped: list[str]
    groups: list[NodeGroup]
    feasible: int
    looked_at: int
    nodes: int

    @property
    def refused(self) -> int:
        return self.looked_at - self.feasible


def steps(
    cycle: Cycle,
    result: str,
    nodes: int,
    after: Mapping[str, tuple[str, str]] = NOTHING_AFTER,
    points: Mapping[str, str] = POINTS,
) -> list[PointStep]:
    """Return the extension points of a cycle in order, each with its state and a short text.

    `result` is the cycle's result (scheduled, unschedulable, gated, error, waiting), `nodes` the number of nodes.
    `after`: point -> (state, text) of what followed the cycle (`attempts.Attempt.points`). `points`: those of the
    release.
    """
    feasible = len(cycle.get("feasible") or ())
    looked_at = feasible + len(cycle.get("filter") or ())
    states: dict[str, tuple[str, str]] = {}
    if cycle.get("preenqueue"):
        states["preenqueue"] = ("reject", cycle["preenqueue"]["plugin"])
    else:
        states["preenqueue"] = ("pass", "")
        rejected = cycle.get("prefilter")
        states["prefilter"] = ("reject", rejected["plugin"]) if rejected else ("pass", "")
        if not rejected and not (cycle.get("error") and not looked_at):
            states["filter"] = ("pass" if feasible else "reject", f"{feasible} of {looked_at} fit")
    if cycle.get("postfilter"):
        won = cycle["postfilter"].get("nominated_node")
        states["postfilter"] = ("pass", f"nominates {won}") if won else ("reject", "does not help")
    if feasible:
        states["postfilter"] = ("skip", "not needed")
        if cycle.get("total"):
            states["prescore"] = ("pass", "")
            states["score"] = ("pass", f"best {max(cycle['total'].values())}")
        else:
            states["prescore"] = states["score"] = ("skip", "one node fits")
    late = ["reserve", "permit", "prebind", "bind"]
    rejecting = next((key for key in late if (cycle.get(key) or {}).get("code", "Success") not in PASSING), None)
    if rejecting:
        states |= dict.fromkeys(late[: late.index(rejecting)], ("pass", ""))
        states["reserve"] = ("skip", "given back")
        states[rejecting] = ("reject", cycle[rejecting].get("plugin") or "failed")
    elif cycle.get("group") and cycle.get("selected") and result != "scheduled":
        states |= {"reserve": ("skip", "given back")}
        states["permit"] = (
            ("wait", "pod group waiting") if cycle.get("promised") else ("reject", "pod group not scheduled")
        )
    elif result == "waiting":
        states |= {"reserve": ("pass", ""), "permit": ("wait", "waits")}
    elif result == "scheduled":
        states |= dict.fromkeys(("reserve", "permit", "prebind", "bind", "postbind"), ("pass", ""))
        states["bind"] = ("pass", cycle.get("selected") or "")
    if cycle.get("permit_waits") and states.get("permit", ("",))[0] == "pass":
        states["permit"] = ("pass", "waited")
    states |= after
    return [PointStep(key, label, *states.get(key, ("none", ""))) for key, label in points.items()]


def decisive_point(cycle: Cycle, result: str, after: Mapping[str, tuple[str, str]] = NOTHING_AFTER) -> str:
    """Return the point to open first: where the pod was rejected or waits, or Score if there was a choice."""
    found = steps(cycle, result, 0, after)
    rejected = [step.key for step in found if step.state == "reject"]
    if rejected:
        return "filter" if "filter" in rejected else rejected[0]
    if waiting := [step.key for step in found if step.state == "wait"]:
        return waiting[0]
    return "score" if cycle.get("total") else "filter"


def in_order(plugins: Iterable[str], order: Sequence[str] = FILTER_ORDER) -> list[str]:
    """Return `plugins` without duplicates: those in `order` first, in its order."""
    met = dict.fromkeys(plugins)
    return [name for name in order if name in met] + [name for name in met if name not in order]


def matrix(cycle: Cycle, nodes: Sequence[str]) -> Matrix:
    """Return the Filter results as groups of nodes with equal verdicts.

    `nodes` are all node names in snapshot order. The cycle's `filter_order`, if known, is the execution order of the
    Filter plugins. Groups are ordered: feasible nodes, rejected nodes by number of nodes with the same reason, nodes
    that were not evaluated.
    """
    refused, wider, order = cycle.get("filter") or {}, cycle.get("filter_all") or {}, FILTER_ORDER
    skipped = set(cycle.get("skipped_filter") or ())
    named = (plugin for verdicts in wider.values() for plugin in verdicts)
    decisive = (status.get("plugin", "") for status in refused.values())
    order_known = cycle.get("filter_order")
    plugins = list(order_known) if order_known else in_order([*order, *decisive, *named], order)
    plugins = [name for name in plugins if name and name not in skipped]
    feasible, outside = set(cycle.get("feasible") or ()), set(cycle.get("outside") or ())
    selected = cycle.get("selected")
    groups: dict[tuple[Any, ...], NodeGroup] = {}
    for node in nodes:
        status, others = refused.get(node), wider.get(node) or {}
        state = "refused" if status else "feasible" if node in feasible else "unseen"
        signature = (status.get("plugin", ""), tuple(status.get("reasons") or ())) if status else ()
        reasons = tuple((name, tuple(s.get("reasons") or ())) for name, s in others.items()) if others else ()
        key = (state, node in outside, signature, reasons)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _group(state, status, others, plugins)
        if state == "unseen" and node in outside:
            group.detailed = (OUTSIDE,)
        group.nodes.append(node)
        group.chosen |= node == selected
    rank = {"feasible": 0, "refused": 1, "unseen": 2}
    sizes = Counter[tuple[str, ...]]()
    for group in groups.values():
        sizes[(group.plugin, *group.reasons)] += len(group.nodes)
    ordered = sorted(
        groups.values(),
        key=lambda g: (rank[g.state], -sizes[(g.plugin, *g.reasons)], g.plugin, g.reasons, -len(g.nodes)),
    )
    looked_at = sum(len(g.nodes) for g in ordered if g.state != "unseen")
    return Matrix(plugins, in_order(skipped, order), ordered, len(feasible), looked_at, len(nodes))


def _group(state: str, status: Mapping[str, Any] | None, others: Mapping[str, Any], plugins: list[str]) -> NodeGroup:
    status = status or {}
    decisive = status.get("plugin", "")
    cells, decided = [], state == "unseen"
    for plugin in plugins:
        reasons = tuple((others.get(plugin) or {}).get("reasons") or ())
        if plugin == decisive:
            cells.append(Cell(plugin, HOT, tuple(status.get("reasons") or reasons)))
            decided = True
        elif plugin in others:
            cells.append(Cell(plugin, ALSO, reasons))
        else:
            late = UNSEEN if state == "unseen" or (state == "refused" and not decisive) else LATE
            cells.append(Cell(plugin, late if decided or late == UNSEEN else PASS))
    return NodeGroup(state, decisive, status.get("code", ""), tuple(status.get("reasons") or ()), cells)


@dataclass(frozen=True)
class ScoreCell:
    plugin: str
    weight: int
    raw: int
    normalized: int

    @property
    def weighted(self) -> int:
        return self.weight * self.normalized


@dataclass(frozen=True)
class ScoreRow:
    rank: int
    node: str
    scores: Mapping[str, Any]
    total: int
    chosen: bool
    best: bool

    @cached_property
    def cells(self) -> list[ScoreCell]:
        """The node's scores by plugin. Computed on demand, because a page shows few of up to 5,000 scored nodes."""
        return [
            ScoreCell(name, s["weight"], s["raw"].get(self.node, 0), s["normalized"].get(self.node, 0))
            for name, s in self.scores.items()
        ]


@dataclass(frozen=True)
class Duel:
    """A comparison of two nodes: one line per plugin, the largest differences first."""

    node: str
    other: str
    margin: int
    lines: list[tuple[ScoreCell, ScoreCell, int, float]]


def score_rows(cycle: Cycle) -> list[ScoreRow]:
    """Return scored nodes by descending total; of equal ones the chosen node first, then in snapshot order."""
    scores, total = cycle.get("score") or {}, cycle.get("total") or {}
    chosen, best = cycle.get("selected"), set(cycle.get("best") or ())
    ordered = sorted(total, key=lambda node: (-total[node], node != chosen))
    return [
        ScoreRow(rank, node, scores, total[node], node == chosen, node in best)
        for rank, node in enumerate(ordered, start=1)
    ]


def duel(rows: Sequence[ScoreRow], other: str | None = None) -> Duel | None:
    """Compare the chosen (or best) node to `other`, by default the runner-up. Return None for fewer than two nodes."""
    if len(rows) < 2:
        return None
    winner = next((row for row in rows if row.chosen), rows[0])
    rest = [row for row in rows if row is not winner]
    loser = next((row for row in rest if row.node == other), rest[0])
    lines = [(a, b, a.weighted - b.weighted) for a, b in zip(winner.cells, loser.cells, strict=True)]
    widest = max((abs(line[2]) for line in lines), default=0) or 1
    lines.sort(key=lambda line: -abs(line[2]))
    return Duel(
        winner.node, loser.node, winner.total - loser.total, [(a, b, d, 50 * abs(d) / widest) for a, b, d in lines]
    )


@dataclass(frozen=True)
class VictimPod:
    pod: str
    priority: int | None


@dataclass(frozen=True)
class Candidate:
    node: str
    victims: list[VictimPod]
    violations: int
    highest: int | None
    total: int | None
    chosen: bool


@dataclass(frozen=True)
class Preemption:
    nominated: str
    message: str
    candidates: list[Candidate]
    rejected: list[tuple[str, str, list[str]]]
    rule: str


def preemption(cycle: Cycle, priorities: Mapping[str, int]) -> Preemption | None:
    """Return the PostFilter result: candidates in the order of upstream's rules, the chosen one first.

    `priorities`: pod -> priority, for possible victims. Return None if PostFilter did not run.
    """
    found = cycle.get("postfilter")
    if not found:
        return None
    chosen = found.get("nominated_node") or ""
    candidates = [
        _candidate(node, entry, chosen, priorities) for node, entry in (found.get("candidates") or {}).items()
    ]
    candidates.sort(key=lambda c: (not c.chosen, c.violations, c.highest or 0, c.total or 0, len(c.victims), c.node))
    grouped: dict[tuple[str, str], list[str]] = {}
    for node, status in (found.get("rejected") or {}).items():
        key = (status.get("plugin", ""), "; ".join(status.get("reasons") or ()))
        grouped.setdefault(key, []).append(node)
    rejected = sorted(((*key, names) for key, names in grouped.items()), key=lambda entry: -len(entry[2]))
    status = found.get("status") or {}
    rule = cycle.get("rule") or ("the only candidate" if len(candidates) == 1 else "")
    return Preemption(chosen, "; ".join(status.get("reasons") or ()), candidates, rejected, rule)


def _candidate(node: str, entry: Mapping[str, Any], chosen: str, priorities: Mapping[str, int]) -> Candidate:
    victims = [VictimPod(pod, priorities.get(pod)) for pod in entry.get("victims") or ()]
    known = [victim.priority for victim in victims if victim.priority is not None]
    # Upstream shifts every priority above zero before it adds them, so an additional victim never reduces the sum.
    total = sum(p + 2**31 for p in known) if len(known) == len(victims) else None
    return Candidate(
        node,
        victims,
        entry.get("pdb_violations") or 0,
        max(known, default=None),
        total,
        bool(chosen) and node == chosen,
    )
