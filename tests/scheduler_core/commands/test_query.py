"""`python -m scheduler_core state` and `find` with snapshots and scenarios."""

import pytest

from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import PREEMPTION, ROOT, Cli

SAMPLES = ROOT / "kubesched_ui" / "scenarios" / "samples"


@pytest.fixture
def file(cli: Cli) -> str:
    big = pod("big", requests={"cpu": "64"}, priority=5)
    fits = [pod(f"p{i}", requests={"cpu": "1"}, labels={"app": "a"}) for i in range(3)]
    taints = (("dedicated", "a", "NoSchedule"),)
    return cli.snapshot(node("n1", pods=110), node("n2", taints=taints), big, *fits, name="s.json.gz")


def test_state_of_a_snapshot(file: str, cli: Cli) -> None:
    first, last = cli.json("state", file, "--cycle", "1"), cli.json("state", file)
    assert [n["pods"] for n in first["nodes"]] == [[], []]
    assert first["pending"] == ["default/big", "default/p0", "default/p1", "default/p2"]
    assert [n["pods"] for n in last["nodes"]] == [["default/p0", "default/p1", "default/p2"], []]
    assert last["nodes"][0]["requested"] == {"cpu": 3000, "memory": 0, "pods": 3}
    assert last["nodes"][1]["taints"] == ["dedicated=a:NoSchedule"]
    assert (last["cycle"], last["pending"]) == (5, ["default/big"])
    change = cli.json("state", file, "--cycle", "3", "--since", "2")
    assert (change["nodes"][0]["pods"], change["no_longer_pending"]) == (["default/p0"], ["default/p0"])


def test_state_as_a_table(file: str, cli: Cli) -> None:
    lines = cli.out("state", file).splitlines()
    assert lines == [
        "after 4 cycles, at 0 s",
        "NODE  CPU     MEMORY    PODS",
        "n1    3 of 4  0 of 8Gi  3 of 110",
        "n2    0 of 4  0 of 8Gi  0 of 110  dedicated=a:NoSchedule",
        "1 pod pending: default/big",
    ]
    assert cli.out("state", file, "--cycle", "2").startswith("before cycle 2 of 4, at 0 s\n")


def test_find_in_a_snapshot(file: str, cli: Cli) -> None:
    where = 'result == "unschedulable" && refused_on("n1") && labels[?"app"].orValue("") == ""'
    assert cli.json("find", file, where)["matches"] == [{"cycle": 1, "pod": "default/big", "attempt": 1, "t": 0.0}]
    lines = cli.out("find", file, "refused_by('TaintToleration')", "--limit", "1").splitlines()
    assert lines[-1] == "4 of 4 cycles, 1 shown"
    assert lines[0].split() == ["1", "0", "s", "default/big", "attempt", "1"]
    back = cli.json("find", file, "true", "--direction", "previous", "--from", "3", "--limit", "2")
    assert ([m["cycle"] for m in back["matches"]], back["next_from"]) == ([3, 2], 1)
    assert cli.out("find", file, "score > 9000", code=1).startswith("0 of 4 cycles")


def test_a_scenario_runs_in_virtual_time_by_default(cli: Cli) -> None:
    found = cli.json("find", PREEMPTION, "victims.size() > 0")
    assert [match["t"] for match in found["matches"]] == [10.0, 30.0]
    late = found["matches"][0]
    before = cli.json("state", PREEMPTION, "--t", str(late["t"] - 0.001))
    after = cli.json("state", PREEMPTION, "--t", str(late["t"]))
    assert late["pod"] in after["nominated"]
    assert late["pod"] not in before["nominated"]
    assert cli.json("state", PREEMPTION, "--seq", "0")["cycle"] == 1
    sample = str(SAMPLES / "10-preemption.yaml")
    assert cli.json("find", sample, "t > 0", code=0)["total"] > 0
    assert cli.json("find", sample, "t > 0", "--one-pass", code=1)["total"] == 0


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["state", "FILE", "--cycle", "9"], "cycle: must be in 1..5, got 9"),
        (["state", "FILE", "--seq", "1"], "seq: is for runs in virtual time"),
        (["state", "FILE", "--cycle", "2", "--since", "1.5"], "since: must be a whole number"),
        (["state", "/nowhere"], "cannot be read"),
        (["find", "FILE", "pod = 'x'"], "where: line 1, column 5: '=' is not an operator"),
        (["find", "FILE", "true", "--limit", "0"], "limit: must be in"),
        (["find", "FILE", "true", "--config", "/nowhere"], "cannot be read"),
        (["find", "FILE", "true", "--release", "0.9"], "release"),
    ],
)
def test_invalid_queries_are_rejected(argv: list[str], says: str, file: str, cli: Cli) -> None:
    assert says in cli.error(*(file if word == "FILE" else word for word in argv))


def test_an_invalid_scenario_is_rejected_by_line(cli: Cli) -> None:
    broken = "apiVersion: kubesched.dev/v1alpha1\nkind: Scenario\nspec:\n  sed: 1\n"
    assert "line" in cli.error("state", cli.file("broken.yaml", broken))
