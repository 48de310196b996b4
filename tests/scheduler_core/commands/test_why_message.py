"""`python -m scheduler_core why-message`: its inputs, output and errors."""

import gzip
import io
from types import SimpleNamespace

from tests.scheduler_core.messages.test_message import CPU, DESCRIBED, TIMED_OUT


def test_a_message_as_argument(cli):
    lines = cli.out("why-message", CPU).splitlines()
    assert lines[0] == "None of 5 nodes takes the pod: 3 lack cpu; 2 are cordoned."
    assert lines[1] == "  [############........] 3 of 5 nodes lack cpu. (NodeResourcesFit, insufficient-resource)"
    assert "  Release: The wording is the same in all releases from 1.16 to 1.37." in lines
    assert "    kubectl describe pod POD -n NAMESPACE" in lines
    assert lines[-1] == f"  Event: {CPU}"
    assert cli.out("why-message", *CPU.split()).splitlines() == lines


def test_a_file_and_standard_input(cli, monkeypatch):
    for path in (cli.file("describe.txt", DESCRIBED), cli.file("describe.gz", gzip.compress(DESCRIBED.encode()))):
        found = cli.out("why-message", "--file", path)
        assert found.startswith("shop/web-0: None of 5 nodes takes the pod")
        assert f"  Event: {TIMED_OUT}" in found
        assert "kubectl describe pod web-0 -n shop" in found
    stdin = SimpleNamespace(buffer=io.BytesIO(DESCRIBED.encode()), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)
    assert cli.out("why-message") == found


def test_json(cli):
    answer = cli.json("why-message", CPU)
    assert (answer["nodes"], answer["releases"]["since"]) == (5, "1.16")
    assert [(one["count"], one["plugin"], one["kind"]) for one in answer["reasons"]] == [
        (3, "NodeResourcesFit", "insufficient-resource"),
        (2, "NodeUnschedulable", "cordoned"),
    ]


def test_errors(cli):
    assert "has no message of FailedScheduling" in cli.error("why-message", "hello")
    assert "not both" in cli.error("why-message", CPU, "--file", "x")
    assert "cannot be read" in cli.error("why-message", "--file", "/nonexistent")
