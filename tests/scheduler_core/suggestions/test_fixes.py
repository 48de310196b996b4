"""Suggested fixes for the workloads of planted causes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.answer import Answer, Cause, Fix, PendingWorkload
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.suggestions.fixes import fixes_of, ranked_over
from tests import kubernetes_tools
from tests.examples import selection
from tests.scheduler_core import build
from tests.scheduler_core.explain.planted.case import Case, faults
from tests.scheduler_core.explain.planted.causes import CAUSES, planted
from tests.scheduler_core.explain.planted.commands import settled
from tests.scheduler_core.suggestions.applied_commands import applied, placed, placed_with

WITHOUT_FIX = ("nominated", "no_nodes", "only_control_plane")


def at_rest(case: Case) -> tuple[Simulation, list[PodInfo]]:
    """Return the cluster at the end of a run, and the pods that are pending."""
    simulation = Simulation(case.objects, release="1.34", preemption=False)
    for _ in simulation.run():
        pass
    return simulation, [pod for pod in simulation.pending if pod.key in case.pods and not pod.node]


def fixes(case: Case) -> list[Fix]:
    simulation, pods = at_rest(case)
    cause = Cause(case.kinds[0], nodes=sorted(case.near or ()))
    return fixes_of(simulation, Answer(case.pods[0], "unschedulable", "", cause=cause), pods)


@pytest.mark.parametrize("name", CAUSES)
def test_first_fix_agrees_with_the_cause(name: str) -> None:
    case = planted(name, 2)
    found = fixes(case)
    document = {"cause": {"kind": case.kinds[0], "nodes": sorted(case.near or ())}, "fixes": found}
    assert bool(found) == (name not in WITHOUT_FIX)
    wrong = faults(case, msgspec.to_builtins(document))
    wrong.pop("sentence", "")
    assert not wrong


@pytest.mark.parametrize("name", selection(CAUSES, 2))
def test_the_cluster_stays_as_it_was(name: str) -> None:
    case = planted(name, 3)
    simulation, pods = at_rest(case)
    cluster = simulation.cluster

    def state() -> object:
        nodes = [(node.name, node.spec, node.status) for node in cluster.nodes.nodes]
        placed = [(pod.key, pod.node) for pod in cluster.pods.values()]
        waiting = [(pod.key, pod.pod) for pod in simulation.pending]
        requested = {name: column.tolist() for name, column in cluster.nodes.requested.items()}
        return nodes, placed, waiting, requested, list(cluster.others())

    before = state()
    cause = Cause(case.kinds[0], nodes=sorted(case.near or ()))
    fixes_of(simulation, Answer(case.pods[0], "unschedulable", "", cause=cause), pods)
    assert state() == before


@pytest.mark.parametrize("name", selection(CAUSES, 2))
def test_changes_place_what_the_fix_says(name: str) -> None:
    case = planted(name, 4)
    for fix in fixes(case):
        assert fix.of == len(case.pods)
        number = placed_with(case.objects, fix.changes, case.pods)
        assert number == fix.places or (fix.places == 0 and fix.command.startswith("kubectl describe")), fix.text


@pytest.mark.parametrize(
    "release",
    [pytest.param(one, marks=() if one == "1.32" else pytest.mark.long) for one in kubernetes_tools.KUBECTL_RELEASES],
)
@pytest.mark.parametrize("name", selection(CAUSES, 4))
def test_command_does_what_was_simulated(name: str, release: str, tmp_path: Path) -> None:
    kubectl = kubernetes_tools.kubectl(release)
    case = planted(name, 1)
    for fix in fixes(case):
        if fix.command:
            after = applied(fix.command, case.objects, kubectl, tmp_path)
            after = settled(case.objects, after, case.pods, fix.remark)
            assert placed(after, case.pods) == fix.places, fix.command


def test_fixes_are_ranked_over_workloads() -> None:
    """One uncordon places the pods of two workloads; a toleration those of one."""
    taint = (("team", "red", "NoSchedule"),)
    nodes = [build.node("a", unschedulable=True), build.node("b", taints=taint, labels={"pool": "red"}, cpu="1")]
    waiting = [
        build.pod(f"web-{i}", requests={"cpu": "1"}, nodeSelector={"kubernetes.io/hostname": "a"}) for i in (0, 1)
    ]
    waiting.append(build.pod("red", requests={"cpu": "1"}, nodeSelector={"pool": "red"}))
    simulation = Simulation([*nodes, *waiting], release="1.34", pods=[])
    found = [
        (group.answer.fixes, [pod for pod in simulation.pending if pod.key in group.pods])
        for group in answers_of(simulation)
    ]
    best = ranked_over(simulation, found)
    assert [(fix.kind, fix.places, fix.of) for fix in best] == [("uncordon", 2, 3), ("toleration", 1, 1)]
    assert best[0].command == "kubectl uncordon a"


def test_equal_pods_without_a_controller_are_one_workload() -> None:
    """The number of nodes is for all of them, not for the first."""
    jobs = [build.pod(f"job-{i}", requests={"cpu": "2"}) for i in range(8)]
    simulation = Simulation([build.node("n", cpu="4", unschedulable=True), *jobs], release="1.34", pods=[])
    (group,) = answers_of(simulation)
    assert group.answer.workload == PendingWorkload("Pod", "default", "job-0", 8)
    assert len(group.pods) == 8
    found = {
        fix.text: (fix.places, fix.of) for fix in ranked_over(simulation, [(group.answer.fixes, simulation.pending)])
    }
    assert found["uncordon n"] == (2, 8)
    full = Simulation(
        [build.node("n", cpu="4"), build.pod("big", on="n", requests={"cpu": "4"}), *jobs], release="1.34"
    )
    (group,) = answers_of(full)
    assert [(fix.text, fix.places) for fix in group.answer.fixes] == [("add 4 nodes (4 cpu, 8Gi memory)", 8)]


def test_nodes_of_another_architecture_are_added() -> None:
    """The images may not run on the nodes that there are, so the selector is not made a preference."""
    first, second = fixes(planted("another_architecture", 1))
    assert first.text.startswith("select kubernetes.io/arch=amd64 (no node has kubernetes.io/arch=arm64")
    assert first.remark.startswith("only if its images are built for it")
    assert second.text.startswith("add 1 node with kubernetes.io/arch=arm64 in ")
    assert second.places == second.of == 2
