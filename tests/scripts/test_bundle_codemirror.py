"""The committed bundle of CodeMirror is what its script makes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys

import pytest

from scripts import bundle_codemirror as script

SHA256 = "60b523a5d6f63ade4749ef2db1a7f037c9d3be524770864bc19b84b30ceac1e1"


def test_the_bundle_has_the_recorded_hash() -> None:
    """After `python scripts/bundle_codemirror.py`, record the new one."""
    assert hashlib.sha256(script.BUNDLE.read_bytes()).hexdigest() == SHA256


def test_the_bundle_names_the_versions_of_the_lock_file() -> None:
    head = script.BUNDLE.read_text().partition("\n")[0]
    assert all(f"{name} {version}" in head for name, version in script.bundled().items())
    wanted = json.loads((script.SOURCES / "package.json").read_text())["dependencies"]
    assert wanted.items() <= script.bundled().items()


def test_the_licenses_of_all_packages_are_kept() -> None:
    text = script.LICENSES.read_text()
    for name, version in script.bundled().items():
        part = text.partition(f"\n{name} {version}\n")[2].partition("-" * 72)[0]
        assert re.search(r"^Copyright \(C\) ", part, re.M | re.I), name
        assert "The above copyright notice and this permission notice shall be included" in part, name


def test_the_lock_file_has_hashes_and_no_addresses() -> None:
    packages = json.loads(script.LOCK.read_text())["packages"]
    assert [path for path, about in packages.items() if path and not about["integrity"].startswith("sha512-")] == []
    assert "://registry" not in script.LOCK.read_text()


@pytest.mark.slow
@pytest.mark.long
def test_the_script_makes_the_committed_bundle() -> None:
    done = subprocess.run(
        [sys.executable, script.__file__, "--check"], capture_output=True, text=True, timeout=300, check=False
    )
    if "npm error" in done.stderr:
        pytest.skip(f"npm cannot install the packages: {done.stderr[-200:]}")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
