"""Completion of `kubesched` in real shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kubesched_ui.__main__ import APPLICATION, CORE
from kubesched_ui.management.completion import script
from scheduler_core.releases import RELEASES


def completed(line: str, folder: Path) -> list[str]:
    """Return what bash offers for the last word of a line."""
    words = line.split(" ")
    code = f"""{script("bash")}
complete -p kubesched > /dev/null || exit 9
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
_kubesched
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    shell = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert shell.stderr == ""
    return shell.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kubesched exp", {"explain", "experiment", "export_scenario"}),
        ("kubesched ", {*CORE, *APPLICATION}),
        ("kubesched --da", {"--data"}),
        ("kubesched --data /tmp sim", {"simulate"}),
        ("kubesched explain --ta", {"--take-other-schedulers"}),
        ("kubesched --data /tmp explain --abs", {"--absent-claims"}),
        ("kubesched explain --absent-claims ", {"error", "bound"}),
        ("kubesched explain --release 1.3", {name for name in RELEASES if name.startswith("1.3")}),
        ("kubesched upgrade c.json --from 1.2", {name for name in RELEASES if name.startswith("1.2")}),
        ("kubesched simulate --tie-break ", {"seed", "name"}),
        ("kubesched completion ", {"bash", "zsh"}),
        ("kubesched explain clu", set()),  # bash then offers files: -o default
        ("kubesched simulate --set", set()),  # Django's options are not offered
    ],
)
def test_bash_completes(line: str, expected: set[str], tmp_path: Path) -> None:
    assert set(completed(line, tmp_path)) == expected


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_files_are_completed_where_no_word_is(tmp_path: Path) -> None:
    code = f"{script('bash')}\ncomplete -p kubesched"
    shown = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "complete -o default -F _kubesched kubesched\n"


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_reads_its_script(tmp_path: Path) -> None:
    (tmp_path / "kubesched.zsh").write_text(script("zsh"))
    code = "source ./kubesched.zsh && print $_comps[kubesched]"
    shell = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "_bash_complete" in shell.stdout
    assert "_kubesched" in shell.stdout
