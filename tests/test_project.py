"""Files for contributors: workflows, hooks, changelog."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests import packaged_tools
from tests.strict_files import yaml_document

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_existing_targets(workflow: Path) -> None:
    steps = [step for job in yaml_document(workflow.read_text())["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    assert {target for command in commands for target in re.findall(r"\bmake ([a-z-]+)", command)} <= make_targets()


@pytest.mark.slow
@pytest.mark.long
def test_a_linter_of_workflows_finds_nothing() -> None:
    """zizmor reads the workflows, and reports what is not pinned or has more permissions than it needs."""
    command = [packaged_tools.zizmor(), "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.long
def test_a_linter_of_dockerfiles_finds_nothing() -> None:
    """hadolint reads the Dockerfile. Debian removes old versions of packages, so DL3008, to pin them, is not wanted."""
    command = [packaged_tools.hadolint(), "--no-color", "--ignore", "DL3008", ROOT / "Dockerfile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_actions_are_pinned_by_commit() -> None:
    used = [line for path in WORKFLOWS for line in re.findall(r"uses: (.*)", path.read_text())]
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_images_are_pinned_by_digest() -> None:
    services = yaml_document((ROOT / "docker-compose.yml").read_text())["services"]
    images = [service["image"] for service in services.values() if "build" not in service]
    images += re.findall(r"^FROM (.*)$", (ROOT / "Dockerfile").read_text(), re.M)
    assert len(images) == 4
    assert [image for image in images if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image)] == []


def test_each_kind_of_check_has_a_workflow() -> None:
    assert {path.stem for path in WORKFLOWS} == {"check", "test", "long", "image", "release"}


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_issue_forms_have_unique_fields(form: Path) -> None:
    fields = [field["id"] for field in yaml_document(form.read_text()).get("body", [])]
    assert len(fields) == len(set(fields))
    assert fields or form.stem == "config"


def test_pre_commit_hooks_pass() -> None:
    """Run each hook on the tracked files of its kind, as `pre-commit run --all-files` does."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    suffixes = {"python": (".py",), "html": (".html",), "javascript": (".js",), "css": (".css",), "json": (".json",)}
    for hook in yaml_document((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]:
        kinds = [kind for kind in (*hook.get("types_or", ()), *hook.get("types", ())) if kind in suffixes]
        wanted = tuple(suffix for kind in kinds for suffix in suffixes[kind])
        tracked = (name for name in listing.stdout.splitlines() if name.endswith(wanted))
        files = [name for name in tracked if re.search(hook.get("files", ""), name)]
        assert files, hook["id"]
        first = files[:20]
        check = ["--check"] if hook["id"] in ("ruff-format", "djangofmt") else []
        done = subprocess.run([*hook["entry"].split(), *check, *first], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{hook['id']}: {done.stdout}{done.stderr}"


def test_the_changelog_begins_with_the_current_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert versions[:2] == ["Unreleased", settings.VERSION]


def test_the_notice_names_existing_files() -> None:
    text = (ROOT / "NOTICE").read_text()
    paths = re.findall(r"\b(?:static|kubesched_ui|tests)/[\w./-]+\w", text)
    assert {"static/vendor/codemirror.js", "tests/data/clusters"} <= set(paths)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    vendored = {str(path.relative_to(ROOT)) for path in (ROOT / "static" / "vendor").iterdir()}
    assert vendored <= set(paths)
