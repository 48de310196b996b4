"""Runs of the command line with files of a test."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.__main__ import main

ROOT = Path(__file__).parents[3]
PREEMPTION = str(ROOT / "docs" / "examples" / "time" / "preemption.yaml")


@dataclass(frozen=True)
class Cli:
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def file(self, name: str, data: bytes | str) -> str:
        """Write a file and return its path."""
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    def snapshot(self, *objects: Any, name: str = "snapshot.json") -> str:
        """Write the objects to a file as a List, and return its path."""
        data = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
        return self.file(name, gzip.compress(data) if name.endswith(".gz") else data)

    def run(self, *argv: str, code: int = 0) -> tuple[str, str]:
        """Run a command that ends with this code; return standard output and standard error."""
        assert main([*argv]) == code
        printed = self.capsys.readouterr()
        return printed.out, printed.err

    def out(self, *argv: str, code: int = 0) -> str:
        return self.run(*argv, code=code)[0]

    def json(self, *argv: str, code: int = 0) -> Any:
        return json.loads(self.out(*argv, "--json", code=code))

    def error(self, *argv: str) -> str:
        """Run a command with invalid usage or input. Return the error message."""
        out, problem = self.run(*argv, code=2)
        assert (out, "Traceback" in problem) == ("", False)
        return problem


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)
