"""python -m scheduler_core upgrade."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.releases import RELEASES
from tests.scheduler_core.build import node, pod

ROOT = Path(__file__).parents[3]


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A pod with a sidecar, which 1.27 does not count, and one that fits nowhere."""
    side = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
    items = [
        node("n1", cpu="4"),
        pod("chatty", requests={"cpu": "2"}, initContainers=[side]),
        pod("big", requests={"cpu": "64"}),
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


def test_the_table(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", snapshot, "--from", "1.27", "--to", "1.34.1"]) == 1
    out = capsys.readouterr().out
    assert "1.27 → 1.34: Of 2 pods, 1 has the same outcome; 1 loses its node. 1 message differs only in wording." in out
    assert "since 1.28: requests of sidecars (restartable init containers) are added" in out
    assert "words: default/big" in out
    assert [line.split() for line in out.splitlines() if line.startswith("default/chatty")] == [
        ["default/chatty", "lost", "n1", "unschedulable"]
    ]


def test_step_by_step_as_json(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = list(RELEASES)
    first, last = names.index("1.27"), names.index("1.34")
    assert main(["upgrade", snapshot, "--from", "1.27", "--to", "1.34", "--through", "--json"]) == 1
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["a"] for step in steps] == names[first:last]
    assert [step["b"] for step in steps] == names[first + 1 : last + 1]
    (lost,) = [one for step in steps for one in step["changed"] if one["change"] == "lost"]
    assert lost["pod"] == "default/chatty"
    assert main(["upgrade", snapshot, "--from", "1.34", "--to", "1.27", "--through", "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["b"] == "1.27"


def test_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "tests" / "browser" / "story.yaml")
    assert main(["upgrade", path, "--from", "1.27", "--to", "1.34"]) in (0, 1)
    assert capsys.readouterr().out.startswith("1.27 → 1.34: ")


def test_feature_gates_count_where_a_release_has_them(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    gates = ["--feature-gates", "SidecarContainers=true"]  # which 1.28 has off, 1.30 on, and 1.34 for good
    assert main(["upgrade", snapshot, "--from", "1.28", "--to", "1.30", *gates, "--json"]) == 0
    (step,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (step["a"], step["b"]) == ("1.28 SidecarContainers=true", "1.30")
    assert main(["upgrade", snapshot, "--from", "1.28", "--to", "1.34", "--json"]) in (0, 1)
    (step,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ["default/chatty", "words"] in [[one["pod"], one["change"]] for one in step["changed"]]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--from", "1.34", "--to", "1.34.2"], "must be another release"),
        (["--from", "1.2", "--to", "1.34"], "'1.2' is not available"),
        (["--from", "1.27", "--to", "1.34", "--release", "1.34"], "cannot be combined with --from and --to"),
        (
            ["--from", "1.27", "--to", "1.34", "--feature-gates", "NodeDeclaredFeatures=true"],
            "is in none of 1.27, 1.34",
        ),
    ],
)
def test_refusals(snapshot: str, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", snapshot, *more]) == 2
    assert words in capsys.readouterr().err
