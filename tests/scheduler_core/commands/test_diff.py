"""`python -m scheduler_core diff`: comparison of two runs."""

from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import PREEMPTION, Cli

PACK = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score: {disabled: [{name: NodeResourcesBalancedAllocation}]}
"""
OBJECTS = [node("n1"), node("n2"), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(3))]


def test_the_same_file_twice(cli: Cli) -> None:
    assert cli.out("diff", cli.snapshot(node("n1"), pod("p"))) == "The pod has the same outcome.\n"


def test_another_configuration(cli: Cli) -> None:
    options = ["diff", cli.snapshot(*OBJECTS), "--to-config", cli.file("pack.yaml", PACK)]
    found = cli.json(*options, code=1)
    assert found["summary"]["moved"] == 1
    assert found["divergence"]["cycle"] == 2
    moved = next(entry for entry in found["pods"] if entry["change"] == "moved")
    assert (moved["pod"], moved["a"]["node"], moved["b"]["node"]) == ("default/p1", "n2", "n1")
    assert {(moved["first"][key]) for key in ("point", "part", "plugin")} == {"score", "raw", "NodeResourcesFit"}
    assert {setting["path"] for setting in found["settings"]} >= {"config.args.NodeResourcesFit.scoringStrategy.type"}
    lines = cli.out(*options, "--pod", "default/p1", code=1).splitlines()
    assert any(line.startswith("≠  score") and "NodeResourcesBalancedAllocation weighted" in line for line in lines)
    assert any(line.startswith("≠  select") and "n2" in line and "n1" in line for line in lines)


def test_two_files_and_virtual_time(cli: Cli) -> None:
    one, other = cli.snapshot(node("n1"), pod("p")), cli.snapshot(node("n2"), pod("p"), name="b.json")
    text = cli.out("diff", one, other, code=1)
    assert "Node n1: is there → nothing" in text
    assert "p  moved  n1" in text
    assert cli.out("diff", PREEMPTION).startswith("All ")
    assert cli.error("diff", PREEMPTION, "--pod", "x/y")


def test_fork(cli: Cli) -> None:
    fork = ["fork", cli.snapshot(*OBJECTS)]
    found = cli.json(*fork, "--at", "2", "--change", '{"cordon": "n2"}', code=1)
    assert found["summary"]["moved"] == 1
    assert (found["divergence"]["cycle"], found["divergence"]["plugin"]) == (2, "NodeUnschedulable")
    assert cli.out(*fork, "--at", "4", "--change", '{"cordon": "n2"}').startswith("All 3 pods")
    assert cli.out(*fork, "--at", "1", "--to-release", "1.27").startswith("All 3 pods")
    assert cli.out("fork", PREEMPTION, "--t", "1.5", "--to-seed", "9")
    for wrong in (
        [],
        ["--at", "9"],
        ["--t", "1"],
        ["--at", "1", "--change", "{"],
        ["--at", "1", "--change", '{"x": 1}'],
    ):
        assert cli.error(*fork, *wrong)
