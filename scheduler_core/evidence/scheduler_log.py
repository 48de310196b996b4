"""Reads a log of kube-scheduler as a timeline: the attempts in their order, with scores, refusals and queue moves.

The log is the only source with the order of decisions, and with the scores of the real scheduler. It has neither
requests, capacities and labels nor pods of other schedulers. What it has depends on its level: bindings and refusals
from -v=2, attempts, arrivals and deletions from -v=3, gates from -v=4, queue moves from -v=5, scores from -v=10.

Upstream: pkg/scheduler/schedule_one.go, schedule_one_podgroup.go, eventhandlers.go, backend/queue,
framework/preemption/executor.go, framework/runtime/batch.go, framework/plugins/noderesources/resource_allocation.go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.evidence.klog import Klog, LogRecord
from scheduler_core.explain.answer import Part

MAX_SCORES = 2_000_000  # of plugins on nodes; further ones are counted
MAX_ENTRIES = 1_000_000  # attempts and occurrences; further ones are counted
NO_NODES = "no nodes are registered to the cluster"
_HEAD = 1_000_000  # bytes in which a line of a scheduler is searched
_CALLER = rb"(?:schedule_one(?:_podgroup)?|scheduling_queue|active_queue|backoff_queue|eventhandlers|default_binder)"
_LINE = re.compile(
    rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ " + _CALLER + rb"\.go:\d+\] "
    rb'|"caller"\s*:\s*"[\w/-]*' + _CALLER + rb'\.go:\d+"'
    rb'|"Starting Kubernetes Scheduler'
)


class PluginScore(Part):
    """The score of a plugin on a node. `weighted`: the normalized score times the weight, which is summed up.
    `normalized` is None if the log does not show the weight. `raw`: before normalization; only plugins of resources
    log it."""

    weighted: int
    normalized: int | None = None
    raw: int | None = None


class NodeScores(Part):
    """The scores on a node. `total`: their sum, None if the log does not have it."""

    node: str
    total: int | None = None
    plugins: dict[str, PluginScore] = {}


class Attempt(Part):
    """An attempt to schedule a pod. `time`: seconds since the first line that was read. `number`: of this pod in this
    log, from 1. `result`: scheduled, unschedulable, error, chosen (a node was chosen, and the log does not say what
    happened then) or unknown. `bound`: when it was bound, in such seconds. `seconds`: from its beginning to its end.
    """

    pod: str
    number: int
    line: int
    time: float
    at: str
    result: str = "unknown"
    node: str = ""
    message: str = ""
    plugins: list[str] = []
    evaluated: int | None = None
    feasible: int | None = None
    nominated_node: str = ""
    victims: list[str] = []
    group: str = ""
    bound: float | None = None
    seconds: float | None = None
    queue: str = ""
    scores: list[NodeScores] = []
    source: str = ""


class Occurrence(Part):
    """Something else that happened to a pod: `what` is added, gated, queued, preempted, rejected or deleted. Or to a
    node, without a pod: node added, node changed or node deleted."""

    pod: str
    what: str
    line: int
    time: float
    at: str
    event: str = ""
    queue: str = ""
    plugin: str = ""
    by: str = ""
    node: str = ""
    message: str = ""


class LoggedPod(Part):
    """What the log says about a pod at its end. `state`: bound, gone, pending, gated, waiting (was not tried) or
    unknown. `message`: of its last refusal."""

    pod: str
    state: str
    attempts: int = 0
    node: str = ""
    message: str = ""


class SchedulerLog(Part):
    """A log. `started`: the time of the first line that was read. `configuration`: the KubeSchedulerConfiguration, as
    YAML, "" if the log does not have it. `version`, `feature_gates`, `level`: from its beginning, or "". `notes`: what
    was left out, and what the log cannot have at its level."""

    started: str
    lines: int
    version: str = ""
    feature_gates: str = ""
    level: str = ""
    configuration: str = ""
    attempts: list[Attempt] = []
    occurrences: list[Occurrence] = []
    pods: list[LoggedPod] = []
    notes: list[str] = []


def is_scheduler_log(data: bytes) -> bool:
    """Return whether a file has lines of kube-scheduler's log."""
    return _LINE.search(data[:_HEAD]) is not None


def read(data: bytes, path: str) -> SchedulerLog:
    """Read a log. Raises InputError if it has no line about scheduling."""
    reader = _TimelineReader()
    klog = Klog(data, _HANDLERS)
    for record in klog.records():
        reader.add(record)
    if not reader.log.started or not (reader.log.attempts or reader.log.occurrences):
        seen = " It has only its start." if reader.log.version or reader.log.configuration else ""
        raise InputError(
            path, "", f"has no line of kube-scheduler about a pod among {count(klog.lines, 'line')}.{seen} "
            "Bindings and refusals are logged from -v=2 on"
        )  # fmt: skip
    log = reader.finish()
    log.lines = klog.lines
    log.notes = list(_notes(klog, log, reader))
    return log


def _notes(klog: Klog, log: SchedulerLog, reader: _TimelineReader) -> Iterator[str]:
    if klog.secret:
        yield f"left out, because of a token or a certificate: {count(klog.secret, 'line')}"
    if klog.cut.number:
        yield klog.cut.note("not complete")
    if reader.more_scores:
        yield f"left out after the first {MAX_SCORES:,}: {count(reader.more_scores, 'score')}"
    if reader.more_entries:
        yield f"left out after the first {MAX_ENTRIES:,}: {count(reader.more_entries, 'entry', 'entries')}"
    if not reader.seen["Attempting to schedule pod"]:
        yield "attempts, arrivals and deletions are not logged below -v=3: each result stands for an attempt"
    if not reader.seen["Pod moved to an internal scheduling queue"]:
        yield "queue moves are not logged below -v=5"
    if not any(attempt.scores for attempt in log.attempts):
        yield "scores are not logged below -v=10"


class _Life:
    """What is known about a pod: its attempt that has not ended, and its last refusal."""

    __slots__ = ("added", "attempts", "bound", "end", "gate", "message", "node", "open", "removed")

    def __init__(self) -> None:
        self.open: Attempt | None = None
        self.attempts = 0
        self.bound = self.added = self.removed = False
        self.end = self.gate = self.message = self.node = ""


class _TimelineReader:
    """`seen`: message -> number of lines."""

    def __init__(self) -> None:
        self.log = SchedulerLog("", 0)
        self.seen: Counter[str] = Counter()
        self.more_scores = self.more_entries = 0
        self._first = 0.0
        self._lives: dict[str, _Life] = {}
        self._weights: dict[str, int] = {}
        self._scores: dict[int, dict[str, NodeScores]] = {}  # id of an attempt -> node -> scores
        self._raw: dict[tuple[str, str], dict[str, int]] = {}  # pod, node -> plugin -> score
        self._kept = 0

    def add(self, record: LogRecord) -> None:
        """Add a line."""
        if not self.log.started:
            self.log.started, self._first = record.at, record.time
        self.seen[record.message] += 1
        _HANDLERS[record.message](self, record)

    def finish(self) -> SchedulerLog:
        """Return the log, with what each pod is at its end."""
        for pod, life in self._lives.items():
            self._close(life)
            state = life.end or ("gone" if life.removed else "")
            if not state:
                tried = "pending" if life.message else "unknown"
                state = "bound" if life.bound else "gated" if life.gate else tried if life.attempts else "waiting"
            node = life.node if life.bound else ""
            self.log.pods.append(LoggedPod(pod, state, life.attempts, node, "" if life.bound else self._why(life)))
        return self.log

    def _why(self, life: _Life) -> str:
        return life.message or life.gate

    def _life(self, pod: str) -> _Life:
        if (life := self._lives.get(pod)) is None:
            life = self._lives[pod] = _Life()
        return life

    def _since(self, record: LogRecord) -> float:
        return round(record.time - self._first, 6)

    # ---- the configuration

    def flag(self, record: LogRecord) -> None:
        name, _, value = _text(record, "flag").partition("=")
        value = value.strip('"')
        if name == "--v":
            self.log.level = value
        elif name == "--feature-gates":
            self.log.feature_gates = ",".join(gate.lstrip(":") for gate in value.split(",") if gate)

    def version(self, record: LogRecord) -> None:
        self.log.version = _text(record, "version")

    def configuration(self, record: LogRecord) -> None:
        value = record.values.get("config")
        self.log.configuration = escaped(value, "\n\t") if isinstance(value, str) else ""

    def plugins(self, record: LogRecord) -> None:
        """Read the weights of the plugins. Profiles with other weights make them unknown."""
        try:
            found = msgspec.convert(record.values.get("Plugins"), _Plugins).Score.Enabled or []
        except msgspec.ValidationError:
            return
        for plugin in found:
            known = self._weights.setdefault(plugin.Name, plugin.Weight)
            self._weights[plugin.Name] = plugin.Weight if known == plugin.Weight else 0

    # ---- attempts

    def attempt(self, record: LogRecord) -> None:
        if pod := _text(record, "pod"):
            self._begin(pod, record)

    def _begin(self, pod: str, record: LogRecord) -> Attempt:
        life = self._life(pod)
        self._close(life)
        life.attempts += 1
        life.gate = ""
        life.removed, life.end = False, ""
        attempt = Attempt(
            pod, life.attempts, record.number, self._since(record), record.at, source=escaped(record.source)
        )
        attempt.group = _text(record, "podGroup")
        if self._under_limit():
            self.log.attempts.append(attempt)
        life.open = attempt
        return attempt

    def _of(self, record: LogRecord, ends: bool = False) -> Attempt | None:
        """Return the attempt of a line, which begins with it if the log has no line before. `ends`: the line ends it,
        so it begins a new attempt if the last one has ended."""
        if not (pod := _text(record, "pod")):
            return None
        attempt = self._life(pod).open
        if attempt is None or (ends and attempt.seconds is not None):
            return self._begin(pod, record)
        return attempt

    def _close(self, life: _Life) -> None:
        attempt = life.open
        if attempt is None:
            return
        life.open = None
        if found := self._scores.pop(id(attempt), None):
            attempt.scores = sorted(found.values(), key=lambda one: (-(one.total or 0), one.node))
        if attempt.result == "unknown" and attempt.node:
            attempt.result = "chosen"

    def raw_score(self, record: LogRecord) -> None:
        plugin = _text(record, "logger").removeprefix("Score.")
        score = _number(record, "resourceScore")
        if score is not None and plugin and "." not in plugin and self._kept < MAX_SCORES:
            self._raw.setdefault((_text(record, "pod"), _text(record, "node")), {})[plugin] = score

    def score(self, record: LogRecord) -> None:
        plugin, score = _text(record, "plugin") or _text(record, "extender"), _number(record, "score")
        attempt = self._of(record)
        if attempt is None or score is None:
            return
        if self._kept == MAX_SCORES:
            self.more_scores += 1
            return
        self._kept += 1
        scores, node = self._of_node(attempt, record)
        weight = self._weights.get(plugin)
        normalized = score // weight if weight else None
        scores.plugins[plugin] = PluginScore(score, normalized, self._raw.get((attempt.pod, node), {}).get(plugin))

    def total(self, record: LogRecord) -> None:
        attempt = self._of(record)
        if attempt is not None and self._kept < MAX_SCORES:
            scores, node = self._of_node(attempt, record)
            scores.total = _number(record, "score")
            self._raw.pop((attempt.pod, node), None)

    def _of_node(self, attempt: Attempt, record: LogRecord) -> tuple[NodeScores, str]:
        node = _text(record, "node")
        nodes = self._scores.setdefault(id(attempt), {})
        if (scores := nodes.get(node)) is None:
            scores = nodes[node] = NodeScores(node, None, {})
        return scores, node

    def choice(self, record: LogRecord) -> None:
        attempt = self._of(record)
        if attempt is not None:
            attempt.node = _text(record, "chosenNode") or _text(record, "node")

    def bound(self, record: LogRecord) -> None:
        attempt = self._of(record, ends=True)
        if attempt is None:
            return
        attempt.result, attempt.node = "scheduled", _text(record, "node")
        attempt.evaluated, attempt.feasible = _number(record, "evaluatedNodes"), _number(record, "feasibleNodes")
        attempt.bound = self._since(record)
        life = self._end(attempt, record)
        life.bound, life.node, life.message, life.removed = True, attempt.node, "", False
        self._close(life)

    def refused(self, record: LogRecord) -> None:
        attempt = self._of(record, ends=True)
        if attempt is not None:
            attempt.result, attempt.message = "unschedulable", _text(record, "err") or NO_NODES
            attempt.node = ""
            self._end(attempt, record).message = attempt.message

    def failing(self, record: LogRecord) -> None:
        """A line before that of `failed`, which ends the attempt."""
        attempt = self._of(record)
        if attempt is not None and attempt.result == "unknown":
            attempt.result, attempt.message = "error", _text(record, "err")

    def failed(self, record: LogRecord) -> None:
        attempt = self._of(record, ends=True)
        if attempt is not None:
            attempt.result, attempt.message = "error", _text(record, "err") or attempt.message
            self._end(attempt, record).message = attempt.message

    def _end(self, attempt: Attempt, record: LogRecord) -> _Life:
        attempt.seconds = round(self._since(record) - attempt.time, 6)
        return self._life(attempt.pod)

    def nominated(self, record: LogRecord) -> None:
        life = self._lives.get(_text(record, "pod"))
        if life is not None and life.open is not None and life.open.result != "scheduled":
            life.open.nominated_node = _text(record, "nominatedNodeName")

    def victim(self, record: LogRecord) -> None:
        victim, by = _text(record, "victim") or _text(record, "waitingPod"), _text(record, "preemptor")
        if not victim:
            return
        self._occurred(record, victim, "preempted", by=by, node=_text(record, "node"))
        attempts = [one for one in self.log.attempts[-1000:] if one.pod == by]
        if attempts:
            attempts[-1].victims.append(victim)

    # ---- the queue, arrivals and deletions

    def queued(self, record: LogRecord) -> None:
        pod, queue = _text(record, "pod"), _text(record, "queue")
        if not pod:
            return
        life = self._life(pod)
        self._occurred(record, pod, "queued", event=_text(record, "event"), queue=queue)
        plugins = record.values.get("unschedulable plugins")
        if life.open is not None and life.open.result != "unknown":
            life.open.queue = life.open.queue or queue
            if isinstance(plugins, dict):
                life.open.plugins = sorted(escaped(str(plugin)) for plugin in plugins)

    def gate(self, record: LogRecord) -> None:
        if pod := _text(record, "pod"):
            life = self._life(pod)
            life.gate = _text(record, "status")
            self._occurred(record, pod, "gated", plugin=_text(record, "plugin"), message=life.gate)

    def admitted(self, record: LogRecord) -> None:
        """A pod that comes to a queue is gated no longer."""
        if life := self._lives.get(_text(record, "pod")):
            life.gate = ""
        self.queued(record)

    def rejected(self, record: LogRecord) -> None:
        if pod := _text(record, "pod"):
            status, plugin = _text(record, "status"), _text(record, "plugin")
            self._occurred(record, pod, "rejected", plugin=plugin, message=status)

    def arrived(self, record: LogRecord) -> None:
        if pod := _text(record, "pod"):
            before = self._lives.get(pod)
            if before is not None:  # another pod of the same name
                self._close(before)
            life = self._lives[pod] = _Life()
            life.added = True
            self._occurred(record, pod, "added")

    def placed(self, record: LogRecord) -> None:
        """A bound pod was seen; the scheduler also logs the deletion of a pod that it bound, as unscheduled."""
        if pod := _text(record, "pod"):
            life = self._life(pod)
            life.bound, life.removed = True, False
            life.gate = life.message = ""

    def removed(self, record: LogRecord) -> None:
        life = self._lives.get(_text(record, "pod"))
        if life is not None and not life.bound:
            life.removed = True

    def deleted(self, record: LogRecord) -> None:
        if pod := _text(record, "pod"):
            self._life(pod).end = "gone"
            self._occurred(record, pod, "deleted", node=self._life(pod).node)

    def node_added(self, record: LogRecord) -> None:
        self._occurred(record, "", "node added", node=_text(record, "node"))

    def node_changed(self, record: LogRecord) -> None:
        self._occurred(record, "", "node changed", node=_text(record, "node"))

    def node_deleted(self, record: LogRecord) -> None:
        self._occurred(record, "", "node deleted", node=_text(record, "node"))

    def _occurred(self, record: LogRecord, pod: str, what: str, **more: str) -> None:
        if self._under_limit():
            self.log.occurrences.append(Occurrence(pod, what, record.number, self._since(record), record.at, **more))

    def _under_limit(self) -> bool:
        full = len(self.log.attempts) + len(self.log.occurrences) >= MAX_ENTRIES
        self.more_entries += full
        return not full


class _Plugin(msgspec.Struct):
    Name: str = ""
    Weight: int = 0


class _Enabled(msgspec.Struct):
    Enabled: list[_Plugin] | None = None


class _Plugins(msgspec.Struct):
    Score: _Enabled = msgspec.field(default_factory=_Enabled)


def _text(record: LogRecord, key: str) -> str:
    value = record.values.get(key)
    return escaped(value) if isinstance(value, str) else ""


def _number(record: LogRecord, key: str) -> int | None:
    value = record.values.get(key)
    if isinstance(value, str) and len(value) < 20 and value.lstrip("-").isdecimal():
        return int(value)
    return value if type(value) is int else None


_HANDLERS: dict[str, Callable[[_TimelineReader, LogRecord], None]] = {
    "FLAG": _TimelineReader.flag,
    "Starting Kubernetes Scheduler": _TimelineReader.version,
    "Using component config": _TimelineReader.configuration,
    "the scheduler starts to work with those plugins": _TimelineReader.plugins,
    "Attempting to schedule pod": _TimelineReader.attempt,
    "Attempting to schedule a pod belonging to a pod group": _TimelineReader.attempt,
    "Listed internal info for allocatable resources, requested resources and score": _TimelineReader.raw_score,
    "Plugin scored node for pod": _TimelineReader.score,
    "Extender scored node for pod": _TimelineReader.score,
    "Calculated node's final score for pod": _TimelineReader.total,
    "OpportunisticBatch set cycle state": _TimelineReader.choice,
    "Attempting to bind pod to node": _TimelineReader.choice,
    "Successfully bound pod to node": _TimelineReader.bound,
    "Unable to schedule pod; no fit; waiting": _TimelineReader.refused,
    "Unable to schedule pod; no nodes are registered to the cluster; waiting": _TimelineReader.refused,
    "Unable to schedule pod belonging to a pod group; waiting": _TimelineReader.refused,
    "Error selecting node for pod": _TimelineReader.failing,
    "Error scheduling pod; retrying": _TimelineReader.failed,
    "Failed to bind pod": _TimelineReader.failing,
    "Updating pod condition and nominated node name": _TimelineReader.nominated,
    "Preemptor Pod preempted victim Pod": _TimelineReader.victim,
    "Preemptor preempted a waiting pod": _TimelineReader.victim,
    "Pod moved to an internal scheduling queue": _TimelineReader.admitted,
    "Pod moved to an internal scheduling queue because the Pod is updated": _TimelineReader.admitted,
    "Pod moved to an internal scheduling queue, because the pod is gated": _TimelineReader.queued,
    "Status after running PreEnqueue plugin": _TimelineReader.gate,
    "Pod rejected by plugin": _TimelineReader.rejected,
    "Pod rejected by PreBind plugin": _TimelineReader.rejected,
    "Pod rejected by Bind plugin": _TimelineReader.rejected,
    "Pod rejected while waiting on permit": _TimelineReader.rejected,
    "Add event for unscheduled pod": _TimelineReader.arrived,
    "Add event for scheduled pod": _TimelineReader.placed,
    "Delete event for unscheduled pod": _TimelineReader.removed,
    "Delete event for scheduled pod": _TimelineReader.deleted,
    "Add event for node": _TimelineReader.node_added,
    "Update event for node": _TimelineReader.node_changed,
    "Delete event for node": _TimelineReader.node_deleted,
}
