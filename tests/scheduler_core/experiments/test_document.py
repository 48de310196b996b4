"""Experiment documents: fields, errors with lines, limits, the grid of cells."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.experiments.document import cells_of
from scheduler_core.experiments.parameters import LossParameters
from scheduler_core.experiments.questions import (
    MAX_BYTES,
    QUESTIONS,
    ExperimentDocument,
    experiment_schema,
    load_experiment,
)

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = re.search(r"```yaml\n(.*?)```", (DOCS / "experiments.md").read_text(), re.S)
assert EXAMPLE
TEXT = EXAMPLE[1]


def spec(**fields: object) -> str:
    given = {"scenarios": [{"id": 1}], **fields}
    return json.dumps({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": given})


def refusal(source: str | bytes) -> str:
    with pytest.raises(InputError) as error:
        load_experiment(source, "e.yaml")
    return str(error.value)


def test_the_schema_agrees_with_the_code() -> None:
    # .venv/bin/python -m scheduler_core experiment --schema > docs/experiment.schema.json
    assert json.loads((DOCS / "experiment.schema.json").read_text()) == experiment_schema()


def test_every_field_is_documented() -> None:
    text = (DOCS / "experiments.md").read_text()
    names = [field.encode_name for field in msgspec.structs.fields(type(load_experiment(TEXT).spec))]
    assert [name for name in names if f"`{name}" not in text] == []


def test_the_example_is_unchanged_when_exported() -> None:
    loaded = load_experiment(TEXT)
    assert load_experiment(json.dumps(msgspec.to_builtins(loaded))) == loaded
    assert msgspec.convert(msgspec.to_builtins(loaded), ExperimentDocument) == loaded


def test_the_grid_has_every_combination_once() -> None:
    cells = list(cells_of(load_experiment(TEXT)))
    assert len(cells) == load_experiment(TEXT).spec.size == 12
    assert len({json.dumps(cell.labels, sort_keys=True) for cell in cells}) == 12
    assert [cell.seed for cell in cells[:4]] == [1, 2, 3, 1]
    packed = [cell for cell in cells if "MostAllocated" in cell.configuration]
    assert {cell.labels["configuration"] for cell in packed} == {"packed"}
    assert {cell.labels["changes"] for cell in cells if cell.changes} == {"without n1"}
    assert all(cell.parameters == {"outcomes": True} for cell in cells)


def test_outcomes_of_many_cells_are_stored_on_request_only() -> None:
    first = next(cells_of(load_experiment(spec(seeds={"count": 1001}))))
    assert first.parameters == {"outcomes": False}
    first = next(cells_of(load_experiment(spec(seeds={"count": 1001}, outcomes=True))))
    assert first.parameters == {"outcomes": True}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("question: compare", "question: compose", "e.yaml: line 5: spec.question: Invalid enum value 'compose'"),
        ("  releases:", "  release:", "e.yaml: line 4: spec: Object contains unknown field `release`"),
        ("file: cluster.json", "id: 0", "e.yaml: line 7: spec.scenarios[0].id: must be 1 or more, got 0"),
        (
            *("file: cluster.json", "id: 3\n      file: cluster.json"),
            "e.yaml: line 7: spec.scenarios[0]: must have exactly one of id, file",
        ),
        ('["1.36"]', '["1.36", "1.99"]', "e.yaml: line 8: spec.releases[1]: Kubernetes release: '1.99' is not"),
        ('["1.36"]', '["1.36", "v1.36.2"]', "e.yaml: line 8: spec.releases[1]: occurs twice"),
        ('["1.36"]', "[]", "e.yaml: line 8: spec.releases: must not be empty"),
        (
            *("type: MostAllocated", "type: Most"),
            "e.yaml: line 12: spec.configurations[1].config: Kubernetes 1.36: ",
        ),
        ("name: packed", "name: default", "e.yaml: line 11: spec.configurations[1].name: occurs twice"),
        ("count: 3", "count: 0", "e.yaml: line 21: spec.seeds.count: must be 1 or more, got 0"),
        ("{first: 1, count: 3}", "[1, 1]", "e.yaml: line 21: spec.seeds[1]: occurs twice"),
        ("{first: 1, count: 3}", f"[{2**63}]", "e.yaml: line 21: spec.seeds[0]: must be an integer of 64 bits"),
        ("cordon: n1", "cordons: n1", "spec.changes[1].changes[0]: Object contains unknown field `cordons`"),
        ("name: unchanged", "name: ' '", "spec.changes[0].name: must not be empty"),
        ("name: unchanged", "name: [~]", "spec.changes[0].name[0]: is null; leave it out"),
        ("virtualTime: false", "until: 60", "spec.until: is only for virtual time; set virtualTime: true"),
        ("virtualTime: false", "virtualTime: true\n  until: soon", "spec.until: 'soon' is not a duration"),
        ("virtualTime: false", "tune: {aims: []}", "spec.tune: is only for the question tune, got compare"),
        ("count: 3", "count: 1000000000", "e.yaml: line 4: spec: would have 4,000,000,000 cells; at most 10,000"),
        ("first: 1", f"first: {2**63}", "spec.seeds: must be integers of 64 bits"),
    ],
)
def test_an_error_is_named_with_its_line(old: str, new: str, words: str) -> None:
    assert old in TEXT
    assert words in refusal(TEXT.replace(old, new, 1))


def test_unknown_plugins_are_refused_with_the_field_that_ignores_them() -> None:
    moon = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Moon"}]}}}]}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **moon}
    configurations = [{"name": "own", "config": config}]
    problem = refusal(spec(configurations=configurations))
    assert "'Moon' is not part of kube-scheduler" in problem
    assert problem.endswith("; spec.unknownPlugins: leave_out ignores them")
    load_experiment(spec(configurations=configurations, unknownPlugins="leave_out"))
    wrong = [{"name": "own", "config": config | {"parallelism": -1}}]
    assert "spec.unknownPlugins" not in refusal(spec(configurations=wrong)), "it would not help"


def test_scenarios_are_distinct() -> None:
    assert "spec.scenarios[1]: occurs twice" in refusal(spec(scenarios=[{"id": 1}, {"id": 1}]))
    assert "spec.scenarios[1]: occurs twice" in refusal(spec(scenarios=[{"id": 1}, {"id": 1, "name": "again"}]))
    assert "spec.scenarios: must not be empty" in refusal(spec(scenarios=[]))
    assert len(load_experiment(spec(scenarios=[{"id": 1}, {"id": 2}])).spec.scenarios) == 2


def test_a_large_configuration_is_not_multiplied() -> None:
    large = {"name": "large", "config": "# " + "x" * 500_000}
    text = spec(configurations=[large], seeds={"count": 1000})
    assert "would store 500 MB of configurations and changes; at most 100 MB are allowed" in refusal(text)


def test_the_number_of_configurations_is_limited() -> None:
    texts = [{"name": f"c{i}", "config": f"# {i}"} for i in range(501)]
    assert "would have 1,002 configurations" in refusal(spec(configurations=texts, releases=["1.36", "1.35"]))


def test_hostile_documents_are_refused() -> None:
    assert "is larger than 2 MB" in refusal("x" * (MAX_BYTES + 1))
    assert "is nested deeper than 64 levels" in refusal('{"spec": ' * 5000 + "1" + "}" * 5000)
    assert "is nested deeper than 64 levels" in refusal("[" * 500 + "]" * 500)
    assert "YAML aliases add more than" in refusal("a: &a [" + "1," * 3000 + "]\nb: [" + "*a," * 900 + "]")
    assert "must hold one document" in refusal("a: 1\n---\nb: 2")
    assert "is null" in refusal("a: [~]\n---\nb: 2")
    assert "Expected `object`, got `array`" in refusal("[]")
    assert "must hold one document" in refusal(b"")
    assert "is not UTF-8 text" in refusal(b"\xff\xfe")
    assert "would be more" in refusal(spec(seeds={"count": 10**30})) or "cells" in refusal(
        spec(seeds={"count": 10**18})
    )
    assert len(refusal(spec(question="x" * 1_000_000))) < 2000
    many = [{"name": f"c{i}"} for i in range(200)]
    assert "would have 40,000 cells" in refusal(spec(configurations=many, changes=many))


@pytest.mark.parametrize("question", [name for name, question in QUESTIONS.items() if question.required])
def test_a_section_that_a_question_needs_must_not_be_missing(question: str) -> None:
    assert f"spec.{question}: is missing; it " in refusal(spec(question=question))
    assert load_experiment(spec(question="loss")).spec.section(LossParameters) == LossParameters()
