"""A pod with the precomputed data that a cycle needs.

Source: pkg/scheduler/framework/types.go (PodInfo).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scheduler_core.api import selectors
from scheduler_core.api.objects import (
    Container,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Volume,
    timestamp,
)
from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_counts import LabelClass, Term, TermColumn, only
from scheduler_core.releases import Release

HostPort = tuple[str, str, int]  # ip, protocol, port

_ENCODE = msgspec.msgpack.Encoder().encode

EVERY_IP = "0.0.0.0"
MAX_KNOWN = 20_000  # pods whose specs have different parts

NO_TERMS: tuple[tuple[Term, ...], ...] = ((), (), (), ())


class PodInfo:
    """A pod in the scheduler.

    `requests`: resource -> quantity (millicores of cpu, whole units of other resources). `held`: its requests on its
    node, which are lower in old releases. `nonzero`: (cpu, memory) with defaults for containers without requests.
    `nonzero_incoming`: the same while the pod is being scheduled. `slip`: the millicores by which scoring overcounts
    its cpu in that case. `node`: where it runs or is assumed, "" while it is pending. `node_selection`: equal values
    mean the same nodeSelector and required node affinity; None if there is neither. `tolerations`: equal values mean
    the same tolerations. Both are cache keys. `group`: namespace/name of its pod group, "" for none. `volumes`: the
    volumes that affect scheduling. `start_time`: 0 if it has not started, negative if only the API server knows it.
    """

    __slots__ = (
        *("_terms", "equivalence_key", "group", "held", "host_ports", "key", "keyed", "label_class", "labels", "name"),
        *("namespace", "node"),
        *("node_selection", "nominated_node", "nonzero", "nonzero_incoming", "pod", "priority", "release", "requests"),
        *("slip", "start_time", "term_columns", "terminating", "tolerations", "volumes"),
    )

    def __init__(self, pod: Pod, release: Release, like: PodInfo | None = None) -> None:
        """`like`: a pod with the same parts of the spec but the affinity; what follows from them is taken from it."""
        self.pod = pod
        self.release = release
        self.namespace = pod.metadata.namespace
        self.name = pod.metadata.name
        self.key = f"{self.namespace}/{self.name}"
        self.labels = pod.metadata.labels
        self.priority = pod.spec.priority or 0
        self.node = pod.spec.node_name
        self.nominated_node = pod.status.nominated_node_name
        self.terminating = bool(pod.metadata.deletion_timestamp)
        self.start_time = timestamp(pod.status.start_time)
        self.requests: dict[str, int]
        self.held: dict[str, int]
        self.host_ports: tuple[HostPort, ...]
        self.node_selection: bytes | None
        self.tolerations: tuple[tuple[str, str, str, str], ...]
        self.volumes: Sequence[Volume]
        if like is None:
            self.requests, self.nonzero, self.nonzero_incoming, self.slip = resources.requests_of(pod, release)
            self.held = resources.held_of(pod, release, self.requests)
            self.host_ports = _host_ports(pod, release)
            self.node_selection = _node_selection(pod)
            self.tolerations = tuple([(t.key, t.operator, t.value, t.effect) for t in pod.spec.tolerations])
            self.volumes = [v for v in pod.spec.volumes if counts(v)] if pod.spec.volumes else ()
        else:
            self.requests, self.held, self.slip = like.requests, like.held, like.slip
            self.nonzero, self.nonzero_incoming = like.nonzero, like.nonzero_incoming
            self.host_ports = like.host_ports
            same = pod.spec.affinity is like.pod.spec.affinity
            self.node_selection = like.node_selection if same else _node_selection(pod)
            self.tolerations, self.volumes = like.tolerations, like.volumes
        named = pod.spec.scheduling_group
        self.group = f"{self.namespace}/{named.pod_group_name}" if named is not None else ""
        self._terms: tuple[tuple[Term, ...], ...] | None = None
        self.label_class: LabelClass | None = None
        self.term_columns: tuple[TermColumn, ...] | None = None
        self.equivalence_key = b""  # of its class of equal pods
        self.keyed: Pod | None = None  # the document of which the key was made

    @property
    def node_constraints(self) -> bytes | None:
        """Equal values mean the same nodeSelector and node affinity; None if there is neither."""
        spec = self.pod.spec
        near = spec.affinity.node_affinity if spec.affinity is not None else None
        return None if near is None and spec.node_selector is None else _ENCODE((spec.node_selector, near))

    @property
    def has_volumes(self) -> bool:
        return bool(self.pod.spec.volumes)

    @property
    def device_requests(self) -> tuple[bool, tuple[tuple[str, int], ...]]:
        """Whether the pod has resource claims, and the requests for which devices may be allocated."""
        scalars = [one for one in self.requests.items() if resources.is_scalar(one[0])]
        return bool(self.pod.spec.resource_claims), tuple(scalars)

    @property
    def images(self) -> tuple[tuple[str, ...], ...]:
        """The images of containers, of init containers, and those that are volumes."""
        spec = self.pod.spec
        lists = spec.containers, spec.init_containers
        mounted = [volume.image.reference for volume in spec.volumes if volume.image is not None]
        return (*[tuple([container.image for container in one]) for one in lists], tuple(mounted))

    @property
    def amounts(self) -> bytes:
        """Equal values mean the same requests and overhead, and the same init containers that run as sidecars."""
        spec = self.pod.spec
        sidecars = [container.restart_policy for container in spec.init_containers]
        return _ENCODE((self.requests, self.held, self.nonzero_incoming, self.slip, spec.overhead, sidecars))

    @property
    def required_affinity(self) -> tuple[Term, ...]:
        return self.terms()[0]

    @property
    def required_anti_affinity(self) -> tuple[Term, ...]:
        return self.terms()[1]

    @property
    def preferred_affinity(self) -> tuple[Term, ...]:
        return self.terms()[2]

    @property
    def preferred_anti_affinity(self) -> tuple[Term, ...]:
        return self.terms()[3]

    def show_terms(self, terms: tuple[tuple[Term, ...], ...]) -> None:
        """Count the pod with these terms from now on. The pod must not be on a node."""
        self._terms, self.term_columns = terms, None

    def share(self, other: PodInfo, terms: tuple[tuple[Term, ...], ...]) -> None:
        """Use what was computed for a pod with equal namespace, labels and spec. `terms`: its terms, although it may
        now be shown with others."""
        if self._terms is None:
            self._terms = terms
        if self.label_class is None:
            self.label_class = other.label_class
        if self.term_columns is None and self._terms is other._terms:
            self.term_columns = other.term_columns

    def terms(self) -> tuple[tuple[Term, ...], ...]:
        """Return the four kinds of (anti-)affinity terms, in the order of the properties above.

        The result is NO_TERMS if there are none.
        """
        if self._terms is None:
            affinity = self.pod.spec.affinity
            if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
                self._terms = NO_TERMS
            else:
                near, far = self._compile(affinity.pod_affinity), self._compile(affinity.pod_anti_affinity)
                self._terms = (near[0], far[0], near[1], far[1])
        return self._terms

    def _compile(self, affinity: PodAffinity | None) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        if affinity is None:
            return (), ()
        required = tuple(self._term(term, 0) for term in affinity.required)
        preferred = tuple(self._term(w.pod_affinity_term, w.weight) for w in affinity.preferred)
        return required, preferred

    def _term(self, term: PodAffinityTerm, weight: int) -> Term:
        selector = term.namespace_selector if self.release.affinity_namespace_selectors else None
        if not term.namespaces and selector is None:
            namespaces = only(self.namespace)
        else:
            namespaces = frozenset(term.namespaces)
        return Term(
            selectors.compile_selector(term.label_selector),
            namespaces,
            selectors.compile_selector(selector),
            term.topology_key,
            weight,
        )


def pod_infos(pods: Sequence[Pod], release: Release) -> list[PodInfo]:
    """Return the pods in the scheduler. Pods whose specs have the same parts, as those of a template in a snapshot do,
    share what follows from these. Raises QuantityError."""
    known: dict[tuple[int, int, int], PodInfo] = {}  # ids of a pod's containers and, if they count, statuses -> the pod
    infos = []
    for pod in pods:
        spec, status = pod.spec, pod.status
        statuses, inits = status.container_statuses, status.init_container_statuses
        key = id(spec.containers), 0, 0
        if (statuses or inits) and resources.has_resized(pod):
            if resources.is_infeasible(pod):
                infos.append(PodInfo(pod, release))
                continue
            key = key[0], id(statuses), id(inits) if inits else 0
        like = known.get(key)
        if like is None or not _same_parts(spec, like):
            if len(known) >= MAX_KNOWN:
                known.clear()
            like = known[key] = PodInfo(pod, release)
            infos.append(like)
        else:
            infos.append(PodInfo(pod, release, like))
    return infos


def _same_parts(one: PodSpec, like: PodInfo) -> bool:
    """Return whether a spec has the objects of a pod's spec as parts of which the data of PodInfo is made, except for
    its affinity: each pod of a DaemonSet has its own."""
    other = like.pod.spec
    return (
        one.containers is other.containers
        and one.init_containers is other.init_containers
        and one.overhead is other.overhead
        and one.resources is other.resources
        and one.node_selector is other.node_selector
        and one.tolerations is other.tolerations
        and (one.volumes is other.volumes or not (like.volumes or any(map(counts, one.volumes))))
    )


def counts(volume: Volume) -> bool:
    """Whether the volume affects scheduling: it needs a claim or an attached disk."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.aws_elastic_block_store is not None
        or volume.gce_persistent_disk is not None
        or volume.azure_disk is not None
        or volume.cinder is not None
        or volume.portworx_volume is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def _node_selection(pod: Pod) -> bytes | None:
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is None and not pod.spec.node_selector:
        return None
    return msgspec.json.encode((pod.spec.node_selector, required))


def _host_ports(pod: Pod, release: Release) -> tuple[HostPort, ...]:
    """Return the host ports of the pod, including those of sidecars if the release counts them."""
    containers: list[Container] = pod.spec.containers
    if release.sidecar_ports and pod.spec.init_containers:
        containers = [*containers, *(c for c in pod.spec.init_containers if c.restart_policy == "Always")]
    ports = [port for container in containers for port in container.ports if port.host_port > 0]
    return tuple([(port.host_ip or EVERY_IP, port.protocol or "TCP", port.host_port) for port in ports])
