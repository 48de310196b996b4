"""Functions of the lesson expression language. docs/lessons.md lists them.

Pods are named `web-1` or `namespace/web-1`. `attempt` defaults to the last attempt of the pod, and for the pod in
focus to the attempt in focus. Functions about the cluster use the timepoint before the cycle in focus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from kubesched_ui.lessons import event_recorder
from kubesched_ui.lessons.constants import CONSTANTS
from kubesched_ui.lessons.errors import NotYetRevealed, Unknown
from kubesched_ui.lessons.event_recorder import RecordedEvent
from kubesched_ui.lessons.formatting import ORDINALS, WORDS, Amount, FieldNumber, Seconds, shown
from kubesched_ui.lessons.parser import Focus
from kubesched_ui.lessons.runner import Attempted, Played
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle import schedule_one
from scheduler_core.errors import InputError
from scheduler_core.provenance.tree import Tree
from scheduler_core.queue.queued_pod import BACKOFF, POPPED, UNSCHEDULABLE
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.feature_gates import GATES, gates_of
from scheduler_core.releases.release import BEHAVIORS
from scheduler_core.search.provenance import Question
from scheduler_core.search.queue_times import Move

NOWHERE = "nowhere"
ONE_CANDIDATE = "none: there is only one candidate"
NO_RULE = "none: by name or seed"


class Lookups:
    """Cycles, nodes and pods of runs. `runs`: by name; the first is the default. `hides`: do not reveal results of the
    cycle in focus and later ones."""

    def __init__(self, runs: Mapping[str, Played], focus: Focus | None = None, hides: bool = False) -> None:
        self.runs, self.focus = runs, focus or Focus()
        self.run = runs[self.focus.run or next(iter(runs))]
        self.hides = hides

    def call(self, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        method = FUNCTIONS.get(name)
        if method is None:
            raise Unknown(f"there is no function {name[:60]!r}")
        try:
            return method(self, *args, **named)
        except TypeError as problem:
            raise Unknown(f"{name}: {str(problem).replace('Facts.', '')}") from None
        except InputError as problem:
            raise Unknown(f"{name}: {problem}") from None

    def in_run(self, name: str) -> Self:
        if name not in self.runs:
            raise Unknown(f"the lesson has no run {name[:60]!r}")
        return type(self)(self.runs, Focus(run=name))

    def what_if(self, field: str, text: str) -> Facts:
        raise Unknown("what_if is only for the claims of a lesson")

    # ---- lookups

    def pod_key(self, pod: str) -> str:
        """Return the key namespace/name of a pod."""
        return pod if "/" in str(pod) else f"default/{pod}"

    def cycle(self, pod: str, attempt: int | None = None) -> Attempted:
        """Return a cycle of the run. Raises Unknown, and NotYetRevealed if it is hidden."""
        found = self.find(pod, attempt)
        if self.hides and found.number >= self.focused.number:
            raise NotYetRevealed(f"reveals the result of attempt {found.attempt} of {pod}, which is the answer")
        return found

    def find(self, pod: str, attempt: int | None = None) -> Attempted:
        """Return a cycle of the run, even if it is hidden. Raises Unknown."""
        key = self.pod_key(pod)
        mine = [cycle for cycle in self.run.cycles if cycle.pod == key]
        if not mine:
            raise Unknown(f"the run never tried pod {key[:253]!r}")
        if attempt is None and self.focus.pod and key == self.pod_key(self.focus.pod):
            attempt = self.focus.attempt
        found = mine[-1] if attempt is None else next((one for one in mine if one.attempt == attempt), None)
        if found is None:
            raise Unknown(f"pod {key!r} has no attempt {attempt}")
        return found

    @property
    def focused(self) -> Attempted:
        """The cycle in focus. Raises Unknown."""
        if not self.focus.pod:
            raise Unknown("the step has no pod in focus")
        return self.find(self.focus.pod, self.focus.attempt)

    def moment(self, before: str | None = None, attempt: int | None = None) -> int:
        """Return the timepoint before the cycle in focus, or before a cycle of pod `before`; the end of the run if
        there is none."""
        if before is not None:
            return self.run.before(self.find(before, attempt).number)
        return self.run.before(self.focused.number) if self.focus.pod else self.run.recording.end

    def node(self, name: str, before: str | None = None) -> dict[str, Any]:
        """Return a node at that timepoint. Raises Unknown."""
        moment = self.moment(before)
        found = self.run.state(moment).nodes().get(name)
        if found is None:
            raise Unknown(f"there is no node {str(name)[:253]!r} at that time")
        return found

    def info(self, pod: str) -> PodInfo:
        """Return a pod as the scheduler sees it. Raises Unknown."""
        key = self.pod_key(pod)
        run, moments = self.run, [self.moment(), 0, self.run.recording.end]
        moments += [run.before(cycle.number) for cycle in run.cycles if cycle.pod == key]
        for moment in moments:
            if obj := run.object_at("Pod", key, moment):
                made = decode(obj)
                assert isinstance(made, Pod)
                return PodInfo(made, run.release)
        raise Unknown(f"there is no pod {key[:253]!r}")

    def tree(self, point: str, pod: str, node: str = "", plugin: str = "", attempt: int | None = None) -> Tree:
        """Return the provenance tree of a number. Raises Unknown, NotYetRevealed."""
        cycle = self.cycle(pod, attempt)
        return self.run.provenance(cycle).explain(Question(point, node, plugin))

    def scored(self, pod: str, node: str, plugin: str, attempt: int | None) -> tuple[int, int, int]:
        """Return the raw score, the normalised score and the weight. Raises Unknown, NotYetRevealed."""
        cycle = self.cycle(pod, attempt)
        score = cycle.as_dict.get("score", {}).get(plugin)
        if score is None or node not in score["raw"]:
            raise Unknown(f"{plugin} has no score of {node} for {pod}")
        return score["raw"][node], score["normalized"][node], score["weight"]

    def woke(self, pod: str, attempt: int | None = None) -> Move:
        """Return the move into the queue or back from unschedulable pods that led to an attempt. Raises Unknown."""
        cycle = self.cycle(pod, attempt)
        moves = [one for one in self.run.moves(cycle.pod) if isinstance(one, Move) and one.seq < cycle.seq]
        found = [one for one in moves if one.was in ("", UNSCHEDULABLE, "gated", POPPED) and one.to != POPPED]
        found = [one for one in found if one.to not in (UNSCHEDULABLE, "gone", "gated")]
        if not found:
            raise Unknown(f"no event moved {pod} to the queue")
        return found[-1]

    def past(self) -> list[Attempted]:
        """Return the cycles before the one in focus, or all of them if no pod is in focus. Raises NotYetRevealed."""
        if not self.focus.pod:
            if self.hides:
                raise NotYetRevealed("reveals the results of the run")
            return self.run.cycles
        return self.run.cycles[: self.focused.number - 1]

    def moves_until(self, t: float) -> list[dict[str, Any]]:
        """Return the queue moves until a second. Raises NotYetRevealed."""
        found = [event for event in self.run.events if event["type"] == "queue.moved" and event["t"] <= t]
        if self.hides and found and (not self.focus.pod or found[-1]["seq"] >= self.focused.seq):
            raise NotYetRevealed("reveals how pods move in the queue")
        return found

    def events_of(self, pod: str) -> list[RecordedEvent]:
        """Return the Event objects about a pod at the end of the run. Raises NotYetRevealed, Unknown."""
        key = self.pod_key(pod)
        if self.hides:
            raise NotYetRevealed(f"reveals the events of {pod}")
        if not self.run.events:
            raise Unknown("the run is not in virtual time")
        happened, version, written = [], 0, ("", "")
        for event in self.run.events:
            kind, data = event["type"], event["data"]
            if event["pod"] != key:
                continue
            if kind == "pod.updated":
                version += 1
            elif kind == "pod.bound":
                happened.append((event["t"], "Scheduled", version, f"Successfully assigned {key} to {data['node']}"))
            elif kind == "bind.failed" or (kind == "cycle.finished" and data["result"] in ("unschedulable", "error")):
                happened.append((event["t"], "FailedScheduling", version, data["message"]))
                # kube-scheduler writes the status of the pod after the event, if it changed
                if written != (written := (data["message"], data.get("nominated_node", ""))):
                    version += 1
        return event_recorder.recorded(happened, self.run.events[-1]["t"])

    def recorded_event(self, pod: str, number: int) -> RecordedEvent:
        """Return an Event object of a pod by its number, from 1. Raises NotYetRevealed, Unknown."""
        found = self.events_of(pod)
        if not 1 <= number <= len(found):
            raise Unknown(f"{pod} has {len(found)} Event objects, so there is no number {number}")
        return found[number - 1]


class Facts(Lookups):
    """Values that expressions read from runs. Each method is a function of the expression language."""

    # ---- results of cycles

    def node_of(self, pod: str, attempt: int | None = None) -> str:
        """The chosen node, or `nowhere`, also if the pod's group is not scheduled."""
        cycle = self.cycle(pod, attempt)
        return NOWHERE if cycle.trace.pends_with_group else cycle.as_dict.get("selected") or NOWHERE

    def result(self, pod: str, attempt: int | None = None) -> str:
        """The result: scheduled, unschedulable, gated, error or waiting."""
        return self.cycle(pod, attempt).result

    def message(self, pod: str, attempt: int | None = None) -> str:
        """The message of the FailedScheduling event."""
        return self.cycle(pod, attempt).trace.message

    def feasible(self, pod: str, attempt: int | None = None) -> list[str]:
        """The nodes that pass all filters."""
        return list(self.cycle(pod, attempt).as_dict.get("feasible") or ())

    def refused(self, pod: str, plugin: str = "", attempt: int | None = None) -> list[str]:
        """The rejected nodes; with `plugin`, only those that this plugin rejected."""
        found = self.cycle(pod, attempt).as_dict.get("filter") or {}
        return [node for node, status in found.items() if not plugin or status.get("plugin") == plugin]

    def refuser(self, pod: str, node: str, attempt: int | None = None) -> str:
        """The plugin that rejected a node, or `none` if the node passes."""
        cycle = self.cycle(pod, attempt).as_dict
        status = (cycle.get("filter") or {}).get(node) or cycle.get("prefilter")
        return (status or {}).get("plugin") or "none"

    def refusers(self, pod: str, node: str, attempt: int | None = None) -> list[str]:
        """All plugins that would reject a node, not only the decisive one."""
        return list((self.cycle(pod, attempt).as_dict.get("filter_all") or {}).get(node, {}))

    def reasons(self, pod: str, node: str, attempt: int | None = None) -> str:
        """The reasons of the plugin that rejected a node."""
        cycle = self.cycle(pod, attempt).as_dict
        status = (cycle.get("filter") or {}).get(node) or cycle.get("prefilter") or {}
        return "; ".join(status.get("reasons") or ())

    def looked(self, pod: str, attempt: int | None = None) -> int:
        """The number of nodes that the cycle evaluated."""
        trace = self.cycle(pod, attempt).trace
        return int(trace.looked_mask().sum())

    def looked_at(self, pod: str, node: str, attempt: int | None = None) -> bool:
        """Whether the cycle evaluated a node."""
        cycle = self.cycle(pod, attempt)
        if node not in cycle.nodes:
            raise Unknown(f"there is no node {node[:253]!r} at that time")
        return cycle.trace.has_looked(cycle.nodes.index(node))

    def start_index(self, pod: str, attempt: int | None = None) -> int:
        """The position in the list of nodes at which the search starts, from 0."""
        return self.cycle(pod, attempt).trace.start_index

    def hint(self, pod: str, attempt: int | None = None) -> str:
        """The node that opportunistic batching proposes, or `none`."""
        return self.cycle(pod, attempt).trace.batch_hint or "none"

    def plugins(self, pod: str, attempt: int | None = None) -> list[str]:
        """Filter plugins in the order in which they run."""
        return list(self.cycle(pod, attempt).as_dict["filter_order"])

    def scorers(self, pod: str, attempt: int | None = None) -> list[str]:
        """The plugins that scored."""
        return list(self.cycle(pod, attempt).as_dict.get("score") or ())

    def raw(self, pod: str, node: str, plugin: str, attempt: int | None = None) -> int:
        """A raw score."""
        return self.scored(pod, node, plugin, attempt)[0]

    def score(self, pod: str, node: str, plugin: str, attempt: int | None = None) -> int:
        """A normalised score, from 0 to 100 (in 1.16 to 10)."""
        return self.scored(pod, node, plugin, attempt)[1]

    def weight(self, pod: str, plugin: str, attempt: int | None = None) -> int:
        """The weight of a plugin's scores."""
        found = self.cycle(pod, attempt).as_dict.get("score", {}).get(plugin)
        if found is None:
            raise Unknown(f"{plugin} did not score for {pod}")
        return int(found["weight"])

    def weighted(self, pod: str, node: str, plugin: str, attempt: int | None = None) -> int:
        """The normalised score times the weight."""
        _, normalized, by = self.scored(pod, node, plugin, attempt)
        return normalized * by

    def total(self, pod: str, node: str, attempt: int | None = None) -> int:
        """The sum of a node's weighted scores."""
        found = self.cycle(pod, attempt).as_dict.get("total") or {}
        if node not in found:
            raise Unknown(f"{node} has no total for {pod}")
        return int(found[node])

    def best(self, pod: str, attempt: int | None = None) -> list[str]:
        """The nodes with the highest total."""
        return list(self.cycle(pod, attempt).as_dict.get("best") or ())

    def victims(self, pod: str, node: str = "", attempt: int | None = None) -> list[str]:
        """The evicted pods; with `node`, the pods that would be evicted there."""
        cycle = self.cycle(pod, attempt)
        if not node:
            return [_short(key) for key in cycle.trace.victims]
        found = (cycle.as_dict.get("postfilter") or {}).get("candidates") or {}
        return [_short(key) for key in (found.get(node) or {}).get("victims") or ()]

    def candidates(self, pod: str, attempt: int | None = None) -> list[str]:
        """The nodes on which evicting pods would make the pod fit."""
        return list((self.cycle(pod, attempt).as_dict.get("postfilter") or {}).get("candidates") or ())

    def violations(self, pod: str, node: str, attempt: int | None = None) -> int:
        """The number of PodDisruptionBudgets that evicting the victims on a node would violate."""
        found = (self.cycle(pod, attempt).as_dict.get("postfilter") or {}).get("candidates") or {}
        return int((found.get(node) or {}).get("pdb_violations") or 0)

    def rule(self, pod: str, attempt: int | None = None) -> str:
        """The rule that decided between the candidates."""
        cycle = self.cycle(pod, attempt)
        many = (cycle.as_dict.get("postfilter") or {}).get("candidates") or {}
        return cycle.as_dict["rule"] or (ONE_CANDIDATE if len(many) == 1 else NO_RULE)

    def nominated(self, pod: str, attempt: int | None = None) -> str:
        """The node that the attempt's preemption nominated, or `none`."""
        return self.cycle(pod, attempt).trace.nominated_node or "none"

    def explanation(self, point: str, pod: str, node: str = "", plugin: str = "", attempt: int | None = None) -> str:
        """The sentence of a number's provenance tree."""
        return self.tree(point, pod, node, plugin, attempt).text

    def part(
        self, label: str, point: str, pod: str, node: str = "", plugin: str = "", attempt: int | None = None
    ) -> Any:
        """The value with that label in a number's provenance tree."""
        found = next((one for one in _walk(self.tree(point, pod, node, plugin, attempt)) if label in one.label), None)
        if found is None:
            raise Unknown(f"the provenance tree has no value with the label {label!r}")
        unit = {"m": "cpu", "B": "memory"}.get(found.unit)
        return Amount.new(unit, found.value) if unit and isinstance(found.value, int) else found.value

    # ---- the cluster before the cycle in focus

    def nodes(self, before: str | None = None) -> list[str]:
        """All nodes."""
        return list(self.run.state(self.moment(before)).nodes())

    def position(self, node: str, before: str | None = None) -> int:
        """The position of a node in the list that the scheduler searches, from 1."""
        self.node(node, before)
        return self.nodes(before).index(node) + 1

    def allocatable(self, node: str, resource: str, before: str | None = None) -> Amount:
        """The allocatable quantity of a resource on a node."""
        return Amount.new(resource, self.node(node, before)["allocatable"].get(resource, 0))

    def requested(self, node: str, resource: str, before: str | None = None) -> Amount:
        """The sum of the requests of a node's pods."""
        return Amount.new(resource, self.node(node, before)["requested"].get(resource, 0))

    def counted(self, node: str, resource: str, before: str | None = None) -> Amount:
        """The requested quantity as scoring counts it: containers without requests count with the defaults."""
        return Amount.new(resource, self.node(node, before)["nonzero_requested"].get(resource, 0))

    def free(self, node: str, resource: str, before: str | None = None) -> Amount:
        """The quantity of a resource that is still free on a node."""
        found = self.node(node, before)
        return Amount.new(resource, found["allocatable"].get(resource, 0) - found["requested"].get(resource, 0))

    def pods_on(self, node: str, before: str | None = None) -> list[str]:
        """The pods on a node."""
        return [_short(key) for key in self.node(node, before)["pods"]]

    def pods_labelled(self, node: str, key: str, value: str, before: str | None = None) -> int:
        """The number of pods on a node that have a label."""
        infos = [self.info(pod) for pod in self.node(node, before)["pods"]]
        return sum(info.labels.get(key) == value for info in infos)

    def taints(self, node: str, before: str | None = None) -> list[str]:
        """The taints of a node."""
        return list(self.node(node, before)["taints"])

    def asks(self, pod: str, resource: str) -> Amount:
        """The quantity that a pod requests."""
        return Amount.new(resource, self.info(pod).requests.get(resource, 0))

    def counts(self, pod: str, resource: str) -> Amount:
        """The quantity of a pod as scoring counts it: containers without requests count with the defaults."""
        cpu, memory = self.info(pod).nonzero
        return Amount.new(resource, {"cpu": cpu, "memory": memory}[resource])

    def priority(self, pod: str) -> int:
        """A pod's priority."""
        return self.info(pod).priority

    def label(self, kind: str, name: str, key: str) -> str:
        """A label of a node or pod."""
        found = self.run.object_at(kind, self.pod_key(name) if kind == "Pod" else name, self.moment())
        value = ((found or {}).get("metadata") or {}).get("labels", {}).get(key)
        if value is None:
            raise Unknown(f"{kind} {name} has no label {key!r}")
        return str(value)

    def field(self, kind: str, name: str, *path: str | int) -> Any:
        """A field of an object at that timepoint."""
        key = self.pod_key(name) if kind == "Pod" else name
        found: Any = self.run.object_at(kind, key, self.moment())
        if found is None:
            found = self.run.written_down.get((kind, key))
        for step in path:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                raise Unknown(f"{kind} {name} has no {step!r} there") from None
        if found is None or isinstance(found, dict | list):
            raise Unknown(f"{kind} {name} has no value there")
        return FieldNumber(found) if type(found) is int else found

    # ---- virtual time

    def attempts(self, pod: str) -> int:
        """The number of attempts of a pod."""
        key = self.pod_key(pod)
        if self.hides and key == self.focused.pod:
            raise NotYetRevealed(f"reveals the number of attempts of {pod}")
        return sum(cycle.pod == key for cycle in self.run.cycles)

    def time_of(self, pod: str, attempt: int) -> Seconds:
        """The start of an attempt."""
        return Seconds(self.cycle(pod, attempt).t)

    def backoff(self, pod: str, attempt: int) -> Seconds:
        """The length of the backoff after an attempt."""
        cycle = self.cycle(pod, attempt)
        ends = self.run.queue_times(cycle.pod).ends()
        for one in self.run.moves(cycle.pod):
            if isinstance(one, Move) and one.seq > cycle.seq and one.to in (BACKOFF, UNSCHEDULABLE):
                if one.to == BACKOFF:
                    return Seconds(ends[one.seq] - cycle.t)
                break
        raise Unknown(f"{pod} had no backoff after attempt {attempt}")

    def event_of(self, pod: str, attempt: int) -> str:
        """Upstream's label of the event that led to an attempt."""
        return self.woke(pod, attempt).event

    def because_of(self, pod: str, attempt: int) -> str:
        """A sentence about what led to an attempt."""
        move = self.woke(pod, attempt)
        return move.cause.text if move.cause else move.event

    def woken_at(self, pod: str, attempt: int) -> Seconds:
        """The time at which the pod was woken for an attempt."""
        return Seconds(self.woke(pod, attempt).t)

    def when(self, what: str, pod: str) -> Seconds:
        """The first time at which a pod was created, bound, nominated, evicted or deleted."""
        key = self.pod_key(pod)
        for event in self.run.events:
            if event["pod"] == key and event["type"] == f"pod.{what}":
                if self.hides and event["seq"] >= self.focused.seq:
                    raise NotYetRevealed(f"reveals when {pod} was {what}")
                return Seconds(event["t"])
        raise Unknown(f"{pod} was never {what}")

    def evicted(self, pod: str) -> bool:
        """Whether a pod was evicted in a run in virtual time."""
        key = self.pod_key(pod)
        found = [e for e in self.run.events if e["type"] == "pod.evicted" and e["pod"] == key]
        if self.hides:
            raise NotYetRevealed(f"reveals whether {pod} was evicted")
        return bool(found)

    def evictions(self) -> list[Seconds]:
        """The times of evictions in a run in virtual time, in order."""
        found = [event for event in self.run.events if event["type"] == "pod.evicted"]
        if self.hides and any(event["seq"] >= self.focused.seq for event in found):
            raise NotYetRevealed("reveals when pods were evicted")
        return [Seconds(event["t"]) for event in found]

    def bound_to(self, pod: str) -> str:
        """The node to which a pod was last bound in a run in virtual time, or `nowhere`."""
        key = self.pod_key(pod)
        bound = [event for event in self.run.events if event["pod"] == key and event["type"] == "pod.bound"]
        if bound and self.hides and bound[-1]["seq"] >= self.focused.seq:
            raise NotYetRevealed(f"reveals where {pod} was bound")
        return bound[-1]["data"]["node"] if bound else NOWHERE

    def step_at(self, number: int) -> Seconds:
        """The time of a step of the scenario's timeline; steps start at 1."""
        found = [e for e in self.run.events if e["type"] == "scenario.step" and e["data"]["step"] == number]
        if not found:
            raise Unknown(f"the scenario has no step {number}")
        return Seconds(found[0]["t"])

    # ---- metrics and events

    def tried(self, result: str) -> int:
        """The number of attempts with a result, as `scheduler_schedule_attempts_total` counts them."""
        return sum(cycle.result == result for cycle in self.past())

    def in_queue(self, part: str, t: float) -> int:
        """The number of pods in a part of the queue (active, backoff, unschedulable, gated) after second `t`."""
        places = {event["pod"]: event["data"]["to"] for event in self.moves_until(t)}
        return sum(place == part for place in places.values())

    def entered(self, part: str, event: str) -> int:
        """The number of moves to a part of the queue because of an event, as `scheduler_queue_incoming_pods_total`
        counts them."""
        moves = [move["data"] for move in self.moves_until(float("inf"))]
        return sum((data["to"], data["event"]) == (part, event) for data in moves)

    def recorded(self, pod: str) -> list[str]:
        """The messages of the Event objects about a pod, in the order of their creation."""
        return [event.note for event in self.events_of(pod)]

    def repeats(self, pod: str, number: int = 1) -> int:
        """The number of events that an Event object of a pod stands for; objects start at 1."""
        return self.recorded_event(pod, number).count

    def written(self, pod: str, number: int = 1) -> int:
        """The count of an Event object that the API server knows."""
        return self.recorded_event(pod, number).written

    def planned(self, *path: str | int) -> Any:
        """A value of the scenario's time settings, such as `planned('binding', 'seconds')`."""
        found: Any = self.run.given.time
        for step in path:
            try:
                found = found[step]
            except (KeyError, IndexError, TypeError):
                raise Unknown(f"the scenario has no {step!r} there") from None
        return found

    def argument(self, plugin: str, name: str) -> Any:
        """An argument of a plugin in the run's configuration."""
        given = self.run.configuration.profiles[0].given.get(plugin)
        value = given.get(name) if isinstance(given, dict) else getattr(given, name, None)
        if value is None:
            raise Unknown(f"{plugin} has no argument {name!r}")
        return value

    def extender_weight(self, number: int) -> int:
        """The weight of an extender in the run's configuration; extenders start at 0."""
        return int(self.run.configuration.extenders[number].weight)

    # ---- functions without a run

    def const(self, name: str) -> Any:
        """An upstream constant, as the core defines it."""
        if name not in CONSTANTS:
            raise Unknown(f"there is no constant {name[:60]!r}; the constants are {', '.join(CONSTANTS)}")
        return CONSTANTS[name]()

    def release(self, name: str) -> str:
        """The name of a release. Raises Unknown if it does not exist."""
        if name not in RELEASES:
            raise Unknown(f"there is no release {name[:60]!r}")
        return name

    def does(self, behavior: str, release: str) -> bool | str:
        """What a release does: the value of a behaviour of `scheduler_core/releases/behaviors/`."""
        if behavior not in BEHAVIORS:
            raise Unknown(f"there is no behaviour {behavior[:60]!r}")
        return getattr(get_release(release), behavior)

    def since(self, behavior: str) -> str:
        """The first release from which on all releases behave as the newest one."""
        names = list(RELEASES)
        others = [i for i, name in enumerate(names) if self.does(behavior, name) != self.does(behavior, names[-1])]
        return names[others[-1] + 1] if others else names[0]

    def until(self, behavior: str) -> str:
        """The last release up to which all releases behave as the oldest one."""
        names = list(RELEASES)
        others = [i for i, name in enumerate(names) if self.does(behavior, name) != self.does(behavior, names[0])]
        return names[others[0] - 1] if others else names[-1]

    def gate(self, name: str, release: str) -> str:
        """Whether a feature gate is `on` or `off` by default in a release; `none` if the release does not have it."""
        if name not in GATES:
            raise Unknown(f"there is no feature gate {name[:60]!r}")
        found = gates_of(get_release(release))
        return "none" if name not in found else "on" if found[name] else "off"

    def default_weight(self, plugin: str, release: str) -> int:
        """The weight of a plugin in a release's default profile. Score plugins without a weight have the weight one
        (upstream framework/runtime/framework.go, getValidScoreWeights)."""
        found = dict(get_release(release).default_plugins)
        if plugin not in found:
            raise Unknown(f"{plugin} is not in the default profile of {release}")
        return int(found[plugin]) or 1

    def default_plugins(self, release: str) -> list[str]:
        """The plugins of a release's default profile."""
        return [name for name, _ in get_release(release).default_plugins]

    def config(self, name: str) -> Any:
        """A value of the run's configuration: podInitialBackoffSeconds, podMaxBackoffSeconds."""
        known = {
            "podInitialBackoffSeconds": "pod_initial_backoff_seconds",
            "podMaxBackoffSeconds": "pod_max_backoff_seconds",
        }
        if name not in known:
            raise Unknown(f"there is no setting {name[:60]!r}; the settings are {', '.join(known)}")
        return Seconds(getattr(self.run.configuration, known[name]))

    def count(self, values: Any) -> int:
        """The number of values."""
        return len(values)

    def word(self, value: int) -> str:
        """A small number as a word."""
        return WORDS[value] if 0 <= value < len(WORDS) else shown(value)

    def ordinal(self, value: int) -> str:
        """An ordinal as a word: first, second, third ..."""
        if not 1 <= value <= len(ORDINALS):
            raise Unknown(f"there is no ordinal word for {value}")
        return ORDINALS[value - 1]

    def objects(self, kind: str) -> list[str]:
        """The names of the scenario's objects of a kind, in order."""
        return [obj["metadata"]["name"] for obj in self.run.given.objects if obj["kind"] == kind]

    def chunk(self, nodes: int, workers: int) -> int:
        """The number of nodes that a filter worker takes at once (upstream chunkSizeFor)."""
        if workers < 1 or nodes < 0:
            raise Unknown("needs at least one worker")
        return max(1, min(int(nodes**0.5), nodes // workers + 1))

    def nodes_to_find(self, nodes: int, percentage: int = 0) -> int:
        """The number of feasible nodes after which upstream stops filtering, for a cluster of that many nodes."""
        return schedule_one.nodes_to_find(percentage, nodes)

    def cut(self, value: float) -> int:
        """A number truncated to an integer."""
        return int(value)

    def rounded(self, value: float, digits: int = 2) -> float:
        """A number rounded to that many digits."""
        return round(float(value), digits)

    def smallest(self, *values: Any) -> Any:
        """The smallest of several numbers."""
        return min(values)

    def root(self, value: float) -> float:
        """The square root."""
        return float(value) ** 0.5

    def amount(self, value: int, resource: str) -> Amount:
        """A number as a quantity of a resource."""
        return Amount.new(resource, int(value))

    def plain(self, value: Any) -> Any:
        """A quantity as a plain number, in millicores or bytes."""
        return int(value) if isinstance(value, Amount) else float(value)


FUNCTIONS = {name: method for name, method in vars(Facts).items() if not name.startswith("_")}


def _short(key: str) -> str:
    return key.removeprefix("default/")


def _walk(tree: Tree) -> Any:
    yield tree
    for arg in tree.args or ():
        yield from _walk(arg)
