"""Outcome of a run in one sentence, and its pending pods by cause."""

from typing import Any

import pytest

from kubesched_ui.models import Run
from kubesched_ui.presenters import run_answer
from kubesched_ui.presenters.run_answer import answer_of, cause_of
from scheduler_core.cluster.formatting import agree
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def entry(plugin: str, reason: str, nodes: int) -> dict[str, Any]:
    return {"plugin": plugin, "reason": reason, "nodes": nodes}


NOT_MATCHED = "have a node selector or affinity that no node matches"
NOT_FOUND = 'persistentvolumeclaim "x" not found'
AFFINITY = entry("NodeAffinity", "node(s) didn't match Pod's node affinity/selector", 5)
TAINT = entry("TaintToleration", "node(s) had untolerated taint {a: b}", 3)
CPU, MEMORY = (entry("NodeResourcesFit", f"Insufficient {name}", 2) for name in ("cpu", "memory"))


def test_the_sentence_names_placed_pods_and_the_causes_of_all_others() -> None:
    small, large = (pod(name, cpu) for name, cpu in (("small", "1"), ("large", "9")))
    other = pod("other", nodeSelector={"disk": "ssd"})
    gated = pod("gated", schedulingGates=[{"name": "wait"}])
    answer = answer_of(ran(scenario(node("n1"), small, large, pod("huge", "99"), other, gated)))
    assert answer.sentence == (
        "1 of 5 pending pods placed; 4 not: 2 lack cpu, 1 has a node selector or affinity that no node matches, "
        "1 has scheduling gates."
    )
    assert [[pod.key for pod in cause.pods] for cause in answer.causes] == [
        ["default/large", "default/huge"],
        ["default/other"],
        ["default/gated"],
    ]
    assert all(pod.cycle for cause in answer.causes for pod in cause.pods)
    assert answer.pending == 4
    assert answer.first == answer.causes[0].pods[0]
    assert ("NodeResourcesFit", "Insufficient cpu", 2) in answer.reasons


def test_all_pods_no_pod_and_one_pod() -> None:
    assert answer_of(ran(scenario(node("n1"), pod("a"), pod("b")))).sentence == "All 2 pending pods placed."
    assert answer_of(ran(scenario(node("n1"), pod("a")))).sentence == "1 pending pod placed."
    alone = ran(scenario(node("n1"), pod("a", "9")))
    assert answer_of(alone).sentence == "The pending pod is not placed: it lacks cpu."
    none = ran(scenario(node("n1"), pod("a", "9"), pod("b", "9")))
    assert answer_of(none).sentence == "None of 2 pending pods placed: 2 lack cpu."
    assert answer_of(ran(scenario(node("n1")))).sentence == "No pod was scheduled."
    none.state = Run.State.RUNNING
    none.cycles_total = 7
    assert answer_of(none).sentence == "None of 7 pending pods placed so far: 2 lack cpu."


def test_a_nominated_pod_waits_and_lacks_nothing() -> None:
    victim = pod("victim", "4", nodeName="n1", priority=0) | {"status": {"phase": "Running"}}
    answer = answer_of(ran(scenario(node("n1"), victim, pod("boss", "4", priority=10))))
    (cause,) = answer.causes
    assert (cause.text, cause.pods[0].nominated) == ("1 waits for pods to be evicted", "n1")
    assert answer.sentence == ("The pending pod is not placed: it waits for pods to be evicted; 1 running pod evicted.")


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ([AFFINITY], NOT_MATCHED),
        ([AFFINITY, TAINT], "have a node selector or affinity that no available node matches"),
        ([AFFINITY, TAINT, CPU], "lack cpu"),
        ([CPU, MEMORY], "lack cpu and memory"),
        ([CPU, MEMORY | {"nodes": 3}], "lack memory"),
        ([entry("NodeResourcesFit", "Too many pods", 1)], "lack a free pod slot"),
        ([TAINT], "do not tolerate a taint of each node"),
        ([entry("Mine", "no", 4)], "are refused by Mine"),
        ([entry("VolumeBinding", NOT_FOUND, 0)], f"are refused by VolumeBinding ({NOT_FOUND})"),
        ([entry("GeneralPredicates", "node(s) didn't match node selector", 4)], NOT_MATCHED),
        ([entry("GeneralPredicates", "Insufficient cpu", 4)], "lack cpu"),
        ([], "have no feasible node"),
    ],
)  # fmt: skip
def test_the_main_cause(reasons: list[dict[str, Any]], words: str) -> None:
    assert cause_of("unschedulable", reasons) == words


def test_every_cause_has_a_singular() -> None:
    for words in (*run_answer.STATIC.values(), *run_answer.OTHER_PLUGINS.values(), run_answer.GATED, run_answer.FAILED):
        assert agree(1, words).split()[0] in {"has", "does", "is", "lacks", "needs", "finds", "names"}, words
