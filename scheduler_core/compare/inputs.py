"""The inputs of a run, which can be run again with changes, and the outcomes of pods in such a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scheduler_core.api.objects import KINDS, Object, Pod
from scheduler_core.compare.run_side import RunSide
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.reconfigure import SETTINGS
from scheduler_core.forks.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.recording.objects import objects_at
from scheduler_core.releases import Release, get_release
from scheduler_core.releases.differences import apply_differences
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, Scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

Key = tuple[str, str]
Placement = tuple[str, str]
"""(result, node) of a pod's last cycle; ("", "") if it has none."""
Tick = Callable[[], None]
"""Called at every step of a run; may raise to stop it."""
Refusals = Mapping[str, bytes]
"""Plugin -> the nodes it rejects, one bit each; "" -> the evaluated nodes. For PreFilter and PreEnqueue: plugin ->
b""."""


class Item(NamedTuple):
    """A change or setting of a fork, before cycle `at` or after second `t`. `only`: behaviours of a release."""

    at: int | None
    t: float | None
    change: Change | None = None
    setting: str = ""
    value: Any = None
    only: frozenset[str] | None = None

    @property
    def moment(self) -> str:
        return f"before cycle {self.at:,}" if self.at is not None else f"after {self.t:g} s"


@dataclass(frozen=True)
class Inputs:
    """All inputs of a run.

    `config`: its text, None, or already decoded. `objects`: by (kind, key), in order; undecoded in virtual time,
    otherwise decoded. `pods`: as for Simulation. `items`: changes and settings of a fork, in order. In virtual time,
    `time` is the scenario's spec without objects and settings; `until`, `choices` and `only` are as for ScenarioRun.
    `bound`: pods that the run reschedules -> their nodes before it.
    """

    release: Release
    config: Any
    seed: int
    tie_break: str
    preemption: bool
    percentage: int | None
    objects: dict[Key, Any]
    pods: tuple[str, ...] | None = None
    unknown_plugins: Any = "error"
    items: tuple[Item, ...] = ()
    time: Mapping[str, Any] | None = None
    until: float | None = None
    choices: Choices = AS_UPSTREAM
    only: tuple[str, ...] | None = None
    bound: dict[str, str] = field(default_factory=dict)

    def configuration(self, release: Release) -> Configuration:
        return load(self.config or None, release, unknown=self.unknown_plugins)

    def stages(self) -> list[Stage]:
        """Return the items as stages of a fork."""
        now: dict[str, Any] = {name: getattr(self, name) for name in SETTINGS}
        found: list[Stage] = []
        for item in self.items:
            last = found[-1] if found else None
            if last is None or (last.at, last.t) != (item.at, item.t) or (item.setting and last.changes):
                last = Stage(item.at, item.t, [], {})
                found.append(last)
            if item.change is not None:
                last.changes.append(item.change)  # type: ignore[attr-defined]
                continue
            now[item.setting] = self._release(now["release"], item) if item.setting == "release" else item.value
            last.settings.update(now)  # type: ignore[attr-defined]
        return found

    def _release(self, now: Release, item: Item) -> Release:
        wanted = get_release(item.value)
        return wanted if item.only is None else apply_differences(now, wanted, item.only, bool(self.config))


def play(inputs: Inputs, pod: str, tick: Tick = lambda: None) -> tuple[Placement, float | None]:
    """Run the inputs and return (the pod's outcome, the second of its last attempt or None in a single pass).

    The result is "impossible" for inputs that cannot be run.
    """
    last: Placement = "", ""
    settled = None
    try:
        if inputs.time is None:
            for trace in simulation_of(inputs).run():
                if trace.pod == pod:
                    return (trace.result, trace.placed_on), None
                tick()
            return last, None
        run = scenario_run(inputs)
        for record in run.run():
            tick()
            if record.trace is not None and record.trace.pod == pod:
                last, settled = (record.trace.result, record.trace.placed_on), record.time
        return at_end(run, pod, last), settled
    except InputError as problem:
        return ("impossible", str(problem)[:200]), None


def simulation_of(inputs: Inputs) -> Simulation:
    """Create a single pass of these inputs, not started. Raises InputError."""
    there = {obj.key for obj in inputs.objects.values() if isinstance(obj, Pod)}
    settings: dict[str, Any] = {name: getattr(inputs, name) for name in SETTINGS} | {"config": inputs.config or None}
    pods = None if inputs.pods is None else [key for key in inputs.pods if key in there]
    simulation = Simulation(list(inputs.objects.values()), pods=pods, timer=lambda: 0, **settings)
    plan_single_pass(simulation, inputs.stages(), 0)
    return simulation


def at_end(run: ScenarioRun, pod: str, last: Placement) -> Placement:
    """Return the result of a pod's last attempt at the end of a run in virtual time."""
    there = run.api.pods.get(pod)
    if last[0] not in ("scheduled", "waiting") or there is None or run.api.lifecycle.is_assumed(pod):
        return last
    if there.node:
        return "scheduled", there.node
    return "unschedulable" if last[0] == "waiting" else "error", ""  # Permit or binding failed


def scenario_run(inputs: Inputs) -> ScenarioRun:
    """Create a run of these inputs in virtual time, not started. Raises InputError."""
    assert inputs.time is not None
    read = isinstance(inputs.config, Configuration)
    spec = {
        **inputs.time,
        "kubernetes": inputs.release.name,
        "config": None if read else inputs.config or None,
        "seed": inputs.seed,
        "tieBreak": inputs.tie_break,
        "preemption": inputs.preemption,
        "percentage": inputs.percentage,
        "until": inputs.until,
    }
    scenario = msgspec.convert({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, Scenario)
    scenario.spec.objects = list(inputs.objects.values())
    run = ScenarioRun(
        scenario,
        unknown_plugins=inputs.unknown_plugins,
        choices=inputs.choices,
        only=inputs.only,
        release=inputs.release,
        configuration=inputs.config if read else None,
    )
    plan_virtual_time(run, inputs.stages())
    return run


def items_of(stages: Sequence[Mapping[str, Any]], read: Callable[[Any], list[Change]]) -> tuple[Item, ...]:
    """Convert a fork's stored stages, `{"at", "t", "changes", "settings"}`, to items. `read` decodes changes."""
    found: list[Item] = []
    for stage in stages:
        item = Item(stage["at"], stage["t"])
        settings = stage["settings"].items()
        found += [item._replace(setting=name, value=value) for name, value in settings if name in SETTINGS]
        found += [item._replace(change=change) for change in read(stage["changes"])]
    return tuple(found)


def objects_of(side: RunSide) -> dict[Key, Object]:
    """Return the initial objects of a run: nodes in order of arrival, then the others."""
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


class Outcome(NamedTuple):
    """The final outcome of a pod. `nominated`: the node where preemption evicts `victims`."""

    result: str
    node: str
    nominated: str = ""
    victims: tuple[str, ...] = ()
    message: str = ""

    @property
    def placed(self) -> bool:
        return self.result in ("scheduled", "waiting")

    @property
    def decision(self) -> tuple[str, str, str, tuple[str, ...]]:
        """Everything except the message."""
        return self[:4]

    def as_dict(self) -> dict[str, object]:
        return self._asdict() | {"victims": list(self.victims)}


def outcome_of(trace: CycleTrace, result: str, node: str) -> Outcome:
    """Return the outcome of a pod's last cycle, which ended with this result and node."""
    nominated = trace.nominated_node if result == "unschedulable" else ""
    return Outcome(result, node, nominated, tuple(sorted(trace.victims)), "" if node else trace.message or trace.error)


def outcomes(inputs: Inputs, tick: Tick, refusals: dict[str, Refusals] | None = None) -> dict[str, Outcome]:
    """Return the outcome of every pod that is tried; fill `refusals` for pods without a node. Raises InputError."""
    last: dict[str, CycleTrace] = {}
    found: dict[str, Outcome] = {}

    def note(trace: CycleTrace, result: str, node: str) -> None:
        found[trace.pod] = outcome_of(trace, result, node)
        if refusals is not None and not node:
            refusals[trace.pod] = refusals_of(trace)

    if inputs.time is None:
        for trace in simulation_of(inputs).run():
            tick()
            note(trace, trace.result, trace.placed_on)
        return found
    run = scenario_run(inputs)
    for record in run.run():
        tick()
        if record.trace is not None:
            last[record.trace.pod] = record.trace
    for pod, trace in last.items():
        note(trace, *at_end(run, pod, (trace.result, trace.placed_on)))
    return found


def refusals_of(trace: CycleTrace) -> dict[str, bytes]:
    """Return which plugin rejected the pod on which nodes, without messages."""
    early = trace.preenqueue or trace.prefilter
    if early is not None:
        return {early.plugin: b""}
    found = {"": np.packbits(trace.looked_mask()).tobytes()}
    for plugin, verdict in trace.verdicts.items():
        if verdict.codes is not None and verdict.codes.any():
            found[plugin] = np.packbits(verdict.codes > 0).tobytes()
    return found


def only_words(a: Refusals, b: Refusals) -> bool:
    """Return whether two cycles without a feasible node differ only in messages.

    On nodes that both evaluated, the same plugins must reject the same nodes. A missing plugin passes all nodes. A
    plugin that rejects in PreFilter rejects every node.
    """
    if not (a.get("") and b.get("")):
        return a.keys() - {""} == b.keys() - {""}
    if len(a[""]) != len(b[""]):
        return False
    looked = np.frombuffer(a[""], np.uint8) & np.frombuffer(b[""], np.uint8)
    nothing = bytes(len(looked))
    return all(
        not ((np.frombuffer(a.get(p, nothing), np.uint8) ^ np.frombuffer(b.get(p, nothing), np.uint8)) & looked).any()
        for p in {*a, *b} - {""}
    )
