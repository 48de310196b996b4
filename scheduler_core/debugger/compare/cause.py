"""Which differences between two runs in one pass make a pod's outcome what it is in the second: found by running.

A difference is a unit that can be applied to the first run alone: a behaviour of the release, a setting, a part of the
configuration, an object, a change of a fork. The answer is a smallest set of them that gives the second run's outcome.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import msgspec

from scheduler_core.api.objects import KINDS, Object, Pod
from scheduler_core.config import Configuration, Profile, load_configuration
from scheduler_core.debugger.changes import Change
from scheduler_core.debugger.compare.side import Side
from scheduler_core.debugger.fork.stages import Stage, plan_once
from scheduler_core.debugger.objects import objects_at
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import Release
from scheduler_core.releases.switches import between, switched
from scheduler_core.simulation import Simulation

MOST_RUNS = 600
MOST_SECONDS = 10.0
MOST_UNITS = 200

Key = tuple[str, str]
Outcome = tuple[str, str]
"""(result, node) of a pod's last cycle; ("", "") if it has none."""


@dataclass(frozen=True)
class Inputs:
    """All that a run in one pass is made of. `config`: its text, None, or read already. `objects`: by (kind, key), in
    order. `pods`: as of Simulation. `changes`: (before which cycle, what), of a fork."""

    release: Release
    config: Any
    seed: int
    tie_break: str
    preemption: bool
    percentage: int | None
    objects: dict[Key, Object]
    pods: tuple[str, ...] | None = None
    unknown_plugins: Any = "error"
    changes: tuple[tuple[int, Change], ...] = ()

    def configuration(self, release: Release) -> Configuration:
        known = known_plugins(PLUGINS)
        return load_configuration(self.config or None, release, known=known, unknown=self.unknown_plugins)


@dataclass(frozen=True)
class Unit:
    """A difference. `kind`: release, setting, config, object or change."""

    kind: str
    path: str
    text: str = ""
    since: str = ""
    a: Any = None
    b: Any = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kind", "path", "since", "text", "a", "b")}


@dataclass
class Cause:
    """`units`: the smallest set that was found, None if none was. `minimal`: no smaller one does, each was run."""

    a: Outcome
    b: Outcome
    units: list[Unit] | None = None
    minimal: bool = False
    runs: int = 0
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        sides = {name: dict(zip(("result", "node"), getattr(self, name), strict=True)) for name in ("a", "b")}
        causes = None if self.units is None else [unit.as_dict() for unit in self.units]
        return sides | {"causes": causes, "minimal": self.minimal, "runs": self.runs, "note": self.note}


class _Over(Exception):
    """Enough was run."""


def cause_of(a: Inputs, b: Inputs, pod: str, clock: Callable[[], float] = time.monotonic) -> Cause:
    """Which differences make the pod's outcome b's. Raises InputError for a pod of neither, or too many differences."""
    units = units_of(a, b)
    if len(units) > MOST_UNITS:
        raise InputError("cause", "", f"the runs differ in {len(units):,} things; at most {MOST_UNITS} are tried")
    search = _Search(a, b, units, pod, clock)
    found = Cause(search.outcome(frozenset()), outcome_of(b, pod))
    if found.a == found.b == ("", ""):
        raise InputError(f"Pod {pod[:300]}", "", "was tried in neither run")
    try:
        search.find(found)
    except _Over:
        found.note = f"stopped after {search.runs} runs; what is named is enough, but perhaps not the least"
        if found.units is None:
            found.note = f"stopped after {search.runs} runs without an answer"
    found.runs = search.runs
    return found


@dataclass
class _Search:
    a: Inputs
    b: Inputs
    units: Sequence[Unit]
    pod: str
    clock: Callable[[], float]
    runs: int = 0
    known: dict[frozenset[int], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def outcome(self, applied: frozenset[int]) -> Outcome:
        if applied not in self.known:
            if self.runs >= MOST_RUNS or self.clock() - self.began > MOST_SECONDS:
                raise _Over
            self.runs += 1
            self.known[applied] = outcome_of(applied_to(self.a, self.b, [self.units[i] for i in applied]), self.pod)
        return self.known[applied]

    def find(self, cause: Cause) -> None:
        everything = frozenset(range(len(self.units)))

        def does(applied: frozenset[int]) -> bool:
            return self.outcome(applied) == cause.b

        if cause.a == cause.b:
            cause.units, cause.minimal = [], True
            cause.note = "both runs come to the same"
            return
        for one in range(len(self.units)):
            if does(frozenset({one})):
                cause.units, cause.minimal = [self.units[one]], True
                return
        if not does(everything):
            cause.note = (
                "the differences that can be applied do not give the second run's outcome, not even all of them"
            )
            return
        least = everything
        cause.units = [self.units[i] for i in sorted(least)]
        for one in sorted(everything):  # without any one of those that are left it does not
            if does(least - {one}):
                least -= {one}
                cause.units = [self.units[i] for i in sorted(least)]
        for size in range(2, len(least)):
            for some in combinations(range(len(self.units)), size):
                if does(frozenset(some)):
                    cause.units, cause.minimal = [self.units[i] for i in some], True
                    return
        cause.minimal = True


# ---- what differs


def units_of(a: Inputs, b: Inputs) -> list[Unit]:
    """The differences, each of which can be applied to `a` alone."""
    found = [
        Unit("release", switch.name, switch.text, switch.since, a.release.name, b.release.name)
        for switch in between(a.release, b.release)
    ]
    for name in ("seed", "tie_break", "preemption", "percentage"):
        if getattr(a, name) != getattr(b, name):
            found.append(Unit("setting", name, a=getattr(a, name), b=getattr(b, name)))
    found += _configurations(a, b)
    found += _objects(a, b)
    if a.pods != b.pods:
        found.append(Unit("setting", "pods"))
    theirs = list(a.changes)
    for i, (at, change) in enumerate(b.changes):
        if (at, change) not in theirs:
            name, what = change.operation
            found.append(Unit("change", f"changes[{i}]", f"before cycle {at}: {name}", b=msgspec.to_builtins(what)))
    return found


def _configurations(a: Inputs, b: Inputs) -> Iterator[Unit]:
    if (a.config or None) == (b.config or None) and a.unknown_plugins == b.unknown_plugins:
        return
    one, other = a.configuration(a.release), b.configuration(b.release)
    if [p.scheduler_name for p in one.profiles] != [p.scheduler_name for p in other.profiles]:
        yield Unit("config", "config", "the profiles")
        return
    for mine, theirs in zip(one.profiles, other.profiles, strict=True):
        where = f"config.{mine.scheduler_name}"
        lists = [{point: [n for n, _ in p.plugins[point]] for point in p.plugins} for p in (mine, theirs)]
        if lists[0] != lists[1]:
            yield Unit("config", f"{where}.plugins", "which plugins run, and their weights")
        else:
            for (plugin, weight), (_, new) in zip(mine.plugins["score"], theirs.plugins["score"], strict=True):
                if weight != new:
                    yield Unit("config", f"{where}.weights.{plugin}", "its weight", a=weight, b=new)
        for plugin in {**mine.args, **theirs.args}:
            if mine.args.get(plugin) != theirs.args.get(plugin):
                yield Unit("config", f"{where}.args.{plugin}", "its arguments")
        if mine.percentage_of_nodes_to_score != theirs.percentage_of_nodes_to_score:
            yield Unit("config", f"{where}.percentage", "percentageOfNodesToScore")
    if one.percentage_of_nodes_to_score != other.percentage_of_nodes_to_score:
        yield Unit("config", "config.percentage", "percentageOfNodesToScore")


def _objects(a: Inputs, b: Inputs) -> Iterator[Unit]:
    for key in {**a.objects, **b.objects}:
        one, other = a.objects.get(key), b.objects.get(key)
        if one != other:
            text = "is another" if one and other else "is only in the first" if one else "is only in the second"
            yield Unit("object", "/".join(filter(None, key)), text)


# ---- applied


def applied_to(a: Inputs, b: Inputs, units: Sequence[Unit]) -> Inputs:
    """Run `a` with these differences of `b`."""
    of: dict[str, list[str]] = {}
    for unit in units:
        of.setdefault(unit.kind, []).append(unit.path)
    release = switched(a.release, b.release, frozenset(of.get("release", ())))
    values: dict[str, Any] = {name: getattr(b, name) for name in of.get("setting", ())}
    objects = dict(a.objects)
    for key in {**a.objects, **b.objects}:
        if "/".join(filter(None, key)) in of.get("object", ()):
            if key in b.objects:
                objects[key] = b.objects[key]
            else:
                del objects[key]
    wanted = {f"changes[{i}]": entry for i, entry in enumerate(b.changes)}
    changes = (*a.changes, *(wanted[path] for path in of.get("change", ())))
    found = replace(a, release=release, objects=objects, changes=changes, **values)
    return replace(found, config=_config(a, b, release, of["config"])) if "config" in of else found


def _config(a: Inputs, b: Inputs, release: Release, paths: Sequence[str]) -> Any:
    """The first's configuration with parts of the second's, read already."""
    if "config" in paths:
        return b.config
    mine, theirs = a.configuration(release), b.configuration(b.release)
    profiles = [_profile(p, q, paths) for p, q in zip(mine.profiles, theirs.profiles, strict=True)]
    share = theirs if "config.percentage" in paths else mine
    return replace(mine, profiles=profiles, percentage_of_nodes_to_score=share.percentage_of_nodes_to_score)


def _profile(mine: Profile, theirs: Profile, paths: Sequence[str]) -> Profile:
    where = f"config.{mine.scheduler_name}"
    plugins, args, share = dict(mine.plugins), dict(mine.args), mine.percentage_of_nodes_to_score
    weights = dict(theirs.plugins["score"])
    for path in paths:
        part, _, plugin = path.removeprefix(f"{where}.").partition(".")
        if not path.startswith(f"{where}."):
            continue
        if part == "plugins":
            plugins = dict(theirs.plugins)
        elif part == "weights":
            plugins["score"] = tuple((n, weights[n] if n == plugin else weight) for n, weight in plugins["score"])
        elif part == "args" and plugin in theirs.args:
            args[plugin] = theirs.args[plugin]
        elif part == "args":
            args.pop(plugin, None)
        elif part == "percentage":
            share = theirs.percentage_of_nodes_to_score
    for name in {n for entries in plugins.values() for n, _ in entries} - args.keys():
        if name in theirs.args:  # a plugin that only the second has
            args[name] = theirs.args[name]
    return replace(mine, plugins=plugins, args=args, percentage_of_nodes_to_score=share)


def outcome_of(inputs: Inputs, pod: str) -> Outcome:
    """What becomes of a pod: the run goes on until its cycle is over."""
    there = {obj.key for obj in inputs.objects.values() if isinstance(obj, Pod)}
    pods = None if inputs.pods is None else [key for key in inputs.pods if key in there]
    try:
        simulation = Simulation(
            list(inputs.objects.values()),
            release=inputs.release,
            config=inputs.config or None,
            seed=inputs.seed,
            tie_break=inputs.tie_break,
            preemption=inputs.preemption,
            percentage=inputs.percentage,
            pods=pods,
            unknown_plugins=inputs.unknown_plugins,
            timer=lambda: 0,
        )
        stages = [Stage(at=at, changes=[change]) for at, change in sorted(inputs.changes, key=lambda entry: entry[0])]
        plan_once(simulation, stages, 0)
        for trace in simulation.run():
            if trace.pod == pod:
                return trace.result, trace.node if trace.result in ("scheduled", "waiting") else ""
    except InputError as problem:
        return "impossible", str(problem)[:200]
    return "", ""


def objects_of(side: Side) -> dict[Key, Object]:
    """The objects that a run began with: nodes in order of arrival, then the others."""
    presence = side.recording.tables["presence"]
    first = presence["name"][presence["at"] == 0].tolist()
    arrival = {side.recording.names[name]: place for place, name in enumerate(first)}
    found = [at for at in objects_at(side.recording, 0) if at.kind in KINDS]
    found.sort(key=lambda at: arrival.get(at.key, 0) if at.kind == "Node" else len(arrival))
    objects: dict[Key, Object] = {}
    for at in found:
        _, text = side.fetch(at.number)
        obj: Object = msgspec.json.decode(text, type=KINDS[at.kind])
        if isinstance(obj, Pod):
            obj.spec.node_name, obj.status.nominated_node_name = at.node, at.nominated
        objects[at.kind, at.key] = obj
    return objects
