"""Whether a new node of a NodePool takes a pod: Karpenter's rules, sizes of known nodes, kube-scheduler's Filter."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.explain.answer import NewNode
from scheduler_core.simulation import Simulation
from scheduler_core.stations.node_pools import NodePools
from scheduler_core.stations.snapshots import read_extra, surroundings_of
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.stations.test_stations import event

Raw = dict[str, Any]
POOL = "karpenter.sh/nodepool"
TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
UNDEFINED = "which it does not define"
SIZE = "the pod requires an instance type that no known node of it has"
OVER = "a node like its known ones exceeds its limits: cpu 4 of 6 used, and the smallest has 4"
LARGE = "no known node of it is large enough: the pod requests 5 cpu of 4 besides DaemonSets"
REACHED = "its limits are reached: "
TAKES = "a node like known (m5.large, 4 cpu, 8Gi memory, a) takes it"


def pool(name: str = "general", taints: Any = (), requirements: Any = (), labels: Any = None, **spec: Any) -> Raw:
    """`taints`: (key, effect); `requirements`: (key, operator, values)."""
    status = spec.pop("status", {})
    template = {
        "metadata": {"labels": labels or {}},
        "spec": {
            "taints": [{"key": key, "effect": effect} for key, effect in taints],
            "startupTaints": [{"key": "cni", "effect": "NoSchedule"}],
            "requirements": [{"key": k, "operator": how, "values": values} for k, how, values in requirements],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        },
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
        "status": status,
    }


def known(name: str = "known", **labels: str) -> Raw:
    """A node of the pool with 4 CPUs, which is full."""
    found = node(name, labels={POOL: "general", TYPE: "m5.large", ZONE: "a", **labels}, cpu="4")
    found["status"]["capacity"] = found["status"]["allocatable"]
    return found


def full(on: str = "known", name: str = "full") -> Raw:
    return pod(name, on=on, requests={"cpu": "4"})


def new_node(*raws: Raw) -> NewNode | None:
    simulation = Simulation(decode_all([raw for raw in raws if raw["kind"] in ("Node", "Pod")]), release="1.36")
    before = list(simulation.cluster.nodes.names), len(simulation.cluster.pods)
    extra, notes = read_extra(raws)
    assert not notes
    pools = NodePools(simulation, surroundings_of((), extra, simulation.cluster, ["default-scheduler"]))
    found = pools.new_node_for(next(info for info in simulation.pending if info.name == "new"))
    assert (list(simulation.cluster.nodes.names), len(simulation.cluster.pods)) == before
    return found


def answer(new: Raw, *raws: Raw) -> tuple[str, str]:
    found = new_node(new, *raws)
    assert found is not None
    return found.pools[0].answer, found.pools[0].text


def new(cpu: str = "1", **spec: Any) -> Raw:
    return pod("new", requests={"cpu": cpu}, **spec)


def affinity(*terms: tuple[str, str, list[str]]) -> Raw:
    """Return required node affinity with one requirement in each term."""
    made = [{"matchExpressions": [{"key": k, "operator": how, "values": values}]} for k, how, values in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": made}}}


@pytest.mark.parametrize(
    ("of_pool", "of_pod", "expected"),
    [
        ({}, {}, ("yes", TAKES)),
        ({"taints": [("gpu", "NoSchedule")]}, {}, ("no", "the pod does not tolerate its taint gpu:NoSchedule")),
        ({"taints": [("gpu", "PreferNoSchedule")]}, {}, ("yes", TAKES)),
        ({"taints": [("gpu", "NoExecute")]}, {"tolerations": [{"operator": "Exists"}]}, ("yes", TAKES)),
        ({}, {"nodeSelector": {"disk": "nvme"}}, ("no", f"the pod requires label disk in [nvme], {UNDEFINED}")),
        ({"labels": {"disk": "nvme"}}, {"nodeSelector": {"disk": "nvme"}}, ("yes", TAKES)),
        ({"requirements": [("disk", "In", ["hdd", "nvme"])]}, {"nodeSelector": {"disk": "nvme"}}, ("yes", TAKES)),
        (
            {"requirements": [("kubernetes.io/arch", "In", ["amd64"])]},
            {"nodeSelector": {"beta.kubernetes.io/arch": "arm64"}},
            ("no", "the pod requires kubernetes.io/arch in [arm64], and it offers kubernetes.io/arch in [amd64]"),
        ),
        ({}, {"nodeSelector": {POOL: "other"}},
         ("no", f"the pod requires {POOL} in [other], and it offers {POOL} in [general]")),
        ({}, {"affinity": affinity(("disk", "In", ["nvme"]), (ZONE, "In", ["a"]))}, ("yes", TAKES)),
        ({}, {"affinity": affinity(("disk", "NotIn", ["nvme"]))}, ("yes", TAKES)),
        ({}, {"affinity": affinity(("disk", "Exists", []))},
         ("no", f"the pod requires label disk with any value, {UNDEFINED}")),
        ({"requirements": [("cpus", "Gt", ["7"])]}, {"affinity": affinity(("cpus", "Lt", ["8"]))},
         ("no", "the pod requires cpus at most 7, and it offers cpus at least 8")),
        ({}, {"nodeSelector": {TYPE: "c5.large"}}, ("unknown", SIZE)),
        ({"limits": {"cpu": "8"}, "status": {"resources": {"cpu": "8"}}}, {}, ("no", f"{REACHED}cpu 8 of 8")),
        ({"limits": {"cpu": "6"}}, {}, ("no", OVER)),
        ({"limits": {"nodes": "1"}}, {}, ("no", f"{REACHED}nodes 1 of 1")),
        ({"limits": {"cpu": "8", "nodes": "2"}}, {}, ("yes", TAKES)),
        ({"replicas": 3}, {}, ("no", "it has a fixed number of nodes (spec.replicas), and none is added for pods")),
        ({}, {"cpu": "5"}, ("no", LARGE)),
    ],
)  # fmt: skip
def test_one_pool(of_pool: Raw, of_pod: Raw, expected: tuple[str, str]) -> None:
    assert answer(new(**of_pod), pool(**of_pool), known(), full()) == expected


def test_a_pool_that_is_not_ready_and_one_without_nodes() -> None:
    status = {"conditions": [{"type": "NodeClassReady", "status": "False", "message": "no subnets"}]}
    found = new_node(new(), pool(status=status), pool("empty", weight=5), known(), full())
    assert found is not None
    assert [(one.pool, one.answer) for one in found.pools] == [("empty", "unknown"), ("general", "no")]
    assert found.pools[1].text == "Karpenter skips it, because NodeClassReady is False: no subnets"
    assert new_node(new(), known()) is None


def test_what_daemon_sets_request_is_not_free() -> None:
    daemon = pod("daemon", on="known", requests={"cpu": "500m"})
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}]
    text = "no known node of it is large enough: the pod requests 4 cpu of 3.5 besides DaemonSets"
    assert answer(new("4"), pool(), known(), daemon) == ("no", text)
    assert answer(new("3500m"), pool(), known(), daemon, full())[0] == "yes"


def test_the_rules_of_the_scheduler_count_too() -> None:
    """Karpenter simulates topology and affinity as well."""
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
    }
    there = [pod(f"p{i}", on="known", labels={"a": "b"}) for i in range(2)]
    other = node("other", labels={ZONE: "b"}, cpu="0")
    fresh = new(topologySpreadConstraints=[spread])
    fresh["metadata"]["labels"] = {"a": "b"}
    nodes = known(), other, full(), *there
    only = [(ZONE, "In", ["a"])]
    assert answer(fresh, pool(requirements=only), *nodes)[1].startswith("PodTopologySpread of kube-scheduler refuses")
    both = [(ZONE, "In", ["a", "b"])]
    assert (
        answer(fresh, pool(requirements=both), *nodes, known("known-b", **{ZONE: "b"}), full("known-b", "f"))[0]
        == "yes"
    )


def test_the_node_class_and_claims_without_nodes() -> None:
    claim = {
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": "claim", "labels": {POOL: "general"}},
        "status": {"capacity": {"cpu": "16", "pods": "110"}, "allocatable": {"cpu": "15", "pods": "110"}},
    }  # fmt: skip
    selector = {"karpenter.k8s.aws/ec2nodeclass": "default"}
    assert answer(new("9", nodeSelector=selector), pool(), claim)[0] == "yes"
    assert answer(new("9", nodeSelector={"karpenter.k8s.aws/ec2nodeclass": "x"}), pool(), claim)[0] == "no"


def test_karpenters_own_answer_is_compared() -> None:
    refused = event("karpenter", "FailedScheduling", "Failed to schedule pod, no", "new")
    promised = event("karpenter", "Nominated", "Pod should schedule on: nodeclaim/x", "new", minute=11)
    others = pool(), known(), full()

    def note(fresh: Raw, *events: Raw) -> str:
        found = new_node(fresh, *others, *events)
        assert found is not None
        return found.note

    assert note(new()) == ""
    assert "Here NodePool general takes the pod: that event is older" in note(new(), refused)
    assert note(new(), refused, promised).endswith("promised a node at 2026-01-01 00:11:00 UTC, which agrees.")
    assert note(new("9"), refused).endswith("refused at 2026-01-01 00:10:00 UTC, which agrees.")
    assert "it knows instance types that no node shows" in note(new("9"), promised)
    left_out = new_node(new(affinity=affinity((POOL, "DoesNotExist", []))), *others)
    assert left_out == NewNode([], f"Karpenter leaves the pod out: it requires {POOL} not to exist.")
