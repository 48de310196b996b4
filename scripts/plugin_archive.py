"""Builds the release archive of the kubectl plugin for this machine, and the plugin's krew manifest.

    python scripts/plugin_archive.py build FOLDER                # FOLDER/kubectl-kubesched_linux_amd64.tar.gz
    python scripts/plugin_archive.py manifest FOLDER REPOSITORY  # FOLDER/kubesched.yaml for the archives in FOLDER

An archive holds one folder with the plugin, Python and the packages it needs, made by PyInstaller, which builds for the
machine it runs on: `.github/workflows/release.yml` builds each. REPOSITORY: its address on GitHub, whose release has
the archives.
"""

import argparse
import hashlib
import json
import platform
import re
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "kubectl-kubesched"
ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
PLATFORMS = ("linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64")
# What other commands import; the plugin needs none of it.
LEFT_OUT = (
    "cel_expr_python",
    "django",
    "duckdb",
    "highspy",
    "hypothesis",
    "mcp",
    "mypy",
    "optuna",
    "pydantic",
    "pytest",
)
START = "import sys\nfrom scheduler_core.commands.kubectl.plugin import main\nsys.exit(main())\n"
DESCRIPTION = """\
Says why pods are pending by running the decisions of kube-scheduler again: the reason of each node, what the closest
nodes lack, and fixes as kubectl commands, each verified by a run. It also says whether the pods of a manifest would
find nodes, and what a drain would do. It only reads, with the credentials of kubectl.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("folder", type=Path)
    manifest = commands.add_parser("manifest")
    manifest.add_argument("folder", type=Path)
    manifest.add_argument("repository")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    print(build(args.folder) if args.command == "build" else write_manifest(args.folder, args.repository))
    return 0


def build(folder: Path) -> Path:
    """Write the archive of this machine's platform to a folder and return its path."""
    import PyInstaller.__main__ as pyinstaller

    system = f"{sys.platform}_{ARCHITECTURES[platform.machine()]}"
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as place:
        start = Path(place, f"{NAME}.py")
        start.write_text(START)
        options = ["--onedir", "--noconfirm", "--log-level=WARN", f"--name={NAME}", f"--paths={ROOT}"]
        options += [f"--{kind}path={place}/{kind}" for kind in ("work", "dist", "spec")]
        options += ["--collect-data=scheduler_core", "--collect-submodules=scheduler_core", "--collect-submodules=isal"]
        options += [f"--exclude-module={module}" for module in LEFT_OUT]
        pyinstaller.run([*options, str(start)])
        archive = folder / f"{NAME}_{system}.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(Path(place, "dist", NAME), NAME)
            for file in ("LICENSE", "NOTICE"):
                tar.add(ROOT / file, file)
    return archive


def write_manifest(folder: Path, repository: str) -> Path:
    """Write the krew manifest for the archives in a folder. Raises SystemExit if there are none."""
    version = re.findall('__version__ = "(.+)"', (ROOT / "kubesched_ui/__init__.py").read_text())[0]
    platforms = []
    for name in PLATFORMS:
        archive = folder / f"{NAME}_{name}.tar.gz"
        if archive.exists():
            system, _, architecture = name.partition("_")
            platforms.append(
                {
                    "selector": {"matchLabels": {"os": system, "arch": architecture}},
                    "uri": f"{repository.rstrip('/')}/releases/download/v{version}/{archive.name}",
                    "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
                    "bin": f"{NAME}/{NAME}",
                }
            )
    if not platforms:
        raise SystemExit(f"{folder} has no archive of {NAME}; build one first")
    spec = {
        "version": f"v{version}",
        "homepage": repository,
        "shortDescription": "Say why pods are pending",
        "description": DESCRIPTION,
        "platforms": platforms,
    }
    document = {"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin"}
    path = folder / "kubesched.yaml"
    # YAML contains JSON, and a bare Python writes JSON.
    path.write_text(json.dumps(document | {"metadata": {"name": "kubesched"}, "spec": spec}, indent=2) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
