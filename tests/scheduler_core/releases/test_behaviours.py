"""Rare differences between releases: sidecars, names of missing nodes, volumes of one node."""

from typing import Any

import pytest

from scheduler_core.api.objects import CSINode, Metadata
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.plugins import csi_migration
from scheduler_core.releases import FRAMEWORK, get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, Raw, claim, info, mounts, node, pod, volume

ORDER = sorted(FRAMEWORK, key=lambda name: int(name.split(".")[1]))
SIDECARS = "Pod has a restartable init container and the SidecarContainers feature is disabled"


def since(release: str) -> list[str]:
    return ORDER[ORDER.index(release) :]


def container(name: str, requests: Raw, **more: Any) -> Raw:
    return {"name": name, "resources": {"requests": requests}, **more}


def with_sidecar(**requests: Any) -> Raw:
    ports = [{"hostPort": 80, "containerPort": 80}]
    inits = [container("proxy", {"cpu": "300m"}, restartPolicy="Always", ports=ports), container("setup", requests)]
    return pod("p", requests={"cpu": "1"}, initContainers=inits)


def one(release: str, *objects: Raw) -> CycleTrace:
    return next(iter(Simulation(list(objects), release=release, tie_break="name").run()))


@pytest.mark.parametrize("release", ORDER)
def test_sidecars_in_the_requests_of_a_pod(release: str) -> None:
    """They count in the request from 1.28 on, and in the assumed usage of scoring from 1.32 on."""
    found = info(with_sidecar(memory="1Gi"), release)
    assert found.requests["cpu"] == (1300 if release in since("1.28") else 1000)
    default = 200 * 1024**2
    summed = (1300, 2 * default) if release in since("1.28") else (1000, default)
    # while the init container runs: its memory, and no sidecar memory, since it requests none
    assert found.nonzero == (
        summed[0] if release in since("1.32") else 1000,
        1024**3 + default * (release in since("1.32")),
    )
    assert found.nonzero_incoming == (summed[0], 1024**3 + default * (release in since("1.28")))


@pytest.mark.parametrize("release", [*ORDER, "1.28 SidecarContainers=true", "1.31 SidecarContainers=false"])
def test_sidecars_are_rejected_if_their_gate_is_off(release: str) -> None:
    """By default in 1.28 only."""
    trace = one(release, node("a"), with_sidecar())
    refused = release in ("1.28", "1.31 SidecarContainers=false")
    message = trace.prefilter.message if trace.prefilter is not None else ""
    assert message == (SIDECARS if refused else "")
    assert (trace.node == "a") == (not refused)


@pytest.mark.parametrize("release", ORDER)
def test_host_ports_of_sidecars_count_from_1_34_on(release: str) -> None:
    assert bool(info(with_sidecar(), release).host_ports) == (release in since("1.34"))


def wants(*names: str) -> Raw:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = [{"matchFields": [field]} for field in fields]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize("release", ORDER)
def test_a_name_of_a_missing_node(release: str) -> None:
    trace = one(release, node("a"), node("b"), pod("p", affinity=wants("ghost")))
    if release not in since("1.24"):  # all nodes are evaluated
        assert trace.message.startswith("0/2 nodes are available: 2 node(s) didn't match")
        return
    if release not in since("1.31"):
        error = 'nodeinfo not found for node name "ghost"' if release != "1.30" else "integer divide by zero"
        assert error in trace.error
        return
    words = " 2 node(s) didn't satisfy plugin(s) [NodeAffinity]." if release in since("1.32") else ""
    claims = " no new claims to deallocate," if release in since("1.34") else ""
    assert trace.message.startswith(f"0/2 nodes are available:{words}{claims} preemption:")
    assert trace.unschedulable_plugins == ["NodeAffinity"]


@pytest.mark.parametrize("release", ORDER)
def test_one_of_two_names_is_a_missing_node(release: str) -> None:
    trace = one(release, node("a"), node("b"), pod("p", affinity=wants("ghost", "b")))
    assert (trace.node == "b") == (release in since("1.30") or release not in since("1.24"))


@pytest.mark.parametrize("release", ORDER)
def test_messages_of_nodes_that_were_left_out(release: str) -> None:
    small = node("b", cpu="1")
    trace = one(release, node("a"), small, pod("p", requests={"cpu": "2"}, affinity=wants("b")))
    messages = {"1.30": "node is filtered out by the prefilter result"}
    words = messages.get(release, "node(s) didn't satisfy plugin(s) [NodeAffinity]" if release in since("1.32") else "")
    words = words if release in since("1.24") else "1 Insufficient cpu, 1 node(s) didn't match"
    assert words in trace.message if words else "1 Insufficient cpu. preemption" in trace.message


@pytest.mark.parametrize("release", ORDER)
def test_bound_local_volumes_restrict_the_nodes_from_1_27_to_1_31(release: str) -> None:
    local = volume("v", at={HOSTNAME: ["a"]}, local={"path": "/"}, claimRef={"namespace": "default", "name": "c"})
    trace = one(release, node("a"), node("b"), local, claim("c", volume="v"), pod("p", volumes=mounts("c")))
    assert trace.node == "a"
    narrowed = release in since("1.27") and release not in since("1.32")
    assert (trace.subset is not None) == narrowed


def test_in_tree_volumes_that_count_as_csi() -> None:
    """GCE PD on any node with a CSINode from 1.28 on; Portworx is migrated from 1.31 on."""
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": csi_migration.PORTWORX}
    csi_node, moved = (CSINode(metadata=Metadata(name="a", annotations=given)) for given in ({}, migrated))
    for release in map(get_release, ORDER):
        name = release.name
        gce = csi_migration.counted_as_csi(csi_node, csi_migration.GCE_PD, release)
        assert gce == (name in since("1.28"))
        assert csi_migration.counted_as_csi(moved, csi_migration.PORTWORX, release) == (name in since("1.31"))
        assert csi_migration.placed_as_csi(csi_migration.PORTWORX, release) == (name in since("1.31"))


@pytest.mark.parametrize(("release", "result"), [("1.17", "scheduled"), ("1.18", "unschedulable")])
def test_features_that_gates_disabled_in_1_17(release: str, result: str) -> None:
    """The overhead of a pod (PodOverhead) and its topology spread constraints (EvenPodsSpread) do not count."""
    assert one(release, node("n", cpu="1"), pod("p", requests={"cpu": "1"}, overhead={"cpu": "1"})).result == result
    spread = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    new = pod("p", topologySpreadConstraints=[spread])
    assert one(release, node("n"), new).result == result
