"""A scenario, and a question whose cells take no time."""

import pytest

from kubesched_ui.models import Scenario
from scheduler_core.experiments.questions import QUESTIONS
from tests.kubesched_ui.experiments.questions import Squares
from tests.kubesched_ui.recordings import node, pod, scenario


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> Squares:
    """Return a question that replaces `compare`."""
    question = Squares()
    monkeypatch.setitem(QUESTIONS, "compare", question)
    return question


@pytest.fixture
def cluster(db: None) -> Scenario:
    return scenario(node("n1", cpu="4"), pod("a"), pod("b"))
