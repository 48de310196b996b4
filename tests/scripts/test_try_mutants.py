"""A few damaged scenarios are uploaded, run and opened. The script tries any number."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


def test_some_mutants_find_no_error(checkout: Path) -> None:
    command = [sys.executable, "scripts/try_mutants.py", "2026", "8"]
    tried = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=300)
    assert tried.returncode == 0, tried.stdout[-5000:] + tried.stderr[-2000:]
    assert "'opened'" in tried.stdout
