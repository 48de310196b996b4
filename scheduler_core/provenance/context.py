"""Context of an explanation: a pod on a node, in the cluster before its cycle. Creates the leaves that refer to
objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Object
from scheduler_core.api.profile import Profile
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.provenance.tree import Source, Tree, count, highest, lowest, over, rest, total

PAGE = 20  # number of terms of a long sum on one page
MILLI, BYTES = "m", "B"
_MISSING = object()
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")

Step = str | int
Rows = slice | npt.NDArray[np.intp]


def path_of(steps: Sequence[Step]) -> str:
    """Return `spec.containers[0].image`. Keys that are not plain words are in brackets, as in a Kubernetes
    fieldPath."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"['{step}']"
    return path


def _source(obj: Object | PodInfo, *steps: Step) -> tuple[Object, Source]:
    held = obj.pod if isinstance(obj, PodInfo) else obj
    return held, Source(type(held).__name__, held.name, path_of(steps), held.namespace)


def at(plain: Any, steps: Sequence[Any]) -> Any:
    """Return the value at the path; _MISSING if there is none."""
    for step in steps:
        try:
            plain = plain[step]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return plain


def _in_unit(value: Any, unit: str | None) -> Any:
    """Convert a quantity to a number: thousandths for `m`, otherwise whole units. Other values are unchanged."""
    if unit is None or isinstance(value, dict | list):
        return value
    return quantity.milli_value(value) if unit == MILLI else quantity.value(value)


@dataclass(frozen=True, slots=True)
class View:
    """Context for building trees.

    `row`: row of the node in every column. `rows`: the feasible rows. `cycles`: pod -> the earlier cycle that placed
    it. `given`: (kind, key) -> the original object, for kinds that cycles change (claims and volumes). `page`, `size`:
    the page of long sums to show, and its number of terms. `added`, `removed`: pods hypothetically added to the node,
    and keys of pods hypothetically removed from it.
    """

    cluster: Cluster
    pod: PodInfo
    row: int
    profile: Profile
    rows: Rows = field(default_factory=lambda: slice(None))
    cycles: Mapping[str, int] = field(default_factory=dict)
    given: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    page: int = 1
    size: int = PAGE
    added: Sequence[PodInfo] = ()
    removed: frozenset[str] = frozenset()
    _plain: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    _pages: list[int] = field(default_factory=lambda: [1])

    @property
    def node(self) -> Node:
        return self.cluster.nodes.nodes[self.row]

    @property
    def pages(self) -> int:
        """Number of pages of the longest sum so far."""
        return max(self._pages)

    def changed(self, added: Sequence[PodInfo] = (), removed: frozenset[str] = frozenset()) -> View:
        """Return the context as if these pods were added to and removed from the node."""
        return replace(self, added=added, removed=removed)

    def pods_on(self, row: int) -> list[PodInfo]:
        """Return the pods that count on a node, in order of arrival."""
        pods = list(self.cluster.nodes.pods_of(row))
        if row != self.row or not (self.added or self.removed):
            return pods
        return [pod for pod in pods if pod.key not in self.removed] + [*self.added]

    def field(
        self,
        obj: Object | PodInfo,
        *steps: Step,
        unit: str | None = None,
        label: str = "",
        missing: Any = "",
        always: bool = False,
    ) -> Tree:
        """Return a leaf for a field of an object with its value.

        `unit`: the field is a quantity, in `m` (thousandths) or whole units. If the object lacks the field or has its
        default, the leaf is a `default` with the value `missing`; with `always` it is a field nevertheless.
        """
        held, source = _source(obj, *steps)
        kind = source.kind
        cycle = self.cycles.get(held.key, 0) if kind == "Pod" else 0
        value = at(self._builtins(held), steps)
        as_given = self.given.get((kind, held.key))
        if as_given is not None and as_given is not held and at(self._builtins(as_given), steps) != value:
            by = self._changed_by(held)
            value = missing if value is _MISSING else value
            text = label or f"{source.path} of {kind} {held.key}"
            text += ", as an earlier cycle left it"
            return Tree(value=value, op="constant", label=text, source=source, cycle=by)
        if value is _MISSING and not always:
            text = label or f"{source.path}: the default"
            return Tree(value=missing, op="default", label=text, unit=unit or "", source=source, cycle=cycle)
        value = missing if value is _MISSING else _in_unit(value, unit)
        return Tree(value=value, op="field", label=label, unit=unit or "", source=source, cycle=cycle)

    def _builtins(self, obj: Object) -> Any:
        found = self._plain.get(id(obj))
        if found is None:
            found = self._plain[id(obj)] = obj, msgspec.to_builtins(obj)
        return found[1]

    def _changed_by(self, obj: Object) -> int:
        """Return the cycle that bound a claim or a volume; 0 for none."""
        claim = obj.key
        reference = getattr(getattr(obj, "spec", None), "claim_ref", None)
        if reference is not None:
            claim = f"{reference.namespace}/{reference.name}"
        for key, cycle in self.cycles.items():
            pod = self.cluster.pods.get(key)
            for volume in pod.pod.spec.volumes if pod is not None else ():
                named = volume.persistent_volume_claim
                if pod is not None and named is not None and f"{pod.namespace}/{named.claim_name}" == claim:
                    return cycle
        return 0

    def argument(self, plugin: str, *steps: Step, label: str = "", missing: Any = "", always: bool = False) -> Tree:
        """Return a leaf for an argument of the plugin in the pod's profile; `default` if the configuration does not set
        it."""
        value = at(msgspec.to_builtins(self.profile.args.get(plugin)), steps)
        default = at(self.profile.given.get(plugin), steps) is _MISSING
        return self._argument(missing if value is _MISSING else value, label, plugin, path_of(steps), default)

    def _argument(self, value: Any, label: str, plugin: str, path: str, default: bool) -> Tree:
        profile = self.profile.scheduler_name
        return Tree(value=value, op="argument", label=label, profile=profile, plugin=plugin, path=path, default=default)

    def weight(self, plugin: str, weight: int) -> Tree:
        """Return a leaf for the weight of the plugin's score."""
        given = self.profile.given_weights.get(plugin)
        path = given or f"plugins.score.enabled['{plugin}'].weight"
        return self._argument(weight, "weight", plugin, path, given is None)

    def runs_here(self, pod: PodInfo) -> Tree:
        """Return a true leaf: the pod is on its node, by its own field or since an earlier cycle."""
        cycle = self.cycles.get(pod.key, 0)
        if not cycle and pod.pod.spec.node_name:
            return self.holds(pod, "spec", "nodeName", label=f"{pod.key} runs on {pod.pod.spec.node_name}")
        where = pod.node or self.cluster.nodes.names[self.row]
        label = f"{pod.key} is placed on {where}" if pod.node else f"{pod.key} is nominated to {where}"
        return self.holds(pod, "metadata", "name", label=label)

    def holds(self, obj: Object | PodInfo, *steps: Step, label: str) -> Tree:
        """Return a true leaf for a counted part of the object at this path."""
        held, source = _source(obj, *steps)
        return Tree(value=True, op="constant", label=label, source=source, cycle=self.cycles.get(held.key, 0))

    def _window(self, size: int) -> tuple[slice, list[tuple[slice, int, int]]]:
        """Return the terms that the page shows, and (the terms, their number, the page) before and after them."""
        pages = max(-(-size // self.size), 1)
        self._pages.append(pages)
        page = min(self.page, pages)
        start, end = (page - 1) * self.size, min(page * self.size, size)
        others = ((slice(0, start), start, self.page - 1), (slice(end, size), size - end, self.page + 1))
        return slice(start, end), [one for one in others if one[1]]

    def long_sum(
        self, terms: Sequence[tuple[int, Callable[[], Tree]]], noun: str, label: str = "", unit: str = ""
    ) -> Tree:
        """Return the sum of (amount, function that creates its tree), largest first. Other pages become rests."""
        terms = sorted(terms, key=lambda term: -term[0])
        here, others = self._window(len(terms))
        args = [make() for _, make in terms[here]]
        for part, number, page in others:
            args.append(rest(sum(amount for amount, _ in terms[part]), number, f"{number} other {noun}", page, unit))
        return total(args, label, unit)

    def long_count(self, members: Sequence[Callable[[], Tree]], noun: str, label: str = "") -> Tree:
        """Return the number of members; each creates a true tree. Members on other pages become rests."""
        here, others = self._window(len(members))
        shown = count([make() for make in members[here]], label)
        rests = [rest(number, number, f"{number} other {noun}", page) for _, number, page in others]
        return total([shown.with_label("on this page"), *rests], label) if rests else shown

    def long_extreme(self, figures: Sequence[tuple[int, str]], function: str, what: str, label: str = "") -> Tree:
        """Return the lowest (`min`) or highest (`max`) of (figure, name), extreme values first."""
        pick = min if function == "min" else max
        figures = sorted(figures, reverse=function == "max")
        here, others = self._window(len(figures))
        args = [over("count", value, value, f"{name}: {what}") for value, name in figures[here]]
        for part, number, page in others:
            args.append(rest(pick(figures[part])[0], number, f"{function} of {number} others", page))
        return lowest(args, label) if function == "min" else highest(args, label)
