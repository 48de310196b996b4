"""The one table of nodes and pods for pages: of a scenario (`stored_cluster.py`), of a live cluster and of a run
(`cluster_columns.py`). The editor's worker process uses it as well, so it does not depend on Django's models.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from sys import intern
from typing import Any, TypeVar

import msgspec

from kubesched_ui.ingest.events import REASON, is_own, own_and_others, writer
from scheduler_core.api.objects import Node, Pod, PriorityClass, decode
from scheduler_core.api.quantity import QuantityError
from scheduler_core.api.selector_text import taint_text
from scheduler_core.cluster import resources
from scheduler_core.cluster.formatting import amount
from scheduler_core.controllers.admission import Admission
from scheduler_core.errors import InputError
from scheduler_core.garbage_collection import without_collecting
from scheduler_core.releases import NEWEST, get_release

RELEASE = get_release(NEWEST)  # requests are shown as this release counts them
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
MOST_EXTENDED = 4  # resources with their own column in lists and charts
# State of a pod -> the style of its dot. They mean: waiting for a node; being deleted, on a node or before it had one;
# blocked by scheduling gates; on a node, where it only counts or is bound; succeeded or failed.
STATES = {"pending": "bad", "deleting": "odd", "gated": "held", "assumed": "live", "bound": "ok", "finished": ""}
USUAL = ("pending", "gated", "bound", "finished")  # states that are counted even if no pod has them


def percent(requested: int, allocatable: int) -> float:
    """Return the share in percent of allocatable that is requested; 100 if something is requested and nothing is
    allocatable."""
    return 100 * requested / allocatable if allocatable else 100.0 * bool(requested)


@dataclass
class Use:
    """Requested and allocatable quantity of one resource of a node (cpu in thousandths, others in plain units)."""

    resource: str
    requested: int
    allocatable: int

    @property
    def percent(self) -> float:
        return percent(self.requested, self.allocatable)

    @property
    def text(self) -> str:
        requested = amount(self.resource, self.requested, like=self.allocatable)
        return f"{requested} of {amount(self.resource, self.allocatable)}"


class PodLine(msgspec.Struct, gc=False):
    """A pod in lists. A struct, because a large cluster has many."""

    key: str
    node: str = ""
    state: str = "pending"
    priority: int = 0
    requests: Mapping[str, int] = {}
    owner: str = ""  # "Kind name" of its controller
    nominated_node: str = ""
    message: str = ""
    scheduler: str = ""
    placed_by: str = ""  # as Pod.placed_by: "" if a scheduler places the pod
    reports: tuple[tuple[str, str], ...] = ()  # (writer, message) of FailedScheduling events of other components

    @property
    def on_node(self) -> bool:
        """Whether the pod takes resources of its node."""
        return bool(self.node) and self.state != "finished"

    @property
    def stays(self) -> bool:
        """Whether no scheduler placed the pod on its node, so that no run schedules it again."""
        return self.on_node and bool(self.placed_by)

    @property
    def reschedulable(self) -> bool:
        """Whether a run can schedule the bound pod again."""
        return self.state == "bound" and not self.placed_by

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def asks(self) -> str:
        """The requests as text."""
        return requests_text(self.requests)


@dataclass(slots=True)
class NodeLine:
    """A node in lists, with the pods that take its resources, in order of arrival if it is known, and those that are
    nominated to it."""

    name: str
    allocatable: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[str] = ()
    cordoned: bool = False
    ready: bool = True
    pods: list[PodLine] = field(default_factory=list)
    nominated: list[PodLine] = field(default_factory=list)
    requested: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        pods, self.pods = self.pods, []
        for pod in pods:
            self.add(pod)

    def add(self, pod: PodLine) -> None:
        """Put a pod on the node."""
        self.pods.append(pod)
        for resource, quantity in pod.requests.items():
            self.requested[resource] += quantity

    @property
    def zone(self) -> str:
        return next((self.labels[key] for key in ZONES if self.labels.get(key)), "")

    def uses(self, resources: Sequence[str]) -> list[Use | None]:
        """Return the use of each of these resources; None for one that is neither allocatable nor requested."""
        shown = (r in self.allocatable or self.requested[r] for r in resources)
        return [self._use(r) if known else None for r, known in zip(resources, shown, strict=True)]

    def others(self, resources: Sequence[str]) -> list[Use]:
        """Return the use of all other resources: extended resources, and ephemeral storage and huge pages if
        requested."""
        rest = {*self.allocatable, *self.requested} - set(resources)
        return [self._use(r) for r in sorted(rest) if self.requested[r] or "/" in r]

    def resources(self, also: Iterable[str] = ()) -> Iterable[str]:
        """Return cpu, memory and pods, then extended resources, then others that are requested or in `also`."""
        extended = sorted(resource for resource in self.allocatable if "/" in resource)
        return dict.fromkeys(["cpu", "memory", "pods", *extended, *sorted({*self.requested, *also})])

    def _use(self, resource: str) -> Use:
        return Use(resource, self.requested[resource], self.allocatable.get(resource, 0))

    def use(self, resource: str) -> float:
        """Return the requested share of `resource` in percent."""
        return self._use(resource).percent


@dataclass
class ClusterView:
    nodes: Mapping[str, NodeLine]
    pods: Mapping[str, PodLine]

    def __post_init__(self) -> None:
        for pod in self.pods.values():
            if pod.on_node and (node := self.nodes.get(pod.node)) is not None:
                node.add(pod)
            elif not pod.node and (nominated := self.nodes.get(pod.nominated_node)) is not None:
                nominated.nominated.append(pod)

    def requests_of(self, pod: str) -> Mapping[str, int]:
        """Return the requests of a pod; nothing if it does not exist."""
        return self.pods[pod].requests if pod in self.pods else {}

    # A large stored cluster answers these without its lines (`stored_table.py`).

    def node_kinds(self) -> Iterable[tuple[NodeLine, int]]:
        """Return lines that stand for all nodes with their allocatable and zone, and the number of these nodes."""
        return ((node, 1) for node in self.nodes.values())

    def pod_kinds(self) -> Iterable[tuple[PodLine, int]]:
        """Return lines that stand for all pods that differ only in key and node, and the number of these pods."""
        return ((pod, 1) for pod in self.pods.values())

    def pods_where(self, suits: Callable[[PodLine], bool]) -> Iterator[PodLine]:
        """Yield the pods that suit, in order. `suits` must not read key or node."""
        return filter(suits, self.pods.values())

    def requested(self) -> Counter[str]:
        """Return what is requested on all nodes."""
        total = Counter[str]()
        for node in self.nodes.values():
            total.update(node.requested)
        return total

    @property
    def zones(self) -> list[tuple[str, int]]:
        found = Counter[str]()
        for node, number in self.node_kinds():
            found[node.zone or "no zone"] += number
        return found.most_common()


def requests_text(requests: Mapping[str, int]) -> str:
    """Return requests as text: `cpu 0.5, memory 1Gi`."""
    return ", ".join(f"{r} {amount(r, q)}" for r, q in requests.items() if r != "pods" and q) or "nothing"


def pod_requests(pod: Pod) -> dict[str, int]:
    """Return what a pod requests of its node, including the pod itself (`pods`: 1); cpu in thousandths, others in plain
    units. Pods with equal requests share the result; do not change it. Raises QuantityError."""
    return _with_pod(tuple(resources.requests_of(pod, RELEASE).counted.items()))


@lru_cache(maxsize=4096)
def _with_pod(requests: tuple[tuple[str, int], ...]) -> dict[str, int]:
    return {**dict(requests), "pods": 1}


def node_line(node: Node) -> NodeLine:
    """Return the line of a node. Raises QuantityError."""
    taints = [taint_text(taint) for taint in node.spec.taints]
    allocatable = resources.amounts(node.status.allocatable or node.status.capacity)
    return NodeLine(node.name, allocatable, node.metadata.labels, taints, node.spec.unschedulable, node.ready)


def pod_line(pod: Pod) -> PodLine:
    """Return the line of a pod. Raises QuantityError."""
    spec, status, meta = pod.spec, pod.status, pod.metadata
    if pod.terminated:
        state = "finished"
    elif meta.deletion_timestamp:
        state = "deleting"
    elif spec.node_name:
        state = "bound"
    else:
        state = "gated" if spec.scheduling_gates else "pending"
    reports = (c.message for c in status.conditions if c.type == "PodScheduled" and c.status != "True")
    return PodLine(
        pod.key,
        intern(spec.node_name),
        state,
        spec.priority or 0,
        pod_requests(pod),
        intern(next((f"{owner.kind} {owner.name}" for owner in meta.owner_references if owner.controller), "")),
        status.nominated_node_name,
        next(reports, ""),
        intern(spec.scheduler_name),
        pod.placed_by,
    )


def decoded(raw: Iterable[Any]) -> Iterator[Any]:
    """Yield the decoded objects, without those that cannot be decoded; a run reports these."""
    for one in raw:
        with suppress(InputError):
            yield decode(one)


def cluster_view(objects: Iterable[Any]) -> ClusterView:
    """Return the view of `objects`, raw dicts. Skip invalid ones; a run reports the object and the field."""
    events: list[Any] = []
    others: list[Any] = []
    for raw in objects:
        (events if raw.get("kind") == "Event" else others).append(raw)
    return table_of(decoded(others), events)


@without_collecting()
def table_of(objects: Iterable[Any], events: Iterable[Any] = ()) -> ClusterView:
    """Return the nodes and pods among decoded `objects`.

    The message of a pod is that of its condition PodScheduled, else that of the FailedScheduling event that its own
    scheduler wrote, one of `events` (raw dicts). Events of other writers are its reports.
    """
    nodes, pods = lines_of(objects)
    for key, reports in events_by_pod(events).items():
        if key in pods:
            add_reports(pods[key], reports)
    return ClusterView(nodes, pods)


def lines_of(objects: Iterable[Any]) -> tuple[dict[str, NodeLine], dict[str, PodLine]]:
    """Return the lines of the nodes by name and of the pods by key among decoded `objects`, without events."""
    nodes: dict[str, NodeLine] = {}
    pods: dict[str, PodLine] = {}
    classes: dict[str, PriorityClass] = {}
    unresolved: list[tuple[PodLine, Pod]] = []
    for obj in objects:
        try:
            if isinstance(obj, Pod):
                line = pod_line(obj)
                pods[line.key] = line
                if obj.spec.priority is None and (obj.spec.priority_class_name or obj.typed):
                    unresolved.append((line, obj))
            elif isinstance(obj, Node):
                nodes[obj.name] = node_line(obj)
            elif isinstance(obj, PriorityClass):
                classes[obj.name] = obj
        except QuantityError:
            continue  # skip this object as well
    admission = Admission(classes)
    for line, written in unresolved:
        with suppress(InputError):  # the class does not exist: the priority is then 0
            admission.admit_loosely(written, new=written.typed)
            line.priority = written.priority
    return nodes, pods


def events_by_pod(events: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the FailedScheduling events (raw dicts) of each pod: "namespace/name" -> events."""
    found: dict[str, list[Any]] = {}
    for raw in events:
        if raw.get("reason", REASON) != REASON or raw["involvedObject"].get("kind", "Pod") != "Pod":
            continue
        found.setdefault(f"{raw['involvedObject']['namespace']}/{raw['involvedObject']['name']}", []).append(raw)
    return found


def add_reports(line: PodLine, events: list[Any]) -> None:
    """Add the messages of the FailedScheduling events of a pod to its line."""
    found = own_and_others(events, line.scheduler)
    if is_own(found[0], line.scheduler):
        line.message = line.message or found[0]["message"]
    line.reports = tuple((writer(raw), raw["message"]) for raw in found if not is_own(raw, line.scheduler))


def state_counts(view: ClusterView) -> list[dict[str, Any]]:
    """Return the number of pods in each state."""
    count = Counter[str]()
    for pod, number in view.pod_kinds():
        count[pod.state] += number
    shown = [state for state in STATES if state in USUAL or count[state]]
    return [{"state": state, "dot": STATES[state], "count": count[state]} for state in shown]


def columns(view: ClusterView) -> list[str]:
    """Return the resources with their own column: cpu, memory, pods, and the extended resources that most nodes
    have."""
    offered = Counter[str]()
    for node, number in view.node_kinds():
        offered.update({r: number for r, amount in node.allocatable.items() if amount and resources.is_extended(r)})
    extended = sorted(offered, key=lambda r: (-offered[r], r))[:MOST_EXTENDED]
    return ["cpu", "memory", "pods", *extended]


def totals(view: ClusterView) -> list[Use]:
    """Return the use of cpu, memory, pods and extended resources in the whole cluster."""
    requested, allocatable = view.requested(), Counter[str]()
    for node, number in view.node_kinds():
        allocatable.update({r: number * quantity for r, quantity in node.allocatable.items()})
    names = ["cpu", "memory", "pods", *sorted(name for name in allocatable if resources.is_extended(name))]
    return [Use(name, requested[name], allocatable[name]) for name in names]


_Row = TypeVar("_Row")
_Orders = Mapping[str, Callable[[Any], Any]]


def find_nodes(view: ClusterView, q: str = "", sort: str = "", zone: str = "") -> list[NodeLine]:
    """Return nodes with `q` in name, label or taint, sorted by name or a resource (`-` for descending)."""

    def text(node: NodeLine) -> str:
        labels = (f"{key}={value}" for key, value in node.labels.items())
        return " ".join((node.name, *labels, *node.taints))

    nodes = [node for node in view.nodes.values() if not zone or (node.zone or "no zone") == zone]
    uses = {resource: partial(NodeLine.use, resource=resource) for resource in columns(view)}
    return _found(nodes, q, sort, text, {"name": lambda node: node.name} | uses)


def find_pods(view: ClusterView, q: str = "", sort: str = "", state: str = "") -> list[PodLine]:
    """Return pods with `q` in namespace/name, node or message, sorted by name, node or priority (`-` for
    descending)."""
    pods = list(view.pods_where(lambda pod: not state or pod.state == state))
    orders = {"name": lambda pod: pod.key, "node": lambda pod: pod.node, "priority": lambda pod: pod.priority}
    return _found(pods, q, sort, lambda pod: f"{pod.key} {pod.node} {pod.message}", orders)


def _found(rows: list[_Row], q: str, sort: str, text: Callable[[_Row], str], orders: _Orders) -> list[_Row]:
    """Return the rows with `q` in their text, in one of the orders (`-` for descending) if `sort` names one."""
    sought, key = q.strip().lower(), sort.removeprefix("-")
    rows = [row for row in rows if sought in text(row).lower()] if sought else rows
    return sorted(rows, key=orders[key], reverse=sort.startswith("-")) if key in orders else rows
