"""The resource requests of a pod, summed as upstream's resource helpers do.

Source: k8s.io/component-helpers/resource (PodRequests), pkg/scheduler/framework (Resource), pkg/scheduler/util.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from scheduler_core.api import quantity
from scheduler_core.api.objects import Container, ContainerStatus, Pod, Quantities
from scheduler_core.releases import Release

CPU, MEMORY, EPHEMERAL = "cpu", "memory", "ephemeral-storage"

# The requests that scoring assumes for a container without requests: 100 millicores, 200 MB.
DEFAULT_CPU_NANO = 100 * 10**6
DEFAULT_MEMORY_NANO = 200 * 1024 * 1024 * 10**9

_INT64_NANO = ((1 << 63) - 1) * 10**6  # quantities beyond it can exceed int64

Nano = dict[str, int]  # resource -> quantity in billionths
Written = tuple[tuple[str, str | int | float], ...]  # Quantities as a hashable value


def is_scalar(name: str) -> bool:
    """Whether it is a scalar resource: extended, hugepages, attachable volumes, or native with a prefix."""
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.")


def is_extended(name: str) -> bool:
    """Whether the name has a domain other than Kubernetes' own (upstream IsExtendedResourceName)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def counted(name: str) -> bool:
    """Whether the scheduler accounts for the resource."""
    return name in (CPU, MEMORY, EPHEMERAL) or is_scalar(name)


def amount(name: str, nano: int) -> int:
    """Convert nano units to scheduler units: millicores of cpu, whole units of other resources.

    The result is rounded up. Overflow gives the result of the shortest text of that quantity in Go.
    """
    result = -(-nano // (10**6 if name == CPU else 10**9))
    if -(1 << 63) <= result < 1 << 63:
        return result
    return quantity.from_nano(nano, -3 if name == CPU else 0)


def _exact(name: str, quantities: tuple[str | int | float, ...]) -> int:
    """Return the sum of quantities in scheduler units as Go does, also if it exceeds int64."""
    return quantity.sum_value(quantities, -3 if name == CPU else 0)


def amounts(quantities: Quantities) -> dict[str, int]:
    """Convert a resource list (a node's allocatable) to scheduler units.

    The result includes `pods` and omits resources that the scheduler does not count.
    """
    return dict(_amounts(tuple(quantities.items())))


@lru_cache(maxsize=4096)
def _amounts(quantities: Written) -> dict[str, int]:
    """Convert a resource list as `amounts` does. Cached, because many nodes have equal allocatable."""
    return {
        name: quantity.milli_value(text) if name == CPU else quantity.value(text)
        for name, text in quantities
        if name == "pods" or counted(name)
    }


def _nano(quantities: Quantities) -> Nano:
    return {name: quantity.nano_value(text) for name, text in quantities.items()}


def _add(total: Nano, other: Mapping[str, int]) -> None:
    for name, nano in other.items():
        total[name] = total.get(name, 0) + nano


def _max(total: Nano, other: Mapping[str, int]) -> None:
    for name, nano in other.items():
        if nano > total.get(name, nano - 1):
            total[name] = nano


def _container(
    container: Container, status: ContainerStatus | None, missing: Mapping[str, int], infeasible: bool
) -> Nano:
    requests = _nano(container.resources.requests)
    if status is not None:
        # A pending resize counts with the larger of the desired and the allocated value.
        if infeasible:
            requests = {}
        if status.resources is not None:
            _max(requests, _nano(status.resources.requests))
        _max(requests, _nano(status.allocated_resources))
    for name, nano in missing.items():
        requests.setdefault(name, nano)
    return requests


def is_infeasible(pod: Pod) -> bool:
    """Return whether the kubelet cannot resize the pod on its node."""
    return any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in pod.status.conditions)


def has_resized(pod: Pod) -> bool:
    """Return whether the status of a container has resources, which then count in some releases."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return any(one.resources is not None or bool(one.allocated_resources) for one in statuses)


def _statuses(pod: Pod, init: bool, release: Release) -> dict[str, ContainerStatus]:
    statuses = pod.status.init_container_statuses if init else pod.status.container_statuses
    if not release.in_place_resize or not statuses:
        return {}
    return {s.name: s for s in statuses if s.resources is not None or s.allocated_resources}


def crashes(pod: Pod, release: Release) -> bool:
    """Return whether kube-scheduler crashes on the statuses of the pod's containers and sidecars.

    It adds the requests of a status to those of the spec, or for an infeasible resize the allocated ones to those of
    the status, although there is no map to add to. Source: component-helpers/resource/helpers.go (max).
    """
    if not (release.status_without_request_crashes and release.in_place_resize):
        return False
    statuses = {one.name: one for one in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    if not statuses:
        return False
    infeasible = is_infeasible(pod)
    sidecars = (one for one in pod.spec.init_containers if one.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        status = statuses.get(container.name)
        if status is None or status.resources is None:
            continue
        of_status = status.resources.requests
        first, rest = (of_status, False) if infeasible else (container.resources.requests, bool(of_status))
        if not first and (rest or status.allocated_resources):
            return True
    return False


class Requests(NamedTuple):
    """The requests of a pod in scheduler units.

    `counted`: resource -> quantity. Do not change it: pods with equal requests share it. `nonzero`: (cpu, memory) with
    the defaults of scoring, for a pod on its node. `nonzero_incoming`: the same for the pod being scheduled, which some
    releases count differently. `slip`: the millicores by which scoring overcounts that pod in these releases; negative
    if it undercounts.
    """

    counted: dict[str, int]
    nonzero: tuple[int, int]
    nonzero_incoming: tuple[int, int]
    slip: int = 0


def requests_of(pod: Pod, release: Release) -> Requests:
    """Return the requests of a pod. Raises QuantityError."""
    spec = pod.spec
    alone = not (spec.init_containers or spec.overhead or spec.resources is not None)
    if alone and not _statuses(pod, False, release):
        return _of_containers(pod)
    if not release.node_requests_include_init_containers:
        counted = _requests(pod_requests(pod, release, nonzero=False), {}).counted
        return _of_containers(pod)._replace(counted=counted)
    requests = _requests(pod_requests(pod, release, nonzero=False), pod_requests(pod, release, nonzero=True))
    if not release.scoring_requests_include_sidecars:
        requests = requests._replace(nonzero=_nonzero_of_peaks(pod, release))
    slips = release.overhead_cores_as_millicores and release.pod_overhead and CPU in spec.overhead
    return _with_cores(requests, spec.overhead[CPU]) if slips else requests


def _with_cores(requests: Requests, overhead: str | int | float) -> Requests:
    """Return the requests as old releases score them: the overhead's cores, rounded up, count as millicores."""
    nano = quantity.nano_value(overhead)
    slip = -(-nano // 10**9) - amount(CPU, nano)
    cpu, memory = requests.nonzero_incoming
    return requests._replace(nonzero_incoming=(cpu + slip, memory), slip=slip)


def held_of(pod: Pod, release: Release, counted: dict[str, int]) -> dict[str, int]:
    """Return the requests that the pod has on its node. `counted`: its requests. Raises QuantityError.

    Old releases ignore init containers here.
    """
    if release.node_requests_include_init_containers or not pod.spec.init_containers:
        return counted
    return _of_containers(pod).counted


def _of_containers(pod: Pod) -> Requests:
    return _plain(tuple([tuple(container.resources.requests.items()) for container in pod.spec.containers]))


@lru_cache(maxsize=16384)
def _plain(containers: tuple[Written, ...]) -> Requests:
    """Return the requests of containers only. Cached, because most pods are copies of others."""
    total: Nano = {}
    nonzero: Nano = {}
    for written in containers:
        requests = _nano(dict(written))
        _add(total, requests)
        _add(nonzero, {CPU: DEFAULT_CPU_NANO, MEMORY: DEFAULT_MEMORY_NANO} | requests)
    made = _requests(total, nonzero)
    for name, nano in total.items():
        if nano > _INT64_NANO and counted(name):
            made.counted[name] = _exact(name, tuple(text for one in containers for key, text in one if key == name))
    return made


def _requests(total: Nano, nonzero: Nano) -> Requests:
    scored = amount(CPU, nonzero.get(CPU, 0)), amount(MEMORY, nonzero.get(MEMORY, 0))
    return Requests({name: amount(name, nano) for name, nano in total.items() if counted(name)}, scored, scored)


def _nonzero_of_peaks(pod: Pod, release: Release) -> tuple[int, int]:
    """Return (cpu, memory) with defaults. Sidecars count only among the init containers, not with the containers.

    The defaults apply to the sum of an init container and the sidecars before it (upstream calculateResource).
    """
    defaults = {CPU: DEFAULT_CPU_NANO, MEMORY: DEFAULT_MEMORY_NANO}
    total: Nano = {}
    for container in pod.spec.containers:
        _add(total, defaults | _nano(container.resources.requests))
    sidecars: Nano = {}
    for container in pod.spec.init_containers:
        requests = _nano(container.resources.requests)
        if release.sidecar_containers and container.restart_policy == "Always":
            _add(sidecars, requests)
            requests = sidecars
        else:
            _add(requests, sidecars)
        _max(total, {name: requests.get(name, nano) for name, nano in defaults.items()})
    if release.pod_overhead:
        _add(total, _nano(pod.spec.overhead))
    return amount(CPU, total[CPU]), amount(MEMORY, total[MEMORY])


def pod_requests(pod: Pod, release: Release, nonzero: bool) -> Nano:
    """Return the sum of the pod's containers, init containers, pod-level resources and overhead, in nano units.

    `nonzero` replaces missing cpu and memory requests of a container by the defaults of scoring.
    """
    missing = {CPU: DEFAULT_CPU_NANO, MEMORY: DEFAULT_MEMORY_NANO} if nonzero else {}
    infeasible = is_infeasible(pod)
    statuses = _statuses(pod, False, release)
    total: Nano = {}
    for container in pod.spec.containers:
        _add(total, _container(container, statuses.get(container.name), missing, infeasible))

    if pod.spec.init_containers:
        statuses = _statuses(pod, True, release)
        sidecars: Nano = {}
        peak: Nano = {}
        for container in pod.spec.init_containers:
            sidecar = release.sidecar_containers and container.restart_policy == "Always"
            status = statuses.get(container.name) if sidecar else None
            requests = _container(container, status, missing, infeasible)
            if sidecar:
                _add(total, requests)
                _add(sidecars, requests)
                requests = sidecars
            else:
                _add(requests, sidecars)
            _max(peak, requests)
        _max(total, peak)

    if release.pod_level_resources and pod.spec.resources is not None:
        for name, text in pod.spec.resources.requests.items():
            if name in (CPU, MEMORY) or name.startswith("hugepages-"):
                total[name] = quantity.nano_value(text)
    if pod.spec.overhead and release.pod_overhead:
        _add(total, _nano(pod.spec.overhead))
    return total
