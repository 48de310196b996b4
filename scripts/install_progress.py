"""Run pip and print how far it is: python scripts/install_progress.py PIP_COMMAND ... -r REQUIREMENTS

It needs only the standard library. If pip fails, its output is printed.
"""

import os
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path

EVERY_S = 3  # between two lines


class Progress:
    """`packages`: how many the file requires. `folder`: where they are installed."""

    def __init__(self, packages: int, folder: Path) -> None:
        self.packages, self.folder = packages, folder
        self.collected: set[str] = set()
        self.before: int | None = None  # packages in the folder when pip began to install
        self.printed = ""

    def read(self, line: str) -> None:
        """Note a line of pip."""
        if line.startswith("Ignoring "):  # not for this system
            self.packages -= 1
        elif found := re.search(r"\(from -r .*?\(line (\d+)\)\)", line):
            self.collected.add(found[1])
        elif line.startswith("Installing collected packages:"):
            self.before = self.present()

    def present(self) -> int:
        """Return the number of installed packages."""
        return sum(1 for _ in self.folder.glob("*.dist-info"))

    def print(self) -> None:
        """Print how far pip is, if that has changed. Until it collects, it may not have ignored all that it ignores."""
        if not self.collected:
            return
        if self.before is None:
            text = f"  fetched {min(len(self.collected), self.packages)} of {self.packages} packages"
        else:
            text = f"  installed {self.present() - self.before} of {self.packages} packages"
        if text != self.printed:
            print(text, flush=True)
            self.printed = text


def main(command: Sequence[str]) -> int:
    """Run pip and return its exit code."""
    requirements = Path(command[-1]).read_text()
    progress = Progress(
        len(re.findall(r"^[\w.\[\]-]+==", requirements, re.MULTILINE)), Path(sysconfig.get_path("purelib"))
    )
    print(f"Installing the packages of {command[-1]} (only once) ...", flush=True)
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "PIP_PROGRESS_BAR": "off"}
    over, lines = threading.Event(), []

    def repeat() -> None:
        while not over.wait(EVERY_S):
            progress.print()

    threading.Thread(target=repeat, daemon=True).start()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            progress.read(line)
            lines.append(line)
    over.set()
    if process.returncode:
        print("".join(lines[-30:]), file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
