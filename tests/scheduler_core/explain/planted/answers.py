"""Answers of `explain --json` to the pods of a cluster."""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from scheduler_core.__main__ import main

Raw = dict[str, Any]


def explained(objects: list[Raw], *options: str, release: str = "1.34") -> dict[str, Raw]:
    """Return the answers by pod. Raises AssertionError with what the command wrote if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "cluster.json"
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            code = main(["explain", "--json", "--release", release, *options, str(snapshot)])
    assert code in (0, 1), errors.getvalue()
    found = [json.loads(line) for line in out.getvalue().splitlines() if line.startswith("{")]
    return {answer["pod"]: answer for answer in found}
