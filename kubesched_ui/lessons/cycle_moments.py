"""Moments of cycles on the map: victims of preemption, the search for feasible nodes, and topology spread."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.formatting import Seconds, shown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import MovingPicture
from kubesched_ui.lessons.picture_moments import Drawn, PictureMoment, name_of, names_of
from kubesched_ui.lessons.runner import Attempted, Played
from scheduler_core.cluster.formatting import count
from scheduler_core.provenance.tree import Tree
from scheduler_core.recording.change_stream import changes_between, cluster_columns
from scheduler_core.search.cycle_steps import cycle_until, ranges, steps
from scheduler_core.search.preemption_dry_run import REMOVE, DryRunStep, PreemptionDryRuns

MAX_TRIED = 4  # nodes whose dry runs are shown
MAX_ON_MAP = 600  # nodes on the map: its data are part of the page, and of messages to a class
CHUNKS = 4  # moments of a search
SPREAD = "PodTopologySpread"


def cycles_shown(facts: Facts, wanted: MovingPicture) -> list[Attempted]:
    """Return the cycles that a picture shows. Raises Unknown if the run has no such moments."""
    if wanted.of_time:
        return [cycle for cycle in facts.run.cycles if wanted.holds(cycle.t)]
    last = facts.focused
    first = facts.find(wanted.since) if wanted.since else last
    if first.number > last.number:
        raise Unknown(f"since: {wanted.since} is tried after the pod in focus")
    return facts.run.cycles[first.number - 1 : last.number]


class MapMoments:
    """Moments on the map: each shows the cluster at a timepoint, with a cycle as far as it may be seen."""

    def __init__(self, run: Played, first: Attempted) -> None:
        self.run, self.begin = run, run.before(first.number)
        self.moments: list[PictureMoment] = []
        self.cycles: list[dict[str, Any]] = []
        self.at: list[int] = []

    def add(self, text: str, cycle: Attempted, drawn: dict[str, Any], after: bool = False, **body: Any) -> None:
        """Add a moment. `drawn`: the cycle. `after`: the cluster after the cycle instead of before it."""
        run, number = self.run, len(self.cycles) + 1
        moment = run.recording.before_cycle(cycle.number + 1) if after else run.before(cycle.number)
        self.at.append(moment + 1)
        self.cycles.append(drawn | {"number": number, "nodes_version": cycle.number})
        state = {"cycle": number, "last": True} if drawn["steps"] else {"cycle": number, "bare": True}
        when = shown(Seconds(cycle.t)) if run.in_time else ""
        self.moments.append(PictureMoment(text, when, state, body))

    def drawn(self) -> Drawn:
        """Return the moments and the data of the map. Raises Unknown."""
        run, end = self.run, max(self.at) - 1
        picture = cluster_columns(run.state(self.begin))
        if not 0 < len(picture["nodes"]["name"]) <= MAX_ON_MAP:
            raise Unknown(f"shows the nodes on a map, so the run must have 1 to {MAX_ON_MAP} nodes")
        number = len(self.cycles)
        changes = changes_between(run.recording, self.begin, end) | {"end": end, "total": number}
        changes["cycles"] = {"number": list(range(1, number + 1)), "at": self.at, "pod": [""] * number}
        picture |= {"end": end, "cycles": number, "cycle": 1}
        versions = {one["nodes_version"] for one in self.cycles}
        names = {version: run.cycles[version - 1].nodes for version in versions}
        pod = run.cycles[min(versions) - 1].pod if len(versions) == 1 else ""  # whose request the map shows
        return self.moments, {"picture": picture, "changes": changes, "cycles": self.cycles, "names": names, "pod": pod}


def _filtered(cycle: Attempted, plugin: str = "") -> dict[str, Any]:
    """Return a cycle until the last step of Filter, or that of a plugin."""
    found = list(steps(cycle.trace))
    last = [n for n, one in enumerate(found, 1) if one["point"] == "filter" and plugin in ("", one["plugin"])]
    if not last:
        raise Unknown(f"{plugin or 'Filter'} did not run for {cycle.pod.removeprefix('default/')}")
    return cycle_until(cycle.trace, last[-1])


def _result(cycle: Attempted) -> str:
    pod, trace = name_of(cycle.pod), cycle.trace
    if trace.node:
        return format_html("{} goes to {}.", pod, name_of(trace.node))
    return format_html("{} finds no feasible node: {}", pod, trace.message.partition(". ")[0] + ".")


def victim_moments(facts: Facts, whole: bool) -> Drawn:
    """Return the steps of the dry runs of preemption; with `whole`, also its result."""
    cycle = facts.focused
    provenance = facts.run.provenance(cycle)
    runs = PreemptionDryRuns(provenance.framework, provenance.pod, provenance.trace)
    made, pod = MapMoments(facts.run, cycle), name_of(cycle.pod)
    base = _filtered(cycle)
    text = "No node is feasible for {}, which has priority {}. Preemption simulates evictions on each node."
    made.add(format_html(text, pod, provenance.pod.priority), cycle, base)
    tried = runs.nodes()
    for one in tried[:MAX_TRIED]:
        gone: list[str] = []
        for step in runs.dry_run(one.node).steps:
            gone = step.pods if step.do == REMOVE else [key for key in gone if key != step.pods[0] or not step.fits]
            dry = {"point": "postfilter", "plugin": "", "node": one.node, "message": ""}
            candidates = [{"node": one.node, "victims": gone, "violations": 0}]
            drawn = base | {"steps": [*base["steps"], dry], "postfilter": {"nominated": "", "candidates": candidates}}
            made.add(_dry(facts, pod, one.node, step), cycle, drawn)
    if more := tried[MAX_TRIED:]:
        last = made.moments.pop()
        made.moments.append(last._replace(text=format_html("{} {} more nodes follow.", last.text, len(more))))
    if whole:
        made.add(_nominated(cycle), cycle, cycle_until(cycle.trace, len(list(steps(cycle.trace)))))
    return made.drawn()


def _nominated(cycle: Attempted) -> str:
    trace = cycle.trace
    if not trace.nominated_node or trace.postfilter is None:
        return "No node is a candidate."
    by = f", decided by: {trace.postfilter.rule}" if trace.postfilter.rule else ""
    text = "{} is nominated{}. The victims are {}."
    return format_html(text, name_of(trace.nominated_node), by, names_of(trace.victims))


def _dry(facts: Facts, pod: SafeString, node: str, step: DryRunStep) -> str:
    """Return one step of a dry run as text."""
    why = f"{step.plugin}: {'; '.join(step.reasons)}" if step.plugin else "; ".join(step.reasons)
    if step.do == REMOVE:
        lower = format_html_join(", ", "{} ({})", ((name_of(key), facts.info(key).priority) for key in step.pods))
        fits = format_html("{} fits.", pod) if step.fits else format_html("{} still does not fit ({}).", pod, why)
        return format_html("{} without the pods of lower priority, {}: {}", name_of(node), lower, fits)
    protected = " Its eviction would violate a PodDisruptionBudget, so it comes early." if step.violates else ""
    back = format_html("{}, priority {}, is added back", name_of(step.pods[0]), step.priority)
    if step.fits:
        return format_html("{}: {} still fits. The scheduler reprieves the pod.{}", back, pod, protected)
    return format_html("{}: {} no longer fits ({}). The pod is a victim.{}", back, pod, why, protected)


def search_moments(facts: Facts, wanted: MovingPicture) -> Drawn:
    """Return parts of the search of each cycle, from its start index to its end."""
    cycles = cycles_shown(facts, wanted)
    made = MapMoments(facts.run, cycles[0])
    for cycle in cycles:
        trace, names, pod = cycle.trace, cycle.nodes, name_of(cycle.pod)
        base, feasible = _filtered(cycle), set(trace.feasible_rows().tolist())
        allowed = np.arange(trace.nodes) if trace.subset is None else trace.subset
        looked = trace.looked_mask()
        order = [row for row in np.roll(allowed, -trace.start_index % max(1, len(allowed))).tolist() if looked[row]]
        if not order:
            raise Unknown(f"no node was evaluated for {cycle.pod.removeprefix('default/')}")
        text = "The search for {} starts at {}, position {} of {}."
        start = format_html(text, pod, name_of(names[order[0]]), trace.start_index + 1, count(len(allowed), "node"))
        made.add(start, cycle, _looked(base, [], allowed, feasible))
        for size in sorted({round(len(order) * part / CHUNKS) for part in range(1, CHUNKS + 1)} - {0}):
            seen = order[:size]
            number = sum(row in feasible for row in seen)
            text = "{} evaluated, up to {}; {} feasible."
            done = format_html(text, count(size, "node"), name_of(names[seen[-1]]), number)
            if size == len(order):
                done = format_html("{} {}", done, _stopped(len(order), len(allowed), number))
            made.add(done, cycle, _looked(base, seen, allowed, feasible))
    return made.drawn()


def _stopped(looked: int, nodes: int, feasible: int) -> str:
    if looked == nodes:
        return "Every node is evaluated."
    return f"{count(feasible, 'feasible node')} are enough: the search stops, and the next one starts after this node."


def _looked(base: dict[str, Any], seen: Sequence[int], allowed: Any, feasible: set[int]) -> dict[str, Any]:
    """Return a filtered cycle whose search has evaluated the rows `seen` so far."""
    there = set(seen)

    def cut(spans: list[list[int]]) -> list[list[int]]:
        return ranges([row for first, last in spans for row in range(first, last + 1) if row in there])

    filters = [
        one | {"decisive": [status | {"rows": cut(status["rows"])} for status in one["decisive"]]}
        for one in base["filters"]
    ]
    then = {"point": "prescore", "plugin": "", "node": "", "message": ""}
    return base | {
        "filters": filters,
        "steps": [*base["steps"], then],
        "unlooked": ranges([row for row in allowed.tolist() if row not in there]),
        "feasible": ranges(sorted(there & feasible)),
    }


def spread_moments(facts: Facts, wanted: MovingPicture, whole: bool) -> Drawn:
    """Return for each cycle what its spread constraints allow, and its result. For the last one, a node is shown only
    with `whole`."""
    cycles = cycles_shown(facts, wanted)
    made = MapMoments(facts.run, cycles[0])
    for cycle in cycles:
        if SPREAD not in cycle.trace.verdicts:
            continue
        rows = list(_domains(facts, cycle))
        made.add(_allows(cycle, rows), cycle, _filtered(cycle, SPREAD), domains=rows)
        if not cycle.trace.node:
            made.add(_result(cycle), cycle, _filtered(cycle), domains=rows)
        elif cycle is not cycles[-1] or whole:
            ends = cycle_until(cycle.trace, len(list(steps(cycle.trace))))
            made.add(_result(cycle), cycle, ends, after=True, domains=_placed(facts, cycle, rows))
    if not made.cycles:
        raise Unknown(f"{SPREAD} did not run in these cycles")
    return made.drawn()


def _allows(cycle: Attempted, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return which domains the constraints allow for the pod of a cycle."""
    allowed, refused = ([row for row in rows if row["allowed"] is one] for one in (True, False))
    domains = names_of([row["domain"] for row in allowed]) if allowed else "no domain"
    sentence = format_html("The constraint allows {} for {}.", domains, name_of(cycle.pod))
    if not refused:
        return sentence
    text = "{} In {}, the skew would be larger than maxSkew, {}."
    return format_html(text, sentence, names_of([row["domain"] for row in refused]), refused[0]["most"])


def _placed(facts: Facts, cycle: Attempted, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the domains after the pod of a cycle is placed, without a skew."""
    node = facts.run.object_at("Node", cycle.trace.node, facts.run.before(cycle.number)) or {}
    labels = (node.get("metadata") or {}).get("labels") or {}

    def after(row: Mapping[str, Any]) -> int:
        return int(row["with_pod"] if labels.get(row["key"]) == row["domain"] else row["matching"])

    return [dict(row) | {"matching": after(row), "fewest": "", "skew": None} for row in rows]


def _domains(facts: Facts, cycle: Attempted) -> Iterator[dict[str, Any]]:
    """Yield for each constraint and domain {key, domain, matching, with_pod, fewest, skew, most, allowed}."""
    known = set()
    pod = cycle.pod
    for node in cycle.nodes:
        tree = facts.tree("filter", pod, node, SPREAD, cycle.attempt)
        for one in tree.args or ():
            key, _, rest = one.label.partition(": ")
            skew = _labelled(one, "skew")
            if "skew" not in rest or skew is None:
                continue
            with_pod = _labelled(skew, "with this pod")
            matching = next((part for part in _all(skew) if part.label.startswith("matching pods with ")), None)
            fewest = next((part for part in _all(skew) if part.label.startswith("fewest of ")), None)
            if matching is None or fewest is None or with_pod is None:
                continue
            domain = matching.label.removeprefix(f"matching pods with {key} ")
            if (key, domain) in known:
                continue
            known.add((key, domain))
            most = (one.args or [one])[0].value
            yield {
                "key": key,
                "domain": domain,
                "matching": matching.value,
                "with_pod": with_pod.value,
                "fewest": fewest.value,
                "skew": skew.value,
                "most": most,
                "allowed": not one.value,
            }


def _all(tree: Tree) -> Iterator[Tree]:
    yield tree
    for arg in tree.args or ():
        yield from _all(arg)


def _labelled(tree: Tree, label: str) -> Tree | None:
    return next((one for one in _all(tree) if one.label == label), None)
