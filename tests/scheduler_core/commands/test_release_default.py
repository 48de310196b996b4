"""Every command takes the release of the cluster by default and says so, and counts the same pods."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.__main__ import main as kubesched
from scheduler_core.__main__ import main
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import Cli

COMMANDS = (["explain"], ["state"], ["remedies"], ["find", "true"], ["diff"], ["fork", "--at", "1"])


def argv(command: list[str], path: str) -> list[str]:
    return [command[0], path, *command[1:]]


def versioned(name: str, version: str) -> dict[str, Any]:
    made = node(name)
    made["status"]["nodeInfo"] = {"kubeletVersion": version}
    return made


def notes_of(capsys: pytest.CaptureFixture[str], run: Any, *arguments: str) -> str:
    assert run([*arguments]) in (0, 1)
    return capsys.readouterr().err


@pytest.mark.parametrize("run", [main, kubesched], ids=["core", "application"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_release_is_that_of_most_kubelets(cli: Cli, command: list[str], run: Any) -> None:
    nodes = [versioned("n1", "v1.31.2"), versioned("n2", "v1.31.4"), versioned("n3", "v1.31.4")]
    path = cli.snapshot(*nodes, pod("a"))
    sentence = "note: The release is 1.31.4, because the cluster runs Kubernetes v1.31.4; --release chooses another.\n"
    assert sentence in notes_of(cli.capsys, run, *argv(command, path))
    assert "The release is" not in notes_of(cli.capsys, run, *argv(command, path), "--release", "1.30")


def test_another_patch_release_is_taken_with_a_remark(cli: Cli) -> None:
    path = cli.snapshot(versioned("n1", "v1.31.8"), pod("a"))
    remark = "note: The cluster runs Kubernetes v1.31.8; 1.31 is simulated as 1.31.1. They differ: "
    assert remark in notes_of(cli.capsys, main, "explain", path, "--release", "1.31")
    assert "They differ" not in notes_of(cli.capsys, main, "explain", path)
    assert "They differ" not in notes_of(cli.capsys, main, "explain", path, "--release", "1.31.3")
    assert "They differ" not in notes_of(cli.capsys, main, "explain", path, "--release", "1.30")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_without_a_version_the_release_is_the_newest(cli: Cli, command: list[str]) -> None:
    path = cli.snapshot(node("n1"), pod("a"))
    sentence = ", the newest, because the input has no version of a cluster; --release chooses another.\n"
    assert sentence in notes_of(cli.capsys, main, *argv(command, path))


def test_kubectl_version_decides_before_kubelets(cli: Cli) -> None:
    version = {"clientVersion": {"gitVersion": "v1.36.0"}, "serverVersion": {"gitVersion": "v1.30.1"}}
    documents = [version, {"apiVersion": "v1", "kind": "List", "items": [versioned("n1", "v1.29.0"), pod("a")]}]
    path = cli.file("c.yaml", "\n---\n".join(map(json.dumps, documents)))
    for run in (main, kubesched):
        assert "The release is 1.30, because the cluster runs Kubernetes v1.30.1" in notes_of(
            cli.capsys, run, "explain", path
        )


def test_the_nearest_release_is_taken_with_a_remark(cli: Cli) -> None:
    notes = notes_of(cli.capsys, main, "explain", cli.snapshot(versioned("n1", "v1.12.3"), pod("a")))
    assert "note: The release is 1.16, because the cluster runs Kubernetes v1.12.3" in notes
    assert "The nearest release here is 1.16, the oldest one." in notes


def test_a_scenario_names_its_release(cli: Cli) -> None:
    spec = {"kubernetes": "v1.27.3", "objects": [versioned("n1", "v1.31.0"), pod("a")]}
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    path = cli.file("s.json", json.dumps(document))
    assert "The release is 1.27.3, because" in notes_of(cli.capsys, main, "explain", path)
    assert notes_of(cli.capsys, main, "simulate", path).count("The release is") == 0  # the file chooses it
    del spec["kubernetes"]
    path = cli.file("s.json", json.dumps(document))
    assert "The release is 1.31.0, because" in notes_of(cli.capsys, main, "simulate", path)
    assert "The release is 1.31.0, because" in notes_of(cli.capsys, main, "state", path)


def test_the_gates_of_pod_groups_are_taken(cli: Cli) -> None:
    gang: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    metadata = {"name": "g", "namespace": "default"}
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata, "spec": gang}
    members: Any = {"schedulingGroup": {"podGroupName": "g"}}
    path = cli.snapshot(
        versioned("n1", "v1.36.0"),
        group,
        pod("a", requests={"cpu": "3"}, **members),
        pod("b", requests={"cpu": "3"}, **members),
    )
    out, notes = cli.run("explain", path, code=1)
    assert "The release is 1.36.0 GangScheduling=true,GenericWorkload=true, because" in notes
    assert out.startswith("2 of 2 pods stay pending.")


def test_every_command_counts_the_same_pods(cli: Cli) -> None:
    gated: Any = {"schedulingGates": [{"name": "a.io/b"}]}
    pods = [
        *(pod(f"p{i}", requests={"cpu": "3"}) for i in range(3)),
        pod("gated", **gated),
        pod("other", schedulerName="volcano"),
        pod("leaving", deleted=True),
        pod("done", status={"phase": "Succeeded"}),
    ]
    path = cli.snapshot(versioned("n1", "v1.34.1"), *pods)
    assert cli.out("explain", path, code=1).startswith("3 of 4 pods stay pending.")
    assert cli.out("find", path, "true").endswith("4 of 4 cycles\n")
    state = cli.out("state", path)
    assert "3 pods pending: " in state
    assert "1 pod left to other schedulers: default/other\n" in state
    assert "1 pod skipped, because being deleted: default/leaving\n" in state
    assert cli.out("remedies", path).startswith("3 pods pending.")


def test_simulate_of_the_core_names_the_command_for_a_snapshot(cli: Cli) -> None:
    path = cli.snapshot(node("n1"), pod("a"))
    problem = "is a snapshot, not a Scenario; `kubesched simulate` runs it, `kubesched explain` explains its pods"
    assert cli.error("simulate", path) == f"python -m scheduler_core simulate: {path}: {problem}\n"


def test_the_application_reads_what_an_upload_reads(cli: Cli, tmp_path: Path) -> None:
    cli.snapshot(versioned("n1", "v1.31.2"), pod("a"), name="cluster.json")
    with tarfile.open(tmp_path / "dump.tgz", "w:gz") as archive:
        archive.add(tmp_path / "cluster.json", "dump/cluster.json")
    path = str(tmp_path / "dump.tgz")
    assert kubesched(["explain", path]) == 0
    printed = cli.capsys.readouterr()
    assert printed.out == "default/a: Placed on n1, the only node.\n"
    assert "The release is 1.31" in printed.err
    assert kubesched(["explain", cli.file("bad.txt", "NAME  READY\nn1  True\n")]) == 2
    assert "bad.txt" in cli.capsys.readouterr().err


def test_a_configuration_in_the_files_is_taken(cli: Cli) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}],
    }
    path = cli.snapshot(config, versioned("n1", "v1.31.2"), pod("a", requests={"cpu": "9"}))
    for run in (main, kubesched):
        for command in (["explain"], ["state"]):
            notes = notes_of(cli.capsys, run, *argv(command, path))
            assert "note: the configuration is a KubeSchedulerConfiguration of its own in the snapshot" in notes
    assert cli.out("explain", path) == "default/a: Placed on n1, the only node.\n"
