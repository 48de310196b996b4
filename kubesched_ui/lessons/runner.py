"""Simulates a lesson's run in this process. Figures, answers and diagrams are computed from it.

It uses the same scenario, settings and core as a stored run, so the lesson's statements hold for the stored run as
well.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.queue_sizes import Move as QueueMove
from kubesched_ui.event_log.timeline_recorder import TimelineRecorder
from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.lessons.fake_extender import Exchange, answering
from kubesched_ui.lessons.parser import Settings
from kubesched_ui.queries.queue_times import history
from kubesched_ui.runtime.paths import RESOURCES
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.out_of_tree import enabling, with_plugins
from scheduler_core.plugins import PLUGINS
from scheduler_core.queue.hints import Hints
from scheduler_core.queue.scheduling_queue import event_of
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.objects import objects_at, written
from scheduler_core.recording.recording import Recorder
from scheduler_core.releases import NEWEST, Release, get_release
from scheduler_core.search import provenance
from scheduler_core.search.provenance import Provenance
from scheduler_core.search.queue_times import Failed, Move, MoveCause, QueueTimes, rules_of
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM
from scheduler_core.snapshot.prepare import prepare
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

EXAMPLES = RESOURCES / "docs" / "examples"
# Additional plugins that a lesson's run may use: name -> file of the documentation.
OWN_PLUGINS = {"RackLimit": EXAMPLES / "per_node_plugin.py"}
MAX_CYCLES, MAX_RECORDS, MAX_PODS = 500, 20_000, 2_000  # lessons are small


class TooLarge(ValueError):
    """A run that is too large for a lesson. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """A cycle of the run: number, pod, attempt, virtual second and result."""

    number: int
    pod: str
    attempt: int
    t: float
    result: str
    seq: int
    trace: CycleTrace = field(repr=False)
    nodes: list[str] = field(repr=False)

    @property
    def as_dict(self) -> dict[str, Any]:
        """The cycle with the keys of the conformance cases. `filter_order`: Filter plugins in execution order. `rule`:
        the rule that decided between preemption candidates."""
        rule = self.trace.postfilter.rule if self.trace.postfilter else ""
        return {"filter_order": list(self.trace.verdicts), "rule": rule} | self.trace.golden(self.nodes)


class Played:
    """A simulated run of a lesson. Raises IngestError, InputError, TooLarge. `cycles`: all cycles in order. `events`:
    of a run in virtual time, numbered as in docs/websocket.md. `queue_moves`: its moves in the queue, with indexes of
    `queued_pods`. `given`: the scenario as read."""

    def __init__(self, name: str, document: bytes, settings: Settings, max_records: int = MAX_RECORDS) -> None:
        self.name, self.document, self.max_records = name, document, max_records
        self.given: IngestResult = ingest_files([(name, document)])
        self.in_time = bool(self.given.time) if settings.in_time is None else settings.in_time
        self.release_name = get_release(settings.release or self.given.kubernetes or NEWEST).name
        self.release: Release = get_release(self.release_name)
        self.settings = settings
        self.registry = with_plugins((f"{OWN_PLUGINS[name]}:{name}" for name in settings.plugins), PLUGINS)
        self.exchanges: list[Exchange] = []
        self.cycles: list[Attempted] = []
        self.events: list[Event] = []
        self.queue_moves: list[QueueMove] = []
        self.queued_pods: list[str] = []
        self._make: Any
        recorder = self._in_time(document) if self.in_time else self._in_one_pass()
        self.recording, _, self._objects = recorder.read_back()
        self._states: dict[int, StateAtTimepoint] = {}
        self._provenance: tuple[int, Provenance] | None = None

    # ---- simulation

    def _in_one_pass(self) -> Recorder:
        settings = self.settings
        config = settings.config or self.given.config or enabling(settings.plugins)
        self.configuration = load(config, self.release, self.registry)
        found = prepare(
            self.given.objects,
            release=self.release,
            schedulers=self.configuration.schedulers,
            choices=AS_UPSTREAM,
            seed=settings.seed,
        )
        self._make = self._maker(self.configuration, settings.preemption, settings.percentage)
        simulation = self._make(found.objects)
        recorder, nodes = Recorder(simulation), list(simulation.nodes)
        with self._asking(simulation):
            self._play(simulation, recorder, nodes)
        recorder.rest()
        return recorder

    @contextmanager
    def _asking(self, simulation: Simulation) -> Iterator[None]:
        """Connect the lesson's extender, if it has one, inside the `with`."""
        if self.settings.extender is None:
            yield
            return
        configs = self.configuration.extenders
        hosts = [urlsplit(config.url_prefix).netloc for config in configs]
        with answering(self.settings.extender, self.exchanges) as address:
            simulation.scheduler.use_extenders(Extenders(configs, simulation.cluster, hosts, proxy=address))
            yield

    def _play(self, simulation: Simulation, recorder: Recorder, nodes: list[str]) -> None:
        for trace in simulation.run():
            recorder.cycle(trace)
            self._attempted(trace, trace.result, 0.0, 0, nodes)

    def _in_time(self, document: bytes) -> Recorder:
        settings, scenario = self.settings, load_scenario(document)
        spec = scenario.spec
        spec.kubernetes, spec.feature_gates = self.release_name, {}
        spec.tie_break, spec.seed = settings.tie_break, settings.seed or spec.seed
        spec.config = settings.config or spec.config
        spec.preemption = settings.preemption and spec.preemption
        spec.percentage = spec.percentage if settings.percentage is None else settings.percentage
        run = ScenarioRun(scenario, document)
        run.engine.max_records, run.engine.max_pods = self.max_records, MAX_PODS
        self.configuration = run.simulation.configuration
        self._make = self._maker(self.configuration, spec.preemption, spec.percentage)
        nodes = list(run.simulation.nodes)
        recorder = Recorder(run.simulation)
        chronicle = TimelineRecorder(nodes)
        for record in run.run():
            recorder.record(record)
            if record.kind == "nodes.listed":
                nodes = list(record.data["names"])
            entry = chronicle.take(record)
            self.queue_moves += entry.moves
            self.queued_pods += entry.names
            first = entry.seq - len(entry.events) + 1
            self.events += [event | {"seq": first + i} for i, event in enumerate(entry.events)]
            if record.trace is not None:
                self._attempted(record.trace, record.data["result"], entry.t, entry.seq, nodes)
        return recorder

    def _attempted(self, trace: CycleTrace, result: str, t: float, seq: int, nodes: list[str]) -> None:
        if len(self.cycles) >= MAX_CYCLES:
            raise TooLarge(f"the run has more than {MAX_CYCLES} cycles, which is too much for a lesson")
        self.cycles.append(Attempted(len(self.cycles) + 1, trace.pod, trace.attempt, t, result, seq, trace, nodes))

    def _maker(self, configuration: Configuration, preemption: bool, percentage: int | None) -> Any:
        settings = self.settings
        return partial(
            Simulation,
            release=self.release_name,
            config=configuration,
            seed=settings.seed,
            tie_break=settings.tie_break,
            preemption=preemption,
            percentage=percentage,
            registry=self.registry,
        )

    # ---- queries

    def state(self, moment: int) -> StateAtTimepoint:
        """Return the cluster after a timepoint of the recording."""
        if moment not in self._states:
            self._states[moment] = StateAtTimepoint(self.recording, moment)
        return self._states[moment]

    def before(self, cycle: int) -> int:
        """Return the timepoint before a cycle."""
        return self.recording.before_cycle(cycle)

    def object_at(self, kind: str, key: str, moment: int) -> dict[str, Any] | None:
        """Return an object as it was after a timepoint, or None."""
        found = (at for at in objects_at(self.recording, moment) if (at.kind, at.key) == (kind, key))
        return next((written(at, self._objects.__getitem__) for at in found), None)

    def provenance(self, cycle: Attempted) -> Provenance:
        """Return the provenance of a cycle's numbers. Raises InputError."""
        if self._provenance is None or self._provenance[0] != cycle.number:
            self._provenance = None
            trace = CycleTrace.decode(cycle.trace.encode())
            run = self.recording, self._objects.__getitem__, self._make, self.release
            self._provenance = cycle.number, provenance.provenance_of(*run, cycle.number, trace)
        return self._provenance[1]

    # ---- the queue

    def moves(self, pod: str) -> list[Move | Failed]:
        """Return the pod's moves and failed attempts in virtual time, in order."""
        numbers = [cycle.number for cycle in self.cycles if cycle.pod == pod]
        return list(history(numbers, [event for event in self.events if event["pod"] == pod], self._causes))

    @cached_property
    def _causes(self) -> dict[int, MoveCause]:
        by_seq = {event["seq"]: event for event in self.events}
        causes = {event["data"].get("cause", 0) for event in self.events if event["type"] == "queue.moved"}
        return {seq: MoveCause(event_sentence(by_seq[seq]), seq) for seq in causes if seq in by_seq}

    def queue_times(self, pod: str) -> QueueTimes:
        """Return the provenance of a pod's queue times."""
        return QueueTimes(pod, self.moves(pod), rules_of(self.release, self.configuration, self._woken_by))

    def _woken_by(self, failed: Failed, label: str) -> list[str]:
        event = event_of(label)
        if event is None:
            return []
        trace = self.cycles[failed.cycle - 1].trace
        return sorted(self._hints.registered_by(trace.profile, event).intersection(trace.unschedulable_plugins))

    @cached_property
    def _hints(self) -> Hints:
        return Hints(self._make([]).scheduler.profiles, self.release)

    # ---- objects as written

    @cached_property
    def written_down(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Objects as the scenario's author wrote them: (kind, name) -> object; pods by namespace/name."""
        return {(obj["kind"], _key(obj)): obj for obj in self._authored()}

    def _authored(self) -> Iterator[dict[str, Any]]:
        time = self.given.time
        for arrivals in time.get("arrivals", ()):
            for number in range(100 if arrivals.get("count") is None else min(100, arrivals["count"])):
                template = arrivals["template"]
                metadata = {**(template.get("metadata") or {}), "name": f"{arrivals['name']}-{number}"}
                yield {"kind": "Pod", **template, "metadata": metadata}
        for entry in time.get("timeline", ()):
            if "create" in entry:
                yield entry["create"]
        yield from self.given.objects

    @cached_property
    def words(self) -> set[str]:
        """All strings and keys of the scenario, which text may mention as code."""
        found: set[str] = set()
        _gather([*self.given.objects, self.given.time, msgspec.to_builtins(self.settings.config)], found)
        found.update(cycle.pod.partition("/")[2] for cycle in self.cycles)
        return found


def _key(obj: dict[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    name = str(metadata.get("name", ""))
    return f"{metadata.get('namespace') or 'default'}/{name}" if obj["kind"] == "Pod" else name


def _gather(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(str(key))
            if isinstance(inner, str):
                found.add(f"{key}={inner}")
            _gather(inner, found)
    elif isinstance(value, list):
        for inner in value:
            _gather(inner, found)
    elif isinstance(value, str):
        found.add(value)
