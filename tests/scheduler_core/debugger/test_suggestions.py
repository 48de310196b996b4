"""Suggested fixes place the pod, and undoing a mistake comes first."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.suggestions.search import remedies, shortened
from scheduler_core.debugger.suggestions.steps import Remedy
from scheduler_core.explain import explain
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample
from tests.scheduler_core import build
from tests.scheduler_core.debugger.core_states import Raw, core_state, params, simulation_of_case, timeline_of_case
from tests.scheduler_core.debugger.suggestion_checks import Again, check, outcome, unplaced, unplaced_in_virtual_time

pytestmark = pytest.mark.slow


@pytest.mark.generated
@pytest.mark.parametrize("case", [*sample(params("v1.34"), 30), *sample(params("v1.27"), 30)])
def test_each_fix_is_proved_and_minimal(case: Raw) -> None:
    for trace, again in list(unplaced(simulation_of_case(case)))[:3]:
        rewound = again()
        before = core_state(rewound.cluster, set(), set())
        found = remedies(rewound, trace.pod)
        assert core_state(rewound.cluster, set(), set()) == before, "the search leaves the cluster as it is"
        # a resource that no node has enough of is the one thing that may have no fix
        assert found or "Insufficient" in trace.message, f"{trace.pod}: {trace.message}"
        check(again, trace.pod, found)


@pytest.mark.generated
@pytest.mark.parametrize("case", sample(golden_cases("time"), 20), ids=lambda case: case["name"])
def test_each_fix_in_virtual_time_is_proved_and_minimal(case: Raw) -> None:
    """The proof replays the run up to the attempt. The search uses the recording."""
    for trace, again, anew in islice(unplaced_in_virtual_time(partial(timeline_of_case, case)), 2):
        found = remedies(again(), trace.pod)
        assert found, f"{trace.pod}: {trace.message}"
        check(anew, trace.pod, found)


def node(
    name: str, cpu: str = "4", taints: tuple[tuple[str, str, str], ...] = (), ready: bool = True, **labels: str
) -> Raw:
    made = build.node(name, cpu=cpu, pods="10", taints=taints, labels=labels)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return made


def pod(name: str = "web", cpu: str = "1", on: str = "", labels: Raw | None = None, **spec: Any) -> Raw:
    return build.pod(name, requests={"cpu": cpu}, on=on, labels=labels or {"app": name}, **spec)


def suggestions(*objects: Raw, **settings: Any) -> list[Remedy]:
    """Return and check the fixes of the first unschedulable pod."""
    simulation = Simulation(list(objects), tie_break="name", **settings)
    trace: CycleTrace
    again: Again
    trace, again = next(iter(unplaced(simulation)))
    found = remedies(again(), trace.pod)
    check(again, trace.pod, found)
    return found


def near(*terms: Raw) -> Raw:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


ZONES = [node("a", zone="az1"), node("b", zone="az2"), node("c", zone="az3")]
DEDICATED = ("dedicated", "db", "NoSchedule")


def test_a_misspelt_selector_gives_the_existing_labels() -> None:
    first, second = suggestions(*ZONES, pod(nodeSelector={"zone": "ITBG-4"}))[:2]
    assert first.text.startswith("no node has zone=ITBG-4; zones are az1, az2, az3: ")
    assert second.kind == "pod"
    first = suggestions(*ZONES, pod(nodeSelector={"zone": "az-1"}))[0]
    assert first.text.endswith("select zone=az1")
    patch = {"spec": {"nodeSelector": {"zone": "az1"}}}
    assert first.changes == [{"patch": {"kind": "Pod", "namespace": "default", "name": "web", "patch": patch}}]
    assert (first.kind, first.disturbs, first.node) == ("pod", {"pods": 0, "nodes": 0}, "a")


def test_a_misspelt_key() -> None:
    assert "select zone=az1" in suggestions(*ZONES, pod(nodeSelector={"zoen": "az1"}))[0].text


def test_a_smaller_request_fits_now() -> None:
    objects = [node("a"), node("b"), pod("x", "3", "a"), pod("y", "2500m", "b"), pod(cpu="40")]
    first = suggestions(*objects)[0]
    assert first.text == "request 1.5 cpu instead of 40 (no node has more than 4), which b has left"
    assert first.node == "b"


def of_pod(found: list[Remedy]) -> list[str]:
    return [remedy.text for remedy in found if remedy.kind == "pod"]


def test_a_smaller_request_for_the_same_node_is_no_other_fix() -> None:
    objects = [node("a"), node("b"), pod("y", "1500m", "b"), pod(cpu="6")]
    assert of_pod(suggestions(*objects)) == ["request 4 cpu instead of 6 (no node has more than 4), which a has left"]


def test_memory_has_one_unit() -> None:
    wanted = pod()
    wanted["spec"]["containers"][0]["resources"] = {"requests": {"memory": "12Gi"}, "limits": {"memory": "12Gi"}}
    small = node("a")
    small["status"]["allocatable"]["memory"] = "1536Mi"
    first = suggestions(small, wanted)[0]
    assert first.text.startswith("request 1536Mi memory instead of 12288Mi (no node has more than 1536Mi), which a has")


def test_no_fix_requests_nothing() -> None:
    assert of_pod(suggestions(node("a"), pod("full", "4", "a"), pod())) == []
    sandboxed = pod(overhead={"cpu": "250m", "memory": "100Mi"})
    assert of_pod(suggestions(node("a"), pod("full", "3900m", "a"), sandboxed)) == []
    assert of_pod(suggestions(node("a"), pod("full", "5", "a"), pod(), release="1.27")) == []


def test_a_gated_pod_gets_the_verdicts_without_its_gates() -> None:
    unmatched = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [unmatched]}}
    taken = [node(f"n{i}", pool=f"{i}") for i in range(4)]
    taken += [pod(f"alone{i}", on=f"n{i}", affinity=alone) for i in range(4)]
    gated = pod(schedulingGates=[{"name": "wait"}])
    assert of_pod(suggestions(*taken, node("z", taints=(DEDICATED,)), gated)) == [
        "remove scheduling gate wait; and tolerate dedicated=db:NoSchedule"
    ]


def test_a_fix_for_one_node_is_tried_on_others() -> None:
    """After the same first change there may be another obstacle elsewhere."""
    zoned = [node("a", cpu="500m", zone="az1"), node("b", taints=(DEDICATED,), zone="az2")]
    texts = of_pod(suggestions(*zoned, pod(schedulingGates=[{"name": "wait"}])))
    assert "remove scheduling gate wait; and tolerate dedicated=db:NoSchedule" in texts
    assert "remove scheduling gate wait; and request 0.5 cpu instead of 1, which a has left" in texts


def away(*expressions: Raw) -> Raw:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": [e]}} for e in expressions]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_labels_are_not_changed_to_avoid_anti_affinity() -> None:
    only_web = away({"key": "tier", "operator": "NotIn", "values": ["web"]})
    found = suggestions(node("a"), pod("e", on="a", affinity=only_web), pod(labels={"app": "x"}))
    assert of_pod(found) == []


def test_the_best_fix_of_each_kind_is_shown_in_long_lists() -> None:
    found = [Remedy(str(i), [], "add", {}, cost=i) for i in range(9)] + [Remedy("pod", [], "pod", {}, cost=10.0)]
    assert [one.text for one in shortened(found, 3)] == ["0", "1", "pod"]
    assert [one.text for one in shortened(found, 1)] == ["0"]


def test_a_resource_on_no_node_is_a_typo() -> None:
    gpu = node("g")
    gpu["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    wanted = pod()
    wanted["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpus"] = "1"
    assert "nodes have nvidia.com/gpu: request nvidia.com/gpu" in suggestions(gpu, wanted)[0].text


def test_a_missing_toleration_is_suggested_before_removing_the_taint() -> None:
    first, second = suggestions(node("a", taints=(DEDICATED,)), pod())[:2]
    assert first.text == "tolerate dedicated=db:NoSchedule"
    assert (second.text, second.kind) == ("remove taint dedicated=db:NoSchedule from node a", "node")
    assert second.changes == [{"untaint": {"node": "a", "key": "dedicated", "effect": "NoSchedule"}}]


def test_a_cordoned_node_is_uncordoned_with_its_taint() -> None:
    cordoned = node("a", taints=(("node.kubernetes.io/unschedulable", "", "NoSchedule"),))
    cordoned["spec"]["unschedulable"] = True
    first = suggestions(cordoned, pod())[0]
    assert [next(iter(change)) for change in first.changes] == ["uncordon", "untaint"]


def test_a_broken_node_is_not_suggested() -> None:
    unreachable = ("node.kubernetes.io/unreachable", "", "NoSchedule")
    broken = node("gone", taints=(unreachable,), ready=False)
    broken["spec"]["unschedulable"] = True
    found = suggestions(broken, node("small", cpu="500m"), pod())
    assert found
    for remedy in found:
        assert "unreachable" not in remedy.text
        assert not any("uncordon" in change for change in remedy.changes)
        assert remedy.node != "gone"


def test_the_architecture_of_a_node_is_not_changed() -> None:
    arm = node("a", **{"kubernetes.io/arch": "arm64"})
    for remedy in suggestions(arm, pod(nodeSelector={"kubernetes.io/arch": "amd64"})):
        assert remedy.kind != "node"


def test_the_spread_constraint_is_relaxed_as_much_as_needed() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    constraint = spread | {"labelSelector": {"matchLabels": {"app": "web"}}}
    others = [pod(f"w{i}", "100m", "a", {"app": "web"}) for i in range(2)]
    full = pod("full", "4", "b")
    objects = [node("a", zone="az1"), node("b", zone="az2"), *others, full, pod(topologySpreadConstraints=[constraint])]
    first = suggestions(*objects)[0]
    assert "set maxSkew 3 instead of 1" in first.text


def test_an_own_constraint_replaces_the_default_ones() -> None:
    default = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    config = {"profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}]}
    service = {"kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
    found = suggestions(node("a"), service, pod(), config=config)
    assert of_pod(found)[0] == "prefer to spread over zone, which its profile requires by default"


def test_an_affinity_without_matches_gets_possible_pods() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "databse"}}}
    first, second = suggestions(*ZONES, pod("database", on="b"), pod(affinity=near(term)))[:2]
    assert first.text == "no pod with app=databse runs there: be near app=database"
    assert second.text.startswith("no pod with app=databse runs anywhere: ")


def test_the_smallest_number_of_pods_is_deleted() -> None:
    there = [pod("big", "2500m", "a"), pod("small", "500m", "a"), pod("tiny", "500m", "a")]
    evictions = [remedy for remedy in suggestions(node("a"), *there, pod(cpu="3")) if remedy.kind == "evict"]
    assert evictions[0].text == "delete pod big (on a)".replace("big", "default/big")
    assert evictions[0].disturbs == {"pods": 1, "nodes": 0}


def test_static_pods_are_not_deleted() -> None:
    static = pod("big", "2500m", "a")
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "5e8f"}
    there = [pod("small", "500m", "a"), pod("tiny", "500m", "a")]
    evictions = [
        remedy for remedy in suggestions(node("a"), static, *there, pod(cpu="1500m")) if remedy.kind == "evict"
    ]
    assert [remedy.text for remedy in evictions] == ["delete 2 pods: default/small, default/tiny (on a)"]
    assert not [remedy for remedy in suggestions(node("a"), static, pod(cpu="3")) if remedy.kind == "evict"]


def test_a_pod_does_not_run_without_its_devices() -> None:
    uses = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    uses["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    assert of_pod(suggestions(node("a"), uses)) == []


def test_gates_are_removed() -> None:
    first = suggestions(node("a"), pod(schedulingGates=[{"name": "wait"}]))[0]
    assert first.text == "remove scheduling gate wait"


@pytest.mark.parametrize("release", ["1.27", "1.34", "1.36"])
def test_plugins_that_hold_a_pod_are_not_left_out(release: str) -> None:
    found = suggestions(node("a"), pod(schedulingGates=[{"name": "example.com/hold"}]), release=release)
    assert [remedy.text for remedy in found] == ["remove scheduling gate example.com/hold"]


@pytest.mark.parametrize(
    "gate",
    [
        *("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology", "scheduling.volcano.sh/queue-allocation-gate"),
        *("grove.io/podgang-pending-creation", "multiarch.openshift.io/scheduling-gate", "ApplicationAwareQuotaGate"),
    ],
)
def test_gates_of_controllers_are_not_removed(gate: str) -> None:
    simulation = Simulation([node("a"), pod(schedulingGates=[{"name": gate}, {"name": "wait"}])], tie_break="name")
    trace = next(simulation.run())
    assert trace.result == "gated"
    assert remedies(simulation, trace.pod) == []
    waiting = simulation.pending[0]
    sentence = explain(trace, simulation, waiting).sentence
    assert f"{gate}: " in sentence
    assert " removes it when " in sentence
    assert "wait: " not in sentence


def test_a_missing_claim_is_a_typo_or_is_created() -> None:
    waiting = {"provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"}
    fast = {"kind": "StorageClass", "metadata": {"name": "fast"}, **waiting}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data-web"}, "spec": {"storageClassName": "fast"}}
    wants = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data-wbe"}}]}
    first, second = suggestions(node("a"), fast, claim, pod(**wants))[:2]
    assert first.text == "claim default/data-wbe does not exist; there is data-web: use claim data-web"
    assert second.text == "create claim default/data-wbe of class fast"
    claim["spec"] = {"storageClassName": "fsat"}
    claim["metadata"] = {"name": "data-wbe"}
    first = suggestions(node("a"), fast, claim, pod(**wants))[0]
    why = "class fsat of claim default/data-wbe does not exist; classes are fast"
    assert f"{why}: have the claim use class fast" in first.text


def test_a_placed_pod_has_no_fix_and_a_running_one_is_refused() -> None:
    simulation = Simulation([node("a"), pod()], tie_break="name")
    assert remedies(simulation, "default/web") == []
    with pytest.raises(ValueError, match="is not pending"):
        remedies(simulation, "default/missing")


def test_an_empty_cluster_has_no_fix() -> None:
    assert remedies(Simulation([pod()], tie_break="name"), "default/web") == []


def test_the_outcome_is_independent() -> None:
    _, again = next(iter(unplaced(Simulation([node("a", taints=(DEDICATED,)), pod()], tie_break="name"))))
    assert outcome(again, "default/web", []) == ""
    assert outcome(again, "default/web", [{"untaint": {"node": "a", "key": "dedicated"}}]) == "a"


def test_a_pod_of_a_daemon_set_stays_on_the_node_that_it_was_made_for() -> None:
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named]}}
    agent = pod("agent", cpu="6", affinity={"nodeAffinity": rule})
    agent["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    ]
    texts = [found.text for found in suggestions(node("n1"), node("n2", cpu="8"), agent)]
    assert texts
    assert not [text for text in texts if "n2" in text or "node affinity" in text or "metadata.name" in text], texts
