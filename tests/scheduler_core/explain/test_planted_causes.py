"""Answers to planted causes name the cause, its nodes and the right first fix, and commands do what they say."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.clusters import CLUSTERS
from tests.examples import at_least
from tests.kubernetes_tools import KUBECTL_RELEASES, kubectl
from tests.scheduler_core.explain.planted.answers import explained
from tests.scheduler_core.explain.planted.case import Case, faults
from tests.scheduler_core.explain.planted.causes import CAUSES, cases, planted
from tests.scheduler_core.explain.planted.commands import placed_with
from tests.scheduler_core.explain.planted.real_faults import faults as real_faults

LEAST = 0.95
# All forms: patch, replacement of a Job or Pod, several objects, create, uncordon, JSON patch.
WITH_COMMANDS = ("untolerated_taint", "request_exceeds", "cordoned_and_tainted", "gated", "storage_class_missing")


@pytest.mark.parametrize("name", CAUSES)
def test_an_answer_is_right(name: str) -> None:
    case = planted(name, 1)
    assert planted(name, 1).objects == case.objects
    found = explained(case.objects)
    assert {found[pod]["result"] for pod in case.pods} <= {"unschedulable", "gated", "error"}
    assert faults(case, found[case.pods[0]]) == {}, found[case.pods[0]]["sentence"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_a_command_places_what_its_fix_says(name: str) -> None:
    _check_commands(planted(name, 1), "1.32")


@pytest.mark.long
@pytest.mark.parametrize("release", KUBECTL_RELEASES)
@pytest.mark.parametrize("name", CAUSES)
def test_every_command_places_what_its_fix_says(name: str, release: str) -> None:
    for seed in range(100, 103):
        _check_commands(planted(name, seed), release)


def _check_commands(case: Case, release: str) -> None:
    for fix in explained(case.objects)[case.pods[0]].get("fixes", []):
        if fix["command"]:
            placed = placed_with(case.objects, case.pods, fix, kubectl(release))
            assert len(placed) == fix["places"], f"{case.name}: {fix['text']}\n{fix['command']}"


@pytest.mark.long
def test_most_answers_are_right() -> None:
    wrong, number = [], 0
    for case in cases(range(200, 208)):
        number += 1
        answer = explained(case.objects).get(case.pods[0])
        found = faults(case, answer)
        if found:
            wrong.append(f"{case.name}: {found}: {(answer or {}).get('sentence')}")
    assert number >= 500
    assert len(wrong) <= (1 - LEAST) * number, "\n".join(wrong)


@pytest.mark.long
def test_faults_in_real_clusters_are_named() -> None:
    wrong, number = [], at_least(85)
    for fault in islice(real_faults(CLUSTERS, seed=11), number):
        answer = explained(fault.objects, "--pod", fault.pod)[fault.pod]
        if answer["cause"]["kind"] not in fault.kinds:
            wrong.append(f"{fault.cluster} {fault.pod}: {fault.name}: {answer['sentence']}")
    assert len(wrong) <= (1 - LEAST) * number, "\n".join(wrong)
