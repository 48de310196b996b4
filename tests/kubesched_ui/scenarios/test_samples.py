"""Sample scenarios: each one runs and shows what its text says."""

from typing import Any

import pytest

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import services
from kubesched_ui.scenarios.samples import FOLDER, load_samples
from kubesched_ui.scenarios.virtual_time import document
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.releases.feature_gates import with_gates
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM
from scheduler_core.snapshot.prepare import prepare
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario_run import ScenarioRun

RELEASE = get_release(NEWEST)
FILES = sorted(FOLDER.glob("*.yaml"))
# Pod -> node, "" for pods that stay pending. Ties go to the first node by name.
EXPECTED = {
    "01-fit": {"small": "n3", "medium": "n3", "large": ""},
    "02-node-affinity": {"database": "fast-3", "batch": "slow-2", "typo": ""},
    "03-taints": {"plain": "open", "training": "gpu", "agent": "control"},
    "04-zone-spread": {"shop-2": "c1", "shop-3": "a2", "shop-4": "b2", "shop-5": ""},
    "05-anti-affinity-deadlock": {"web-new-1": "", "other": ""},
    "06-host-ports": {"ingress-3": "n3", "ingress-4": "", "dns-b": "n1", "dns-all": ""},
    "07-volume-zone": {"ledger-0": "b2", "archive-0": "", "fresh-0": "a1", "lost-0": ""},
    "08-image-locality": {"model-0": "n2", "web-0": "n1", "model-1": "n2", "model-2": "n2"},
    "09-bin-packing": {f"job-{i}": "n1" if i < 5 else "n2" for i in range(1, 9)},
    "10-preemption": {"urgent": "", "patient": ""},
    "11-gates": {"free": "n1", "quota": "", "two-gates": ""},
    "12-pod-affinity": {
        "front-0": "b2", "front-1": "b3", "front-2": "b1", "group-0": "a1", "group-1": "a2", "orphan": "",
    },
    "19-devices": {"train": "gpu-b", "notebook": "gpu-b", "report": "gpu-a", "huge": "", "any": "gpu-c"},
    "20-pod-group": {
        "render-0": "n1", "render-1": "n2", "render-2": "n3", "train-0": "", "train-1": "", "train-2": "",
        "train-3": "", "pair-0": "n3", "pair-1": "n3", "web-0": "n1", "web-1": "",
    },
    "27-numa-alignment": {"solver": "", "worker": "n1", "script": "n2"},
    "28-elastic-quotas": {"train-3": "", "checkout": "", "report": "n1"},
    "29-network-costs": {"front": "e1", "cart": "e1", "other": "u1"},
}  # fmt: skip
GATES = {"20-pod-group": dict.fromkeys(("GenericWorkload", "TopologyAwareWorkloadScheduling"), True)}

# Samples of older releases: the outcome there, and in the newest release.
THEN = {
    "21-predicates": ("1.16", {"web": "n5", "batch": ""}, {"web": "n5", "batch": ""}),
    "22-map-and-reduce": ("1.16", {"web-3": "n1"}, {"web-3": "n1"}),
    "23-policy": ("1.16", {"web-new": "n3"}, {"web-new": "n1"}),
    "24-preemption-then": ("1.16", {"urgent": ""}, {"urgent": ""}),
    "25-selector-spread": ("1.16", {"web-4": "n3", "alone": "n1"}, {"web-4": "n2", "alone": "n1"}),
    "26-avoid-pods": (
        "1.16",
        {"web-1": "n2", "other": "n1", "web-2": "n1"},
        {"web-1": "n1", "other": "n1", "web-2": "n1"},
    ),
}

# Samples in virtual time: pod -> second at which it is bound.
IN_TIME = {
    "13-queue": {"gated": 215.586},
    "14-backoff": {"unlucky": 41.1},
    "15-hints": {"ssd": 20, "alone": 30},
    "16-preemption-in-time": {"king": 50},
    "17-taint-eviction": {"impatient": 0, "faithful": 0},
    "18-gang": {"other-0": 30, "training-0": 100, "training-1": 100, "training-2": 100},
}


def sample(name: str) -> IngestResult:
    path = FOLDER / f"{name}.yaml"
    return ingest_files([(path.name, path)])


def test_every_sample_has_a_test() -> None:
    assert [path.stem for path in FILES] == sorted([*EXPECTED, *THEN, *IN_TIME])
    results = [sample(path.stem) for path in FILES]
    assert len({result.name for result in results}) == len(FILES)
    for result in results:
        assert (result.warnings, dict(result.unknown), dict(result.dropped)) == ([], {}, {}), result.name
        assert len(result.description) > 200, result.name


@pytest.mark.parametrize("name", EXPECTED)
def test_sample(name: str) -> None:
    result = sample(name)
    release = with_gates(RELEASE, GATES.get(name, {}))
    prepared = prepare(result.objects, release=release, schedulers=("default-scheduler",), choices=AS_UPSTREAM)
    run = Simulation(prepared.objects, release=release, config=result.config or None, tie_break="name").run()
    found = {trace.pod.partition("/")[2]: trace.node if trace.result == "scheduled" else "" for trace in run}
    assert found == EXPECTED[name]


@pytest.mark.django_db
def test_runs_of_a_sample_have_the_required_gates() -> None:
    load_samples()
    for name, gates in GATES.items():
        scenario = Scenario.objects.get(name=sample(name).name)
        assert services.defaults(scenario)["release"] == with_gates(RELEASE, gates).name


@pytest.mark.parametrize("name", THEN)
def test_sample_of_an_older_release(name: str) -> None:
    release, then, now = THEN[name]
    assert get_release(sample(name).kubernetes).name == release
    assert {pod: trace.node for pod, trace in decided(name, release).items()} == then
    assert {pod: trace.node for pod, trace in decided(name, NEWEST).items()} == now


def decided(name: str, release: str) -> dict[str, CycleTrace]:
    """Return pod -> cycle. The configuration is used if the release can read it."""
    result, its = sample(name), get_release(release)
    prepared = prepare(result.objects, release=its, schedulers=("default-scheduler",), choices=AS_UPSTREAM)
    config = result.config if release == result.kubernetes else ""
    run = Simulation(prepared.objects, release=its, config=config or None, tie_break="name", preemption=True).run()
    return {trace.pod.partition("/")[2]: trace for trace in run}


def reasons(name: str, release: str, pod: str) -> dict[str, tuple[str, ...]]:
    trace = decided(name, release)[pod]
    nodes = [obj["metadata"]["name"] for obj in sample(name).objects if obj["kind"] == "Node"]
    statuses = {node: trace.status_at(row) for row, node in enumerate(nodes)}
    return {node: (status.plugin, *status.reasons) for node, status in statuses.items() if status}


def test_predicates_run_in_their_order() -> None:
    assert reasons("21-predicates", "1.16", "web") == {
        "n1": ("CheckNodeUnschedulable", "node(s) were unschedulable"),
        "n2": ("GeneralPredicates", "Insufficient cpu", "Insufficient memory"),
        "n3": ("PodToleratesNodeTaints", "node(s) had taints that the pod didn't tolerate"),
        "n4": (
            "MatchInterPodAffinity",
            "node(s) didn't match pod affinity/anti-affinity",
            "node(s) didn't match pod anti-affinity rules",
        ),
    }
    n2 = ("GeneralPredicates", "Insufficient cpu", "Insufficient memory", "node(s) didn't match node selector")
    assert reasons("21-predicates", "1.16", "batch")["n2"] == n2
    assert reasons("21-predicates", NEWEST, "web")["n2"] == ("TaintToleration", "node(s) had untolerated taint(s)")


def test_map_and_reduce_have_the_described_scores() -> None:
    """The numbers of the description for n1, n2 and n3."""
    scores = decided("22-map-and-reduce", "1.16")["web-3"].scores
    described = {name: (score.raw.tolist(), score.normalized.tolist(), score.weight) for name, score in scores.items()}
    assert described["LeastRequestedPriority"] == ([4, 4, 6], [4, 4, 6], 1)
    assert described["NodeAffinityPriority"] == ([100, 20, 0], [10, 2, 0], 1)
    assert described["TaintTolerationPriority"] == ([0, 1, 0], [10, 0, 10], 1)
    assert described["SelectorSpreadPriority"] == ([0, 0, 2], [10, 10, 0], 1)
    assert described["NodePreferAvoidPodsPriority"] == ([10] * 3, [10] * 3, 10000)


def test_predicates_missing_in_a_policy_do_not_run() -> None:
    assert reasons("23-policy", "1.16", "web-new") == {
        "n1": ("CheckNodeLabelPresence", "node(s) didn't have the requested labels"),
        "n4": ("PodToleratesNodeTaints", "node(s) had taints that the pod didn't tolerate"),
    }


@pytest.mark.parametrize(("release", "node"), [("1.16", "n1"), ("1.22", "n2"), ("1.34", "n2"), (NEWEST, "n2")])
def test_disruption_budgets_are_decremented(release: str, node: str) -> None:
    assert decided("24-preemption-then", release)["urgent"].nominated_node == node


def records(name: str, **spec: Any) -> list[Record]:
    """Return the records of a sample in virtual time. `spec`: changed fields of the Scenario."""
    result = sample(name)
    scenario = document(result.time or {"until": 600}, **({"config": result.config} if result.config else {}) | spec)
    scenario.spec.objects = result.objects
    return list(ScenarioRun(scenario).run())


def of_kind(found: list[Record], kind: str, pod: str = "") -> list[Record]:
    return [r for r in found if r.kind == kind and (not pod or r.data["pod"] == f"default/{pod}")]


@pytest.mark.parametrize("name", IN_TIME)
def test_sample_in_virtual_time(name: str) -> None:
    found = records(name)
    bound = {pod: [round(r.time, 3) for r in of_kind(found, "pod.bound", pod)] for pod in IN_TIME[name]}
    assert bound == {pod: [t] for pod, t in IN_TIME[name].items()}
    assert not of_kind(found, "warning")


def test_backoff_grows_to_ten_seconds() -> None:
    failed = of_kind(records("14-backoff"), "bind.failed", "unlucky")
    assert [round(r.time, 1) for r in failed] == [0.1, 2.1, 5.1, 10.1, 19.1, 30.1]


def test_queueing_hints_wake_one_pod_and_the_old_release_wakes_all() -> None:
    now = [(r.time, r.data["pod"]) for r in of_kind(records("15-hints"), "attempt") if r.time]
    assert now == [(20, "default/ssd"), (30, "default/alone")]
    before = of_kind(records("15-hints", kubernetes="1.27"), "attempt", "alone")
    assert [r.time for r in before] == [0, 10, 15, 20, 30]


def test_a_higher_priority_pod_takes_the_freed_node() -> None:
    found = records("16-preemption-in-time")
    (eviction,) = of_kind(found, "pod.evicted")
    assert (eviction.time, eviction.data["by"]) == (10, "default/boss")
    assert [r.time for r in of_kind(found, "pod.deleted", "worker")] == [50]
    assert not of_kind(found, "pod.bound", "boss")


def test_each_pod_is_evicted_when_its_toleration_ends() -> None:
    left = {
        r.data["pod"].split("/")[1].split("-")[0]: r.time for r in of_kind(records("17-taint-eviction"), "pod.evicted")
    }
    assert left == {"impatient": 90, "site": 360}


def test_preemption_continues_in_virtual_time() -> None:
    found = records("10-preemption")
    assert [(r.time, r.data["node"]) for r in of_kind(found, "pod.bound", "urgent")] == [(30, "n3")]
    assert [r.data["result"] for r in of_kind(found, "attempt", "urgent")] == ["unschedulable", "scheduled"]
    assert not of_kind(found, "pod.bound", "patient")


def test_the_configuration_packs_nodes() -> None:
    run = Simulation(sample("09-bin-packing").objects, tie_break="name").run()
    assert {trace.node for trace in run} == {"n2", "n3", "n4"}  # n1 is the fullest


def test_preemption_selects_the_cheapest_node() -> None:
    urgent, patient = Simulation(sample("10-preemption").objects, tie_break="name").run()
    assert (urgent.nominated_node, sorted(urgent.victims)) == ("n3", ["default/scan-0", "default/scan-1"])
    assert patient.nominated_node == ""


@pytest.mark.django_db
def test_a_changed_sample_replaces_the_stored_one_unless_it_has_runs() -> None:
    assert load_samples() == (len(FILES), len(FILES))
    unused, used = Scenario.objects.filter(origin="sample")[:2]
    Run.objects.create(scenario=used)
    Scenario.objects.filter(pk__in=[unused.pk, used.pk]).update(description="older")
    assert load_samples() == (len(FILES), 2)
    assert not Scenario.objects.filter(pk=unused.pk).exists()
    assert Scenario.objects.filter(pk=used.pk).exists()
    assert load_samples() == (len(FILES), 0)
