"""Differences between 1.17 and 1.18, on small clusters, computed by hand."""

from typing import Any

import pytest

from scheduler_core.config import load_configuration
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, ZONE, Raw, claim, mounts, node, pod, selector, volume

BOTH = pytest.mark.parametrize("release", ["1.17", "1.18"])
LEAST = "NodeResourcesLeastAllocated"
WEB, DB = {"app": "web"}, {"app": "db"}


def one(release: str, *objects: Raw, **more: Any) -> CycleTrace:
    return next(iter(Simulation(list(objects), release=release, tie_break="name", **more).run()))


def anti_affinity(*selected: dict[str, str], key: str = HOSTNAME) -> Raw:
    terms = [{"topologyKey": key, "labelSelector": selector(**labels)} for labels in selected]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def affinity(labels: dict[str, str]) -> Raw:
    terms = [{"topologyKey": HOSTNAME, "labelSelector": selector(**labels)}]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


# ---- one reason


def reasons(release: str, *objects: Raw) -> list[tuple[str, ...]]:
    return [status.reasons for status, _ in one(release, *objects).decisive_statuses()]


def test_a_node_reports_one_short_resource() -> None:
    wants = pod("p", requests={"cpu": "5", "memory": "9Gi"})
    assert reasons("1.17", node("a"), wants) == [("Insufficient cpu",)]
    assert reasons("1.18", node("a"), wants) == [("Insufficient cpu", "Insufficient memory")]
    assert reasons("1.17", node("a", pods=0), wants) == [("Insufficient pods",)]
    assert reasons("1.18", node("a", pods=0), pod("p")) == [("Too many pods",)]


def test_pod_affinity_reports_its_rule_only_if_it_is_unresolvable() -> None:
    common, rule = "node(s) didn't match pod affinity/anti-affinity", "node(s) didn't match pod affinity rules"
    assert reasons("1.17", node("a"), pod("p", affinity=affinity(WEB))) == [(rule,)]
    assert reasons("1.18", node("a"), pod("p", affinity=affinity(WEB))) == [(common, rule)]
    repelled = pod("q", on="a", labels=WEB), pod("p", affinity=anti_affinity(WEB))
    assert reasons("1.17", node("a"), *repelled) == [(common,)]
    assert len(reasons("1.18", node("a"), *repelled)[0]) == 2


@BOTH
def test_an_unreachable_volume_hides_a_missing_one(release: str) -> None:
    claims = [claim("c", volume="v"), claim("d", cls="late")]
    late = {"kind": "StorageClass", "metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"}
    late["provisioner"] = "kubernetes.io/no-provisioner"
    objects = [*claims, late, volume("v", at={HOSTNAME: ["b"]}, phase="Bound"), pod("p", volumes=mounts("c", "d"))]
    found = ["node(s) had volume node affinity conflict", "node(s) didn't find available persistent volumes to bind"]
    assert reasons(release, node("a"), *objects) == [tuple(found[:1] if release == "1.17" else found)]


@BOTH
def test_taints_are_not_named(release: str) -> None:
    tainted = node("a", taints=(("spot", "yes", "NoSchedule"),))
    named = "node(s) had taint {spot: yes}, that the pod didn't tolerate"
    expected = "node(s) had taints that the pod didn't tolerate" if release == "1.17" else named
    assert reasons(release, tainted, pod("p")) == [(expected,)]


def test_the_error_of_a_filter_plugin() -> None:
    trace = one("1.17", node("a"), pod("p", volumes=mounts("c")), claim("c"))
    unbound = "pod has unbound immediate PersistentVolumeClaims"
    assert trace.error == f'error while running "VolumeBinding" filter plugin for pod "p": {unbound}'


# ---- scores


@BOTH
def test_overhead_counts_from_1_18(release: str) -> None:
    """q requests 1 of 4 cpus, and its overhead 1; p requests 1."""
    taken = pod("q", on="a", requests={"cpu": "1", "memory": "1Gi"}, overhead={"cpu": "1"})
    taken["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]
    wants = pod("p", requests={"cpu": "1", "memory": "1Gi"})
    trace = one(release, node("a"), node("b"), taken, wants)
    assert trace.scores[LEAST].raw[0] == ((50 if release == "1.17" else 25) + 75) // 2


@pytest.mark.parametrize(("release", "score"), [("1.17", 50), ("1.18", 50), ("1.19", 100)])
def test_most_allocated_of_an_overcommitted_node(release: str, score: int) -> None:
    """By default requests, four pods and p want more memory than the node has, but not more cpu."""
    version = {"1.17": "v1alpha1", "1.18": "v1alpha2", "1.19": "v1beta1"}[release]
    most = {"enabled": [{"name": "NodeResourcesMostAllocated"}], "disabled": [{"name": LEAST}]}
    plugins: Raw = {"plugins": {"score": most}}
    config = plugins if release == "1.17" else {"profiles": [plugins]}
    config |= {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    nodes = [node(name, cpu="500m", memory="900Mi") for name in "ab"]
    taken = [pod(f"q{i}", on="a") for i in range(4)]
    trace = one(release, *nodes, *taken, pod("p"), config=config)
    assert trace.scores["NodeResourcesMostAllocated"].raw.tolist() == [score, (20 + 22) // 2]


@BOTH
def test_selector_spread_of_pods_with_constraints(release: str) -> None:
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": WEB}}
    spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector()}]
    objects = [node("a"), node("b"), service, pod("q", on="a", labels=WEB)]
    trace = one(release, *objects, pod("p", labels=WEB, topologySpreadConstraints=spread))
    assert trace.scores["DefaultPodTopologySpread"].raw.tolist() == ([1, 0] if release == "1.17" else [0, 0])


# ---- preemption


@BOTH
def test_victims_do_not_use_up_budgets(release: str) -> None:
    """The budget allows one disruption; p needs both pods evicted."""
    spec, status = {"selector": selector(**WEB)}, {"disruptionsAllowed": 1}
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}, "spec": spec}
    low = [pod(f"q{i}", on="a", labels=WEB, requests={"cpu": "2"}) for i in range(2)]
    wants = pod("p", requests={"cpu": "4"}, priority=9)
    trace = one(release, node("a"), budget | {"status": status}, *low, wants)
    assert trace.postfilter is not None
    assert trace.postfilter.candidates["a"][1] == (0 if release == "1.17" else 1)


@BOTH
def test_a_restored_pod_violates_all_terms(release: str) -> None:
    """q matches the term by rack, which a lacks; in 1.17 it also counts by hostname."""
    both = anti_affinity(WEB)
    both["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] += anti_affinity(DB, key="rack")[
        "podAntiAffinity"
    ]["requiredDuringSchedulingIgnoredDuringExecution"]
    low = [pod("q", on="a", labels=DB), pod("r", on="a", labels=WEB)]
    trace = one(release, node("a"), *low, pod("p", priority=9, affinity=both))
    assert sorted(trace.victims) == (["default/q", "default/r"] if release == "1.17" else ["default/r"])


# ---- the configuration


@pytest.mark.parametrize(
    ("score", "names"),
    [
        ({}, {"NodeResourcesMostAllocated"}),
        ({"disabled": [{"name": "NodeResourcesMostAllocated"}]}, set()),
        (
            {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesLeastAllocated"}]},
            {"NodeResourcesLeastAllocated"},
        ),
    ],
)
def test_the_provider_that_packs_nodes(score: Raw, names: set[str]) -> None:
    """A configuration can disable the plugins of the provider."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "algorithmSource": {"provider": "ClusterAutoscalerProvider"},
        "plugins": {"score": score},
    }
    made = load_configuration(config, get_release("1.17"), known=known_plugins(PLUGINS))
    scores = {name for name, _ in made.profiles[0].plugins["score"]}
    assert scores & {"NodeResourcesMostAllocated", LEAST} == names
