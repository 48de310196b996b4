"""Outcome of a run in one sentence, and its pods without a node by workload."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run, WorkloadAnswer
from kubesched_ui.presenters.run_answer import answer_of
from kubesched_ui.queries.answers import answers_of_run
from tests.kubesched_ui.http_api import forked
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def owned(name: str, by: str, cpu: str = "9", **spec: Any) -> dict[str, Any]:
    """Return a pod of a StatefulSet."""
    made = pod(name, cpu, **spec)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": by, "uid": by, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def sentence(name: str) -> str:
    """Return the sentence about a pod that the newest run stored."""
    return WorkloadAnswer.objects.filter(pod=f"default/{name}").order_by("-run_id")[0].sentence


def test_one_workload_is_explained_in_the_sentence() -> None:
    answer = answer_of(ran(scenario(node("n1"), pod("fits"), *(owned(f"cache-{i}", "cache") for i in range(3)))))

    assert answer.sentence == (f"1 of 4 pending pods placed; 3 of StatefulSet default/cache not: {sentence('cache-0')}")
    assert answer.alone
    assert answer.workloads[0].groups[0].pods[0].key == "default/cache-0"
    none = answer_of(ran(scenario(node("n1"), *(owned(f"cache-{i}", "cache") for i in range(2)))))
    assert none.sentence == f"None of 2 pending pods placed, all of StatefulSet default/cache: {sentence('cache-0')}"


def test_several_workloads_are_counted_and_listed() -> None:
    many = [owned(f"{by}-{i}", by) for by, number in (("b", 2), ("a", 3)) for i in range(number)]
    gated = pod("gated", schedulingGates=[{"name": "wait"}])
    run = ran(scenario(node("n1"), pod("fits"), gated, *many))
    answer = answer_of(run)
    assert answer.sentence == (
        "1 of 7 pending pods placed; 6 not: 3 of StatefulSet default/a, 2 of StatefulSet default/b and "
        "Pod default/gated."
    )
    assert [(workload.text, workload.count) for workload in answer.listed] == [
        ("StatefulSet default/a", 3),
        ("StatefulSet default/b", 2),
        ("Pod default/gated", 1),
    ]
    first = answer.listed[0].groups[0]
    assert [one.key for one in first.pods] == ["default/a-0", "default/a-1", "default/a-2"]
    assert all(one.cycle for one in first.pods)
    assert first.at == min(one.cycle for one in first.pods)
    assert first.sentence == sentence("a-0")
    assert answer.pending == 6


def test_further_workloads_are_counted_together() -> None:
    answer = answer_of(ran(scenario(node("n1"), *(owned(f"w{i}", f"w{i}") for i in range(6)))))
    assert answer.sentence.endswith("1 of StatefulSet default/w2 and 3 of 3 other workloads.")


def test_all_pods_no_pod_and_one_pod() -> None:
    assert answer_of(ran(scenario(node("n1"), pod("a"), pod("b")))).sentence == "All 2 pending pods placed."
    assert answer_of(ran(scenario(node("n1"), pod("a")))).sentence == "1 pending pod placed."
    alone = ran(scenario(node("n1"), pod("a", "9")))
    assert answer_of(alone).sentence == f"The pending pod has no node: {sentence('a')}"
    assert answer_of(ran(scenario(node("n1")))).sentence == "No pod was scheduled."


def test_equal_pods_without_a_controller_share_an_answer() -> None:
    run = ran(scenario(node("n1"), pod("fits"), pod("a", "9"), pod("b", "9")))
    assert answer_of(run).sentence == f"1 of 3 pending pods placed; 2 pods like default/a not: {sentence('a')}"
    one = ran(scenario(node("n1"), pod("fits"), pod("a", "9")))
    assert answer_of(one).sentence == f"1 of 2 pending pods placed; Pod default/a not: {sentence('a')}"


def test_an_active_run_has_counts_without_reasons() -> None:
    run = ran(scenario(node("n1"), pod("fits"), pod("a", "9"), pod("b", "9")))
    run.state, run.cycles_total = Run.State.RUNNING, 7
    answer = answer_of(run)
    assert answer.sentence == "1 of 7 pending pods placed, 2 pending so far."
    assert not answer.workloads


def test_pods_that_are_not_explained_yet_are_counted() -> None:
    run = ran(scenario(node("n1"), pod("fits"), pod("a", "9"), pod("b", "8")))
    WorkloadAnswer.objects.filter(pod="default/a").delete()
    answer = answer_of(run)
    assert (answer.sentence, answer.unexplained) == ("1 of 3 pending pods placed; 2 not.", 1)
    assert answer.incomplete


def test_a_nominated_pod_and_its_victim() -> None:
    victim = pod("victim", "4", nodeName="n1", priority=0) | {"status": {"phase": "Running"}}
    answer = answer_of(ran(scenario(node("n1"), victim, pod("boss", "4", priority=10))))
    assert answer.workloads[0].groups[0].pods[0].nominated == "n1"
    assert answer.sentence.endswith(" 1 running pod was evicted.")


def test_each_workload_has_its_fix_and_what_helps_several_is_listed_once(client: Client) -> None:
    cordoned = node("big", cpu="32") | {"spec": {"unschedulable": True}}
    run = ran(scenario(node("n1"), cordoned, *(owned(f"{by}-0", by) for by in "ab"), owned("ssd-0", "ssd", "1",
              nodeSelector={"disk": "ssd"})))  # fmt: skip
    assert answer_of(run).incomplete
    answers_of_run(run, fixes=True)
    run.refresh_from_db()
    answer = answer_of(run)
    assert not answer.incomplete
    assert answer.fixes is not None
    (uncordon,) = (fix for fix in answer.fixes if fix.fix["kind"] == "uncordon")
    assert (uncordon.fix["command"], uncordon.fix["places"]) == ("kubectl uncordon big", 2)
    shown = {workload.name: workload.groups[0].more_fixes for workload in answer.listed}
    assert uncordon.key not in {fix.key for fixes in shown.values() for fix in fixes}
    page = source(client, f"/runs/{run.pk}/")
    assert page.count("kubectl uncordon big") == 1
    own = [fix for fixes in shown.values() for fix in fixes]
    assert page.count("Prove it") == sum(bool(fix.fix["changes"]) for fix in [*answer.fixes, *own])


def test_a_fork_with_the_changes_of_a_fix_places_what_it_says(client: Client) -> None:
    tainted = node("big", cpu="32") | {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}
    run = ran(scenario(node("n1"), tainted, pod("fits"), *(owned(f"cache-{i}", "cache", "9") for i in range(3))))
    answers_of_run(run, fixes=True)
    fix = (answer_of(Run.objects.get(pk=run.pk)).fixes or [])[0]
    assert (fix.fix["kind"], fix.fix["places"], fix.at) == ("toleration", 3, 2)
    fork = forked(client, run, at=fix.at, changes=fix.fix["changes"])
    nodes = fork.pod_results.filter(name__startswith="cache").values_list("node", flat=True)
    assert list(nodes) == ["big"] * 3
