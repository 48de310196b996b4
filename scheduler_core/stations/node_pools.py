"""Whether a new node of a NodePool of Karpenter would take a pod, by Karpenter's rules and kube-scheduler's Filter.

A snapshot has no instance types. A new node is assumed to have the size and the labels of a known node of the pool,
less what the pods of DaemonSets request there, and the taints and labels of the pool.

Source: sigs.k8s.io/karpenter, pkg/controllers/provisioning (provisioner.go; scheduling/scheduler.go, nodeclaim.go,
preferences.go), pkg/scheduling (requirement.go, requirements.go, taints.go), pkg/apis/v1/labels.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod, Requirement
from scheduler_core.api.selectors import first_untolerated
from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.formatting import amount, count, free_amount, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import NewNode, NodePoolAnswer
from scheduler_core.forks.mutations import Change
from scheduler_core.live.neighbours import NodeClaim, NodePool
from scheduler_core.simulation import Simulation
from scheduler_core.stations import karpenter
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import quoted
from scheduler_core.suggestions.what_if import WhatIf

MAX_POOLS = 20
MAX_SIZES = 6  # of a pool that are tried
MAX_ZONES = 4  # for each of them
MAX_TRIES = 500  # of kube-scheduler's Filter
ALL = 100  # percentageOfNodesToScore that evaluates every node
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NODES = "nodes"  # a limit of a NodePool
_BLOCKING = frozenset({"NoSchedule", "NoExecute"})
_WELL_KNOWN = frozenset(
    (
        *(karpenter.POOL, ZONE, "topology.kubernetes.io/region", INSTANCE_TYPE, "kubernetes.io/arch"),
        *("kubernetes.io/os", "karpenter.sh/capacity-type", "node.kubernetes.io/windows-build"),
    )
)
_OF_PROVIDERS = ("karpenter.k8s.", "karpenter.azure.com/", "eks.amazonaws.com/")
"""Prefixes of labels that providers add to the well-known ones; each describes an instance type."""
_ALIASES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
}


# ---- requirements


@dataclass(frozen=True)
class _Values:
    """The values that a label may have: `values`, or, if `others`, all but these, within the bounds."""

    values: frozenset[str] = frozenset()
    others: bool = False
    least: int | None = None
    most: int | None = None

    def __and__(self, other: _Values) -> _Values:
        least = max((one for one in (self.least, other.least) if one is not None), default=None)
        most = min((one for one in (self.most, other.most) if one is not None), default=None)
        if least is not None and most is not None and least > most:
            return _Values()
        if self.others and other.others:
            return _Values(self.values | other.values, True, least, most)
        if self.others or other.others:
            some_values, excluded = (other, self) if self.others else (self, other)
            values = some_values.values - excluded.values
        else:
            values = self.values & other.values
        return _Values(frozenset(one for one in values if _within(one, least, most)))

    def __bool__(self) -> bool:
        """Whether there is such a value."""
        return self.others or bool(self.values)

    @property
    def one(self) -> str:
        """One of the values."""
        if self.values and not self.others:
            return min(self.values)
        bound = self.least if self.least is not None else self.most
        return "any" if bound is None else str(bound)

    @property
    def negative(self) -> bool:
        """Whether a label that does not exist is allowed: NotIn and DoesNotExist."""
        bounded = self.least is not None or self.most is not None
        return bool(self.values) if self.others and not bounded else not self.others and not self.values


Requirements = dict[str, _Values]


def _within(value: str, least: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    if not value.lstrip("-").isdecimal() or len(value) > 19:
        return False
    return (least is None or int(value) >= least) and (most is None or int(value) <= most)


def _values_of(one: Requirement) -> _Values:
    if one.operator in ("In", "NotIn"):
        return _Values(frozenset(one.values), one.operator == "NotIn")
    bound = int(one.values[0]) if one.values and one.values[0].isdecimal() and len(one.values[0]) < 19 else 0
    match one.operator:
        case "Gt" | "Gte":
            return _Values(others=True, least=bound + (one.operator == "Gt"))
        case "Lt" | "Lte":
            return _Values(others=True, most=bound - (one.operator == "Lt"))
    return _Values(others=one.operator == "Exists")


def _added(first: Mapping[str, _Values], more: Iterable[tuple[str, _Values]]) -> Requirements:
    found = dict(first)
    for key, values in more:
        name = _ALIASES.get(key, key)
        found[name] = found[name] & values if name in found else values
    return found


def _of_pool(pool: NodePool) -> Requirements:
    template = pool.spec.template
    labels = _Values(frozenset((pool.name,)))
    fixed = [(key, _Values(frozenset((value,)))) for key, value in template.metadata.labels.items()]
    own = _added({karpenter.POOL: labels}, ((one.key, _values_of(one)) for one in template.spec.requirements))
    reference = template.spec.node_class_ref
    if reference is not None and reference.group:
        fixed.append((f"{reference.group}/{reference.kind.lower()}", _Values(frozenset((reference.name,)))))
    return _added(own, fixed)


def _of_pod(pod: Pod) -> list[Requirements]:
    """Return the requirements of a pod, one set for each term of its required node affinity: one of them is enough.
    Karpenter does not read matchFields, and drops preferences if they cannot be met."""
    selector = _added({}, ((k, _Values(frozenset((v,)))) for k, v in (pod.spec.node_selector or {}).items()))
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
    return [_added(selector, ((one.key, _values_of(one)) for one in term.match_expressions)) for term in terms] or [
        selector
    ]


def _is_well_known(key: str) -> bool:
    return key in _WELL_KNOWN or key.startswith(_OF_PROVIDERS)


def _conflict(pool: Requirements, pod: Requirements) -> str:
    """Return why the requirements of a pod and a pool are not compatible, "" if they are."""
    for key, values in sorted(pod.items()):
        if not _is_well_known(key) and key not in pool and not values.negative:
            return f"the pod requires label {key}{_shown(values)}, which it does not define"
    for key, values in sorted(pod.items()):
        offered = pool.get(key)
        if offered is not None and not offered & values and not (values.negative and offered.negative):
            return f"the pod requires {key}{_shown(values)}, and it offers {key}{_shown(offered)}"
    return ""


def _shown(values: _Values) -> str:
    names = some(sorted(values.values), 5)
    if values.least is not None or values.most is not None:
        bounds = [f"at least {values.least}"] * (values.least is not None)
        return f" {' and '.join([*bounds, *[f'at most {values.most}'] * (values.most is not None)])}"
    if values.others:
        return f" not in [{names}]" if names else " with any value"
    return f" in [{names}]" if names else " not to exist"


# ---- nodes of a pool


class _Size(NamedTuple):
    """What a new node would be like: as the known `node`. `free`: what DaemonSets leave of `allocatable`."""

    node: str
    labels: Mapping[str, str]
    capacity: Mapping[str, str | float]
    free: Mapping[str, str | float]


class NodePools:
    """The NodePools of a cluster. `simulation`: its state; it is the same after each call."""

    def __init__(self, simulation: Simulation, around: Surroundings) -> None:
        self._simulation = simulation
        self._around = around
        found = [pool for pool in around.store.objects("NodePool") if isinstance(pool, NodePool)]
        found.sort(key=lambda pool: (-(pool.spec.weight or 0), pool.name))  # in the order in which Karpenter tries them
        self.pools = found[:MAX_POOLS]
        self._tries = MAX_TRIES
        self._nodes: dict[str, list[_Size]] = {pool.name: [] for pool in self.pools}
        if self.pools:
            self._find_nodes()

    def _find_nodes(self) -> None:
        cluster = self._simulation.cluster
        overhead: dict[str, list[PodInfo]] = {}
        for pod in cluster.pods.values():
            if any(owner.kind == "DaemonSet" for owner in pod.pod.metadata.owner_references):
                overhead.setdefault(pod.node, []).append(pod)
        for entry in cluster.nodes.entries.values():
            node = entry.node
            if (
                node is not None
                and (known := self._nodes.get(node.metadata.labels.get(karpenter.POOL, ""))) is not None
            ):
                free = _less(node.status.allocatable, overhead.get(node.name, ()))
                known.append(_Size(node.name, node.metadata.labels, node.status.capacity, free))
        for claim in self._around.store.objects("NodeClaim"):
            if (
                isinstance(claim, NodeClaim)
                and claim.status.capacity
                and claim.status.node_name not in cluster.nodes.rows
            ):
                known = self._nodes.get(claim.metadata.labels.get(karpenter.POOL, ""))
                if known is not None:
                    status = claim.status
                    known.append(_Size(claim.name, claim.metadata.labels, status.capacity, status.allocatable))

    def new_node_for(self, info: PodInfo) -> NewNode | None:
        """Return what each NodePool would do for a pending pod; None without NodePools."""
        if not self.pools:
            return None
        pod, terms = info.pod, _of_pod(info.pod)
        terms = [term for term in terms if not _avoids(term)]
        if not terms:
            text = f"Karpenter leaves the pod out: it requires {karpenter.POOL} not to exist."
            return NewNode([], text)
        answers = [self._answer(pool, info, terms) for pool in self.pools]
        return NewNode(answers, self._compared(pod, answers))

    def _answer(self, pool: NodePool, info: PodInfo, terms: Sequence[Requirements]) -> NodePoolAnswer:
        known = self._nodes[pool.name]
        if reason := _left_out(pool) or self._exhausted(pool, known) or _refusal(pool, info.pod, terms):
            return NodePoolAnswer(pool.name, "no", escaped(reason))
        sizes = list({_alike(size): size for size in reversed(known)}.values())[::-1]
        if not sizes:
            text = "its taints, requirements and limits allow the pod; no node of it is known, so its sizes are not"
            return NodePoolAnswer(pool.name, "unknown", text)
        basis = f"by the sizes of {count(len(known), 'known node')} of it, since instance types are not known here"
        reasons: list[str] = []
        for size in sizes[:MAX_SIZES]:
            for labels in self._labels(pool, size, terms):
                if not self._tries:
                    text = f"not tried, because {count(MAX_TRIES, 'new node')} were tried before"
                    return NodePoolAnswer(pool.name, "unknown", text)
                self._tries -= 1
                reason = self._filtered(pool, info, size, labels)
                if not reason:
                    text = f"a node like {size.node} ({_described(size)}) takes it"
                    return NodePoolAnswer(pool.name, "yes", escaped(text), basis)
                reasons.append(reason)
        if not reasons:
            text = "the pod requires an instance type that no known node of it has"
            return NodePoolAnswer(pool.name, "unknown", text, basis)
        return NodePoolAnswer(pool.name, "no", escaped("; ".join(list(dict.fromkeys(reasons))[:3])), basis)

    def _exhausted(self, pool: NodePool, known: Sequence[_Size]) -> str:
        """Return why the limits leave no node, "" if they leave one."""
        used = pool.status.resources or _summed(known)
        left = {name: _nano(limit) - _nano(used.get(name, 0)) for name, limit in pool.spec.limits.items()}
        texts = {name: f"{name} {used.get(name, 0)} of {limit}" for name, limit in pool.spec.limits.items()}
        if full := [texts[name] for name, rest in left.items() if rest <= 0]:
            return f"its limits are reached: {listing(full)}"
        left.pop(NODES, None)
        over = [[name for name, rest in left.items() if _nano(size.capacity.get(name, 0)) > rest] for size in known]
        if known and all(over):
            name = over[0][0]
            least = min((size.capacity.get(name, 0) for size in known), key=_nano)
            return f"a node like its known ones exceeds its limits: {texts[name]} used, and the smallest has {least}"
        return ""

    def _labels(self, pool: NodePool, size: _Size, terms: Sequence[Requirements]) -> Iterator[dict[str, str]]:
        """Yield the labels that a new node of a size can have, for each term and zone."""
        own = _of_pool(pool)
        for term in terms:
            if _conflict(own, term):
                continue
            wanted = _added(own, term.items())
            labels = {key: value for key, value in size.labels.items() if key != HOSTNAME}
            fits = True
            for key, values in wanted.items():
                if key in labels and values & _Values(frozenset((labels[key],))):
                    continue
                if key in labels and (key == INSTANCE_TYPE or key.startswith(_OF_PROVIDERS)):
                    fits = False
                elif values.negative:
                    labels.pop(key, None)
                else:
                    labels[key] = values.one
            if not fits:
                continue
            zones = wanted[ZONE] if ZONE in wanted else _Values(others=True)
            known = {one.labels[ZONE] for sizes in self._nodes.values() for one in sizes if ZONE in one.labels}
            names = sorted((zones & _Values(frozenset(known))).values or ({} if zones.others else zones.values))
            names.sort(key=lambda name: name != labels.get(ZONE))
            for zone in names[:MAX_ZONES] or [labels.get(ZONE, "")]:
                yield labels | ({ZONE: zone} if zone else {})

    def _filtered(self, pool: NodePool, info: PodInfo, size: _Size, labels: Mapping[str, str]) -> str:
        """Return why kube-scheduler would not put the pod on a new node, "" if it would."""
        name = f"new-{pool.name}"[:200]
        while name in self._simulation.cluster.nodes.rows:
            name += "-x"
        raw = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**labels, HOSTNAME: name}},
            "spec": {"taints": [msgspec.to_builtins(taint) for taint in pool.spec.template.spec.taints]},
            "status": {"allocatable": dict(size.free), "capacity": dict(size.capacity)},
        }
        reasons: list[str] = []

        def look(trace: CycleTrace, pod: PodInfo) -> None:
            row = self._simulation.cluster.nodes.rows[name]
            status = trace.preenqueue or trace.status_at(row)
            if status is not None:
                reasons.append(self._words(status.plugin, status.reasons, info, row))

        what_if = WhatIf(self._simulation, info.key)
        framework = what_if.framework
        before, framework.percentage = framework.percentage, ALL
        try:
            what_if.run([Change(create=raw)], look)
        finally:
            framework.percentage = before
        return reasons[0] if reasons else ""

    def _words(self, plugin: str, reasons: Sequence[str], info: PodInfo, row: int) -> str:
        nodes = self._simulation.cluster.nodes
        short = []
        for name, wants in sorted(info.requests.items()):
            has = int(nodes.allocatable[name][row]) if name in nodes.allocatable else 0
            if wants > has:
                short.append(f"{amount(name, wants)} {name} of {free_amount(name, has)}")
        if short:
            return f"no known node of it is large enough: the pod requests {listing(short)} besides DaemonSets"
        return f"{plugin} of kube-scheduler refuses a new node: {'; '.join(reasons)}"

    def _compared(self, pod: Pod, answers: Sequence[NodePoolAnswer]) -> str:
        """Return what Karpenter itself said about the pod last, in comparison; "" if it said nothing."""
        event = self._around.events.last("Pod", pod, (karpenter.PROMISE, karpenter.REFUSAL), karpenter.WRITER)
        if event is None:
            return ""
        takers = [one.pool for one in answers if one.answer == "yes"]
        known = bool(takers) or all(one.answer == "no" for one in answers)
        at = f" at {clock(seconds(event.time))}" if seconds(event.time) else ""
        promised = event.reason == karpenter.PROMISE
        text = f"Karpenter itself {'promised a node' if promised else 'refused'}{at}"
        if not known:
            return f"{text}."
        if bool(takers) == promised:
            return f"{text}, which agrees."
        if promised:
            return f"{text}, though no NodePool takes the pod here: it knows instance types that no node shows."
        text += f": {quoted(event.message)}. Here NodePool {some(takers, 3)} takes the pod: that event is older than"
        return f"{text} this state, or no such instance type or offering is left."


def _avoids(term: Requirements) -> bool:
    values = term.get(karpenter.POOL)
    return values is not None and not values


def _left_out(pool: NodePool) -> str:
    """Return why Karpenter adds no node of a pool for any pod."""
    if pool.metadata.deletion_timestamp:
        return "it is being deleted"
    if pool.spec.replicas is not None:
        return "it has a fixed number of nodes (spec.replicas), and none is added for pods"
    for condition in pool.status.conditions:
        if condition.status == "False" and condition.type in ("NodeClassReady", "ValidationSucceeded", "Ready"):
            message = f": {quoted(condition.message)}" if condition.message else ""
            return f"Karpenter skips it, because {condition.type} is False{message}"
    return ""


def _refusal(pool: NodePool, pod: Pod, terms: Sequence[Requirements]) -> str:
    """Return why the taints or requirements of a pool refuse a pod. Startup taints count for no pod, and a taint of
    effect PreferNoSchedule is tolerated at last."""
    taint = first_untolerated(pool.spec.template.spec.taints, pod.spec.tolerations, _BLOCKING)
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return f"the pod does not tolerate its taint {taint.key}{value}:{taint.effect}"
    own = _of_pool(pool)
    conflicts = [_conflict(own, term) for term in terms]
    return conflicts[0] if all(conflicts) else ""


def _alike(size: _Size) -> tuple[object, ...]:
    """Return what nodes of the same size have in common."""
    return (
        size.labels.get(INSTANCE_TYPE, ""),
        size.labels.get(ZONE, ""),
        *(str(size.capacity.get(name, "")) for name in sorted(size.capacity)),
    )


def _described(size: _Size) -> str:
    parts = [f"{size.capacity[name]} {name}" for name in ("cpu", "memory") if name in size.capacity]
    return ", ".join([size.labels.get(INSTANCE_TYPE, ""), *parts, size.labels.get(ZONE, "")]).strip(", ")


def _less(allocatable: Mapping[str, str | float], pods: Sequence[PodInfo]) -> dict[str, str | float]:
    """Return what pods leave of the allocatable quantities."""
    free = dict(allocatable)
    for name, text in free.items():
        if name == "pods":
            used = len(pods) * 1_000_000_000
        else:
            unit = 1_000_000 if name == "cpu" else 1_000_000_000
            used = sum(pod.requests.get(name, 0) for pod in pods) * unit
        if used:
            free[name] = _quantity(max(0, _nano(text) - used))
    return free


def _summed(known: Iterable[_Size]) -> dict[str, str]:
    """Return the capacity of nodes together."""
    nano: dict[str, int] = {NODES: 0}
    for size in known:
        nano[NODES] += 1_000_000_000
        for name, text in size.capacity.items():
            nano[name] = nano.get(name, 0) + _nano(text)
    return {name: _quantity(number) for name, number in nano.items()}


def _quantity(nano: int) -> str:
    return f"{nano // 1_000_000}m" if nano % 1_000_000_000 else f"{nano // 1_000_000_000}"


def _nano(text: str | float) -> int:
    try:
        return quantity.nano_value(text)
    except (InputError, ValueError):
        return 0
