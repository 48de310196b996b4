"""Table of real input: page, API and command agree, or the table names the difference."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_core.releases import NEWEST

pytestmark = pytest.mark.long

CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: NodeAnnotations}]}}
"""


def test_a_cluster_and_a_configuration(tmp_path: Path, checkout: Path) -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u"},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
    }
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    (tmp_path / "cluster.json").write_text(json.dumps([node, pod, quota]))
    (tmp_path / "config.yaml").write_text(CONFIG)
    command = [sys.executable, "scripts/try_real.py", str(tmp_path / "cluster.json"), str(tmp_path / "config.yaml")]
    done = subprocess.run(command, cwd=checkout, env=dict(os.environ), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("| cluster.json", "| config", "| …"))]
    assert lines[0].startswith(
        "| cluster.json | accepted, 1 of 1 placed | agree | The upload contains 1 ResourceQuota: "
    )
    assert "| refused: " in lines[2]
    assert f"'NodeAnnotations' is not part of kube-scheduler {NEWEST}" in lines[2]
    assert [line.split(" | ")[:3] for line in lines[3:]] == [
        ["| … left out", "accepted, 5 of 5 placed", "agree"],
        ["| … in the upload", "accepted, 5 of 5 placed", "agree"],
    ]
    assert done.stdout.endswith("\n0 answers differ.\n")
