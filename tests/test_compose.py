"""docker-compose.yml as programs of Compose read it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import packaged_tools
from tests.strict_files import yaml_document

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"
SECRETS = ("KUBESCHED_SECRET_KEY", "KUBESCHED_DATABASE_PASSWORD", "KUBESCHED_REDIS_PASSWORD")
READERS = ["docker-compose", "podman-compose", *packaged_tools.COMPOSE_RELEASES]
SERVICES: dict[str, Any] = yaml_document(FILE.read_text())["services"]
PROFILES = sorted({profile for service in SERVICES.values() for profile in service.get("profiles", ())})


def reader(name: str) -> Path | str:
    if name in packaged_tools.COMPOSE_RELEASES:
        return packaged_tools.compose(name)
    if name == "podman-compose":
        pytest.importorskip("podman_compose", reason="podman-compose is not installed: make check installs it")
        return Path(sys.executable).with_name("podman-compose")
    found = shutil.which("docker-compose")
    if not found:
        pytest.skip("docker-compose is not installed (1.29 in Debian 12)")
    return found


def run(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a reader on a copy of the file in `folder`, without the variables of this process."""
    shutil.copy(FILE, folder)
    others = ("KUBESCHED_", "COMPOSE_", "PYTHON")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    if name == "podman-compose":  # it asks Podman for its version even if it only prints the file
        (folder / "podman").write_text("#!/bin/sh\necho podman version 5.0.0\n")
        (folder / "podman").chmod(0o755)
        variables["PATH"] = f"{folder}:{variables['PATH']}"
    command = [reader(name), *arguments]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def write_env(folder: Path, **variables: str) -> None:
    """Write .env as the head of the file says."""
    given = dict.fromkeys(SECRETS, "a text$of its own") | variables
    (folder / ".env").write_text("".join(f"{key}='{value}'\n" for key, value in given.items() if value))


def test_the_live_profile_alone_exists() -> None:
    assert PROFILES == ["live"]
    for page in ("live.md", "operations.md"):
        assert "docker compose --profile live up" in (ROOT / "docs" / page).read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_services_that_read_the_clusters_file_have_it(name: str) -> None:
    """`prepare` stores the names of the live clusters, and `follow` connects to them."""
    command = SERVICES[name].get("command", [])
    mounted = any(str(volume).startswith("./clusters:/clusters") for volume in SERVICES[name].get("volumes", []))
    assert mounted == bool({"prepare", "follow"} & set(command))


def test_paths_of_the_file_exist() -> None:
    volumes = [str(volume) for service in SERVICES.values() for volume in service.get("volumes", [])]
    sources = {volume.partition(":")[0] for volume in volumes if volume.startswith("./")}
    assert "./clusters" in sources  # Compose creates it
    assert [source for source in sources - {"./clusters"} if not (ROOT / source).is_file()] == []


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_compose_reads_the_services(name: str, tmp_path: Path) -> None:
    write_env(tmp_path, KUBESCHED_QUOTA_RUNS="7")
    for profiles in ([], PROFILES):
        options = [word for profile in profiles for word in ("--profile", profile)]
        done = run(name, *options, "config", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "not set" not in done.stderr
        found = yaml_document(done.stdout)["services"]
        wanted = {one for one, service in SERVICES.items() if set(service.get("profiles", profiles)) <= set(profiles)}
        # docker-compose 1.29 prints the services of all profiles.
        every = name == "docker-compose" and "version 1." in run(name, "version", folder=tmp_path).stdout
        assert found.keys() == (SERVICES.keys() if every else wanted)
        environment = found["web"]["environment"]
        assert environment["KUBESCHED_SECRET_KEY"].replace("$$", "$") == "a text$of its own"
        # podman-compose reads variables without a value when it starts a container.
        assert environment["KUBESCHED_QUOTA_RUNS"] == (None if name == "podman-compose" else "7")
        assert environment.get("KUBESCHED_KEEP_DAYS") is None
        assert {variable for variable, value in environment.items() if value and "}" in value} == set()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("missing", SECRETS)
@pytest.mark.parametrize("name", READERS)
def test_compose_names_a_missing_secret(name: str, missing: str, tmp_path: Path) -> None:
    write_env(tmp_path, **{missing: ""})
    done = run(name, "config", folder=tmp_path)
    assert done.returncode
    assert f"set {missing} in .env" in done.stderr


@pytest.mark.slow
@pytest.mark.long
def test_compose_refuses_a_service_that_is_there_twice(tmp_path: Path) -> None:
    write_env(tmp_path)
    release = max(packaged_tools.COMPOSE_RELEASES)
    (tmp_path / "twice.yml").write_text("services: {a: {image: x}, a: {image: y}}\n")
    done = run(release, "--file", "twice.yml", "config", folder=tmp_path)
    assert 'mapping key "a" already defined' in done.stderr
