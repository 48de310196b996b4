"""All lessons are valid. Lint rejects an invalid lesson with file and line."""

import itertools
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from kubesched_ui.editor.yaml_documents import path_steps
from kubesched_ui.lessons import catalog, feedback, lint, parser, questions, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.decisive_fields import hidden_fields
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.object_flow import STAGES, walks

LESSON = """---
title: A small one
summary: To be broken.
scenario:
  objects:
    - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
    - {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}}
    - {kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
steps:
  - title: Where
    focus: {pod: web, point: filter}
    ask: {kind: passes}
    holds: ["node_of('web') == 'n1'"]
---

## Where

`n1` has {{ allocatable("n1", "cpu") }} CPUs.

### Revealed

It goes to {{ node_of("web") }}.
"""


def problems_of(text: str) -> str:
    """Return the problems of a lesson, or ""."""
    try:
        lint.check_lesson(Lesson(parser.parsed("small", text.encode())))
    except LessonError as problem:
        return str(problem)
    return ""


@pytest.mark.long
def test_all_lessons_are_valid() -> None:
    found = lint.check(catalog.FOLDER, searches=False)
    assert found.lessons == len(catalog.paths())
    assert found.figures > 4 * found.lessons


@pytest.mark.long
def test_all_lessons_show_the_decisive_fields(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("lessons", "--check")
    message = capsys.readouterr().out.strip()
    counts = r"(\d+) lessons, (\d+) questions, ([\d,]+) figures, ([\d,]+) statements"
    assert re.fullmatch(rf"{counts} \(\d+ computed, \d+ by release, \d+ by source\): all hold", message), message


TERM = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}"
ANTI_AFFINITY = f"{{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{TERM}]}}}}"
OLD_SPEC = f"{{nodeName: n2, affinity: {ANTI_AFFINITY}, containers: [{{name: c}}]}}"
OLD = f"{{kind: Pod, metadata: {{name: old}}, spec: {OLD_SPEC}}}"
AVOIDED = LESSON.replace("    - {kind: Pod,", f"    - {OLD}\n    - {{kind: Pod,").replace('cpu: "2"', 'cpu: "8"')
AVOIDED = AVOIDED.replace("{name: n2}", "{name: n2, labels: {kubernetes.io/hostname: n2}}")
AVOIDED = AVOIDED.replace("{name: web}", "{name: web, labels: {app: web}}")


def test_a_decisive_field_must_be_shown() -> None:
    """The anti-affinity of a running pod decides. The page shows it only if the text does."""
    term = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    hidden = {one.field for one in hidden_fields(Lesson(parser.parsed("small", AVOIDED.encode())))}
    assert hidden == {f"Pod old {term}.topologyKey", f"Pod old {term}.labelSelector.matchLabels.app"}
    steps = str(list(path_steps(term))).strip("[]")
    rests = ("'labelSelector', 'matchLabels', 'app'", "'topologyKey'")
    shown = " ".join(f"{{{{ field('Pod', 'old', {steps}, {rest}) }}}}" for rest in rests)
    revealed = AVOIDED.replace("CPUs.\n", f"CPUs. {shown}\n", 1)
    assert list(hidden_fields(Lesson(parser.parsed("small", revealed.encode())))) == []


def test_a_hidden_decisive_field_is_rejected() -> None:
    with pytest.raises(LessonError, match=r"small\.md, line 1\d: steps\[0\]\.ask: no page shows Pod old"):
        lint.check_hidden_fields(Lesson(parser.parsed("small", AVOIDED.encode())))


CHANGE = """  - title: Now break it
    focus: {pod: web}
    ask:
      kind: change
      fields: [Node/n1 spec.unschedulable]
      goal: "node_of('web') == 'nowhere'"
      solution: [Node/n1 spec.unschedulable, "true"]
"""


@pytest.mark.parametrize(
    ("name", "questions", "lights", "change", "message"),
    [
        (
            "small",
            3,
            True,
            CHANGE,
            "1 lesson, 4 questions, 6 figures, 6 statements (6 computed, 0 by release, 0 by source): all hold",
        ),
        ("small", 1, True, CHANGE, "small.md, line 1: asks 2 questions; a lesson asks at least 3"),
        ("small", 3, True, "", "small.md, line 1: must end with a step that asks for a change"),
        ("other", 3, True, CHANGE, "course.txt, line 2: small.md is listed, but there is no such file"),
        ("small", 3, None, CHANGE, "course.txt, line 2: 'Small' must end with an exam, and have no other one"),
        ("small", 3, False, CHANGE, "small.md, line 1: must name the parts of the picture that it lights"),
    ],
)
def test_a_lesson_passes_lint(
    tmp_path: Path, name: str, questions: int, lights: bool | None, change: str, message: str
) -> None:
    head, step, text = re.split(r"(?<=steps:\n)|(?=---\n\n)", LESSON)
    head = head.replace("scenario:", "lights: [filter]\nscenario:", 1) if lights else head
    head = head.replace("scenario:", "exam: true\nscenario:", 1) if lights is not None else head
    steps = "".join(step.replace("Where", f"Where {'again ' * i}") for i in range(questions))
    texts = "".join(text[4:].replace("Where", f"Where {'again ' * i}") for i in range(questions))
    texts += "\n## Now break it\n" if change else ""
    (tmp_path / f"{name}.md").write_text(f"{head}{steps}{change}---\n{texts}")
    (tmp_path / "course.txt").write_text("# Small\nsmall\n")
    out = StringIO()
    try:
        call_command("lessons", "sm", "--check", "--folder", str(tmp_path), stdout=out)
    except CommandError as problem:
        out.write(str(problem))
    assert out.getvalue().strip().startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: ignored, ", "", "must give the wrong option 'It waits.' a `kind` of mistake"),
        ('"node_of(', '{kind: too late, if: "node_of(', "gives the right option 'It fits.' a `kind` of mistake"),
        ("ignored", "guess", "Invalid enum value 'guess'"),
    ],
)
def test_wrong_options_of_the_course_have_a_kind(tmp_path: Path, old: str, new: str, message: str) -> None:
    right = "It fits.: \"node_of('web') == 'n1'\""
    ask = f"{{kind: choice, options: {{{right}, It waits.: {{if: 'False', kind: ignored, say: It fits.}}}}}}"
    assert old in ask
    ask = ask.replace(old, new, 1)
    ask = ask.replace("== 'n1'\"", "== 'n1'\"}") if new.startswith("{") else ask
    (tmp_path / "small.md").write_text(LESSON.replace("{kind: passes}", ask).replace("It fits.}", "No.}"))
    (tmp_path / "course.txt").write_text("small\n")
    with pytest.raises(LessonError, match=re.escape(message)):
        lint.check(tmp_path, searches=False)


@pytest.mark.parametrize("markup", ["[" * 50_000, "*a " * 20_000, "_*" * 20_000])
def test_markup_that_takes_seconds_to_render_is_refused(markup: str) -> None:
    for old, new in (("CPUs.", f"CPUs. {markup}"), ("kind: passes", f"kind: passes, hint: '{markup}'")):
        with pytest.raises(LessonError, match=r"more than 5,000 characters of Markdown markup"):
            parser.parsed("small", LESSON.replace(old, new, 1).encode())


def test_the_example_lesson_is_valid() -> None:
    assert problems_of(LESSON) == ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # invalid after a change of the scenario
        ('cpu: "2"', 'cpu: "8"', "line 13: steps[0].holds[0]: node_of('web') == 'n1' is not true"),
        ("name: web", "name: other", "line 11: steps[0].focus: the run never tried pod 'default/web'"),
        ("name: n1", "name: n3", "line 18: `n1` has a digit and is not a name in the scenario"),
        # numbers without an expression
        ("goes to {{", "goes to one of 2, {{", "line 22: '2' is not computed"),
        ("goes to {{", "goes to one of two, {{", "line 22: 'two' is not computed"),
        ("`n1` has", "`n7` has", "line 18: `n7` has a digit and is not a name in the scenario"),
        ("summary: To", "summary: 3 To", "line 3: summary: '3' is not computed"),
        # the answer before the question
        ('{{ allocatable("n1", "cpu") }}', '{{ feasible("web") }}', "which is the answer"),
        ("kind: passes}", "kind: passes, hint: \"{{ node_of('web') }}\"}", "which is the answer"),
        ("goes to {{", "goes to {{ plain(1) }} {{", "line 22: {{ plain(1) }} does not use the run"),
        ("title: A small one", "title: '{{ count(nodes()) }} small'", "line 2: title: has a figure"),
        ("scenario:", "lights: [engine]\nscenario:", "line 4: lights[0]: 'engine' is not a part of the picture"),
        # expressions
        ('{{ node_of("web") }}', "{{ __import__('os') }}", "there is no function '__import__'"),
        ('{{ node_of("web") }}', "{{ ().__class__ }}", "contains Attribute, which expressions do not allow"),
        ('{{ node_of("web") }}', "{{ 9 ** 9 ** 9 }}", "contains Pow, which expressions do not allow"),
        ('{{ node_of("web") }}', "{{ [x for x in nodes()] }}", "which expressions do not allow"),
        ('{{ node_of("web") }}', "{{ " + "(" * 300 + " }}", "is not an expression"),
        ('{{ node_of("web") }}', "{{ " + "1+" * 300 + "1 }}", "has more than 400 characters"),
        ('{{ node_of("web") }}', "{{ priority('web') / 0 }}", "cannot be computed: division by zero"),
        ('{{ node_of("web") }}', "{{ node_of() }}", "node_of: node_of() missing 1 required"),
        ('{{ node_of("web") }}', "{{ node_of('web') * 9 }}", "calculates with 'n1', which is not a number"),
        # feedback
        (
            "{kind: passes}",
            "{kind: passes, mistakes: [{is: \"['n2']\", say: Only `n1` has enough CPUs.}]}",
            "line 12: steps[0].ask: reveals the answer in the feedback on ['n2']: Only n1 has enough CPUs.",
        ),
        (
            "{kind: passes}",
            "{kind: choice, options: {It fits.: \"node_of('web') == 'n1'\", It waits.: \"False\"}}",
            "steps[0].ask: does not explain the wrong option 'It waits.' with `say`",
        ),
        (
            "{kind: passes}",
            "{kind: choice, options: {It fits.: {if: \"node_of('web') == 'n1'\", say: Yes.}, It waits.: \"False\"}}",
            "steps[0].ask: explains the right option 'It fits.' with `say`",
        ),
        # front matter
        ("title: A", "titel: A", "line 2: Object contains unknown field `titel`"),
        ("kind: passes", "kind: guess", "line 12: steps[0].ask.kind: Invalid enum value 'guess'"),
        ("kind: passes", "kind: refuses", "line 11: steps[0].focus: must name the node of the question (refuses)"),
        ("title: Where", "title: Whence", "line 10: steps[0].title: 'Whence' must also be a heading of the text"),
        ("summary: To be broken.", "summary: [", "is not valid YAML"),
        ('cpu: "3"', "cpu: three", "default/web"),
        ("scenario:\n  objects:", "scenario: 99-none\nother:", "Object contains unknown field `other`"),
        ("---\n\n## Where", "---\n\nlost\n\n## Where", "line 16: text must follow the heading of a step"),
        ("---\ntitle", "title", "line 1: must begin with a head in YAML between two lines of ---"),
    ],
)
def test_an_invalid_lesson_is_rejected(old: str, new: str, message: str) -> None:
    assert old in LESSON
    found = problems_of(LESSON.replace(old, new, 1))
    assert found.startswith("small.md, line "), found
    assert message in found


def test_hostile_files() -> None:
    bomb = "---\na: &a0 [x, x]\n" + "\n".join(f"b{i}: &a{i + 1} [*a{i}, *a{i}]" for i in range(22)) + "\n---\n"
    deep = "---\nscenario: " + "[" * 5000 + "\n---\n"
    for data in (b"\xff\xfe", b"", b"---\n---\n", bomb.encode(), deep.encode(), b"---\n" + b"x" * 300_000):
        with pytest.raises(LessonError, match=r"^x\.md, line \d+: "):
            parser.parsed("x", data)


def test_the_command_names_the_file_and_exits(tmp_path: Path) -> None:
    (tmp_path / "small.md").write_text(LESSON.replace('cpu: "2"', 'cpu: "8"'))
    with pytest.raises(CommandError, match=r"course\.txt, line 1: must list small\.md"):
        call_command("lessons", "--check", "--folder", str(tmp_path))
    (tmp_path / "course.txt").write_text("small\n")
    with pytest.raises(CommandError, match=r"small\.md, line 13: "):
        call_command("lessons", "--check", "--folder", str(tmp_path))
    (tmp_path / "Notes.md").write_text("nothing")
    (tmp_path / "small.md").unlink()
    with pytest.raises(CommandError, match=r"Notes\.md, line 1: must be named by words"):
        call_command("lessons", "--folder", str(tmp_path))


def test_html_in_a_lesson_is_text() -> None:
    text = LESSON.replace("`n1` has", "<script>alert()</script> [x](javascript:alert()) ![i](http://x/y.png) has")
    view = step_state.shows(Lesson(parser.parsed("small", text.encode())), 1)
    assert "<script" not in view["text"]
    assert "<img" not in view["text"]
    assert 'href="javascript' not in view["text"]


def test_feedback_on_a_wrong_order_hides_the_right_one() -> None:
    """It names neither the first node nor the score of any node."""
    count = 0
    for lesson in catalog.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.ask is None or step.ask.kind != "order":
                continue
            question = lesson.question(number)
            assert question is not None
            known = questions.options(question)
            values = {shown(questions.ranked_by(question, node)) for node in known}
            for places in itertools.permutations(range(1, len(known) + 1)):
                verdict = questions.judge(question, [str(place) for place in places])
                if verdict.right:
                    continue
                message = " ".join(map(str, feedback.explain(question, verdict)))
                assert not set(re.findall(r"[\w.-]+", message)) & {*known, *values}, message
                count += 1
    assert count > 3


def test_generated_feedback_hides_the_answer() -> None:
    lesson = catalog.lesson("nominated-nodes")
    assert lesson is not None
    question = lesson.question(4)
    assert question is not None
    message = " ".join(feedback.explain(question, questions.judge(question, ["7"])))
    assert "first backoff: 1 s" in message
    assert shown(questions.answer(question)) not in message
    alone = catalog.lesson("preemption-victims")
    assert alone is not None
    never = alone.question(3)
    assert never is not None
    assert feedback.explain(never, questions.judge(never, ["middle"])) == [
        "middle is not evicted. Would its eviction make the pending pod fit, and may this pod preempt?"
    ]
    tainted = catalog.lesson("taints-and-tolerations")
    assert tainted is not None
    score = tainted.question(4)
    assert score is not None
    assert "the pod has no tolerations; highest" in " ".join(feedback.explain(score, questions.judge(score, ["7"])))


def test_feedback_names_inputs_in_words() -> None:
    """No path of a field, and no identifier of Go."""
    texts: dict[str, str] = {}
    for name in ("pods-without-requests", "raw-normalised-weighted", "image-locality", "exam-scores", "the-queue"):
        lesson = catalog.lesson(name)
        assert lesson is not None
        for number in range(1, len(lesson.steps) + 1):
            question = lesson.question(number)
            if question is not None and question.form == "number":
                found = feedback.explain(question, questions.judge(question, ["7"]))
                texts[f"{name} {number}"] = " ".join(map(str, found))
    assert "allocatable CPU of n1: 4; CPU that none-1 requests: none, which" in texts["pods-without-requests 3"]
    assert "labels of n2: disk=ssd, fresh=yes;" in texts["raw-normalised-weighted 1"]
    assert "size of the image on n3: 38.15Mi; nodes that have the image: 1;" in texts["image-locality 2"]
    assert "the flush of unschedulable pods runs every 30 s." in texts["the-queue 4"]
    for text in texts.values():
        assert not re.search(r"\b(spec|status|metadata)\.|\[\d|\{|\bMax[A-Z]|\bDefault[A-Z]|Seconds\b", text), text


def test_a_port_is_shown_as_the_object_contains_it() -> None:
    lesson = catalog.lesson("node-conditions-and-ports")
    assert lesson is not None
    text = str(step_state.shows(lesson, 2)["text"])
    assert ">8080<" in text


def test_the_object_flow_matches_the_run() -> None:
    lesson = catalog.lesson("how-the-scheduler-knows")
    assert lesson is not None
    first, last = walks(lesson.facts(1)), walks(lesson.facts(len(lesson.steps)))
    assert [(one.t, one.what) for one in first] == [
        ("the list", "Node n1"),
        ("the list", "Pod old"),
        ("10 s", "Pod fresh"),
    ]
    assert [one.what for one in last[3:]] == ["Node n1", "Node n2", "Pod fresh", "Pod old"]
    assert all(len(one.steps) == len(STAGES) for one in last)
    by = {(one.t, one.what): one for one in last}
    assert by["40 s", "Node n2"].steps[-1] == "The cache adds it. fresh moves to activeQ (NodeAdd)."
    assert by["20 s", "Node n1"].steps[-1].endswith("moves no pods.")
    assert "confirms the assumed pod on n2" in by["40 s", "Pod fresh"].steps[-1]
    assert [one.wakes for one in last[2:5]] == [True, False, True]


MARKED = LESSON.replace("steps:\n", "claims: {CLAIM}\nsources: {SOURCE}\nexam: true\nsteps:\n", 1).replace(
    "CPUs.\n", "CPUs.\nTEXT\n", 1
)


@pytest.mark.parametrize(
    ("claim", "source", "text", "message"),
    [
        ("", "", "The pod waits.", "line 22: this statement rests on nothing: The pod waits."),
        ("", "", "The pod waits.[^a]", "line 22: [^a] is neither a claim nor a source of the head"),
        ("""a: "node_of('web') == 'n1'" """, "", "It is placed. This is so.[^a] Read it.", ""),
        (
            """a: "node_of('web') == 'n2'" """,
            "",
            "It is placed.[^a]",
            "line 9: claims.a: node_of('web') == 'n2' is not true",
        ),
        ("""a: "what_if('Pod/web spec.priority', '5', priority('web')) == 5" """, "", "It could be important.[^a]", ""),
        ("""a: "since('pop_from_backoff') == '1.33'" """, "", "From {{ release('1.33') }} on, it is popped.[^a]", ""),
        ("""a: "gate('GenericWorkload', '1.37') == 'on'" """, "", "It is on.[^a]", "line 9: claims.a: gate"),
        ("""a: "default_weight('VolumeBinding', '1.37') == 1" """, "", "It counts once.[^a]", ""),
        ("", "a: pkg/scheduler/schedule_one.go 1.36", "* one of them\n* another[^a]", ""),
        ("", "a: pkg/scheduler/schedule_one.go 1.7", "It is.[^a]", "line 10: sources.a: '1.7' is no release"),
        ("", "a: docs/nothing.md", "It is.[^a]", "line 10: sources.a: 'docs/nothing.md' is no file of KubeSched"),
        ("", "a: docs/lessons.md", "Read it.", "line 10: sources.a: no sentence names it"),
    ],
)
def test_each_statement_rests_on_something(tmp_path: Path, claim: str, source: str, text: str, message: str) -> None:
    written = MARKED.replace("CLAIM", claim).replace("SOURCE", source).replace("TEXT", text)
    (tmp_path / "small.md").write_text(written)
    (tmp_path / "course.txt").write_text("# Small\nsmall\n")
    with pytest.raises(LessonError) as raised:
        lint.check(tmp_path, searches=False)
    found = str(raised.value).removeprefix("small.md, ")
    assert found.startswith(message or "line 1: must end with a step")


def test_markers_are_not_shown() -> None:
    text = MARKED.replace("CLAIM", "").replace("SOURCE", "a: pkg/scheduler/schedule_one.go 1.36")
    lesson = Lesson(parser.parsed("small", text.replace("TEXT", "It is so.[^a]").encode()))
    view = step_state.shows(lesson, 1)
    assert "It is so." in view["text"]
    assert "[^" not in view["text"]
    assert [one.link for one in view["sources"]] == [
        "https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/scheduler/schedule_one.go"
    ]
