"""The loss of a zone in virtual time: its nodes become unreachable, and return after a while.

The node lifecycle controller taints the nodes at a limited rate, the taint manager evicts pods that do not tolerate the
taint (by default after five minutes), and controllers create pods again. A kubelet that cannot be reached confirms no
deletion: evicted pods stay terminating, and a StatefulSet waits for them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from scheduler_core.api.objects import Condition, Node, Pod, PodStatus
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.controller import Api, Controller
from scheduler_core.controllers.node_lifecycle import NodeLifecycle
from scheduler_core.controllers.taint_manager import TaintManager
from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.experiments.node_loss import LOST, PENDING, PLACED, STAYS, Raw, listed
from scheduler_core.releases import Release
from scheduler_core.virtual_time.group_engine import GroupEngine

WAITS = "waits"
OUTCOMES = {
    WAITS: "terminates until its node returns; its StatefulSet creates it again only then",
    PENDING: "is evicted, and its new pod stays pending",
    LOST: "is evicted and has no controller that creates it again",
    STAYS: "is not evicted during the outage",
    PLACED: "is evicted, and its new pod runs on another node",
}
"""What has happened to a pod at the end of the outage, the worst first."""
SETTLE_SECONDS = 120.0  # after the nodes are back
MAX_POINTS = 200  # of the course over time


def monitor_grace_seconds(release: Release) -> float:
    """Return after how many seconds a silent node becomes unreachable (--node-monitor-grace-period)."""
    minor = int(release.name.split()[0].split(".")[1])
    return 50.0 if minor >= 32 else 40.0


class PodReplacement(Controller):
    """The controllers of existing pods, of which only the owner references are known. A pod that terminates is replaced
    at once under another name; one of a StatefulSet is created again under its name when it is gone. Pods of DaemonSets
    stay with their node.

    `replaced`: pod -> its replacement. `original`: replacement -> the first pod.
    """

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.replaced: dict[str, str] = {}
        self.original: dict[str, str] = {}

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        if new.terminating and old is not None and not old.terminating and not _is_ordered(new.pod):
            self._replace(new)

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        if not finished and (_is_ordered(pod.pod) or pod.key not in self.replaced):
            self._replace(pod)

    def _replace(self, info: PodInfo) -> None:
        pod = info.pod
        if not replace(pod, metadata=replace(pod.metadata, deletion_timestamp="")).created_again:
            return
        name = pod.name
        if not _is_ordered(pod):
            first = self.original.get(info.key, info.key)
            name = f"{first.partition('/')[2]}-{len(self.original) + 1}"
        meta = replace(pod.metadata, name=name, uid=name, deletion_timestamp="", finalizers=[])
        again = replace(pod, metadata=meta, spec=replace(pod.spec, node_name=""), status=PodStatus())
        self.original[again.key] = self.original.get(info.key, info.key)
        self.replaced[info.key] = again.key
        self.api.create(again)


class ZoneOutage:
    """An outage of some nodes, which begins at second 0. Raises InputError."""

    def __init__(
        self, loaded: LoadedCluster, nodes: Sequence[str], seconds: float, max_records: int, max_pods: int
    ) -> None:
        self._simulation = simulation = loaded.continuation()
        self._seconds = seconds
        cluster = simulation.cluster
        self.engine = engine = GroupEngine(simulation, graceful=True)
        engine.max_records, engine.max_pods = max_records, max_pods
        self.replacement = PodReplacement(engine.api)
        engine.api.controllers = [NodeLifecycle(engine.api), TaintManager(engine.api), self.replacement]
        self.was = {pod.key: (node, pod.pod) for node in nodes for pod in cluster.nodes.entries[node].pods.values()}
        self.detected = monitor_grace_seconds(simulation.release)
        self._conditions = {node: self._node(node).status.conditions for node in nodes}
        engine.at(self.detected, self._fail)
        engine.at(seconds, self._return)
        self._events: list[tuple[float, str]] = []
        self._evicted: dict[str, float] = {}
        self._bound: dict[str, float] = {}
        self._messages: dict[str, str] = {}

    def _node(self, name: str) -> Node:
        node = self._simulation.cluster.nodes.entries[name].node
        assert node is not None
        return node

    def _fail(self) -> None:
        self._set({node: _with_ready(found, "Unknown") for node, found in self._conditions.items()})

    def _return(self) -> None:
        self._set({node: found or _with_ready([], "True") for node, found in self._conditions.items()})

    def _set(self, conditions: Mapping[str, list[Condition]]) -> None:
        for name, found in conditions.items():
            node = self._node(name)
            self.engine.api.update(replace(node, status=replace(node.status, conditions=found)))

    def run(self, name: str, workload_of: Mapping[str, str], check: Check) -> Raw:
        """Return the course of the outage and the state at its end, as docs/experiments.md describes it."""
        self._play(self._seconds - 0.001, check)
        rows = [self._row(key, node, pod, workload_of) for key, (node, pod) in self.was.items()]
        order = list(OUTCOMES)
        rows.sort(key=lambda row: (order.index(row["outcome"]), row.get("at", 0.0), row["pod"]))
        found = {
            "name": name,
            "pods": len(rows),
            "outage": self._seconds,
            "detected": self.detected,
            "counts": dict(Counter(row["outcome"] for row in rows)),
            "tainted": sum(kind == "tainted" for _, kind in self._events),
            "evicted": len(self._evicted),
            "first": min(self._evicted.values(), default=None),
            "last": max(self._evicted.values(), default=None),
            "volumes": sum(row.get("volume", False) for row in rows),
            "course": self._course(),
            **listed(rows),
        }
        self._play(self._seconds + SETTLE_SECONDS, check)
        api = self.engine.api
        again = [self._last(key) for key in self.was if key in self._evicted]
        found["pending_after"] = sum(key in api.pods and not api.pods[key].node for key in again)
        return found

    def _play(self, until: float, check: Check) -> None:
        for record in self.engine.run(until):
            check()
            pod = str(record.data.get("pod", ""))
            if record.kind == "pod.evicted" and pod in self.was:
                self._evicted.setdefault(pod, record.time)
                self._events.append((record.time, "evicted"))
            elif record.kind == "pod.bound" and pod in self.replacement.original:
                self._bound[pod] = record.time
                self._events.append((record.time, "placed"))
            elif record.kind == "attempt":
                self._messages[pod] = str(record.data.get("message", ""))
            elif record.kind == "node.changed" and record.data["node"] in self._conditions:
                added = (text["text"] for text in record.data["what"])
                if any(text.endswith(":NoExecute added") for text in added):
                    self._events.append((record.time, "tainted"))

    def _course(self) -> dict[str, list[float]]:
        """Return how many nodes were tainted, pods evicted and new pods placed, by second."""
        counts: Counter[str] = Counter()
        points: dict[float, tuple[int, int, int]] = {0.0: (0, 0, 0)}
        for time, kind in self._events:
            counts[kind] += 1
            points[time] = counts["tainted"], counts["evicted"], counts["placed"]
        times = list(points)
        step = -(-len(times) // MAX_POINTS)
        times = [time for i, time in enumerate(times) if i % step == 0 or i == len(times) - 1]
        columns = zip(*(points[time] for time in times), strict=True)
        return {"t": times} | {
            name: list(column) for name, column in zip(("tainted", "evicted", "placed"), columns, strict=True)
        }

    def _last(self, key: str) -> str:
        """Return the last replacement of a pod."""
        known = {key}
        while (following := self.replacement.replaced.get(key, key)) not in known:
            key = following
            known.add(key)
        return key

    def _row(self, key: str, node: str, pod: Pod, workload_of: Mapping[str, str]) -> Raw:
        row: Raw = {"pod": key, "from": node, "workload": workload_of.get(key, key)}
        if key not in self._evicted:
            return row | {"outcome": STAYS}
        row["at"] = self._evicted[key]
        last = self._last(key)
        if last == key:
            return row | {"outcome": WAITS if _is_ordered(pod) else LOST}
        info = self.engine.api.pods.get(last)
        if info is not None and info.node:
            volume = {"volume": True} if any(v.persistent_volume_claim is not None for v in info.volumes) else {}
            return row | {"outcome": PLACED, "to": info.node, "placed_at": self._bound.get(last), **volume}
        return row | {"outcome": PENDING, "reason": self._messages.get(last, "")}


def _is_ordered(pod: Pod) -> bool:
    owner = pod.metadata.controller_ref
    return owner is not None and owner.kind == "StatefulSet"


def _with_ready(conditions: Sequence[Condition], status: str) -> list[Condition]:
    return [*(one for one in conditions if one.type != "Ready"), Condition("Ready", status)]
