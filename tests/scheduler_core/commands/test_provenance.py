"""python -m scheduler_core provenance."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.test_query import PREEMPTION, asked, said, snapshot
from tests.scheduler_core.provenance.evaluate import nodes


@pytest.fixture
def file(tmp_path: Path) -> str:
    runs = pod("runs", on="n1", requests={"cpu": "500m"})
    new = [pod(name, requests={"cpu": cpu}) for name, cpu in (("first", "1"), ("second", "250m"), ("big", "9"))]
    return snapshot(tmp_path, node("n1", cpu="4", pods=110), node("n2", cpu="2", pods=110), runs, *new)


def test_a_score_leads_to_fields_and_to_the_earlier_cycle(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["provenance", file, "--pod", "default/second", "--point", "raw", "--plugin", "NodeResourcesFit"]
    tree = asked(capsys, *where, "--node", "n1")
    found = [leaf for leaf in nodes(tree) if leaf["op"] == "field"]
    assert {leaf["source"]["name"] for leaf in found} == {"n1", "runs", "first", "second"}
    assert {leaf["source"]["name"]: leaf.get("cycle") for leaf in found if "cycle" in leaf} == {"first": 1}
    text = said(capsys, *where, "--node", "n1")
    assert text.splitlines()[0] == tree["text"]
    assert "500m  field  cpu of default/runs, container" in text


def test_a_refusal_says_how_much_is_missing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["provenance", file, "--pod", "default/big", "--point", "filter", "--plugin", "NodeResourcesFit"]
    assert said(capsys, *where, "--node", "n2").startswith("n2: Insufficient cpu: requests 9, 1.75 of 2 free\ntrue  or")


def test_totals_and_choices_take_the_chosen_node(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    total = asked(capsys, "provenance", file, "--pod", "default/first", "--point", "total")
    assert (total["op"], total["value"]) == ("sum", sum(arg["value"] for arg in total["args"]))
    chosen = asked(capsys, "find", PREEMPTION, "victims.size() > 0")["matches"][0]
    where = ["provenance", PREEMPTION, "--pod", chosen["pod"], "--attempt", str(chosen["attempt"])]
    choice = asked(capsys, *where, "--point", "preemption")
    assert (choice["value"], choice["op"]) == (True, "and")
    assert "victims" in choice["text"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--pod", "default/nobody", "--point", "total"], "pod: 'default/nobody' was not tried"),
        (["--pod", "default/first", "--point", "colour"], "point: must be one of filter, raw"),
        (["--pod", "default/first", "--point", "raw"], "plugin: must be given, one of"),
        (["--pod", "default/first", "--point", "raw", "--plugin", "X"], "plugin: 'X' is not at score"),
        (["--pod", "default/first", "--point", "total", "--node", "n9"], "node: there was no node 'n9'"),
        (["--pod", "default/big", "--point", "total"], "node: must be given"),
        (["--pod", "default/first", "--point", "total", "--attempt", "2"], "attempt: must be one of 1, got 2"),
        (["--pod", "default/first", "--point", "total", "--page", "0"], "page: must be 1 or more"),
        (["--pod", "default/first", "--point", "preemption"], "point: no PostFilter plugin ran"),
    ],
)
def test_wrong_questions_are_refused(argv: list[str], says: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["provenance", file, *argv]) == 2
    problem = capsys.readouterr().err
    assert says in problem
    assert "Traceback" not in problem
