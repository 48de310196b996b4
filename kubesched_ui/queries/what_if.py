"""Forks by an action on a node or a pod: what can be done with it at a timepoint, and the changes of an action."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kubesched_ui.models import Run
from kubesched_ui.queries.comparisons import fetcher
from kubesched_ui.queries.recording_cache import recording_of, stored_object
from scheduler_core.api.duration import clock
from scheduler_core.errors import InputError
from scheduler_core.forks import actions
from scheduler_core.forks.actions import Action, NodeTarget, PodTarget
from scheduler_core.recording.objects import Fetch, ObjectAt, objects_at, written
from scheduler_core.recording.recording import Recording
from scheduler_core.recording.timepoints import Timepoint

START = "start"
FEW = 5  # objects that are read one by one; for more, all blocks are loaded at once
# Actions whose button carries the value of a field: `relax nodeSelector`.
FIELDS = {"untaint": "taint", "relax": "constraint"}


@dataclass(frozen=True, slots=True)
class Beginning:
    """A timepoint at which a fork can begin: before cycle `at`, or after second `t`. `value`: names it in a form."""

    at: int | None
    t: float | None
    moment: int
    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The node or pod of an action at a timepoint. `alike`: the pods of the same controller, itself included."""

    kind: str
    key: str
    beginning: Beginning
    there: list[ObjectAt]
    found: ObjectAt
    fetch: Fetch
    owner: str = ""
    alike: tuple[ObjectAt, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        return written(self.found, self.fetch)


def beginning_of(run: Run, recording: Recording, chosen: str, kind: str, key: str) -> Beginning:
    """Return the timepoint that a form names: `cycle 12`, `t 3.5`, `seq 40`, or `start`, the first one at which the
    object exists. Raises InputError."""
    unit, _, text = chosen.partition(" ")
    if unit in ("", START):
        moment = recording.before_cycle(1)
        at = recording.cycle_after(max(moment, first_moment(recording, kind, key)) if run.in_time else moment)
        label = "from the start" if at == 1 else f"before cycle {at:,}, the first one with this {kind.lower()}"
        return Beginning(at, None, recording.before_cycle(at), START, label)
    try:
        number = float(text)
        if unit not in ("cycle", "t", "seq") or not 0 <= number < 1e15 or not (unit == "t" or number.is_integer()):
            raise ValueError
    except ValueError:
        raise InputError("What if", "from", f"must be cycle K, t SECONDS or {START}, got {chosen[:40]!r}") from None
    given: dict[str, Any] = {unit: number if unit == "t" else int(number)}
    moment = Timepoint(**given).moment(recording)
    if unit == "t":
        return Beginning(None, number, moment, chosen, f"after {clock(number)}")
    at = int(number) if unit == "cycle" else recording.cycle_after(moment)
    return Beginning(at, None, recording.before_cycle(at), f"cycle {at}", f"before cycle {at:,}")


def first_moment(recording: Recording, kind: str, key: str) -> int:
    """Return the first timepoint at which a node or pod exists; 0 if it never does."""
    if kind == "Node":
        presence, known = recording.tables["presence"], recording.names
        mine = presence["name"] == (known.index(key) if key in known else -1)
        rows = presence["at"][mine & (presence["node"] >= 0)].tolist()
    else:
        places, keys = recording.tables["places"], recording.tables["pods"].text("key")
        rows = [at for at, pod in zip(places["at"].tolist(), places["pod"].tolist(), strict=True) if keys[pod] == key]
    return int(min(rows, default=0))


def subject_of(run: Run, kind: str, namespace: str, name: str, chosen: str) -> Subject:
    """Return the node or pod at the chosen timepoint. Raises NotRecorded, InputError."""
    if kind not in ("Node", "Pod"):
        raise InputError("What if", "kind", f"must be Node or Pod, got {kind[:40]!r}")
    key = f"{namespace}/{name}" if kind == "Pod" else name
    recording = recording_of(run, requested=True)
    beginning = beginning_of(run, recording, chosen, kind, key)
    there = objects_at(recording, beginning.moment)
    found = next((one for one in there if (one.kind, one.key) == (kind, key)), None)
    if found is None:
        raise InputError(f"{kind} {key[:300]}", "", f"does not exist {beginning.label}")
    owner = ""
    alike: tuple[ObjectAt, ...] = (found,)
    if kind == "Pod":
        pods = recording.tables["pods"]
        owner = next(iter(pods.text("owner", pods["object"] == found.number)), "")
        if owner:
            numbers = set(pods["object"][[one == owner for one in pods.text("owner")]].tolist())
            others = (one for one in there if one.kind == "Pod" and one.number in numbers and one is not found)
            alike = (found, *(one for one in others if one.key.startswith(f"{namespace}/")))
    on_node = sum(one.node == key for one in there) if kind == "Node" else len(alike)
    fetch = fetcher(run) if on_node > FEW else partial(stored_object, run)
    return Subject(kind, key, beginning, there, found, fetch, owner, alike)


def options(run: Run, subject: Subject) -> dict[str, Any]:
    """Return what the form of parts/what_if.html offers for the subject."""
    document = subject.document
    beginnings = [subject.beginning]
    if subject.beginning.value != START:
        beginnings.append(Beginning(1, None, 0, START, "from the start"))
    found: dict[str, Any] = {"beginnings": beginnings, "there": subject.found.node}
    if subject.kind == "Node":
        target = NodeTarget(document)
        allocatable = document.get("status", {}).get("allocatable", {})
        return found | {
            "cordoned": document.get("spec", {}).get("unschedulable", False),
            "taints": target.taints,
            "effects": actions.EFFECTS,
            "allocatable": list(allocatable.items()),
            "most": actions.MAX_NODES,
        }
    grouped: dict[str, list[actions.Relaxation]] = {}
    for one in actions.relaxations(document):
        grouped.setdefault(one.constraint, []).append(one)
    return found | {
        "constraints": list(grouped.items()),
        "requests": [(c, list(listed.items())) for c, listed in actions.requests_of(document).items()],
        "owner": subject.owner,
        "alike": len(subject.alike),
        "rescheduled": PodTarget([document], rescheduled=not run.in_time).moves(document),
    }


def action_of(run: Run, subject: Subject, form: Mapping[str, str]) -> Action:
    """Return the action that a form requests. Raises InputError."""
    name, _, value = form.get("action", "").partition(" ")
    values = dict(form.items())
    if value:
        values[FIELDS.get(name, "")] = value
    if subject.kind == "Node":
        return actions.on_node(name, values, _node(run, subject, name))
    pods = subject.alike if form.get("scope") == "owner" else subject.alike[:1]
    documents = [written(one, subject.fetch) for one in pods]
    return actions.on_pod(name, values, PodTarget(documents, subject.owner, rescheduled=not run.in_time))


def _node(run: Run, subject: Subject, name: str) -> NodeTarget:
    """Return the node. In virtual time, controllers create the evicted pods again, and the drain need not."""
    pods = []
    if name == "drain" and not run.in_time:
        here = [one for one in subject.there if one.kind == "Pod" and one.node == subject.key]
        pods = [written(one, subject.fetch) for one in here]
    names = {one.key for one in subject.there if one.kind == "Node"}
    return NodeTarget(subject.document, pods, names)
