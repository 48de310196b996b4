"""Questions that ask for a change of one field. The engine judges the outcome of the changed run."""

import pytest
from django.test import Client

from kubesched_ui.lessons import catalog, changes, feedback, lint, parser, questions
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.questions import Question

CPU, TAINT, PRIORITY = (
    "Pod/web spec.containers[0].resources.requests.cpu",
    "Node/n2 spec.taints[0]",
    "Pod/web spec.priority",
)
PERCENTAGE, WEIGHT = "run percentage", "config profiles[0].plugins.score.enabled[0].weight"
LABEL, TIME = "Node/n1 metadata.labels['a.b/c']", "scenario timeline[0].at"
NODE = "{apiVersion: v1, kind: Node, metadata: {name: %s}, spec: %s, status: {allocatable: {cpu: '%s', pods: '110'}}}"
SCORE = "{score: {enabled: [{name: ImageLocality, weight: 7}]}}"
LESSON = f"""---
title: A small one
summary: To be changed.
scenario:
  objects:
    - {NODE % ("n1", "{}", "4")}
    - {NODE % ("n2", "{taints: [{key: a, effect: NoSchedule}]}", "8")}
    - {{kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "3"}}}}}}]}}}}
runs:
  run:
    config:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles: [{{plugins: {SCORE}}}]
steps:
  - title: Now break it
    focus: {{pod: web, point: filter}}
    ask:
      kind: change
      text: "`web` is placed on `{{{{ node_of('web') }}}}`. Change that."
      fields: ["{CPU}", "{TAINT}", "{PRIORITY}", "{PERCENTAGE}", "{WEIGHT}", "{LABEL}"]
      goal: "node_of('web') == 'n2'"
      solution: ["{TAINT}", ""]
---

## Now break it

It fits.

### Revealed

It goes to {{{{ in_run("changed", node_of("web")) }}}}.
"""


def lesson(text: str = LESSON) -> Lesson:
    return Lesson(parser.parsed("01-small", text.encode()))


@pytest.fixture(scope="module")
def question() -> Question:
    found = lesson().question(1)
    assert found is not None
    return found


def test_the_engine_judges_the_changed_run(question: Question) -> None:
    assert questions.judge(question, [TAINT, ""]).right
    wrong = questions.judge(question, [CPU, "6"])
    assert not wrong.right
    goal, result = feedback.explain(question, wrong)
    assert goal == "The goal is not reached."
    assert result.startswith(
        "With this change, web is placed on no node: 0/2 nodes are available: 1 Insufficient cpu, "
    )
    assert "placed on n1" in feedback.explain(question, questions.judge(question, [CPU, "3500m"]))[1]


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        (CPU, "3", "The field already has this value."),
        (CPU, "three", '"three" is not a quantity'),
        (CPU, "x" * 101, "more than 100 characters"),
        (PRIORITY, "", "The field is not set."),
        (PRIORITY, "high", 'spec.priority: must be a whole number, found "high"'),
        (LABEL, "two words", "metadata.labels"),
        (PERCENTAGE, "all", "Expected `int | null`, got `str`"),
        (WEIGHT, "heavy", "weight"),
        ("Pod/web spec.nodeName", "n2", "Choose a field"),
    ],
)
def test_impossible_changes_are_rejected(question: Question, field: str, text: str, problem: str) -> None:
    verdict = questions.judge(question, [field, text])
    assert not verdict.right
    assert problem in verdict.problem


def test_numbers_strings_and_missing_fields_are_set(question: Question) -> None:
    run = question.facts.run

    def changed_value(field: str, text: str) -> str:
        made = changes.ChangedRuns(question.facts.runs, field, text)["run"]
        assert made.cycles
        assert changes.current(run, field) != text
        return changes.current(made, field)

    for field, text in ((PRIORITY, "7"), (PERCENTAGE, "50"), (WEIGHT, "8"), (LABEL, "5"), (TAINT, "")):
        assert changed_value(field, text) == text
    assert run.settings.percentage is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("== 'n2'", "== 'n1'", "has a goal that the run reaches without a change"),
        (f'["{TAINT}", ""]', f'["{CPU}", "4"]', "rejects its own answer"),
        (f'["{TAINT}", ""]', f'["{CPU}", "x"]', "is not a quantity"),
        (f'["{TAINT}", ""]', '["Pod/x spec.priority", "4"]', "among them that of the solution"),
        (f'["{TAINT}", ""]', "[]", "must have `fields`, `goal`, and a field and its value as `solution`"),
        (f'fields: ["{CPU}"', 'fields: ["Pod/other spec.priority"', "the scenario has no Pod/other"),
        ("It fits.", 'It goes to {{ in_run("changed", node_of("web")) }}.', "the lesson has no run 'changed'"),
    ],
)
def test_lint_rejects_invalid_questions(old: str, new: str, message: str) -> None:
    assert old in LESSON
    with pytest.raises(LessonError) as caught:
        lint.check_lesson(lesson(LESSON.replace(old, new, 1)))
    assert message in str(caught.value)


def test_the_example_lesson_is_valid() -> None:
    assert lint.check_lesson(lesson()).questions == 1


def test_the_course_names_the_change_that_it_explains() -> None:
    """A student who reaches the goal with another change reads the same text."""
    for path in catalog.paths():
        file = parser.read(path)
        for step, section in zip(file.head.steps, file.sections, strict=True):
            if step.ask is not None and step.ask.kind == "change":
                assert "this change," not in section.after.text, path.name


@pytest.mark.django_db
def test_the_page_shows_the_changed_run(client: Client) -> None:
    here = next(one for one in catalog.lessons()[0] if one.number == 1)
    step = len(here.steps)
    address = f"/learn/{here.name}/{step}/"
    field = "Node/n1 status.allocatable.cpu"
    page = client.get(address).content.decode()
    assert 'id="revealed"' not in page
    assert "The run with this change" not in page
    reached = client.post(address, {"answer": [field, "32"]}).content.decode()
    assert f"{field} = 32" in reached.partition('id="verdict"')[2].partition("</p>")[0], "the student's own change"
    assert "data-right" in reached
    assert 'id="revealed"' in reached
    removed = client.post(address, {"answer": [field, ""]}).content.decode()
    assert f"{field} removed" in removed
    missed = client.post(address, {"answer": [field, "3"]}).content.decode()
    assert "The goal is not reached." in missed
    assert f"{field} = 3" in missed
    assert 'id="revealed"' not in missed
    for hostile in (
        ["<script>alert(1)</script>", "1"],
        [field, "<script>alert(1)</script>"],
        [field],
        [field, "\0", "3"],
    ):
        page = client.post(address, {"answer": hostile})
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode()
        assert "Not accepted" in page.content.decode()
