"""Plugins that are not here: every command says which and what they are, and goes on without them if asked to."""

import json
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from tests.scheduler_core.build import node, pod

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Dynamic"}, {"name": "DeviceShare"}]}}}],
}
SAYS = "2 plugins are not part of kube-scheduler 1.36: 'Dynamic' (Crane: "


@pytest.fixture
def arguments(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    """Of explain, a snapshot and a configuration; of simulate, a scenario that holds it."""
    objects = [node("n1"), pod("a")]
    if request.param == "explain":
        (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": objects}))
        (tmp_path / "s.json").write_text(json.dumps(CONFIG))
        return ["explain", str(tmp_path / "c.json"), "--config", str(tmp_path / "s.json")]
    spec = {"objects": objects, "config": CONFIG, "until": 10}
    scenario = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    return ["simulate", str(tmp_path / "s.json")]


@pytest.mark.parametrize("arguments", ["explain", "simulate"], indirect=True)
def test_they_are_named_and_can_be_left_out(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert SAYS in said
    assert said.endswith("; --leave-out-unknown ignores them\n")
    assert main([*arguments, "--leave-out-unknown"]) == 0
    printed = capsys.readouterr()
    assert "'DeviceShare' is not part of kube-scheduler 1.36 (Koordinator: shares GPUs" in printed.err
    assert "n1" in printed.out


def test_explain_uses_the_configuration_that_the_snapshot_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    mine = {**named, "profiles": [{"schedulerName": "mine"}]}
    held = {"kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"config.yaml": json.dumps(mine), "x": "secret"}}
    path = tmp_path / "c.json"
    path.write_text(json.dumps([node("n1"), pod("a", schedulerName="mine"), held]))
    assert main(["explain", str(path)]) == 0
    printed = capsys.readouterr()
    assert "default/a: Placed on n1" in printed.out
    assert "note: the configuration is ConfigMap 's' key 'config.yaml' in the snapshot" in printed.err
    path.write_text(json.dumps([node("n1"), pod("a"), CONFIG]))
    assert main(["explain", str(path)]) == 0
    said = capsys.readouterr().err
    assert (
        "the configuration in the snapshot is left out: KubeSchedulerConfiguration: plugins: 2 plugins are not" in said
    )
    assert "--leave-out-unknown uses it without them" in said
