"""Scenario files: fields, errors with lines, and their effects."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from scheduler_core.__main__ import main
from scheduler_core.api.duration import seconds
from scheduler_core.commands.simulate import as_json
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario import OPERATIONS, ScenarioSpec, export, json_schema, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario, scenario

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = re.search(r"```yaml\n(.*?)```", (DOCS / "scenario.md").read_text(), re.S)
assert EXAMPLE
TEXT = EXAMPLE[1]


def test_the_schema_agrees_with_the_code() -> None:
    assert json.loads((DOCS / "scenario.schema.json").read_text()) == json_schema()


def test_every_field_and_operation_is_documented() -> None:
    text = (DOCS / "scenario.md").read_text()
    names = [field.encode_name for field in msgspec.structs.fields(ScenarioSpec)]
    assert [name for name in (*names, *OPERATIONS) if f"`{name}" not in text] == []


def test_every_kind_of_record_is_documented() -> None:
    sources = "".join(path.read_text() for path in (DOCS.parent / "scheduler_core").rglob("*.py"))
    kinds = set(re.findall(r'(?:record|_note|_because)\(\s*"([a-z.]+)"', sources)) | {"permit.rejected", "bind.failed"}
    assert len(kinds) > 12
    text = (DOCS / "virtual-time.md").read_text()
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in text] == []


def test_the_example_runs_and_is_unchanged_when_exported() -> None:
    loaded = load_scenario(TEXT)
    again = load_scenario(json.dumps(export(loaded)))
    assert again == loaded
    first, second = ([as_json(r) for r in ScenarioRun(one).run()] for one in (loaded, again))
    assert first == second
    assert {"pod.evicted", "pod.bound", "attempt"} <= {record["kind"] for record in first}


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ("seed: 7", "sead: 7", 4, "spec", "unknown field `sead`"),
        ("until: 30m", "until: soon", 6, "spec.until", "'soon' is not a duration"),
        ("kind: Scenario", "kind: Scenery", 2, "kind", "Invalid enum value"),
        ('cpu: "8"', 'cpu: "8x"', 8, "spec.objects[0].status.allocatable['cpu']", "known suffix"),
        ("value: 1000", "value: many", 12, "spec.objects[1].value", "int"),
        ("- at: 5m", "- at: -5", 23, "spec.timeline[0].at", "between 0 and 366 days"),
        ("{at: 20m, drain: n1}", "{at: 20m}", 32, "spec.timeline[3]", "exactly one of"),
        ("drain: n1}", "drain: n1, cordon: n1}", 32, "spec.timeline[3]", "got cordon, drain"),
        ("effect: NoSchedule", "effect: Never", 31, "spec.timeline[2].taint.effect", "Invalid enum value"),
        ("mean: 30s", "mean: 0", 35, "spec.arrivals[0].mean", "more than 0"),
        ("mean: 30s", "mean: 1ms", 34, "spec.arrivals[0]", "more than 1000000 pods"),
        ("mean: 30s", "every: 1s\n      mean: 30s", 34, "spec.arrivals[0]", "exactly one of every, mean"),
        ("{min: 1m, max: 5m}", "{min: 1m}", 36, "spec.arrivals[0].duration", "either min and max, or mean"),
        ("- name: batch", "- name: Batch", 34, "spec.arrivals[0].name", "lower case"),
        ("cpu: 500m", "cpu: -1", 38, "spec.arrivals[0].template.spec.containers[0]", "must not be negative"),
        (
            *("      template:\n        spec:", "      template:\n        metadata: x\n        spec:"),
            *(38, "spec.arrivals[0].template.metadata", "must be a mapping"),
        ),
        ("replicas: 1}", "replicas: 1, x: [~]}", 30, "spec.timeline[1].patch.patch.spec.x[0]", "is null"),
        ("replicas: 3", "replicas: x", 17, "spec.objects[2].spec.replicas", "int"),
    ],
)
def test_an_error_is_named_with_its_line(old: str, new: str, line: int, field: str, words: str) -> None:
    assert old in TEXT
    source = TEXT.replace(old, new, 1)
    with pytest.raises(InputError) as error:
        ScenarioRun(load_scenario(source), source)
    assert error.value.field.startswith(f"line {line}: {field}"), str(error.value)
    assert words in error.value.problem


LIST = """
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
spec:
  until: 60
  objects:
  - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "9"}}}
  - apiVersion: v1
    kind: List
    items:
    - apiVersion: v1
      kind: PodList
      items:
      - apiVersion: v1
        kind: Pod
        metadata: {name: p1}
        spec: {containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}
"""


def test_the_items_of_a_list_are_objects() -> None:
    run = ScenarioRun(load_scenario(LIST), LIST)
    assert [record.data["pod"] for record in run.run() if record.kind == "pod.bound"] == ["default/p1"]


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ('cpu: "1"', "cpu: 1x", 17, "spec.objects[1].items[0].items[0].spec.containers[0]", "known suffix"),
        ("    kind: List\n    items:", "    kind: List\n    things:", 8, "spec.objects[1].items", "must be a list"),
        (
            *("until: 60", "until: 60\n  timeline:\n  - {at: 5, create: {apiVersion: v1, kind: List, items: []}}"),
            *(7, "spec.timeline[0].create.kind", "must be one object: write an entry for each item of the List"),
        ),
    ],
)
def test_an_error_in_a_list(old: str, new: str, line: int, field: str, words: str) -> None:
    assert old in LIST
    source = LIST.replace(old, new)
    with pytest.raises(InputError) as error:
        ScenarioRun(load_scenario(source), source)
    assert error.value.field.startswith(f"line {line}: {field}"), str(error.value)
    assert words in error.value.problem


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), (1.5, 1.5), ("1h30m", 5400), ("250ms", 0.25), ("2d", 172800), ("1.5h", 5400)]
)
def test_durations(text: str | float, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "h", "1x", "-1", "1h 30m", "nan", "inf", "367d", True, "1e99"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|between"):
        seconds(text)


def test_arrivals_with_a_pattern_and_durations() -> None:
    pattern = {"name": "w", "every": "10s", "start": 5, "end": 40, "duration": 3}
    played = PlayedScenario(node("n1"), arrivals=[{**pattern, "template": {"spec": {"containers": []}}}])
    assert played.times("pod.created") == [5, 15, 25, 35]
    assert played.times("pod.deleted") == [8, 18, 28, 38]


def test_poisson_arrivals_depend_on_the_seed() -> None:
    def times(seed: int) -> list[float]:
        arrivals = [{"name": "w", "mean": "10s", "template": {"spec": {"containers": []}}}]
        return PlayedScenario(node("n1"), arrivals=arrivals, until=2000, seed=seed).times("pod.created")

    assert times(1) == times(1) != times(2)
    assert 150 < len(times(1)) < 250


def test_an_impossible_step_gives_a_warning() -> None:
    timeline = [
        {"at": 1, "cordon": "nowhere"},
        {"at": 2, "delete": {"kind": "Pod", "name": "nobody", "namespace": "default"}},
        {"at": 3, "patch": {"kind": "Node", "name": "n1", "patch": {"metadata": {"name": "n2"}}}},
        {"at": 4, "patch": {"kind": "Node", "name": "n1", "patch": {"status": {"allocatable": {"cpu": "x"}}}}},
    ]
    played = PlayedScenario(node("n1"), timeline=timeline)
    assert played.times("warning") == [1, 2, 3, 4]


def test_patches() -> None:
    patch = {"kind": "Node", "name": "n1", "patch": {"metadata": {"labels": {"disk": "ssd"}}}}
    waiting = pod("web", nodeSelector={"disk": "ssd"})
    played = PlayedScenario(node("n1"), waiting, timeline=[{"at": 9, "patch": patch}])
    assert played.times("pod.bound") == [9]


def test_simulate_prints_a_table_and_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(TEXT)
    assert main(["simulate", str(file)]) == 1
    out = capsys.readouterr().out
    assert "default/boss" in out
    assert "\n\nat 1800 s: 0 pods bound, 6 evicted" in out
    assert main(["simulate", str(file), "--format", "jsonl"]) == 1
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))


def test_simulate_names_an_error_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(tmp_path / "absent")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_scenario_without_steps_still_runs() -> None:
    run = ScenarioRun(scenario(node("n1"), pod("web"), until=None))
    assert run.until == 600
    assert any(record.kind == "pod.bound" for record in run.run())
