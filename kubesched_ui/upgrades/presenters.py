"""An upgrade preview arranged for its page: what did what in each step, and each pod across the releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubesched_ui.models import Run, Scenario, Upgrade
from kubesched_ui.runs import services
from scheduler_core.debugger.compare.upgrade import DECISIONS, REASONS, WORDS
from scheduler_core.releases import RELEASES, tested_version

NAMED = 8  # pods of a group that are named
DECIDED, ALL = "decisions", "all"
SHOWS = {
    DECIDED: "Decisions that differ",
    REASONS: "No node, for other reasons",
    WORDS: "Messages that only read differently",
    ALL: "All of these",
}


class Choice(NamedTuple):
    """A release of the chooser. `patch`: what follows its name in the version that its behaviour is held to, "" for
    none; `own`: it is the cluster's."""

    name: str
    patch: str
    chosen: bool
    own: bool


def choices(scenario: Scenario) -> list[Choice]:
    """All releases; the cluster's own and the newest are chosen at first, or the last two."""
    names, own = list(RELEASES), services.own_release(scenario)
    first = own if own and own != names[-1] else names[-2]
    return [Choice(n, tested_version(n).removeprefix(n), n in (first, names[-1]), n == own) for n in names]


@dataclass
class Group:
    """Pods with the same cause. `key`: as the address has it; `units`: what did it, None for what is not known."""

    key: str
    units: list[dict[str, Any]] | None
    minimal: bool = True
    pods: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    example: tuple[str, str] | None = None

    @property
    def named(self) -> list[str]:
        return self.pods[:NAMED]

    @property
    def more(self) -> int:
        return max(0, len(self.pods) - NAMED)


@dataclass
class Step:
    """From a release to the next. `of`: (what is shown, its title, its groups, how many pods these are)."""

    number: int
    a: str
    b: str
    runs: tuple[Run | None, Run | None]
    sentence: str
    note: str
    of: list[tuple[str, str, list[Group], int]]


@dataclass
class Row:
    """A pod. `cells`: of each release (where it is, the change that brought it there, "" for none, the key of its
    group)."""

    pod: str
    cells: list[tuple[str, str, str]]


def group_key(step: int, change: dict[str, Any]) -> str:
    """What pods of a step have in common that share a cause: such as `0.3.12`; `0.` where it is not known."""
    return ".".join(map(str, (step, *(change["cause"] or ())))) + ("." if change["cause"] is None else "")


def kind_of(change: dict[str, Any]) -> str:
    return DECIDED if change["change"] in DECISIONS else change["change"]


def steps(upgrade: Upgrade) -> list[Step]:
    """The steps that are known."""
    runs = upgrade.run_of()
    return [
        Step(
            number,
            step["a"],
            step["b"],
            (runs.get(step["a"]), runs.get(step["b"])),
            step["sentence"],
            step["note"],
            [
                (kind, SHOWS[kind], found, sum(len(group.pods) for group in found))
                for kind in (DECIDED, REASONS, WORDS)
                if (found := groups(number, step, kind))
            ],
        )
        for number, step in enumerate(upgrade.steps)
    ]


def groups(number: int, step: dict[str, Any], kind: str) -> list[Group]:
    """The causes of what differs in this way, that with the most pods first; what has none last."""
    found: dict[str, Group] = {}
    for change in step["changed"]:
        if kind_of(change) != kind:
            continue
        key = group_key(number, change)
        units = None if change["cause"] is None else [step["units"][i] for i in change["cause"]]
        group = found.setdefault(key, Group(key, units))
        group.minimal = group.minimal and change["minimal"]
        group.pods.append(change["pod"])
        group.kinds[change["change"]] = group.kinds.get(change["change"], 0) + 1
        if kind != DECIDED and group.example is None:
            group.example = change["a"]["message"], change["b"]["message"]
    return sorted(found.values(), key=lambda group: (group.units is None, -len(group.pods)))


def rows(upgrade: Upgrade, q: str = "", show: str = DECIDED, cause: str = "") -> list[Row]:
    """The pods of which something differs in some step, in the order in which they were told."""
    by_pod: dict[str, dict[int, dict[str, Any]]] = {}
    for number, step in enumerate(upgrade.steps):
        for change in step["changed"]:
            by_pod.setdefault(change["pod"], {})[number] = change
    text = q.lower()
    wanted = [
        pod
        for pod, changes in by_pod.items()
        if any(
            (show == ALL or kind_of(change) == show) and (not cause or group_key(number, change) == cause)
            for number, change in changes.items()
        )
    ]
    found = [Row(pod, list(cells(by_pod[pod], len(upgrade.releases)))) for pod in wanted]
    return [row for row in found if text in row.pod.lower() or any(text in place.lower() for place, _, _ in row.cells)]


def cells(changes: dict[int, dict[str, Any]], releases: int) -> Iterator[tuple[str, str, str]]:
    """Of a pod: it stays as it was until a step changes it. Releases that are not looked at yet have nothing."""
    place = where(changes[min(changes)]["a"])
    yield place, "", ""
    for number in range(releases - 1):
        change = changes.get(number)
        if change is None:
            yield place, "", ""
            continue
        place = where(change["b"])
        yield place, change["change"], group_key(number, change)


def where(fate: dict[str, Any] | None) -> str:
    """Where a pod is, in a word or two."""
    if fate is None:
        return "not there"
    if fate["node"]:
        return str(fate["node"])
    return f"makes room on {fate['nominated']}" if fate["nominated"] else NO_NODE.get(fate["result"], fate["result"])


NO_NODE = {"unschedulable": "no node"}


def progress(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """How far each of its runs is."""
    return [
        {
            "run": run.pk,
            "release": run.release_number,
            "state": run.state,
            "done": int(run.clock) if run.in_time else run.cycles_done,
            "total": int(run.until or 0) if run.in_time else run.cycles_total,
        }
        for run in runs
    ]
