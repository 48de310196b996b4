"""Steps: each removes one obstacle by an edit of the pod or by other changes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.debugger.mutations import Change
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario import Patch

POD, NODE, EVICT, CONFIG = "pod", "node", "evict", "config"
KINDS = (POD, CONFIG, NODE, EVICT)  # the least invasive first

Raw = dict[str, Any]
Edit = Callable[[Raw], None]
Part = tuple[str, float, Edit]
"""(text, cost, edit) of a part of a step that edits the pod."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step.

    `text`: what to do, as the beginning of a sentence. `edit` edits the pod's document in place; `changes` apply to
    other objects. `cost`: how far it departs from the intention, from 0 for a typo to about 10 for a volume. `pods`,
    `nodes`: the pods and nodes that it disturbs.
    """

    text: str
    kind: str
    cost: float
    edit: Edit | None = None
    changes: tuple[Change, ...] = ()
    pods: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    def __eq__(self, other: object) -> bool:  # steps with the same text are equal
        return isinstance(other, Step) and (self.kind, self.text) == (other.kind, other.text)

    def __hash__(self) -> int:
        return hash((self.kind, self.text))


class Remedy(msgspec.Struct):
    """One suggested fix.

    `changes`: in the format of forks. `disturbs`: {pods, nodes}: number of others affected. `node`: where the pod goes.
    `proved`: whether the cycle was run with it. `gap`: for a given target node, its scores and the winner's; `tied`:
    the other nodes that share its highest score. `cost`: sort key.
    """

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
class Combination:
    """A combination of steps."""

    steps: tuple[Step, ...] = ()
    _changes: list[Change] | None = field(default=None, repr=False)

    def changes(self, document: Raw) -> list[Change]:
        """Return the plan as changes: first those of the pod, one per part, then the others."""
        if self._changes is None:
            edited = copy.deepcopy(document)
            for step in self.steps:
                try:
                    if step.edit is not None:
                        step.edit(edited)
                except (LookupError, TypeError):  # another step removed what this one edits
                    raise InputError("remedy", "", f"conflicts with other steps: {step.text}") from None
            namespace, name = document["metadata"].get("namespace", "default"), document["metadata"]["name"]
            patches = [patch_of("Pod", namespace, name, part) for part in _parts(difference(document, edited))]
            self._changes = [*patches, *(change for step in self.steps for change in step.changes)]
        return self._changes

    def and_(self, steps: Iterable[Step]) -> Combination:
        """Return the plan with more steps, each at most once."""
        return Combination((*self.steps, *(step for step in steps if step not in self.steps)))

    def without(self, step: Step) -> Combination:
        return Combination(tuple(other for other in self.steps if other is not step))

    @property
    def kind(self) -> str:
        """The most invasive kind of its steps."""
        return max((step.kind for step in self.steps), key=KINDS.index)

    @property
    def cost(self) -> float:
        """Total cost of the steps and of the pods and nodes that they disturb."""
        steps = sum(step.cost for step in self.steps) + 1.5 * (len(self.steps) - 1)
        return float(steps + 3.0 * self.disturbs["pods"] ** 0.75 + self.disturbs["nodes"])

    @property
    def disturbs(self) -> dict[str, int]:
        """Number of other pods and of nodes that are affected."""
        steps = self.steps
        return {name: len(set().union(*(getattr(step, name) for step in steps))) for name in ("pods", "nodes")}

    def remedy(self, document: Raw, node: str) -> Remedy:
        """Return the fix for a plan that was verified to place the pod on `node`."""
        text = "; and ".join(step.text for step in self.steps)
        changes = [msgspec.to_builtins(change) for change in self.changes(document)]
        return Remedy(text, changes, self.kind, self.disturbs, node, True, cost=self.cost)


def difference(old: Any, new: Any) -> Raw:
    """Return the merge patch from `old` to `new`; lists are replaced as a whole."""
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
    """Split a patch by field of spec or metadata and by kind of affinity; containers stay with the claims they use."""
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


def patch_of(kind: str, namespace: str, name: str, patch: Raw) -> Change:
    """Return a patch of an object as a change."""
    return Change(patch=Patch(kind=kind, namespace=namespace, name=name, patch=patch))


def combined(parts: Sequence[Part], joint: str = "; and ") -> Step:
    """Return the step that applies all parts."""

    def edit(document: Raw) -> None:
        for _, _, one in parts:
            one(document)

    return Step(joint.join(text for text, _, _ in parts), POD, sum(cost for _, cost, _ in parts), edit)


def node_step(node: str, text: str, cost: float, *changes: Change) -> Step:
    """Return the step that changes a node."""
    return Step(text, NODE, cost, None, changes, nodes=frozenset((node,)))


def containers_of(document: Raw) -> list[Raw]:
    """Return the containers and init containers of a pod."""
    return [*document["spec"].get("containers", []), *document["spec"].get("initContainers", [])]
