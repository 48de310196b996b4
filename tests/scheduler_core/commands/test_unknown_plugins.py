"""Unknown plugins: every command names and describes them, and can leave them out."""

import json

import pytest

from scheduler_core.releases import NEWEST
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import Cli

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
CONFIG = KIND | {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "Dynamic"}, {"name": "DeviceShare"}]}}}]}


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_unknown_plugins_are_named_and_can_be_left_out(command: str, cli: Cli) -> None:
    """In a configuration file and in a scenario."""
    objects = [node("n1"), pod("a")]
    scenario = {"kind": "Scenario", "spec": {"objects": objects, "config": CONFIG, "until": 10}}
    arguments = {
        "explain": [cli.snapshot(*objects), "--config", cli.file("config.json", json.dumps(CONFIG))],
        "simulate": [cli.file("s.json", json.dumps({"apiVersion": "kubesched.dev/v1alpha1", **scenario}))],
    }[command]
    problem = cli.error(command, *arguments)
    assert f"2 plugins are not part of kube-scheduler {NEWEST}: 'Dynamic' (Crane: " in problem
    assert problem.endswith("; --leave-out-unknown ignores them\n")
    out, notes = cli.run(command, *arguments, "--leave-out-unknown")
    assert f"'DeviceShare' is not part of kube-scheduler {NEWEST} (Koordinator: shares GPUs" in notes
    assert "n1" in out


def test_explain_uses_the_configuration_of_the_snapshot(cli: Cli) -> None:
    mine = json.dumps(KIND | {"profiles": [{"schedulerName": "mine"}]})
    held = {"kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"config.yaml": mine, "x": "secret"}}
    out, notes = cli.run("explain", cli.snapshot(node("n1"), pod("a", schedulerName="mine"), held))
    assert "default/a: Placed on n1" in out
    assert "note: the configuration is ConfigMap 's' key 'config.yaml' in the snapshot" in notes
    _, notes = cli.run("explain", cli.snapshot(node("n1"), pod("a"), CONFIG))
    problem = "KubeSchedulerConfiguration: plugins: 2 plugins are not"
    assert f"the configuration in the snapshot is left out: {problem}" in notes
    assert "--leave-out-unknown uses it without them" in notes


@pytest.mark.parametrize(("command", "key"), [("replay", "cycles"), ("replay-time", "attempts")])
def test_replays_leave_out_unknown_plugins(command: str, key: str, cli: Cli) -> None:
    raw = {"name": "c", "kubernetes": f"v{NEWEST}.0", "config": CONFIG, "objects": [node("n1"), pod("a")]}
    case = raw | {"pods": ["default/a"], "timeline": [], "until": 1}
    out, _ = cli.run(command, cli.file("cases.jsonl", json.dumps(case)), "--leave-out-unknown")
    assert '"n1"' in json.dumps(json.loads(out)[key])
