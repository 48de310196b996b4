"""The command `kubesched`, the wheel, and the lock files of installations."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from kubesched_ui import __version__
from kubesched_ui.__main__ import APPLICATION, CORE, main
from scheduler_core.__main__ import main as run_core

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {"requirements.txt": PROJECT["project"]["dependencies"]}
LOCKS["requirements-dev.txt"] = LOCKS["requirements.txt"] + PROJECT["dependency-groups"]["dev"]


def locked(file: str) -> dict[str, str]:
    """Return the version of each package in a lock file. Each package must have a hash."""
    entries = re.findall(r"^([\w.-]+)==([^ ]+)[^\\\n]*\\\n    --hash=sha256:", (ROOT / file).read_text(), re.M)
    assert len(entries) == len(re.findall(r"^[\w.-]+==", (ROOT / file).read_text(), re.M))
    return dict(entries)


@pytest.mark.parametrize("file", LOCKS)
def test_the_lock_file_has_every_dependency(file: str) -> None:
    packages = locked(file)
    for requirement in LOCKS[file]:
        name, version = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?==(\S+?)(?:;.*)?", requirement).groups()  # type: ignore[union-attr]
        found = packages[name.lower().replace("_", "-")]
        assert re.fullmatch(re.escape(version).replace(r"\*", ".*"), found), f"{requirement}: run `make lock`"


def test_tests_use_the_versions_of_the_lock_file() -> None:
    tested = locked("requirements-dev.txt")
    assert {name: tested[name] for name in locked("requirements.txt")} == locked("requirements.txt")


def test_the_makefile_installs_by_hash() -> None:
    plan = subprocess.run(
        ["make", "-n", "VENV=/nowhere", "/nowhere/.run", "/nowhere/.dev"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    installs = re.findall(r"pip install (.*)", plan)
    assert [re.findall(r"-r (\S+)", line) for line in installs] == [["requirements.txt"], ["requirements-dev.txt"]]
    assert all("--require-hashes" in line and "--only-binary=:all:" in line for line in installs)


def test_the_command_shows_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"KubeSched {__version__}\n"


def test_both_packages_have_their_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_core(["--help"])
    offered = re.findall(r"^    ([a-z-]+)(?: |$)", capsys.readouterr().out, re.M)
    assert set(offered) == {*CORE, "simulate"}
    commands = {path.stem for path in (ROOT / "kubesched_ui" / "management" / "commands").glob("[!_]*.py")}
    assert set(APPLICATION) == commands - {"migrate", "load_samples", "prepare", "serve"}


def test_a_core_command_needs_no_data_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(ROOT / "docs" / "examples" / "snapshot.yaml")]) == 1
    assert capsys.readouterr().out in (ROOT / "docs" / "explain.md").read_text()


@pytest.mark.long
@pytest.mark.slow
def test_an_interrupted_command_shows_no_traceback(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(argv: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", interrupted)
    assert main(["run"]) == 130
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(checkout / "manage.py"), run_name="__main__")
    assert ended.value.code == 130


@pytest.mark.long
def test_an_application_command_uses_the_given_data_folder(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "kubesched_ui", "--data", str(data), "simulate"]
    command.append(str(ROOT / "docs" / "examples" / "snapshot.yaml"))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "KUBESCHED_VAR_DIR": str(tmp_path / "other")}
    done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^\S+/\S+ +unschedulable", done.stdout, re.M)
    assert (data / "kubesched.sqlite3").exists()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.long
def test_the_wheel_runs_outside_the_checkout(tmp_path: Path) -> None:
    """The unpacked wheel next to its dependencies has all files of the product and finds them."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(site)
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    packages = {name for name in tracked if name.startswith(("kubesched_ui/", "scheduler_core/"))}
    resources = {
        f"kubesched_ui/resources/{name}" for name in tracked if name.startswith(("templates/", "static/", "docs/"))
    }
    resources.add("kubesched_ui/resources/README.md")
    assert packages | resources <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "static/", "templates/"))]
    environment = {name: value for name, value in os.environ.items() if name not in ("VAR_DIR", "PYTHONPATH")}
    environment |= {"PYTHONPATH": str(site), "HOME": str(home), "XDG_DATA_HOME": ""}
    for arguments, code in (
        (["simulate", str(ROOT / "docs" / "examples" / "snapshot.yaml")], 1),
        (["lessons", "--check", "what-a"], 0),
        (["check"], 0),
        (["collectstatic", "--noinput", "--verbosity", "0"], 0),
    ):
        command = [sys.executable, "-m", "kubesched_ui", *arguments]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
    assert (home / ".local" / "share" / "kubesched" / "kubesched.sqlite3").exists()
