"""Claims created from templates, at the start of a run and for pods created later."""

from typing import Any

from scheduler_core.api.devices import ResourceClaim
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM
from scheduler_core.snapshot.prepare import Prepared, prepare
from tests.scheduler_core.build import workload
from tests.scheduler_core.dra.objects import claim, device, device_class, exactly, node, resource_slice
from tests.scheduler_core.virtual_time_runs import PlayedScenario

Raw = dict[str, Any]
V36 = get_release("1.36")
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {
        "metadata": {"labels": {"team": "ml"}},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly()}]}},
    },
}
SPEC = {
    "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
}
CLUSTER = (node("n1"), device_class(), resource_slice("s1", device("d0"), device("d1"), on="n1"), TEMPLATE)


def wanting(name: str, **meta: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", **meta}, "spec": SPEC}


def prepared(*objects: Raw) -> Prepared:
    return prepare([*CLUSTER, *objects], release=V36, schedulers=("default-scheduler",), choices=AS_UPSTREAM)


def placed(found: Prepared) -> dict[str, str]:
    return {trace.pod.partition("/")[2]: trace.node for trace in Simulation(found.objects, release=V36).run()}


def test_a_hand_written_pod_gets_its_own_claim() -> None:
    found = prepared(wanting("a"), wanting("b"), wanting("c"))
    claims = {obj.name: obj for obj in found.objects if isinstance(obj, ResourceClaim)}
    assert sorted(claims) == ["a-gpu", "b-gpu", "c-gpu"]
    assert claims["a-gpu"].metadata.labels == {"team": "ml"}
    assert [(o.kind, o.name, o.controller) for o in claims["a-gpu"].metadata.owner_references] == [("Pod", "a", True)]
    assert "3 ResourceClaims created from templates for pods without claims" in " ".join(found.warnings)
    assert placed(found) == {"a": "n1", "b": "n1", "c": ""}


def test_a_name_that_is_taken_gets_a_number() -> None:
    found = prepared(claim("a-gpu", uid="x"), wanting("a"))
    assert {obj.name for obj in found.objects if isinstance(obj, ResourceClaim)} == {"a-gpu", "a-gpu-1"}
    assert placed(found) == {"a": "n1"}


def test_pods_of_a_cluster_are_unchanged() -> None:
    found = prepared(wanting("a", uid="from-a-cluster"))
    assert not any(isinstance(obj, ResourceClaim) for obj in found.objects)
    (trace,) = Simulation(found.objects, release=V36).run()
    assert trace.preenqueue is not None
    assert "ResourceClaim not created yet" in trace.preenqueue.message


def test_each_pod_of_a_workload_has_its_own_claim() -> None:
    assert list(placed(prepared(workload("Deployment", pod=SPEC, replicas=2))).values()) == ["n1", "n1"]


def test_a_pod_created_later_in_virtual_time_gets_a_claim() -> None:
    timeline = [{"at": 10, "create": wanting("b")}]
    played = PlayedScenario(*CLUSTER, wanting("a"), kubernetes="1.36", timeline=timeline, until=60)
    assert (played.node_of("a"), played.node_of("b")) == ("n1", "n1")


def test_devices_are_free_after_their_pods_are_deleted() -> None:
    timeline = [
        {"at": 10, "create": wanting("late")},
        {"at": 20, "delete": {"kind": "Pod", "namespace": "default", "name": "a"}},
    ]
    played = PlayedScenario(*CLUSTER, wanting("a"), wanting("b"), kubernetes="1.36", timeline=timeline, until=600)
    (attempt, *_) = played.records_of("attempt", "late")
    assert attempt.data["result"] == "unschedulable"
    assert played.node_of("late") == "n1"
    assert "default/a-gpu" not in played.run.simulation.cluster.device_claims
