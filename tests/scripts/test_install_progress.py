"""What `make run` prints while pip installs."""

import subprocess
import sys
import textwrap
from pathlib import Path

from scripts.install_progress import Progress

PIP = """
    import sys, time
    print("Ignoring tzdata: markers 'sys_platform == \\"win32\\"' don't match your environment")
    print("Collecting b==1 (from -r requirements.txt (line 2))")
    print("  Downloading b-1.whl (1 kB)")
    print("ERROR: no matching distribution for a==1")
    sys.exit(3)
"""


def test_packages_are_counted_by_what_pip_prints(tmp_path: Path) -> None:
    progress = Progress(3, tmp_path)
    progress.print()
    assert progress.printed == "", "one of the three is not for this system"
    for line in (
        "Ignoring tzdata: markers 'sys_platform == \"win32\"' don't match your environment",
        "Collecting a==1 (from -r requirements.txt (line 1))",
        "  Downloading a-1-py3-none-any.whl (1.9 MB)",
        "Processing /wheels/b-1-py3-none-any.whl (from -r requirements.txt (line 4))",
    ):
        progress.read(line)
    progress.print()
    assert progress.printed == "  fetched 2 of 2 packages"
    (tmp_path / "pip-23.dist-info").mkdir()
    progress.read("Installing collected packages: b, a")
    (tmp_path / "b-1.dist-info").mkdir()
    progress.print()
    assert progress.printed == "  installed 1 of 2 packages"


def test_a_failure_is_shown_with_the_exit_code_of_pip(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "pip.py").write_text(textwrap.dedent(PIP))
    (tmp_path / "requirements.txt").write_text("a==1 \\\n    --hash=sha256:0\nb[x]==1\ntzdata==1 ; x\n")
    command = [sys.executable, checkout / "scripts" / "install_progress.py", sys.executable, "pip.py"]
    done = subprocess.run([*command, "-r", "requirements.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout == "Installing the packages of requirements.txt (only once) ...\n"
    assert "ERROR: no matching distribution for a==1" in done.stderr
