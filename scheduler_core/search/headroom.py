"""Headroom of nodes for a pod before a cycle: the quantities behind `Insufficient cpu`, from the recording.

It also finds the taints behind `node(s) had untolerated taint(s)`, which releases from 1.35 on do not name.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_core.api import selectors
from scheduler_core.api.objects import Taint, Toleration
from scheduler_core.cluster.formatting import amount, balance, count, free_amount, listing
from scheduler_core.explain.matrix import Matrix
from scheduler_core.plugins.node_resources_fit import PODS, lacking
from scheduler_core.recording.cluster_state import Int64, StateAtTimepoint, nominated_at
from scheduler_core.recording.recording import GONE, Recording

FIT, TAINTS = "NodeResourcesFit", "TaintToleration"
FITS = (FIT, "GeneralPredicates", "PodFitsResources")
WITH_DETAILS = (*FITS, TAINTS)
"""Plugins, and predicates of old releases, whose reasons omit details that the recording has."""
UNNAMED = "node(s) had untolerated taint(s)"
COUNTED = ", counting pods that are nominated to the node"
Amounts = Mapping[str, int]  # resource -> quantity, in the scheduler's units
Has = Mapping[str, Collection[tuple[int, int]]]  # resource -> the (free, allocatable) pairs of some nodes


def row_of(recording: Recording, pod: str, moment: int) -> int | None:
    """Return the row of a pod at a timepoint in the recording's pods; None if the pod does not exist then."""
    pods, places = recording.tables["pods"], recording.tables["places"]
    named = [number for number, key in enumerate(pods.texts["key"]) if key == pod]
    mine = np.isin(pods["key"], named)
    end = places.until(moment)
    rows = np.flatnonzero(mine[places["pod"][:end]] & (places["state"][:end] != GONE))
    return int(places["pod"][rows[-1]]) if len(rows) else None


def requests_of(recording: Recording, pod: str, moment: int) -> tuple[Amounts, int] | None:
    """Return (requests including `pods`, priority) of a pod at a timepoint; None if the pod does not exist then."""
    pods, row = recording.tables["pods"], row_of(recording, pod, moment)
    return None if row is None else ({PODS: 1, **pods.at("requests", row)}, int(pods["priority"][row]))


def nominated_requests(recording: Recording, pod: str, moment: int) -> Mapping[str, Amounts]:
    """Return node -> the total requests of nominated pods that count against this pod."""
    mine = requests_of(recording, pod, moment)
    found: dict[str, Counter[str]] = {}
    for other, node in nominated_at(recording, moment).items():
        theirs = requests_of(recording, other, moment)
        if other != pod and mine is not None and theirs is not None and theirs[1] >= mine[1]:
            found.setdefault(node, Counter()).update(theirs[0])
    return found


class Headroom:
    """Headroom for a pod. `counted`: nodes where nominated pods count. `tolerations`: None leaves taints unnamed."""

    def __init__(
        self,
        recording: Recording,
        moment: int,
        pod: str,
        counted: Sequence[str] = (),
        tolerations: Sequence[Toleration] | None = None,
    ) -> None:
        found = requests_of(recording, pod, moment)
        self.requests: Amounts = found[0] if found else {}
        self._state = StateAtTimepoint(recording, moment)
        self._rows = {recording.names[name]: row for row, name in enumerate(self._state.rows.tolist())}
        nominated = nominated_requests(recording, pod, moment) if counted else {}
        there = self._rows.keys() & nominated.keys()
        self._nominated = {self._rows[node]: nominated[node] for node in counted if node in there}
        self._known: dict[str, tuple[Int64, Int64]] = {}
        self._tolerations = tolerations
        self._taints: dict[int, str] = {}

    def columns(self, resource: str) -> tuple[Int64, Int64]:
        """Return (free, allocatable) of a resource as columns over the state's rows."""
        if resource not in self._known:
            of = self._state.allocatable(resource)
            free = of - self._state.used(resource)
            for row, amounts in self._nominated.items():
                free[row] -= amounts.get(resource, 0)
            self._known[resource] = free, of
        return self._known[resource]

    def with_amounts(self, reasons: Sequence[str], nodes: Sequence[str]) -> list[str]:
        """Add quantities or taints to the reasons of a plugin in WITH_DETAILS. All given nodes have these reasons."""
        if list(reasons) == [UNNAMED]:
            return [_named(listing(self.taints(nodes)))]
        rows = [self._rows[node] for node in nodes if node in self._rows]
        has = {}
        for resource in lacking(reasons):
            free, of = self.columns(resource)
            has[resource] = set(zip(free[rows].tolist(), of[rows].tolist(), strict=True))
        return with_amounts(reasons, self.requests, has, bool(rows) and all(row in self._nominated for row in rows))

    def each(self, reasons: Sequence[str], nodes: Sequence[str]) -> list[str]:
        """Like `with_amounts`, but for each node separately; a node's reasons are joined to one text."""
        if list(reasons) == [UNNAMED]:
            return [_named(self._first_taint(node)) for node in nodes]
        rows = [self._rows.get(node, -1) for node in nodes]
        resources = lacking(reasons)
        columns = [self.columns(resource) for resource in resources]
        pairs = [list(zip(free[rows].tolist(), of[rows].tolist(), strict=True)) for free, of in columns]
        known: dict[Any, str] = {}
        texts = []
        for row, *own in zip(rows, *pairs, strict=True):
            key = row < 0, row in self._nominated, *own
            if key not in known:
                has = {resource: [] if row < 0 else [pair] for resource, pair in zip(resources, own, strict=True)}
                known[key] = "; ".join(with_amounts(reasons, self.requests, has, row in self._nominated))
            texts.append(known[key])
        return texts

    def add_to(self, matrix: Matrix) -> None:
        """Add quantities or taints to all reasons of a matrix that omit them, decisive or not."""
        for group in matrix.groups:
            for cell in group.cells:
                if cell.plugin in WITH_DETAILS and cell.reasons:
                    cell.detailed = tuple(self.with_amounts(cell.reasons, group.nodes))
            if group.plugin in WITH_DETAILS:
                group.detailed = tuple(self.with_amounts(group.reasons, group.nodes))
                each = self.each(group.reasons, group.nodes)
                group.each = each if len(set(each)) > 1 else []

    def taints(self, nodes: Sequence[str], most: int = 3) -> list[str]:
        """Return the first untolerated taint of each node, such as `dedicated=a:NoSchedule`, most frequent first."""
        found = Counter(map(self._first_taint, nodes))
        found.pop("", None)
        names = [taint for taint, _ in found.most_common(most)]
        rest = len(found) - len(names)
        return [*names, count(rest, "other")] if rest else names

    def _first_taint(self, node: str) -> str:
        if self._tolerations is None or node not in self._rows:
            return ""
        nodes, version = self._state.recording.tables["nodes"], int(self._state.versions[self._rows[node]])
        number = int(nodes["taints"][version])
        if number not in self._taints:
            self._taints[number] = first_untolerated(nodes.at("taints", version), self._tolerations)
        return self._taints[number]

    def everywhere(self, nodes: Sequence[str]) -> str:
        """Return what all nodes lack, such as `2 cpu` or `at least 2 cpu`; "" unless exactly one resource is short."""
        rows = [self._rows[node] for node in nodes if node in self._rows]
        if not rows:
            return ""
        short = {
            resource: number - self.columns(resource)[0][rows] for resource, number in self.requests.items() if number
        }
        whole = [(resource, missing) for resource, missing in short.items() if (missing > 0).all()]
        if len(whole) != 1:
            return ""
        ((resource, missing),) = whole
        if resource == PODS:
            return "a free pod slot"
        least = int(missing.min())
        return f"{'' if least == missing.max() else 'at least '}{amount(resource, least)} {resource}"


def first_untolerated(taints: Sequence[str], tolerations: Sequence[Toleration]) -> str:
    """Return the first taint (as text of the recording) that the tolerations do not tolerate; "" for none."""
    for text in taints:
        name, _, effect = text.rpartition(":")
        key, _, value = name.partition("=")
        if selectors.first_untolerated([Taint(key, value, effect)], tolerations, selectors.NO_SCHEDULE) is not None:
            return text
    return ""


def _named(taints: str) -> str:
    return f"{UNNAMED}: {taints}" if taints else UNNAMED


def with_amounts(reasons: Sequence[str], asks: Amounts, has: Has, counted: bool = False) -> list[str]:
    """Add quantities to reasons, such as `Insufficient cpu: requests 4, 2.5 of 8 free`.

    For several nodes: `requests 4, at most 2.5 of 8 free`. A reason that the quantities do not confirm stays
    unchanged. `counted`: nominated pods are included.
    """
    texts = [_with_amounts(reason, asks, has) for reason in reasons]
    return [text + COUNTED if counted and text != reason else text for text, reason in zip(texts, reasons, strict=True)]


def _with_amounts(reason: str, asks: Amounts, has: Has) -> str:
    for resource in lacking([reason]):
        pairs, wanted = has[resource], asks.get(resource, 0)
        if not pairs or any(free >= wanted for free, _ in pairs):
            return reason
        if len(pairs) == 1:
            ((free, of),) = pairs
            there = f"{of - free:,} of {of:,} pods run there"
            return f"{reason}: {there if resource == PODS else balance(resource, wanted, free, of)}"
        if resource == PODS:
            return f"{reason}: the maximum number of pods runs there"
        most = free_amount(resource, max(0, *(free for free, _ in pairs)), wanted)
        whole = {of for _, of in pairs}
        of_all = f" of {free_amount(resource, whole.pop(), wanted)}" if len(whole) == 1 else ""
        return f"{reason}: requests {amount(resource, wanted)}, at most {most}{of_all} free"
    return reason
