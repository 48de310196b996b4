"""Requests of a pod, container by container: the tree of `cluster.resources.pod_requests`."""

from scheduler_core.api.objects import Container, ContainerStatus
from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import CPU, MEMORY
from scheduler_core.provenance.context import BYTES, MILLI, Step, View
from scheduler_core.provenance.tree import Tree, highest, rest, total

_DEFAULTS = {
    CPU: (resources.DEFAULT_CPU_NANO // 10**6, "DefaultMilliCPURequest"),
    MEMORY: (resources.DEFAULT_MEMORY_NANO // 10**9, "DefaultMemoryRequest"),
}


def unit_of(resource: str) -> str:
    """Return m for cpu, B for memory and storage, "" for countable resources."""
    if resource == CPU:
        return MILLI
    return BYTES if resource in (MEMORY, resources.EPHEMERAL) or resource.startswith("hugepages-") else ""


def requested_amount(pod: PodInfo, resource: str, nonzero: bool = False, incoming: bool = False) -> int:
    """Return the amount that a pod counts for. `nonzero`: with scoring's defaults. `incoming`: as pod to be placed."""
    if nonzero and resource in _DEFAULTS:
        return (pod.nonzero_incoming if incoming else pod.nonzero)[0 if resource == CPU else 1]
    return (pod.held if pod.node else pod.requests).get(resource, 0) + (pod.slip if incoming and resource == CPU else 0)


def request(view: View, pod: PodInfo, resource: str, nonzero: bool = False, incoming: bool = False) -> Tree:
    """Return the tree of `requested_amount`."""
    builder = _RequestTree(view, pod, resource, nonzero)
    if not pod.release.node_requests_include_init_containers and (nonzero or pod.node):
        tree = builder.of_containers()
    elif builder.scored and not (incoming or pod.release.scoring_requests_include_sidecars):
        tree = builder.of_peaks()
    else:
        tree = builder.tree()
    amount = requested_amount(pod, resource, nonzero, incoming)
    if incoming and resource == CPU and pod.slip:
        tree = total([tree, rest(pod.slip, 0, "cores of overhead count as millicores", unit=tree.unit)], unit=tree.unit)
    if tree.value != amount:  # amounts below one unit are rounded up together
        tree = total([tree, rest(amount - tree.value, 0, "rounded up together", unit=tree.unit)], unit=tree.unit)
    return tree.with_label(tree.label or f"{resource} of {pod.key}")


def in_use(
    view: View, row: int, resource: str, nonzero: bool = False, label: str = "", also: Tree | None = None
) -> Tree:
    """Return the requests of the pods on a node, plus `also`."""
    terms = [
        (amount, lambda pod=pod: request(view, pod, resource, nonzero))
        for pod in view.pods_on(row)
        if (amount := requested_amount(pod, resource, nonzero))
    ]
    unit = unit_of(resource)
    there = view.long_sum(terms, "pods", label or f"{resource} requested by the pods on the node", unit)
    return there if also is None else total([there, also], f"{resource} in use with this pod", unit)


class _RequestTree:
    """Builds the tree for one resource of one pod."""

    def __init__(self, view: View, pod: PodInfo, resource: str, nonzero: bool) -> None:
        self._view, self._info, self._pod, self._resource = view, pod, pod.pod, resource
        self._unit = unit_of(resource)
        self._missing = _DEFAULTS.get(resource) if nonzero else None
        conditions = pod.pod.status.conditions
        self.scored = self._missing is not None  # with default requests
        self._infeasible = any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in conditions)

    def tree(self) -> Tree:
        pod, release = self._pod, self._info.release
        parts = self._parts(pod.spec.containers)
        sidecars: list[Tree] = []
        peaks: list[Tree] = []
        for i, container in enumerate(pod.spec.init_containers):
            sidecar = release.sidecar_containers and container.restart_policy == "Always"
            own = self._container("initContainers", i, container, self._status(True, container) if sidecar else None)
            if sidecar:
                sidecars += own
                parts += own
                peaks.append(self._sum([*sidecars]))
            else:
                peaks.append(self._sum([*own, *sidecars], f"while init container {container.name} runs"))
        tree = self._highest(self._sum(parts), peaks)
        level = pod.spec.resources
        whole = self._resource in (CPU, MEMORY) or self._resource.startswith("hugepages-")
        if release.pod_level_resources and level is not None and whole and self._resource in level.requests:
            tree = self._leaf("spec", "resources", "requests", self._resource)
        return self._with_overhead(tree)

    def of_peaks(self) -> Tree:
        """Return the tree with default requests if sidecars do not add to the containers (see `cluster.resources`)."""
        spec, release = self._pod.spec, self._info.release
        containers = self._sum(self._parts(spec.containers))
        missing, self._missing = self._missing, None
        sidecars: list[Tree] = []
        peaks: list[Tree] = []
        for i, container in enumerate(spec.init_containers):
            own = self._container("initContainers", i, container, None)
            if release.sidecar_containers and container.restart_policy == "Always":
                sidecars += own
                own = []
            self._missing = None if own or sidecars else missing
            together = [*own, *sidecars] or self._container("initContainers", i, container, None)
            peaks.append(self._sum(together, f"while init container {container.name} runs"))
            self._missing = None
        return self._with_overhead(self._highest(containers, peaks))

    def of_containers(self) -> Tree:
        """Return the tree of old releases for a pod on its node or for scoring: without init containers and
        overhead."""
        return self._sum(self._parts(self._pod.spec.containers))

    def _highest(self, containers: Tree, peaks: list[Tree]) -> Tree:
        if all(peak.value <= containers.value for peak in peaks):
            return containers
        label = f"{self._resource} of {self._info.key}: containers, or init containers"
        return highest([containers, *peaks], label, self._unit)

    def _with_overhead(self, tree: Tree) -> Tree:
        if self._resource not in self._pod.spec.overhead or not self._info.release.pod_overhead:
            return tree
        return self._sum([tree, self._leaf("spec", "overhead", self._resource)])

    def _sum(self, parts: list[Tree], label: str = "") -> Tree:
        if len(parts) == 1:
            return parts[0]
        return total(parts, label or f"{self._resource} of {self._info.key}", self._unit)

    def _leaf(self, *steps: Step, label: str = "") -> Tree:
        return self._view.field(self._info, *steps, unit=self._unit, label=label, missing=0)

    def _parts(self, containers: list[Container]) -> list[Tree]:
        return [
            part
            for i, container in enumerate(containers)
            for part in self._container("containers", i, container, self._status(False, container))
        ]

    def _status(self, init: bool, container: Container) -> tuple[int, ContainerStatus] | None:
        if not self._info.release.in_place_resize:
            return None
        status = self._pod.status
        found = None
        for i, one in enumerate(status.init_container_statuses if init else status.container_statuses):
            if one.name == container.name and (one.resources is not None or one.allocated_resources):
                found = i, one
        return found

    def _container(
        self, field: str, index: int, container: Container, status: tuple[int, ContainerStatus] | None
    ) -> list[Tree]:
        """Return its request as a list with one tree; empty if it has none."""
        name, parts = self._resource, []
        label = f"{name} of {self._info.key}, container {container.name}"
        if name in container.resources.requests and not (status is not None and self._infeasible):
            parts.append(self._leaf("spec", field, index, "resources", "requests", name, label=label))
        if status is not None:
            where: tuple[Step, ...] = ("status", field.removesuffix("s") + "Statuses", status[0])
            if status[1].resources is not None and name in status[1].resources.requests:
                parts.append(self._leaf(*where, "resources", "requests", name, label=f"{label}: now"))
            if name in status[1].allocated_resources:
                parts.append(self._leaf(*where, "allocatedResources", name, label=f"{label}: allocated"))
        if parts:
            return [parts[0] if len(parts) == 1 else highest(parts, label, self._unit)]
        if self._missing is None:
            return []
        amount, constant = self._missing
        text = f"{label} requests none: counts as {constant}"
        where = ("spec", field, index, "resources", "requests", name)
        return [self._view.field(self._info, *where, label=text, missing=amount).measured(self._unit)]
