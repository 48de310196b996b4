"""Asks questions about small clusters in the tests."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from scheduler_core.experiments.cell import Done
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.questions import QUESTIONS, ExperimentDocument, load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from tests.scheduler_core.build import Raw


def scenario_of(*objects: Raw) -> ScenarioInput:
    """Return a scenario called `cluster`."""
    encoded = json.dumps(objects)
    return ScenarioInput("cluster", "digest", lambda: json.loads(encoded))


def experiment_of(question: str, **spec: Any) -> Experiment:
    """Return an experiment about the scenario `cluster`."""
    wanted = {"question": question, "scenarios": [{"id": 1, "name": "cluster"}], **spec}
    return load_experiment(json.dumps({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": wanted}))


def unchecked(question: str, **spec: Any) -> Experiment:
    """Return an experiment about the scenario `s` whose document was not checked. `spec`: with structs as they are."""
    wanted = msgspec.to_builtins({"question": question, "scenarios": [{"name": "s"}], **spec})
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": wanted}
    return msgspec.convert(document, ExperimentDocument)


def answer_of(question: str, scenario: ScenarioInput, **spec: Any) -> dict[str, Any]:
    """Return the answer of an experiment, which is computed here; it is plain JSON."""
    implementation, experiment = QUESTIONS[question], experiment_of(question, **spec)
    cells = implementation.plan(experiment, {scenario.key: scenario})
    done = [Done(cell, implementation.compute(cell, scenario, lambda: None)) for cell in cells]
    assert implementation.next_round(experiment, done) == []
    found = implementation.summarise(experiment, done)
    assert json.loads(json.dumps(found)) == found
    return found
