"""CapacityScheduling: quotas, what explains a rejection, and whose pods are evicted."""

from typing import Any

import msgspec
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Cause
from scheduler_core.explain.explain import explain
from scheduler_core.search.cycle_steps import cycle_data
from scheduler_core.search.provenance import Question
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.suggestions.fixes import fixes_of
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.provenance.cases import explained
from tests.scheduler_core.provenance.evaluate import problems
from tests.scheduler_core.virtual_time_runs import PlayedScenario

PLUGIN = {"enabled": [{"name": "CapacityScheduling"}]}
CONFIG = {"profiles": [{"plugins": {"multiPoint": PLUGIN, "postFilter": {"disabled": [{"name": "*"}]} | PLUGIN}}]}


def quota(namespace: str, least: Raw, most: Raw | None = None) -> Raw:
    spec = {"min": least} | ({"max": most} if most is not None else {})
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota"}
    return {**kind, "metadata": {"name": "q", "namespace": namespace}, "spec": spec}


def run(*objects: Raw) -> dict[str, CycleTrace]:
    simulation = Simulation(objects, config=CONFIG, tie_break="name")
    return {trace.pod: trace for trace in simulation.run()}


def in_a(name: str, cpu: str, **more: Any) -> Raw:
    return pod(name, namespace="a", requests={"cpu": cpu}, **more)


def test_max_limits_the_pods_of_a_namespace() -> None:
    some = quota("a", {"cpu": "8"}, {"cpu": "3", "memory": "1Gi"})
    traces = run(node("n1"), some, in_a("p1", "2"), in_a("p2", "2"), pod("free", requests={"cpu": "1"}))
    assert [trace.result for trace in traces.values()] == ["scheduled", "unschedulable", "scheduled"]
    assert traces["a/p2"].prefilter is not None
    assert traces["a/p2"].prefilter.reasons == (
        "Pod a/p2 is rejected in PreFilter because ElasticQuota a is more than Max",
    )


def test_the_answer_names_what_is_used_and_who_borrows() -> None:
    lender, borrower = quota("a", {"cpu": "4"}, {"cpu": "4"}), quota("b", {"cpu": "1"})
    taken = pod("taken", namespace="b", on="n1", requests={"cpu": "4"})
    simulation = Simulation([node("n1"), lender, borrower, taken, in_a("p1", "2")], config=CONFIG, preemption=False)
    (trace,) = simulation.run()
    text = explain(trace, simulation, simulation.to_try[0]).sentence
    assert "All quotas together guarantee 5 of cpu, of which 4 of cpu are used; the pod requests 2 of cpu." in text
    assert "More than their guarantee use: quota b." in text


def test_a_pod_within_its_guarantee_evicts_those_that_borrow() -> None:
    taken = [pod(f"t{i}", namespace="b", on="n1", requests={"cpu": "2"}, priority=9) for i in range(2)]
    traces = run(node("n1", cpu="4"), quota("a", {"cpu": "3"}), quota("b", {"cpu": "1"}), *taken, in_a("p1", "2"))
    assert traces["a/p1"].nominated_node == "n1"
    assert traces["a/p1"].victims in (["b/t0"], ["b/t1"])
    steps = cycle_data(CycleTrace.decode(traces["a/p1"].encode()))["steps"]
    assert {step["plugin"] for step in steps if step["point"] == "postfilter"} == {"CapacityScheduling"}


def test_the_answer_about_a_pod_that_evicted_counts_the_victims() -> None:
    taken = [pod(f"t{i}", namespace="b", on="n1", requests={"cpu": "2"}) for i in range(2)]
    objects = [node("n1", cpu="4"), quota("a", {"cpu": "3"}), quota("b", {"cpu": "1"}), *taken, in_a("p1", "2")]
    simulation = Simulation(objects, config=CONFIG, tie_break="name")
    before = dict(simulation.cluster.pods)
    (trace,) = simulation.run()
    evicted = [before[key] for key in trace.victims]
    texts = [explain(trace, simulation, simulation.to_try[0], victims=victims).sentence for victims in (evicted, ())]
    assert texts[0].startswith("All quotas together guarantee 4 of cpu, of which 4 of cpu are used; the pod requests 2")
    assert texts[1].startswith("All quotas together have too little of their guarantees left for the pod.")


def test_a_deleted_pod_wakes_those_that_a_quota_rejected() -> None:
    timeline = [
        {"at": 0, "create": in_a("p1", "2")},
        {"at": 1, "create": in_a("p2", "2")},
        {"at": 30, "delete": {"kind": "Pod", "name": "p1", "namespace": "a"}},
    ]
    some = quota("a", {"cpu": "3", "memory": "1Gi"})
    played = PlayedScenario(node("n1"), some, config=CONFIG, timeline=timeline, until=60)
    tried = [(r.time, r.data["result"]) for r in played.records_of("attempt") if r.data["pod"] == "a/p2"]
    assert tried == [(1, "unschedulable"), (60, "scheduled")]  # 30 s after the deletion, p1 has ended


@pytest.mark.parametrize(("most", "refused"), [({"cpu": "3"}, True), ({"cpu": "1"}, True)])
def test_the_rejection_is_explained(most: Raw | None, refused: bool) -> None:
    objects = [node("n1"), quota("a", {"cpu": "8"}, most), in_a("old", "2", on="n1"), in_a("p1", "2")]
    tree = msgspec.to_builtins(explained(objects, Question("filter", "n1", "CapacityScheduling"), config=CONFIG))
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    assert list(problems(tree, known)) == []
    assert tree["value"] is refused
    assert ("max of cpu is exceeded" in tree["text"]) is refused


def test_a_larger_quota_is_suggested() -> None:
    """More `max`, and more `min` as far as the quotas together guarantee too little."""
    some = [quota("a", {"cpu": "1"}, {"cpu": "2"}), quota("b", {"cpu": "4"})]
    old = [in_a("old", "2", on="n1"), pod("b1", namespace="b", on="n1", requests={"cpu": "2"})]
    objects = [node("n1", cpu="8"), *some, *old]
    simulation = Simulation([*objects, in_a("p1", "2")], config=CONFIG, preemption=False)
    (trace,) = simulation.run()
    (pending,) = simulation.to_try
    (fix,) = fixes_of(simulation, explain(trace, simulation, pending), [pending])
    assert (fix.text, fix.places) == ("raise max.cpu to 4 and min.cpu to 2 in ElasticQuota q", 1)
    assert fix.command.startswith("kubectl patch elasticquota q -n a --type=merge -p ")
    assert fix.patch == {"spec": {"max": {"cpu": "4"}, "min": {"cpu": "2"}}}


def test_a_nominated_pod_waits_for_a_pod_of_a_quota_that_borrowed() -> None:
    victim = pod("victim", namespace="b", on="n1", requests={"cpu": "3"}, deleted=True)
    waiting = in_a("new", "2", status={"nominatedNodeName": "n1"})
    quotas = quota("a", {"cpu": "3", "memory": "8Gi"}), quota("b", {"cpu": "1", "memory": "8Gi"})
    simulation = Simulation([node("n1"), *quotas, victim, waiting], config=CONFIG)
    last = {trace.pod: trace for trace in simulation.run()}
    (found,) = answers_of(simulation, last=last, fixes=False)
    assert found.answer.sentence == "It is nominated to n1 and waits until b/victim has ended."
    assert found.answer.cause == Cause("nominated", "CapacityScheduling", ["n1"], ["b/victim"])
