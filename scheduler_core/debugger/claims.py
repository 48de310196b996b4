"""The resource claims of a pod in one cycle: what each request wants, and why it cannot have certain devices of a node.

A trace only records that a node was rejected. The devices are evaluated on request, on the cluster before the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.api.devices import Allocation, ResourceClaim
from scheduler_core.api.objects import PodResourceClaim
from scheduler_core.api.selectors import any_term_matches
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger import claim_schema as shapes
from scheduler_core.debugger.claim_schema import Claim, Device, Entries, NodeGroup, OneNode, Request, Short
from scheduler_core.debugger.provenance import NotDecided, page_of, row_of
from scheduler_core.dra.claims import ClaimProblem, claim_name, problem_of
from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import ClaimReport, RequestReport, node_report
from scheduler_core.framework.runtime import Framework

PLUGIN = "DynamicResources"
PAGE = 20  # groups of nodes per page
NAMED = 100  # nodes named per group
SHOWN = 200  # devices listed per request
DIFFERENT = 2000  # distinct nodes whose devices are evaluated; nodes with equal devices share a result
WANTED, ALLOCATED, MISSING = "wanted", "allocated", "missing"


@dataclass(slots=True)
class Used:
    """A claim that the pod uses."""

    uses: PodResourceClaim
    claim: ResourceClaim | None
    problem: str


@dataclass(slots=True)
class Claims:
    """The claims of one cycle's pod.

    `framework` is the profile's framework on the cluster before the cycle, and `pod` the pod at that timepoint. Raises
    NotDecided if the pod has no claims or its profile does not run DynamicResources.
    """

    framework: Framework
    pod: PodInfo
    trace: CycleTrace
    used: list[Used] = field(init=False)
    wanted: list[ResourceClaim] = field(init=False)

    def __post_init__(self) -> None:
        if all(plugin.name != PLUGIN for plugin in self.framework.filter):
            raise NotDecided("plugin", "", f"{PLUGIN} is not at filter in the pod's profile")
        self.used = [self._used(uses) for uses in self.pod.pod.spec.resource_claims]
        if not self.used:
            raise NotDecided("pod", "", "it uses no resource claims")
        self.framework.cluster.nodes.refresh()
        found = (one.claim for one in self.used if not one.problem)
        self.wanted = [claim for claim in found if claim is not None and claim.status.allocation is None]

    def _used(self, uses: PodResourceClaim) -> Used:
        known = self.framework.cluster.device_claims
        try:
            name = claim_name(self.pod, uses)[0]
        except ClaimProblem as problem:
            return Used(uses, None, str(problem))
        return Used(uses, known.get(f"{self.pod.namespace}/{name}"), problem_of(self.pod, uses, known))

    @property
    def devices(self) -> Devices:
        return Devices.of_cluster(self.framework.cluster)

    def as_dict(self, node: str = "", page: int = 1) -> dict[str, Any]:
        """Return {pod, attempt, said, groups, nodes, total, page, pages, node} as in docs/debugger.md.

        `node`: "" for the chosen or nominated node, or else the node that lacks least. Raises NotDecided, InputError.
        """
        groups = self.groups()
        listed, pages = page_of(groups, page, PAGE)
        first = groups[0].nodes[0] if groups else ""
        shown = node or self.trace.node or self.trace.nominated_node or first
        return {
            "pod": self.pod.key,
            "attempt": self.trace.attempt,
            "said": self._early_message(),
            "groups": listed,
            "nodes": len(self.framework.cluster.nodes),
            **pages,
            "node": self.node_result(shown) if shown else None,
        }

    def _early_message(self) -> str:
        """Return the message if a problem with the claims stopped the cycle before Filter, else ""."""
        early = (self.trace.preenqueue, self.trace.prefilter)
        return next((one.message for one in early if one is not None and one.plugin == PLUGIN), "")

    # ---- one node

    def node_result(self, node: str) -> OneNode:
        """Return the result for one node, device by device. Raises NotDecided."""
        row = row_of(self.framework, node)
        evaluated = node_report(self.devices, row, self.wanted)
        allocations = self._allocations(row)
        entries = {entry.id: entry for pool in self.devices.pools(row) for entry in pool.entries}
        claims = []
        for one in self.used:
            place = next((i for i, claim in enumerate(self.wanted) if claim is one.claim), -1)
            given = allocations[place] if place >= 0 and allocations else None
            claims.append(self._claim(one, row, evaluated.claims[place] if place >= 0 else None, given, entries))
        fits, message = self._verdict(row)
        fitting = {
            (device.driver, device.pool, device.device)
            for claim in evaluated.claims
            for request in shapes.requests_of(claim)
            for device in request.devices
            if not device.objections
        }
        return OneNode(node, fits, message, shapes.wanted_of(evaluated.claims), len(fitting), claims, evaluated.pools)

    def _verdict(self, row: int) -> tuple[bool, str]:
        verdict = self.trace.verdicts.get(PLUGIN)
        status = verdict.at(row) if verdict is not None else None
        message = status.message if status is not None else self._early_message()
        return not message, message

    def _allocations(self, row: int) -> list[Allocation]:
        """Return the allocation for each wanted claim; [] if the node cannot satisfy all of them."""
        if not self.wanted:
            return []
        column = self.devices.column(self.wanted)
        return self.devices.allocate(column, row, self.wanted) if row in column.found else []

    def _claim(
        self, used: Used, row: int, evaluated: ClaimReport | None, given: Allocation | None, entries: Entries
    ) -> Claim:
        claim, template = used.claim, used.uses.resource_claim_template_name or ""
        if claim is None or used.problem:
            key = claim.key if claim is not None else ""
            return Claim(key, used.uses.name, template, MISSING, used.problem, [], [], [], "", False, [])
        allocation = claim.status.allocation or given
        terms = allocation.node_selector if allocation is not None else None
        here = terms is None or any_term_matches(terms.node_selector_terms, self.framework.cluster.nodes.nodes[row])
        taken = {(one.request, *one.id) for one in given.devices.results} if given is not None else set()
        requests = [
            [self._request(claim, j, k, request, taken, entries) for k, request in enumerate(alternatives)]
            for j, alternatives in enumerate(evaluated.requests if evaluated is not None else ())
        ]
        return Claim(
            claim.key,
            used.uses.name,
            template,
            ALLOCATED if claim.status.allocation is not None else WANTED,
            "",
            requests,
            list(shapes.constraints_of(claim, evaluated, entries)) if evaluated is not None else [],
            shapes.given_of(allocation),
            shapes.terms_text(terms.node_selector_terms) if terms is not None else "",
            here,
            [one.name for one in claim.status.reserved_for if one.uid != self.pod.pod.metadata.uid],
        )

    def _request(
        self,
        claim: ResourceClaim,
        j: int,
        k: int,
        evaluated: RequestReport,
        taken: set[tuple[str, str, str, str]],
        entries: Entries,
    ) -> Request:
        request = claim.spec.devices.requests[j]
        exact = request.exactly or request.first_available[k]
        provider = self.framework.cluster.device_classes.get(exact.device_class_name)
        devices = [
            Device(
                one.driver,
                one.pool,
                one.device,
                shapes.facts_of(entries[one.driver, one.pool, one.device]),
                shapes.of_class(evaluated, one),
                one.objections,
                (evaluated.name, one.driver, one.pool, one.device) in taken,
            )
            for one in evaluated.devices
        ]
        devices.sort(key=lambda one: (not one.taken, len(one.objections) > 0, not one.of_class))
        return Request(
            evaluated.name,
            evaluated.device_class,
            evaluated.mode,
            evaluated.wanted,
            evaluated.fitting,
            len(evaluated.devices),
            shapes.out_of(evaluated),
            shapes.selectors_of(provider, exact),
            [f"{one.key or '*'}:{one.effect or '*'}" for one in exact.tolerations],
            devices[:SHOWN],
        )

    # ---- all nodes

    def groups(self) -> list[NodeGroup]:
        """Return groups of equal nodes: nodes that satisfy the claims first, then by the number of missing devices."""
        if self._early_message():
            return []
        names = self.framework.cluster.nodes.names
        rows: dict[tuple[Any, ...], list[int]] = {}
        for row in range(len(names)):
            rows.setdefault((self._verdict(row), self._shape(row)), []).append(row)
        merged: dict[tuple[Any, ...], tuple[list[Short], list[int]]] = {}
        for number, ((verdict, _), alike) in enumerate(rows.items()):
            requests = (
                list(shapes.short_of(node_report(self.devices, alike[0], self.wanted))) if number < DIFFERENT else []
            )
            key = verdict, msgspec.json.encode(requests)
            merged.setdefault(key, (requests, []))[1].extend(alike)
        found = []
        for ((fits, message), _), (requests, alike) in merged.items():
            alike.sort()
            found.append(NodeGroup(fits, message, len(alike), [names[row] for row in alike[:NAMED]], requests))
        found.sort(key=lambda group: (not group.fits, shapes.lacking(group), -group.count))
        return found

    def _shape(self, row: int) -> tuple[Any, ...]:
        """Return a key that is equal for nodes whose devices and device usage are equal."""
        used = self.devices.in_use
        shape: list[Any] = []
        for pool in self.devices.pools(row):
            if pool.counters or any(piece.spec.per_device_node_selection for piece in pool.pieces):
                return (row,)
            shape.append((pool.id[0], pool.problem, pool.incomplete))
            for entry in pool.entries:
                shared = tuple(sorted(used.consumed.get(entry.id, {}).items()))
                taints = tuple((taint.key, taint.value, taint.effect) for taint in entry.device.taints)
                binds = bool(entry.device.binding_conditions)
                shape.append((id(entry.content), entry.id in used.devices, shared, taints, binds))
        return tuple(shape)
