"""Every decision and message in the recordings of a real scheduler is explained."""

import io
from argparse import Namespace
from typing import Any

import msgspec
import pytest

from scheduler_core.commands.shadow import run
from tests.recordings import LIVE_A, LIVE_B, LIVE_MOST


def report(folder: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    assert run(Namespace(recording=str(folder), cluster=None, release=None, config=None), out) == 0
    return [msgspec.json.decode(line) for line in out.getvalue().splitlines()]


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "decisions", "messages", "configuration"),
    [(LIVE_A, 516, 2969, "default"), (LIVE_B, 408, 1484, "default"), (LIVE_MOST, 409, 1635, "MostAllocated")],
    ids=["live-a", "live-b", "live-most"],
)
def test_every_decision_is_explained(folder, decisions, messages, configuration):
    *lines, summary = report(folder)
    assert (summary["decisions"], summary["explained"], summary["messages"]) == (decisions, decisions, messages)
    assert {line["outcome"] for line in lines if line["kind"] == "message"} <= {"equal", "earlier"}
    assert set(summary["classes"]) <= {"same", "tie", "sampled"}
    likelihoods = summary["configuration"]
    assert max(likelihoods, key=likelihoods.__getitem__) == configuration == summary["judged_by"]
    assert likelihoods[configuration] > 0.95
    assert {line["configuration"] for line in lines if line["kind"] == "decision"} == {configuration}
