"""NodePorts: the host ports that a pod requests must be free on the node.

Upstream: pkg/scheduler/framework/plugins/nodeports, pkg/scheduler/framework/types.go (HostPortInfo).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.cluster import formatting
from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_info import EVERY_IP, HostPort, PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import Step, View
from scheduler_core.provenance.tree import Tree, constant, equal, every, some

REJECTED = fwk.unschedulable("node(s) didn't have free ports for the requested pod ports")


def _ports(pod: PodInfo) -> Iterator[tuple[tuple[Step, ...], HostPort]]:
    """Yield (path in the pod, port) of each host port, in the order of `PodInfo.host_ports`."""
    wanted = iter(pod.host_ports)
    spec = pod.pod.spec
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            sidecar = pod.release.sidecar_ports and container.restart_policy == "Always"
            for j, port in enumerate(container.ports if field == "containers" or sidecar else ()):
                if port.host_port > 0:
                    yield ("spec", field, i, "ports", j), next(wanted)


def taken_ports(pod: PodInfo, others: Sequence[PodInfo]) -> dict[tuple[str, int], list[PodInfo]]:
    """Return (protocol, port) of each host port of the pod that other pods use -> these pods."""
    found: dict[tuple[str, int], list[PodInfo]] = {}
    for ip, protocol, port in pod.host_ports:
        users = [
            other
            for other in others
            if any(p[1:] == (protocol, port) and ports_conflict(ip, (p[0],)) for p in other.host_ports)
        ]
        if users:
            found[protocol, port] = users
    return found


def _conflict(
    view: View, mine: tuple[Step, ...], port: tuple[str, int], other: PodInfo, there: tuple[Step, ...]
) -> Tree:
    """Explain whether two pods' uses of the same port on a node conflict."""
    same = [
        equal(view.field(view.pod, *mine, name, missing=missing), view.field(other, *there, name, missing=missing))
        for name, missing in (("hostPort", 0), ("protocol", "TCP"))
    ]
    ips = [view.field(pod, *steps, "hostIP", missing=EVERY_IP) for pod, steps in ((view.pod, mine), (other, there))]
    every_ip = [equal(ip, constant(EVERY_IP, "DefaultBindAllHostIP")) for ip in ips]
    text = f"host port {port[1]}/{port[0]} is wanted and used by {other.key}"
    return every([*same, some([equal(ips[0], ips[1]), *every_ip], "the same address, or every address")], text)


class NodePorts(fwk.PreFilterPlugin, fwk.FilterPlugin):
    name = "NodePorts"
    cause = causes.HOST_PORT
    effort = 1.15
    pod_fields = ("hostPort",)
    kubelet_admits = True
    reads = "host_ports"
    phrases = {REJECTED.message: "have its host port taken"}

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        return fwk.SKIPPED if self.cluster.release.prefilter_skips and not pod.host_ports else None

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        if not pod.host_ports:
            return fwk.PASSES
        nodes = self.cluster.nodes
        taken = np.zeros(len(nodes), np.bool_)
        for ip, protocol, port in pod.host_ports:
            for name, used in nodes.host_ports.get((protocol, port), {}).items():
                row = nodes.rows.get(name)
                if row is not None and ports_conflict(ip, used):
                    taken[row] = True
        return fwk.Verdict.reject(taken, REJECTED)

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.host_ports else fwk.OBJECTS

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        return not pod.host_ports

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        """Replay the added and removed pods: upstream keeps a set, so a port with two users becomes free when the first
        leaves."""
        name = self.cluster.nodes.names[change.row]
        for ip, protocol, port in pod.host_ports:
            used = set(self.cluster.nodes.host_ports.get((protocol, port), {}).get(name, ()))
            for other, step in change.history:
                for other_ip, other_protocol, other_port in other.host_ports:
                    if (other_protocol, other_port) == (protocol, port):
                        (used.add if step > 0 else used.discard)(other_ip)
            if ports_conflict(ip, used):
                return REJECTED
        return None

    def affected_nodes(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Bool:
        nodes = self.cluster.nodes
        wanted = [(protocol, port) for _, protocol, port in pod.host_ports]
        return nodes.mask(name for port in wanted for name in nodes.host_ports.get(port, ()))

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        if context is None:
            return super().obstacle(context, status)
        ports = [f"{port}/{protocol}" for _, protocol, port in context.pod.host_ports]
        phrase = f"have host port{'s' if len(ports) > 1 else ''} {formatting.listing(ports)} taken"
        return Obstacle(cls.cause, cls.effort, phrase, tuple(ports))

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the host ports of the pod that are in use, and by which pods."""
        taken = taken_ports(context.pod, list(context.pods_on(row)))
        users = {port: formatting.some([pod.key for pod in pods], 3) for port, pods in taken.items()}
        return "; ".join(f"host port {port}/{protocol} is taken by {who}" for (protocol, port), who in users.items())

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        """Explain each pair of a port that the pod requests and the same port of a pod on the node."""
        pairs = [
            self._corrected(view, other, here, there_ip, _conflict(view, mine, here, other, there))
            for mine, (_, protocol, port) in _ports(view.pod)
            for other in view.pods_on(view.row)
            for there, (there_ip, other_protocol, other_port) in _ports(other)
            if (here := (protocol, port)) == (other_protocol, other_port)
        ]
        taken = some(pairs, "" if pairs else "no pod on the node uses a host port that the pod wants")
        text = next((pair.label for pair in pairs if pair.value), f"the pod's host ports are free on {view.node.name}")
        return taken.with_text(text)

    def _corrected(self, view: View, other: PodInfo, port: tuple[str, int], ip: str, conflict: Tree) -> Tree:
        """Correct the conflict for ports with two users: upstream keeps a set, so the port is free once one of them has
        left."""
        if view.added or view.removed or ip in self.cluster.nodes.host_ports.get(port, {}).get(view.node.name, ()):
            return conflict
        lost = constant(
            False, f"HostPortInfo dropped it with another pod that used it, although {other.key} still uses it"
        )
        return every([conflict, lost], conflict.label)

    sign = staticmethod(signers.host_ports)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.DELETE, hint=self._after_pod_deleted),
            events.registered(events.NODE, events.ADD),
        ]

    def _after_pod_deleted(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """Return whether a deleted pod, placed or nominated, had a port that this pod requests."""
        if not old.node and not (old.nominated_node and self.cluster.release.queueing_hint_nominated_pods):
            return False
        freed: dict[tuple[str, int], set[str]] = {}
        for ip, protocol, port in old.host_ports:
            freed.setdefault((protocol, port), set()).add(ip)
        return any(ports_conflict(ip, freed.get((protocol, port), ())) for ip, protocol, port in pod.host_ports)
