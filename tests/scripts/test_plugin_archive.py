"""The archive of the kubectl plugin is installed as krew does, and answers without Python."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from scripts import plugin_archive
from tests import kubernetes_tools
from tests.api_server.process import api_server
from tests.scheduler_core.commands.kubectl.test_plugin import kubeconfig

REPOSITORY = "https://github.com/someone/kubesched"


def test_the_manifest_has_what_krew_checks(tmp_path: Path) -> None:
    """Source: krew, internal/index/validation: names, version, sha256, one platform for each selector."""
    for system in plugin_archive.PLATFORMS:
        (tmp_path / f"kubectl-kubesched_{system}.tar.gz").write_bytes(system.encode())
    manifest = yaml.safe_load(plugin_archive.write_manifest(tmp_path, REPOSITORY).read_text())
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert manifest["kind"] == "Plugin"
    assert re.fullmatch(r"[a-z0-9-]+", manifest["metadata"]["name"])
    spec = manifest["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[\w.]+)?", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert len({json.dumps(platform["selector"]) for platform in spec["platforms"]}) == 4
    for platform, system in zip(spec["platforms"], plugin_archive.PLATFORMS, strict=True):
        assert platform["sha256"] == hashlib.sha256(system.encode()).hexdigest()
        assert platform["uri"].startswith(f"{REPOSITORY}/releases/download/{spec['version']}/")
        assert platform["bin"] == "kubectl-kubesched/kubectl-kubesched"


def test_a_folder_without_archives_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no archive"):
        plugin_archive.write_manifest(tmp_path, REPOSITORY)


@pytest.mark.long
def test_the_archive_answers_without_python(tmp_path: Path) -> None:
    kubectl = kubernetes_tools.kubectl("1.32")
    build = ["make", "-s", "plugin-archive"]
    subprocess.run(build, check=True, capture_output=True, timeout=900, cwd=plugin_archive.ROOT)
    (archive,) = (plugin_archive.ROOT / "dist").glob("kubectl-kubesched_*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    assert {"LICENSE", "NOTICE"} <= {file.name for file in (tmp_path / "store").iterdir()}
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl-kubesched").symlink_to(tmp_path / "store/kubectl-kubesched/kubectl-kubesched")
    (programs / "kubectl").symlink_to(kubectl)
    with api_server("--nodes", "5", "--pods", "10", "--pending", "1") as server:
        environment = {"PATH": str(programs), "HOME": str(tmp_path), "KUBECONFIG": kubeconfig(tmp_path, server.url)}
        command = [programs / "kubectl", "kubesched", "why", "-A", "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    (answer,) = json.loads(done.stdout)["answers"]
    assert answer["category"] == "never", done.stderr
    assert os.path.getsize(archive) < 80_000_000
