"""`python -m scheduler_core diff`: two runs of files side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.test_query import PREEMPTION, asked, said, snapshot

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


def test_the_same_file_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, node("n1"), pod("p"))
    assert said(capsys, "diff", file) == "The pod has the same outcome.\n"


def test_another_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, node("n1"), node("n2"), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(3)))
    config = tmp_path / "pack.yaml"
    config.write_text(PACK)
    told = asked(capsys, "diff", file, "--to-config", str(config), code=1)
    assert told["summary"]["moved"] == 1
    assert told["divergence"]["cycle"] == 2
    moved = next(entry for entry in told["pods"] if entry["change"] == "moved")
    assert (moved["pod"], moved["a"]["node"], moved["b"]["node"]) == ("default/p1", "n2", "n1")
    assert {(moved["first"][key]) for key in ("point", "part", "plugin")} == {"score", "raw", "NodeResourcesFit"}
    assert {setting["path"] for setting in told["settings"]} >= {"config.args.NodeResourcesFit.scoringStrategy.type"}
    lines = said(capsys, "diff", file, "--to-config", str(config), "--pod", "default/p1", code=1).splitlines()
    assert any(line.startswith("≠  score") and "NodeResourcesBalancedAllocation weighted" in line for line in lines)
    assert any(line.startswith("≠  select") and "n2" in line and "n1" in line for line in lines)


def test_two_files_and_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = snapshot(tmp_path, node("n1"), pod("p")), snapshot(tmp_path, node("n2"), pod("p"), name="b.json")
    text = said(capsys, "diff", one, other, code=1)
    assert "Node n1: is there → nothing" in text
    assert "p  moved  n1" in text
    assert said(capsys, "diff", PREEMPTION).startswith("All ")
    assert said(capsys, "diff", PREEMPTION, "--pod", "x/y", code=2) == ""


def test_fork(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, node("n1"), node("n2"), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(3)))
    told = asked(capsys, "fork", file, "--at", "2", "--change", '{"cordon": "n2"}', code=1)
    assert told["summary"]["moved"] == 1
    assert (told["divergence"]["cycle"], told["divergence"]["plugin"]) == (2, "NodeUnschedulable")
    assert said(capsys, "fork", file, "--at", "4", "--change", '{"cordon": "n2"}').startswith("All 3 pods")
    assert said(capsys, "fork", file, "--at", "1", "--to-release", "1.27").startswith("All 3 pods")
    assert said(capsys, "fork", PREEMPTION, "--t", "1.5", "--to-seed", "9")
    for wrong in (
        ["--at", "9"],
        ["--t", "1"],
        [],
        ["--at", "1", "--change", "{"],
        ["--at", "1", "--change", '{"x": 1}'],
    ):
        assert said(capsys, "fork", file, *wrong, code=2) == ""
