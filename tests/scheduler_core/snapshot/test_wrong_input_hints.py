"""`explain` says what a file is that is no snapshot."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.__main__ import main
from scheduler_core.snapshot.files import objects_in
from scheduler_core.snapshot.wrong_input_hints import KUBECTL
from tests.scheduler_core.snapshot.wrong_inputs import INPUTS, LIKE_SNAPSHOTS


@pytest.mark.parametrize("name", INPUTS)
def test_explain_says_what_a_file_is(name: str, tmp_path: Path, capsys: Any) -> None:
    data, says = INPUTS[name]
    path = tmp_path / name
    for content in (data, gzip.compress(data)):
        path.write_bytes(content)
        assert main(["explain", str(path)]) == 2
        message = capsys.readouterr().err
        assert says in message
        assert "Traceback" not in message
        assert "s3cr3t" not in message


def test_the_message_names_the_command(tmp_path: Path, capsys: Any) -> None:
    for name in ("etcd-big-endian.db", "scheduler.log", "events.json", "metrics"):
        path = tmp_path / name
        path.write_bytes(INPUTS[name][0])
        assert main(["explain", str(path)]) == 2
        assert f"`{KUBECTL}`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["kyaml", "a comment on metrics", "a node called log"])
def test_snapshots_are_read(name: str) -> None:
    assert [raw["metadata"]["name"] for raw in objects_in(LIKE_SNAPSHOTS[name].encode(), "a.txt")] == ["n1"]
