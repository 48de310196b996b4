"""DynamicResources: PostFilter without its state, and scores of claims that are allocated in part."""

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import REQUIRED, Raw, claim, mounts, node, pod
from tests.scheduler_core.dra import objects as dra

NEW = ("1.34", "1.35", "1.36")
NOW = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "now"},
    "provisioner": "csi.example.com",
    "volumeBindingMode": "Immediate",
}
CONFLICT = {
    "nodeAffinity": {
        REQUIRED: {
            "nodeSelectorTerms": [
                {
                    "matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": ["a"]},
                        {"key": "metadata.name", "operator": "In", "values": ["b"]},
                    ]
                }
            ]
        }
    }
}


def last(release: str, *objects: Raw, config: Raw | None = None) -> CycleTrace:
    return list(Simulation(list(objects), release=release, tie_break="name", config=config).run())[-1]


@pytest.mark.parametrize("release", ["1.33", *NEW])
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"volumes": mounts("unbound")}, "pod has unbound immediate PersistentVolumeClaims"),
        ({"volumes": mounts("ghost")}, 'persistentvolumeclaim "ghost" not found'),
        ({"affinity": CONFLICT}, "pod affinity terms conflict"),
    ],
)
def test_post_filter_fails_if_the_pod_was_rejected_before_its_pre_filter(release: str, spec: Raw, reason: str) -> None:
    """Messages of kube-scheduler 1.36.2. DefaultPreemption does not run: `a` runs a pod of lower priority."""
    cluster = [node("a"), node("b"), NOW, claim("unbound", "now"), pod("victim", on="a", requests={"cpu": "3"})]
    trace = last(release, *cluster, pod("p", priority=10, requests={"cpu": "3"}, **spec))
    assert trace.result == "unschedulable"
    assert trace.postfilter is not None
    assert trace.postfilter.status is not None
    if release == "1.33":
        assert trace.message.startswith(f"0/2 nodes are available: {reason}. preemption: ")
    else:
        assert trace.message == f"0/2 nodes are available: {reason}. not found"
        assert trace.postfilter.status.plugin == "DynamicResources"
        assert not trace.postfilter.status.rejected


@pytest.mark.parametrize("release", NEW)
def test_post_filter_has_its_state_after_its_pre_filter(release: str) -> None:
    trace = last(release, node("a"), pod("p", requests={"cpu": "64"}))
    assert trace.message.startswith("0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preempt")
    objects = (dra.claim("c", dra.exactly(cls="ghost")), dra.pod("p", "c"))  # rejected by its own PreFilter
    trace = last(release, dra.node("n"), *objects)
    assert trace.message.startswith("0/1 nodes are available: request r0: device class ghost does not exist. no new cl")


@pytest.mark.parametrize("release", NEW)
def test_a_pod_keeps_its_nomination_if_post_filter_fails(release: str) -> None:
    nominated = pod("p", priority=10, volumes=mounts("unbound"), status={"nominatedNodeName": "a"})
    run = Simulation([node("a"), NOW, claim("unbound", "now"), nominated], release=release)
    list(run.run())
    assert [p.nominated_node for p in run.pending] == ["a"]


@pytest.mark.parametrize("release", NEW)
def test_post_filter_without_pre_filter_in_the_profile(release: str) -> None:
    plugins = {"preFilter": {"disabled": [{"name": "DynamicResources"}]}}
    trace = last(
        release,
        *(node("a"), pod("p", requests={"cpu": "64"})),
        config={"profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]},
    )
    assert trace.message == "0/1 nodes are available: 1 Insufficient cpu. not found"


def test_the_equals_of_a_rejected_pod_get_its_message() -> None:
    pods = [pod(f"p{i}", volumes=mounts("unbound")) for i in range(4)]
    fits = [pod(f"q{i}", requests={"cpu": "64"}) for i in range(4)]
    mixed = [one for both in zip(pods, fits, strict=True) for one in both]
    traces = list(Simulation([node("a"), NOW, claim("unbound", "now"), *mixed], release="1.36").run())
    assert {trace.message.rpartition("s. ")[2] for trace in traces if trace.pod.startswith("default/p")} == {
        "not found"
    }
    assert all("no new claims" in trace.message for trace in traces if trace.pod.startswith("default/q"))


# ---- Score


def mixed_claims(release: str, nodes: int = 3, allocated: int = 1, waiting: int = 1) -> list[CycleTrace]:
    """Schedule a pod with claims that are allocated for all nodes and claims that are not allocated yet."""
    network = dra.resource_slice("net", *(dra.device(f"d{i}") for i in range(allocated)), allNodes=True)
    local = [
        dra.resource_slice(f"s{n}", *(dra.device(f"d{i}") for i in range(waiting)), on=f"n{n}") for n in range(nodes)
    ]
    names = [f"shared{i}" for i in range(allocated)], [f"own{i}" for i in range(waiting)]
    claims = [
        dra.claim(name, dra.exactly(), status=dra.allocation(f"d{i}", pool="net")) for i, name in enumerate(names[0])
    ]
    claims += [dra.claim(name, dra.exactly()) for name in names[1]]
    pods = [dra.pod("p", *names[0], *names[1])]
    cluster = [*(dra.node(f"n{n}") for n in range(nodes)), dra.device_class(), network, *local, *claims, *pods]
    return list(Simulation(cluster, release=release, tie_break="name").run())


@pytest.mark.parametrize("release", NEW)
def test_allocated_and_unallocated_claims_together(release: str) -> None:
    """The error of kube-scheduler 1.35.3; 1.34 does not score, and 1.36.2 scores both."""
    (trace,) = mixed_claims(release)
    if release != "1.35":
        assert trace.node == "n0"
        return
    error = "number of allocations 1 is smaller than number of claims"
    assert trace.error == f'running Score plugins: plugin "DynamicResources" failed with: {error}'
    assert trace.result == "error"
    assert not trace.node


@pytest.mark.parametrize(("nodes", "allocated", "waiting"), [(1, 1, 1), (3, 1, 0), (3, 0, 2)])
def test_scores_of_claims_that_do_not_fail_in_1_35(nodes: int, allocated: int, waiting: int) -> None:
    """One feasible node is not scored; claims that are all allocated or all unallocated are."""
    assert get_release("1.35").mixed_claims_score_fails
    assert mixed_claims("1.35", nodes, allocated, waiting)[0].node == "n0"
