"""Check for which platforms the lock files can be installed from wheels alone, without running a build.

    python scripts/check_wheels.py [--update docs/dependencies.md]

Resolves each lock file with its hashes for each version of Python on each platform, installs nothing, and prints a
table with the date; --update replaces the table of the document. Exit code 1 if a package is missing on a supported
platform.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.txt", "requirements-dev.txt")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# The name in the table -> uv's name and whether the platform is supported. glibc 2.28 is that of Debian 10 and RHEL 8.
PLATFORMS = {
    "Linux x86-64": ("x86_64-manylinux_2_28", True),
    "Linux arm64": ("aarch64-manylinux_2_28", True),
    "macOS arm64": ("aarch64-apple-darwin", True),  # 13 and newer
    "macOS x86-64": ("x86_64-apple-darwin", False),
    "Alpine (musl) x86-64": ("x86_64-unknown-linux-musl", False),
}
BEGIN, END = "<!-- wheels -->\n", "<!-- /wheels -->\n"


def missing(lock: str, version: str, platform: str) -> str:
    """Return "" if the lock file can be installed, or else the first package that has no wheel.
    Raises RuntimeError if uv fails for another reason."""
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--require-hashes", "--only-binary=:all:"]
        command += ["--python-platform", platform, "--python-version", version, "--target", target, "-r", lock]
        environment = os.environ | {"NO_COLOR": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    if found := re.search(r"Because (\S+?)(?:\{[^}]*\})?(==\S+) has no (?:usable )?wheels", done.stderr):
        return found[1] + found[2]
    raise RuntimeError(done.stderr)


def table(results: dict[tuple[str, str, str], str]) -> str:
    """Return the results of `missing` by lock file, platform and version as a table of Markdown."""
    lines = [f"| lock file | platform | {' | '.join(VERSIONS)} |", f"| --- | --- |{' --- |' * len(VERSIONS)}"]
    for lock in LOCKS:
        for platform in PLATFORMS:
            cells = [f"no {found}" if (found := results[lock, platform, version]) else "yes" for version in VERSIONS]
            lines.append(f"| {lock} | {platform} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Check for which platforms the lock files have wheels.")
    parser.add_argument("--update", type=Path, metavar="FILE", help="document whose table is replaced")
    options = parser.parse_args()
    results = {
        (lock, name, version): missing(lock, version, platform)
        for lock in LOCKS
        for name, (platform, _) in PLATFORMS.items()
        for version in VERSIONS
    }
    text = f"Checked on {datetime.date.today():%Y-%m-%d}:\n\n{table(results)}"
    print(text, end="")
    if options.update:
        before, rest = options.update.read_text().split(BEGIN)
        options.update.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")
    return any(found and PLATFORMS[name][1] for (_, name, _), found in results.items())


if __name__ == "__main__":
    sys.exit(main())
