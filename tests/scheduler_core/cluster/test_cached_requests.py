"""Cached requests of equal pods and nodes equal those that are read each time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_info import PodInfo, pod_infos
from scheduler_core.releases import FRAMEWORK, get_release

AMOUNTS = st.sampled_from(["1", "500m", "0", "1Gi", "2.5", "1e3", 3, "100n"])
REQUESTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "storage", "hugepages-2Mi"]), AMOUNTS
)


def pod(containers: list[dict[str, Any]], inits: list[dict[str, Any]], overhead: dict[str, Any]) -> Pod:
    def made(prefix: str, each: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"name": f"{prefix}{i}", "resources": {"requests": requests}} for i, requests in enumerate(each)]

    spec = {"containers": made("c", containers), "initContainers": made("i", inits), "overhead": overhead}
    found = decode({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    assert isinstance(found, Pod)
    return found


@given(
    st.lists(REQUESTS, min_size=1, max_size=3),
    st.lists(REQUESTS, max_size=1),
    REQUESTS,
    st.sampled_from(sorted(FRAMEWORK)),  # 1.16 counts init containers elsewhere
)
def test_pods_with_equal_requests(
    containers: list[dict[str, Any]], inits: list[dict[str, Any]], overhead: dict[str, Any], release: str
) -> None:
    one, its = pod(containers, inits, overhead), get_release(release)
    total, nonzero = (resources.pod_requests(one, its, nonzero=flag) for flag in (False, True))
    found = resources.requests_of(one, its)
    assert found.counted == {n: resources.amount(n, nano) for n, nano in total.items() if resources.counted(n)}
    scored = resources.amount("cpu", nonzero.get("cpu", 0)), resources.amount("memory", nonzero.get("memory", 0))
    if its.overhead_cores_as_millicores and its.pod_overhead and "cpu" in overhead:
        cores = resources.amount("cpu", quantity.nano_value(overhead["cpu"]))
        scored_incoming = scored[0] - cores + quantity.value(overhead["cpu"]), scored[1]
    else:
        scored_incoming = scored
    assert found.nonzero_incoming == scored_incoming
    if its.scoring_requests_include_sidecars:
        assert found.nonzero == scored


def test_nodes_do_not_share_their_quantities() -> None:
    first = resources.amounts({"cpu": "4", "pods": 10})
    first.pop("pods")
    assert resources.amounts({"cpu": "4", "pods": 10}) == {"cpu": 4000, "pods": 10}


def test_pods_that_share_parts_have_what_they_have_alone() -> None:
    its = get_release("1.34")
    spec = {
        "containers": [{"name": "c", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}],
    }
    allocated = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "3"}}]}
    pods = [decode({"kind": "Pod", "metadata": {"name": name}, "spec": spec}) for name in "abcdf"]
    other = decode({"kind": "Pod", "metadata": {"name": "e"}, "spec": spec | {"tolerations": []}, "status": allocated})
    assert isinstance(other, Pod)
    for one in pods[1:]:
        assert isinstance(one, Pod)
        one.spec = msgspec.structs.replace(pods[0].spec)  # type: ignore[union-attr]
    field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    daemon = decode({"kind": "Pod", "metadata": {"name": "f"}, "spec": {"affinity": affinity}})
    pods[4].spec.affinity = daemon.spec.affinity  # type: ignore[union-attr]
    pods[2].status, pods[3].spec.tolerations = other.status, other.spec.tolerations  # type: ignore[union-attr]
    infos = pod_infos([pods[0], pods[4], *pods[1:4]], its)  # type: ignore[list-item]
    for info in infos:
        alone = PodInfo(info.pod, its)
        assert all(getattr(info, name) == getattr(alone, name) for name in PodInfo.__slots__)
    assert infos[2].volumes is infos[1].volumes is infos[0].volumes
    assert infos[2].node_selection == infos[0].node_selection != infos[1].node_selection
    assert [info.requests["cpu"] for info in infos] == [1000, 1000, 1000, 3000, 1000]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 3, 1, 5, 4]])
def test_pods_that_share_allocated_resources_have_what_they_have_alone(order: list[int]) -> None:
    its = get_release("1.36")
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}

    def status(cpu: str, *conditions: dict[str, str]) -> dict[str, Any]:
        return {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": cpu}}], "conditions": [*conditions]}

    infeasible = status("1", {"type": "PodResizePending", "reason": "Infeasible"})
    each = [{}, {}, status("3"), status("3"), status("4"), infeasible]
    pods = [decode({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": one}) for one in each]
    assert all(isinstance(one, Pod) for one in pods)
    statuses = pods[2].status.container_statuses  # type: ignore[union-attr]
    pods[3].status.container_statuses = statuses  # type: ignore[union-attr]
    pods[5].status.container_statuses = statuses  # type: ignore[union-attr]
    for one in pods[1:]:
        one.spec = msgspec.structs.replace(pods[0].spec)  # type: ignore[union-attr]
    infos = dict(zip(order, pod_infos([pods[place] for place in order], its), strict=True))  # type: ignore[misc]
    for info in infos.values():
        alone = PodInfo(info.pod, its)
        assert all(getattr(info, name) == getattr(alone, name) for name in PodInfo.__slots__)
    assert [infos[place].requests["cpu"] for place in range(6)] == [2000, 2000, 3000, 3000, 4000, 3000]
    assert infos[2].requests is infos[3].requests
    assert infos[0].requests is infos[1].requests
