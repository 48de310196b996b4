"""`python -m scheduler_core upgrade`."""

import json
from typing import Any

import pytest

from scheduler_core.releases import RELEASES
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.commands.conftest import ROOT, Cli


@pytest.fixture
def snapshot(cli: Cli) -> str:
    """Return a pod with a sidecar, which 1.27 does not count, and one that fits nowhere."""
    side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    chatty = pod("chatty", requests={"cpu": "2"}, initContainers=[side])
    return cli.snapshot(node("n1", cpu="4"), chatty, pod("big", requests={"cpu": "64"}))


def steps(cli: Cli, file: str, first: str, last: str, *options: str, code: int = 1) -> list[dict[str, Any]]:
    out = cli.out("upgrade", file, "--from", first, "--to", last, *options, "--json", code=code)
    return [json.loads(line) for line in out.splitlines()]


def test_the_table(snapshot: str, cli: Cli) -> None:
    out = cli.out("upgrade", snapshot, "--from", "1.27", "--to", "1.34.1", code=1)
    assert (
        "1.27 → 1.34: 1 pod loses its node; 1 of 2 pods has the same outcome. 1 message differs only in wording." in out
    )
    assert "since 1.28: requests of sidecars (restartable init containers) are added" in out
    assert "words: default/big" in out
    assert [line.split() for line in out.splitlines() if line.startswith("default/chatty")] == [
        ["default/chatty", "lost", "n1", "unschedulable"]
    ]


def test_step_by_step_as_json(snapshot: str, cli: Cli) -> None:
    names = list(RELEASES)
    first, last = names.index("1.27"), names.index("1.34")
    found = steps(cli, snapshot, "1.27", "1.34", "--through")
    assert [step["a"] for step in found] == names[first:last]
    assert [step["b"] for step in found] == names[first + 1 : last + 1]
    (lost,) = [one for step in found for one in step["changed"] if one["change"] == "lost"]
    assert lost["pod"] == "default/chatty"
    assert steps(cli, snapshot, "1.34", "1.27", "--through")[-1]["b"] == "1.27"


def test_virtual_time(cli: Cli) -> None:
    path = str(ROOT / "tests" / "browser" / "story.yaml")
    assert cli.out("upgrade", path, "--from", "1.27", "--to", "1.34").startswith("1.27 → 1.34: ")


def test_feature_gates_apply_to_the_releases_that_have_them(snapshot: str, cli: Cli) -> None:
    """SidecarContainers is off in 1.28, on in 1.30, and locked in 1.34."""
    (step,) = steps(cli, snapshot, "1.28", "1.30", "--feature-gates", "SidecarContainers=true", code=0)
    assert (step["a"], step["b"]) == ("1.28 SidecarContainers=true", "1.30")
    (step,) = steps(cli, snapshot, "1.28", "1.34", code=0)
    assert ["default/chatty", "words"] in [[one["pod"], one["change"]] for one in step["changed"]]


@pytest.mark.parametrize(
    ("first", "last", "more", "problem"),
    [
        ("1.34", "1.34.1", [], "must differ from --from"),
        ("1.2", "1.34", [], "'1.2' is not available"),
        ("1.27", "1.34", ["--release", "1.34"], "cannot be combined with --from and --to"),
        ("1.27", "1.34", ["--feature-gates", "NodeDeclaredFeatures=true"], "is in none of 1.27, 1.34"),
    ],
)
def test_invalid_usage(first: str, last: str, more: list[str], problem: str, snapshot: str, cli: Cli) -> None:
    assert problem in cli.error("upgrade", snapshot, "--from", first, "--to", last, *more)
