"""Data of an upgrade preview's page: the causes in each step, and each pod in all releases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.utils import timezone

from kubesched_ui.models import Run, Scenario, Upgrade
from kubesched_ui.runs import estimate, services
from kubesched_ui.runs.release_choices import in_order
from scheduler_core.api import duration
from scheduler_core.cluster.formatting import agree, count
from scheduler_core.compare.upgrade import DECISIONS, PLANNED_RUNS, REASONS, WORDS
from scheduler_core.releases import NEWEST, RELEASES, get_release
from scheduler_core.releases.conformance import state
from scheduler_core.releases.remarks import cluster_remarks

NAMED = 8  # pods named per group
DECIDED, DIRECT, ALL = "decisions", "direct", "all"
SHOWS = {
    DECIDED: "Decisions that differ",
    DIRECT: "Direct changes of decisions",
    REASONS: "No node, for other reasons",
    WORDS: "Messages that differ only in wording",
    ALL: "All of these",
}


class Choice(NamedTuple):
    """A release to choose. `patch`: the rest of the version that is simulated, after the release's name; "" for none.
    `state`: verified or by sources. `own`: whether it is the cluster's release."""

    name: str
    patch: str
    state: str
    chosen: bool
    own: bool


def choices(scenario: Scenario) -> list[Choice]:
    """Return the minor releases and the cluster's release. Preselect the cluster's release or the nearest, and the
    newest, or else the last two."""
    own, default = services.own_release(scenario), services.default_release(scenario).partition(" ")[0]
    names = in_order({*RELEASES, default})
    selected = {default, names[-1]} if default != names[-1] else set(names[-2:])
    in_time = bool(scenario.time)
    return [
        Choice(
            name,
            get_release(name).patch_version.removeprefix(name),
            state(name, in_time),
            name in selected,
            name == own.partition(" ")[0],
        )
        for name in names
    ]


def remarks(upgrade: Upgrade) -> list[str]:
    """Return how the releases of a preview differ from the cluster's patch release."""
    return [text for release in upgrade.releases for text in cluster_remarks(upgrade.scenario.kubernetes, release)]


def expected_per_release(scenario: Scenario) -> dict[str, str]:
    """Return how long a preview takes for each further release, a run and the runs that find causes: for the `pending`
    pods and for `every` pod."""
    in_time = bool(scenario.time)
    slower, _ = estimate.pace(scenario, NEWEST, in_time)
    start = estimate.model(scenario, 0, in_time)
    found = {}
    for which, pods in (("pending", estimate.waiting(scenario)), ("every", scenario.counts.get("Pod", 0))):
        whole = estimate.model(scenario, pods, in_time)
        found[which] = duration.span(round(slower * (whole + PLANNED_RUNS * (whole - start)), 1))
    return found


def time_left(upgrade: Upgrade) -> str:
    """Return how long the search for causes still takes, as far as known; "" while that is unknown."""
    if not upgrade.active or upgrade.started_at is None or not 0 < upgrade.done < upgrade.planned:
        return ""
    took = (timezone.now() - upgrade.started_at).total_seconds()
    return duration.span(round(took * (upgrade.planned - upgrade.done) / upgrade.done))


@dataclass
class CauseGroup:
    """Pods with the same cause. `key`: as in URLs; `units`: the causes, None if unknown; `direct`: pods that also
    change alone."""

    key: str
    units: list[dict[str, Any]] | None
    minimal: bool = True
    pods: list[str] = field(default_factory=list)
    direct: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    example: tuple[str, str] | None = None

    @property
    def named(self) -> list[str]:
        """The first pods, those that change directly before the others."""
        direct = set(self.direct)
        return sorted(self.pods, key=lambda pod: pod not in direct)[:NAMED]

    @property
    def more(self) -> int:
        return max(0, len(self.pods) - NAMED)


@dataclass
class UpgradeStep:
    """The step from a release to the next. `of`: (kind, title, groups, total number of pods). `checked`: the changes of
    the release that cause no difference; `checked_text` counts them, and `why` says how this is known."""

    number: int
    a: str
    b: str
    runs: tuple[Run | None, Run | None]
    sentence: str
    direct: str
    note: str
    of: list[tuple[str, str, list[CauseGroup], int]]
    checked: list[dict[str, Any]]
    checked_text: str
    why: str


@dataclass
class Row:
    """A pod. `cells`: for each release, (its node or state, the change from the previous release or "", its group's
    key)."""

    pod: str
    cells: list[tuple[str, str, str]]


def group_key(step: int, change: dict[str, Any]) -> str:
    """Return a key shared by pods of a step with the same cause, such as `0.3.12`; `0.` if the cause is unknown."""
    return ".".join(map(str, (step, *(change["cause"] or ())))) + ("." if change["cause"] is None else "")


def kind_of(change: dict[str, Any]) -> str:
    return DECIDED if change["change"] in DECISIONS else change["change"]


def shows(show: str, change: dict[str, Any]) -> bool:
    """Return whether a choice of SHOWS includes a change."""
    if show == DIRECT:
        return kind_of(change) == DECIDED and bool(change.get("direct"))
    return show in (ALL, kind_of(change))


def steps(upgrade: Upgrade) -> list[UpgradeStep]:
    """Return the finished steps."""
    runs = upgrade.run_of()
    return [
        UpgradeStep(
            number,
            step["a"],
            step["b"],
            (runs.get(step["a"]), runs.get(step["b"])),
            step["sentence"],
            step.get("direct_sentence", ""),
            step["note"],
            [
                (kind, SHOWS[kind], found, sum(len(group.pods) for group in found))
                for kind in (DECIDED, REASONS, WORDS)
                if (found := groups(number, step, kind))
            ],
            *checked(step, upgrade.every),
        )
        for number, step in enumerate(upgrade.steps)
    ]


def checked(step: dict[str, Any], every: bool) -> tuple[list[dict[str, Any]], str, str]:
    """Return the changes of a release that cause no difference, a text that counts them, and why they cause none."""
    units = step.get("units", [])
    without = [unit for unit in units if not unit.get("pods") and not unit.get(WORDS)]
    pods, whom = step.get("pods", 0), "this cluster" if every else "the pending pods"
    if not pods or not units:
        return [], "No pod was scheduled, so no change was checked" if units else "", ""
    number = count(len(units), "change")
    if len(without) == len(units):
        text = f"{number} checked, none touches {whom}"
    else:
        touch = len(units) - len(without)
        rest = f"{len(without):,} {agree(len(without), 'do')} not"
        text = f"{number} checked, {touch:,} {agree(touch, 'touch')} {whom}, {rest}"
    if step["note"] and len(without) < len(units):
        return without, text, "The search for causes ended early, so some of them may be causes of the differences."
    outcomes = f"{count(pods, 'pod')} {agree(pods, 'have')}" if pods > 1 else "the pod has"
    which = "these changes" if len(without) > 1 else "this change"
    return without, text, f"With and without {which}, {outcomes} the same outcome and message."


def result(upgrade: Upgrade) -> str:
    """Return the outcome of a finished preview as one sentence; "" before."""
    if upgrade.state != Upgrade.State.DONE or not upgrade.steps:
        return ""
    first, last = upgrade.releases[0], upgrade.releases[-1]
    pods = max(step.get("pods", 0) for step in upgrade.steps)
    if not pods:
        return "No pod was scheduled, so the preview says nothing."
    decided = {one["pod"] for step in upgrade.steps for one in step["changed"] if kind_of(one) == DECIDED}
    if decided:
        some = f"{len(decided):,} of {count(pods, 'pod')} {agree(len(decided), 'get')}"
        return f"From {first} to {last}, {some} another decision."
    what = "the only pod gets" if pods == 1 else f"all {pods:,} pods get"
    return f"From {first} to {last}, {what} the same decision."


def groups(number: int, step: dict[str, Any], kind: str) -> list[CauseGroup]:
    """Return the causes of changes of this kind, the one with the most pods first; an unknown cause comes last."""
    found: dict[str, CauseGroup] = {}
    for change in step["changed"]:
        if kind_of(change) != kind:
            continue
        key = group_key(number, change)
        units = None if change["cause"] is None else [step["units"][i] for i in change["cause"]]
        group = found.setdefault(key, CauseGroup(key, units))
        group.minimal = group.minimal and change["minimal"]
        group.pods.append(change["pod"])
        if change.get("direct"):
            group.direct.append(change["pod"])
        group.kinds[change["change"]] = group.kinds.get(change["change"], 0) + 1
        if kind != DECIDED and group.example is None:
            group.example = change["a"]["message"], change["b"]["message"]
    return sorted(found.values(), key=lambda group: (group.units is None, -len(group.pods)))


def rows(upgrade: Upgrade, q: str = "", show: str = DECIDED, cause: str = "") -> list[Row]:
    """Return the pods that change in some step, in the order of the steps' results."""
    by_pod: dict[str, dict[int, dict[str, Any]]] = {}
    for number, step in enumerate(upgrade.steps):
        for change in step["changed"]:
            by_pod.setdefault(change["pod"], {})[number] = change
    text = q.lower()
    wanted = [
        pod
        for pod, changes in by_pod.items()
        if any(
            shows(show, change) and (not cause or group_key(number, change) == cause)
            for number, change in changes.items()
        )
    ]
    found = [Row(pod, list(cells(by_pod[pod], len(upgrade.releases)))) for pod in wanted]
    return [row for row in found if text in row.pod.lower() or any(text in place.lower() for place, _, _ in row.cells)]


def cells(changes: dict[int, dict[str, Any]], releases: int) -> Iterator[tuple[str, str, str]]:
    """Yield a pod's cells: it keeps its state until a step changes it. Releases not yet compared add no change."""
    place = where(changes[min(changes)]["a"])
    yield place, "", ""
    for number in range(releases - 1):
        change = changes.get(number)
        if change is None:
            yield place, "", ""
            continue
        place = where(change["b"])
        yield place, change["change"], group_key(number, change)


def where(outcome: dict[str, Any] | None) -> str:
    """Return a pod's node or state in a few words."""
    if outcome is None:
        return "missing"
    if outcome["node"]:
        return str(outcome["node"])
    if outcome["nominated"]:
        return f"preempts on {outcome['nominated']}"
    return "no node" if outcome["result"] == "unschedulable" else str(outcome["result"])


def progress(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the progress of each run."""
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
