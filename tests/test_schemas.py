"""Files that other programs read, checked by the schemas of these programs (check-jsonschema contains them)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
FILES = {
    "vendor.compose-spec": [ROOT / "docker-compose.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-workflows": sorted((GITHUB / "workflows").glob("*.yml")),
    "custom.github-workflows-require-timeout": sorted((GITHUB / "workflows").glob("*.yml")),
}


def check(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed: make check installs it")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_file_for_github_has_a_schema() -> None:
    checked = {path for files in FILES.values() for path in files}
    assert {path for path in GITHUB.rglob("*.yml") if path not in checked} == set()


@pytest.mark.slow
@pytest.mark.parametrize("schema", FILES)
def test_files_follow_their_schema(schema: str) -> None:
    done = check(schema, *FILES[schema])
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_field_that_does_not_exist_is_found(tmp_path: Path) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(text.replace("    mem_limit: 256m\n", "    memory_limit: 256m\n", 1))
    done = check("vendor.compose-spec", wrong)
    assert done.returncode
    assert "memory_limit" in done.stdout
