"""A step takes one obstacle away: an edit of the pod, or changes to something else."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.debugger.mutations import Change
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario import Patch

POD, NODE, EVICT, CONFIG, ADD = "pod", "node", "evict", "config", "add"
KINDS = (POD, CONFIG, NODE, ADD, EVICT)  # the least invasive first

Raw = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Step:
    """`text`: what to do, as a sentence begins. `edit`: of the pod's document, in place; or `changes`. `cost`: how much
    it takes away from what was meant: 0 for a misspelt word, 10 for a volume. `pods`, `nodes`: what it disturbs."""

    text: str
    kind: str
    cost: float
    edit: Callable[[Raw], None] | None = None
    changes: tuple[Change, ...] = ()
    pods: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    def __eq__(self, other: object) -> bool:  # what is told the same is the same
        return isinstance(other, Step) and (self.kind, self.text) == (other.kind, other.text)

    def __hash__(self) -> int:
        return hash((self.kind, self.text))


class Remedy(msgspec.Struct):
    """One answer. `changes`: as a fork takes them. `disturbs`: {pods, nodes}: others that notice. `node`: where the pod
    goes with it. `proved`: the cycle was run with it. `gap`: of a node that is to win, its points and the winner's;
    `tied`: the other nodes as good as it where it has the most. `cost`: what it is ordered by."""

    text: str
    changes: list[Raw]
    kind: str
    disturbs: dict[str, int]
    node: str = ""
    proved: bool = False
    gap: list[Raw] = []
    tied: list[str] = []
    cost: float = 0.0


@dataclass
class Plan:
    """Some steps together."""

    steps: tuple[Step, ...] = ()
    _changes: list[Change] | None = field(default=None, repr=False)

    def changes(self, document: Raw) -> list[Change]:
        """As changes: those of the pod first, one for each part of it that differs."""
        if self._changes is None:
            edited = copy.deepcopy(document)
            for step in self.steps:
                try:
                    if step.edit is not None:
                        step.edit(edited)
                except (LookupError, TypeError):  # another step took away what this one edits
                    raise InputError("remedy", "", f"does not go with the others: {step.text}") from None
            patches = [Change(patch=_patch(document, part)) for part in _parts(difference(document, edited))]
            self._changes = [*patches, *(change for step in self.steps for change in step.changes)]
        return self._changes

    def and_(self, steps: Iterable[Step]) -> Plan:
        """With more steps; each is taken once."""
        return Plan((*self.steps, *(step for step in steps if step not in self.steps)))

    def without(self, step: Step) -> Plan:
        return Plan(tuple(other for other in self.steps if other is not step))

    @property
    def kind(self) -> str:
        """The most invasive of its steps'."""
        return max((step.kind for step in self.steps), key=KINDS.index)

    @property
    def cost(self) -> float:
        """What it takes away, and whom it disturbs."""
        pods = frozenset[str]().union(*(step.pods for step in self.steps))
        nodes = frozenset[str]().union(*(step.nodes for step in self.steps))
        steps = sum(step.cost for step in self.steps) + 1.5 * (len(self.steps) - 1)
        return float(steps + 3.0 * len(pods) ** 0.75 + len(nodes))

    def remedy(self, document: Raw, node: str) -> Remedy:
        """As it is told, once it is proved to place the pod on `node`."""
        pods = frozenset[str]().union(*(step.pods for step in self.steps))
        nodes = frozenset[str]().union(*(step.nodes for step in self.steps))
        text = "; and ".join(step.text for step in self.steps)
        changes = [msgspec.to_builtins(change) for change in self.changes(document)]
        disturbs = {"pods": len(pods), "nodes": len(nodes)}
        return Remedy(text, changes, self.kind, disturbs, node, True, cost=self.cost)


def difference(old: Any, new: Any) -> Raw:
    """The merge patch that makes `new` of `old`; lists are replaced whole."""
    patch: Raw = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            if inner := difference(old[key], value):
                patch[key] = inner
        elif old[key] != value:
            patch[key] = value
    return patch


def _parts(patch: Raw) -> list[Raw]:
    """A patch in parts that make sense alone: a field of spec or metadata each, of affinity a kind each. Containers
    name the resource claims that they use, so these go together."""
    parts = []
    spec = patch.get("spec", {})
    if "resourceClaims" in spec:
        claims = {name: spec[name] for name in ("resourceClaims", "containers", "initContainers") if name in spec}
        parts.append({"spec": claims})
        patch = patch | {"spec": {name: value for name, value in spec.items() if name not in claims}}
    for top, fields in patch.items():
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if name == "affinity" and isinstance(value, dict):
                parts += [{top: {name: {kind: inner}}} for kind, inner in value.items()]
            else:
                parts.append({top: {name: value}})
    return parts


def _patch(document: Raw, part: Raw) -> Patch:
    meta = document["metadata"]
    return Patch(kind="Pod", namespace=meta.get("namespace", "default"), name=meta["name"], patch=part)


def patch_of(kind: str, namespace: str, name: str, patch: Raw) -> Change:
    """A change to some other object."""
    return Change(patch=Patch(kind=kind, namespace=namespace, name=name, patch=patch))


def cheapest(alternatives: Sequence[Step], most: int) -> list[Step]:
    """The best of them, each once."""
    return sorted(dict.fromkeys(alternatives), key=lambda step: step.cost + len(step.pods) + len(step.nodes))[:most]
