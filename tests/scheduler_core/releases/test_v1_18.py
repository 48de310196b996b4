"""Differences between 1.18 and 1.19, on small clusters, computed by hand."""

from collections import Counter
from typing import Any

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.scheduler_core.build import ZONE, Raw, claim, mounts, node, pod, selector, volume
from tests.scheduler_core.provenance.cases import check

WEB = {"app": "web"}
BOTH = pytest.mark.parametrize("release", ["1.18", "1.19"])


def one(release: str, *objects: Raw, **more: Any) -> CycleTrace:
    return next(iter(Simulation(list(objects), release=release, tie_break="name", **more).run()))


def near(key: str, **labels: str) -> list[Raw]:
    return [{"topologyKey": key, "labelSelector": selector(**labels)}]


def affinity(kind: str, terms: list[Raw]) -> Raw:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_plugins_have_their_prefilter_and_prescore() -> None:
    """Also where upstream's plugin of 1.18 worked node by node."""
    one, other = (Simulation([node("a")], release=release).configuration.profiles[0] for release in ("1.18", "1.19"))
    assert {name for name, _ in one.plugins["preFilter"]} == {name for name, _ in other.plugins["preFilter"]}
    assert [name for name, _ in one.plugins["preScore"]] == [
        *("InterPodAffinity", "DefaultPodTopologySpread", "TaintToleration", "PodTopologySpread", "NodeAffinity")
    ]


# ---- affinity


@BOTH
def test_the_first_pod_of_a_group_needs_no_label_in_1_18(release: str) -> None:
    near_itself = affinity("podAffinity", near("rack", **WEB))
    trace = one(release, node("a"), pod("p", labels=WEB, affinity=near_itself))
    assert trace.node == ("a" if release == "1.18" else "")


NOMINATED = {"nominatedNodeName": "a"}


@BOTH
@pytest.mark.parametrize("listed", [False, True])
def test_terms_of_a_nominated_pod_apply_to_the_namespace_of_the_pod_in_1_18(release: str, listed: bool) -> None:
    """The term names no namespace, or the pod's own."""
    term = near("kubernetes.io/hostname", **WEB)
    if listed:
        term[0]["namespaces"] = ["other"]
    away = affinity("podAntiAffinity", term)
    nominated = pod("n", namespace="other", priority=9, affinity=away, status=NOMINATED, requests={"cpu": "9"})
    simulation = Simulation([node("a"), nominated, pod("p", labels=WEB)], release=release, pods=["default/p"])
    assert next(iter(simulation.run())).node == ("" if release == "1.18" and not listed else "a")


# ---- images


@BOTH
def test_the_threshold_of_images_is_per_container_since_1_19(release: str) -> None:
    """Two images of 1000 MiB on one of two nodes count half each: 1000 of 1000, or of 2000."""
    nodes = [node("a", images={"i0:latest": 1000 << 20, "i1:latest": 1000 << 20}), node("b")]
    wants = pod("p")
    wants["spec"]["containers"] = [{"name": f"c{i}", "image": f"i{i}"} for i in range(2)]
    trace = one(release, *nodes, wants)
    assert trace.scores["ImageLocality"].raw.tolist() == [100 if release == "1.18" else 49, 0]


# ---- claims


USING = pod("p", volumes=mounts("c"))


def test_unusable_claims_are_errors() -> None:
    deleted = claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    for objects, error in (
        ([USING], 'persistentvolumeclaim "c" not found'),
        ([USING, deleted], 'persistentvolumeclaim "c" is being deleted'),
    ):
        trace = one("1.18", node("a"), *objects)
        assert (trace.result, trace.error) == ("error", error)
        assert trace.postfilter is None, "errors do not preempt"
        assert one("1.19", node("a"), *objects).result == "error"
        assert one("1.20", node("a"), *objects).result == "unschedulable"


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([claim("c")], "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c", volume="gone", phase="Lost")], "pvc(s) bound to non-existent pv(s)"),
    ],
)
def test_unbound_claims_and_missing_volumes_reject_each_node(objects: list[Raw], reason: str) -> None:
    """A cordoned node has its own reason. In 1.17 both are errors, unless no node gets that far."""
    nodes = [node("a"), node("b", unschedulable=True)]
    trace = one("1.18", *nodes, USING, *objects)
    assert trace.message == f"0/2 nodes are available: 1 node(s) were unschedulable, 1 {reason}."
    assert trace.prefilter is None
    assert one("1.17", *nodes, USING, *objects).result == "error"
    assert one("1.17", nodes[1], USING, *objects).result == "unschedulable"


BETA = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("release", "label", "rejected"), [("1.18", ZONE, ""), ("1.18", BETA, "b"), ("1.19", ZONE, "b")]
)
def test_volume_zone_reads_beta_labels_until_1_18(release: str, label: str, rejected: str) -> None:
    nodes = [node(name, zone=zone, labels={BETA: zone}) for name, zone in (("a", "x"), ("b", "y"))]
    wants = pod("p", volumes=mounts("c"))
    trace = one(release, *nodes, wants, claim("c", volume="v"), volume("v", labels={label: "x"}))
    codes = trace.verdicts["VolumeZone"].codes
    assert [n["metadata"]["name"] for i, n in enumerate(nodes) if codes is not None and codes[i]] == [*rejected]


@pytest.mark.parametrize(
    ("release", "code"), [("1.18", "Error"), ("1.19", "Error"), ("1.20", "UnschedulableAndUnresolvable")]
)
def test_volume_zone_fails_for_a_missing_volume_until_1_19(release: str, code: str) -> None:
    trace = one(release, node("a", labels={BETA: "x"}), USING, claim("c", volume="gone"))
    assert [status.code for status in trace.verdicts["VolumeZone"].statuses] == [code]


def test_disks_and_zones_of_volumes() -> None:
    """a has a pod with the disk, b is of another zone than the volume; c will do."""
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "disk"}}
    nodes = [node(name, zone=zone, labels={BETA: zone}) for name, zone in (("a", "x"), ("b", "y"), ("c", "x"))]
    wants = pod("p", volumes=[disk, *mounts("c")])
    taken = pod("q", on="a", volumes=[disk])
    trace = one("1.18", *nodes, taken, wants, claim("c", volume="v"), volume("v", labels={BETA: "x"}))
    assert trace.node == "c"
    assert {name for name, verdict in trace.verdicts.items() if verdict.codes is not None} == {
        *("VolumeRestrictions", "VolumeZone")
    }


# ---- preemption

FULL = {"cpu": "4"}


@BOTH
def test_preemption_policy_never_is_ignored(release: str) -> None:
    trace = one(
        release,
        node("a"),
        pod("q", on="a", requests=FULL),
        pod("p", requests=FULL, priority=9, preemptionPolicy="Never"),
    )
    assert trace.nominated_node == ("a" if release == "1.18" else "")
    assert trace.victims == (["default/q"] if release == "1.18" else [])


@BOTH
def test_a_nominated_node_that_became_unschedulable_keeps_the_pod_waiting(release: str) -> None:
    """Its victim is still terminating on a, which is cordoned by now; b would fit."""
    leaving = pod("v", on="a", requests=FULL, deleted=True)
    low = pod("q", on="b", requests=FULL)
    wants = pod("p", requests=FULL, priority=9, status={"nominatedNodeName": "a"})
    trace = one(release, node("a", unschedulable=True), node("b"), leaving, low, wants)
    assert trace.nominated_node == ("" if release == "1.18" else "b")


@pytest.mark.parametrize(("release", "nominated"), [("1.18", ""), ("1.25", ""), ("1.26", "b")])
def test_any_terminating_pod_delays_preemption_until_1_25(release: str, nominated: str) -> None:
    """v terminates independently; p, too large for a, could evict q from b."""
    leaving = pod("v", on="a", requests={"cpu": "1"}, deleted=True)
    wants = pod("p", requests=FULL, priority=9, status={"nominatedNodeName": "a"})
    blocks = pod("w", on="a", requests={"cpu": "3"}, priority=99)
    trace = one(release, node("a"), node("b"), leaving, blocks, pod("q", on="b", requests=FULL), wants)
    assert trace.nominated_node == nominated


def budget(name: str, allowed: int, **evicted: str) -> Raw:
    status = {"disruptionsAllowed": allowed, "disruptedPods": evicted}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector(**WEB)},
        "status": status,
    }


def violations(release: str, *budgets: Raw) -> int:
    pods = [pod(f"q{i}", on="a", labels=WEB, requests={"cpu": "2"}) for i in range(2)]
    trace = one(release, node("a"), *pods, pod("p", requests=FULL, priority=9), *budgets)
    assert trace.postfilter is not None
    return trace.postfilter.candidates["a"][1]


@BOTH
def test_budgets_are_decremented(release: str) -> None:
    assert violations(release, budget("b", 1)) == 1
    assert violations(release, budget("b", 2)) == 0


@BOTH
def test_terminating_pods_violate_budgets_in_1_18(release: str) -> None:
    assert violations(release, budget("b", 1, q0="2026-01-01T00:00:00Z")) == (1 if release == "1.18" else 0)


def test_all_nodes_are_tried() -> None:
    """Of 150 nodes 1.20 tries until it has 100 candidates."""
    names = [f"n{i:03}" for i in range(150)]
    objects = [node(name) for name in names] + [pod(f"q{name}", on=name, requests=FULL) for name in names]
    for release, tried in (("1.18", 150), ("1.19", 150), ("1.20", 100)):
        trace = one(release, *objects, pod("p", requests=FULL, priority=9))
        assert trace.postfilter is not None
        assert len(trace.postfilter.candidates) == tried


# ---- scheduling of a pod


@pytest.mark.parametrize(("release", "node_"), [("1.18", "b"), ("1.21", "b"), ("1.22", "a")])
def test_the_nominated_node_is_tried_first_from_1_22_on(release: str, node_: str) -> None:
    taken = pod("q", on="a", requests={"cpu": "2"})
    trace = one(release, node("a"), node("b"), taken, pod("p", status={"nominatedNodeName": "a"}))
    assert trace.node == node_, "b is emptier"


def test_provenance_of_all_numbers() -> None:
    """Every tree evaluates to the recorded value, for cases of 1.20 run as 1.18."""
    cases = golden_cases("v1.20")
    for kind in ("spread", "podaffinity", "preemption", "volumes"):
        case = next(case for case in cases if kind in case["name"])
        assert list(check({**case, "kubernetes": "1.18"}, 3, Counter())) == []


def test_a_version_gives_the_release() -> None:
    assert get_release("1.18.20").name == "1.18"
