"""`python -m scheduler_core provenance`."""

import pytest

from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import PREEMPTION, Cli
from tests.scheduler_core.provenance.evaluate import nodes


@pytest.fixture
def file(cli: Cli) -> str:
    runs = pod("runs", on="n1", requests={"cpu": "500m"})
    new = [pod(name, requests={"cpu": cpu}) for name, cpu in (("first", "1"), ("second", "250m"), ("big", "9"))]
    return cli.snapshot(node("n1", cpu="4", pods=110), node("n2", cpu="2", pods=110), runs, *new)


def test_a_score_leads_to_fields_and_the_earlier_cycle(file: str, cli: Cli) -> None:
    where = ["provenance", file, "--pod", "default/second", "--point", "raw", "--plugin", "NodeResourcesFit"]
    tree = cli.json(*where, "--node", "n1")
    found = [leaf for leaf in nodes(tree) if leaf["op"] == "field"]
    assert {leaf["source"]["name"] for leaf in found} == {"n1", "runs", "first", "second"}
    assert {leaf["source"]["name"]: leaf.get("cycle") for leaf in found if "cycle" in leaf} == {"first": 1}
    text = cli.out(*where, "--node", "n1")
    assert text.splitlines()[0] == tree["text"]
    assert "500m  field  cpu of default/runs, container" in text


def test_a_rejection_shows_the_shortfall(file: str, cli: Cli) -> None:
    where = ["provenance", file, "--pod", "default/big", "--point", "filter", "--plugin", "NodeResourcesFit"]
    assert cli.out(*where, "--node", "n2").startswith("n2: Insufficient cpu: requests 9, 1.75 of 2 free\ntrue  or")


def test_totals_and_choices_use_the_selected_node(file: str, cli: Cli) -> None:
    total = cli.json("provenance", file, "--pod", "default/first", "--point", "total")
    assert (total["op"], total["value"]) == ("sum", sum(arg["value"] for arg in total["args"]))
    chosen = cli.json("find", PREEMPTION, "victims.size() > 0")["matches"][0]
    where = ["provenance", PREEMPTION, "--pod", chosen["pod"], "--attempt", str(chosen["attempt"])]
    choice = cli.json(*where, "--point", "preemption")
    assert (choice["value"], choice["op"]) == (True, "and")
    assert "victims" in choice["text"]


@pytest.mark.parametrize(
    ("name", "point", "more", "problem"),
    [
        ("missing", "total", "", "pod: 'default/missing' was not tried"),
        ("first", "colour", "", "point: must be one of filter, raw"),
        ("first", "raw", "", "plugin: must be given, one of"),
        ("first", "raw", "--plugin X", "plugin: 'X' is not at score"),
        ("first", "total", "--node n9", "node: there was no node 'n9'"),
        ("big", "total", "", "node: must be given"),
        ("first", "total", "--attempt 2", "attempt: must be one of 1, got 2"),
        ("first", "total", "--page 0", "page: must be 1 or more"),
        ("first", "preemption", "", "point: no PostFilter plugin ran"),
    ],
)
def test_invalid_questions_are_rejected(name: str, point: str, more: str, problem: str, file: str, cli: Cli) -> None:
    where = ["provenance", file, "--pod", f"default/{name}", "--point", point]
    assert problem in cli.error(*where, *more.split())
