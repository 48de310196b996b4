"""Parses a lesson file: a YAML head between two lines of ---, then one Markdown section per step.

Text of a section after the line `### Revealed` is sent only once the step is revealed. docs/lessons.md has the
format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from kubesched_ui.ingest import IngestError, Limits
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.yaml_reader import documents
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.machine import LABELS
from scheduler_core.config.document import line_of

MAX_BYTES, MAX_STEPS, MAX_RUNS, MAX_OPTIONS, MAX_CLAIMS = 200_000, 20, 4, 12, 60
MAX_CLUSTERS = 12  # runs with scenarios of their own
MAX_MARKUP = 5_000  # characters with a meaning in Markdown; rendering takes about 60 µs for each
REVEALED = "### Revealed"
_MARKUP = re.compile(r"[\[\]*_`|<&!]")
NAME = re.compile(r"(?!\d\d-)[a-z0-9]+(-[a-z0-9]+)*")

Kind = Literal[
    "passes", "refuses", "score", "order", "victims", "rule", "when", "woken", "lands", "number", "which", "choice",
    "change",
]  # fmt: skip
OF_ITSELF = ("number", "which", "choice", "change")  # these kinds define their own question


class Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Base class that rejects unknown fields, because a misspelt field would silently do nothing."""


class Settings(Strict, kw_only=True):
    """Settings of a run. Missing values default to those of an ordinary run. `scenario`: of a run that has its own."""

    release: str = ""
    in_time: bool | None = None
    config: str | dict[str, Any] | None = None
    seed: int = 0
    tie_break: Literal["seed", "name"] = "name"
    preemption: bool = True
    percentage: int | None = None
    scenario: dict[str, Any] = {}
    plugins: list[Literal["RackLimit"]] = []
    extender: Answers | None = None

    @property
    def own(self) -> bool:
        """Whether the lesson brings a plugin or an extender, so that this run cannot be started in the browser."""
        return bool(self.plugins or self.extender)


class Answers(Strict, kw_only=True):
    """Responses of a lesson's extender. `refuses`: node -> reason; `points`: node -> 0 to 10."""

    refuses: dict[str, str] = {}
    points: dict[str, int] = {}


class Focus(Strict, kw_only=True):
    """The focus of a step. `attempt` defaults to the last one."""

    run: str = ""
    pod: str = ""
    attempt: int | None = None
    point: Literal["", "filter", "score", "postfilter", "queue", "walk", "raw", "normalized", "weighted", "total"] = ""
    plugin: str = ""
    node: str = ""


class Mistake(Strict, kw_only=True):
    """A known wrong answer: `is` is its expression, `say` the feedback."""

    is_: str = msgspec.field(name="is")
    say: str


# Mistakes that people make: why they choose a wrong option.
Slip = Literal[
    "too soon",  # before its condition is met
    "too late",  # it waits, or never happens
    "mix-up",  # of plugins, extension points, objects or quantities
    "ignored",  # a rule or a field
    "too strict",  # a rule where it does not apply
    "by order",  # the first or the last one wins
    "part for whole",  # one member, node or condition for all
    "estimate",  # not computed
    "other reason",  # the right outcome
]


class Option(Strict, kw_only=True):
    """An option: `if` is the expression that is true if it is right, `say` the feedback if it is wrong, `kind` the
    mistake of choosing it."""

    if_: str = msgspec.field(name="if")
    kind: Slip | Literal[""] = ""
    say: str = ""


class Ask(Strict, kw_only=True):
    """A question about the focus.

    `of`: expression to count or order by. `options`: text -> Option, or only its expression. `fields`, `goal`,
    `solution`: of a change, the fields to choose from, the expression that must become true, and a field with a value
    that makes it true.
    """

    kind: Kind
    text: str = ""
    of: str = ""
    unit: Literal["", "cpu", "memory", "s"] = ""
    options: dict[str, str | Option] = {}
    fields: list[str] = []
    goal: str = ""
    solution: list[str] = []
    hint: str = ""
    mistakes: list[Mistake] = []

    def option(self, text: str) -> Option:
        """Return an option by its text."""
        found = self.options[text]
        return found if isinstance(found, Option) else Option(if_=found)


class MovingPicture(Strict, kw_only=True):
    """A picture that the student moves. `from`, `to`: seconds of the run, for what is shown over time. `since`: for
    others, the pod whose last attempt is the first that is shown; by default, only the cycle in focus is."""

    shows: Literal["queue", "victims", "scores", "search", "spread", "cache", "events"]
    from_: float = msgspec.field(name="from", default=0.0)
    to: float | None = None
    since: str = ""

    @property
    def of_time(self) -> bool:
        """Whether it shows seconds of the run instead of cycles."""
        return self.shows in ("queue", "cache", "events")

    def holds(self, t: float) -> bool:
        """Whether it shows a second of the run."""
        return self.to is not None and self.from_ <= t <= self.to


class Step(Strict, kw_only=True):
    """A step. `holds`: expressions that must be true for the text to be correct."""

    title: str
    focus: Focus | None = None
    picture: MovingPicture | None = None
    ask: Ask | None = None
    holds: list[str] = []


class Head(Strict, kw_only=True):
    """The head of a lesson.

    `lights`: parts of machine.py. `extra`: what the lesson needs that kube-scheduler does not have by default. `exam`:
    whether it ends a part. `scenario`: name of a sample file, or the spec of a Scenario document. `claims` and
    `sources`: what marked sentences rest on, by name: expressions, and files with a release.
    """

    title: str
    summary: str
    lights: list[str] = []
    extra: str = ""
    exam: bool = False
    scenario: str | dict[str, Any] = ""
    runs: dict[str, Settings] = {}
    claims: dict[str, str] = {}
    sources: dict[str, str] = {}
    steps: list[Step]


@dataclass(frozen=True)
class Prose:
    """Markdown with figures, and its first line."""

    text: str = ""
    line: int = 1


@dataclass(frozen=True)
class StepText:
    """The text of a step: before and after its question is answered."""

    title: str
    line: int
    before: Prose
    after: Prose


@dataclass(frozen=True)
class LessonFile:
    """A parsed lesson file. `name`: file name without .md. `source`: text of the head, used to find line numbers."""

    name: str
    head: Head
    sections: list[StepText]
    source: str = field(repr=False)

    def line(self, path: str) -> int:
        """Return the line of a path in the head, such as `steps[2].ask.of`."""
        return line_of(self.source, path) + 1

    def error(self, path: str, problem: str) -> LessonError:
        """Return an error at a path in the head."""
        return LessonError(f"{self.name}.md", self.line(path), f"{path}: {problem}")


def read(path: Path) -> LessonFile:
    """Read a lesson file. Raises LessonError."""
    if not NAME.fullmatch(path.stem):
        raise LessonError(path.name, 1, "must be named by words in lower case, such as topology-spread.md")
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise LessonError(path.name, 1, f"cannot be read: {problem.strerror}") from None
    return parsed(path.stem, data)


def parsed(name: str, data: bytes, scenario: dict[str, Any] | None = None) -> LessonFile:
    """Parse the content of a lesson file. `scenario`: of a text without one. Raises LessonError."""
    file = f"{name}.md"
    if len(data) > MAX_BYTES:
        raise LessonError(file, 1, f"has more than {MAX_BYTES:,} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise LessonError(file, 1, "is not UTF-8") from None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise LessonError(file, 1, "must begin with a head in YAML between two lines of ---")
    end = lines.index("---", 1)
    source = "\n".join(lines[1:end])
    head = _head(file, source)
    if bool(head.scenario) == (scenario is not None):
        problem = "is stored separately; remove it" if scenario is not None else "is missing"
        raise LessonError(file, line_of(source, "scenario") + 1 if head.scenario else 2, f"scenario: {problem}")
    head.scenario = head.scenario or scenario or ""
    _check_markup(file, lines, end + 1, head)
    lesson = LessonFile(name, head, list(_sections(file, lines, end + 1)), source)
    _check(lesson)
    return lesson


def _check_markup(file: str, lines: Sequence[str], start: int, head: Head) -> None:
    """Raise LessonError for more markup than any lesson needs: rendering it would take seconds."""
    number = 0
    for line in range(start, len(lines)):
        number += len(_MARKUP.findall(lines[line]))
        if number > MAX_MARKUP:
            raise LessonError(file, line + 1, f"the text has more than {MAX_MARKUP:,} characters of Markdown markup")
    for step in head.steps:
        number += len(_MARKUP.findall(" ".join(_rendered(step.ask)))) if step.ask is not None else 0
    if number > MAX_MARKUP:
        raise LessonError(file, 2, f"steps: have more than {MAX_MARKUP:,} characters of Markdown markup")


def _rendered(ask: Ask) -> Iterator[str]:
    """Yield the texts of a question that are rendered."""
    yield from (ask.text, ask.hint, *(mistake.say for mistake in ask.mistakes))
    for text in ask.options:
        yield from (text, ask.option(text).say)


def _head(file: str, source: str) -> Head:
    try:
        found = list(documents(source.encode(), Where(file), Limits()))
    except IngestError as problem:
        raise yaml_error(file, problem) from None
    if len(found) != 1:
        raise LessonError(file, 2, "must have one document in its head")
    try:
        return msgspec.json.decode(found[0][1], type=Head)
    except msgspec.ValidationError as problem:
        message, _, path = str(problem).partition(" - at `$")
        place = path.rstrip("`").lstrip(".")
        try:
            line = line_of(source, place) + 1
        except (yaml.YAMLError, RecursionError):
            line = 2
        raise LessonError(file, line, f"{place}: {message}" if place else message) from None


def yaml_error(file: str, problem: IngestError) -> LessonError:
    """Return the error of an invalid head, with its line in the file."""
    mark = re.search(r"line (\d+)", problem.problem)
    message = re.sub(r" in line \d+, column \d+", "", problem.problem)
    return LessonError(file, int(mark[1]) + 1 if mark else 2, message)


def headings(lines: Sequence[str], start: int) -> Iterator[int]:
    """Yield the index of each line that begins the section of a step."""
    fenced = False
    for number in range(start, len(lines)):
        fenced ^= lines[number].startswith("```")
        if lines[number].startswith("## ") and not fenced:
            yield number


def _sections(file: str, lines: list[str], start: int) -> Iterator[StepText]:
    begins = [*headings(lines, start)]
    for number in range(start, begins[0] if begins else len(lines)):
        if lines[number].strip():
            raise LessonError(file, number + 1, "text must follow the heading of a step (## Title)")
    for begin, end in pairwise([*begins, len(lines)]):
        yield section(lines[begin:end], begin)


def section(lines: Sequence[str], begin: int = 0) -> StepText:
    """Return the section that a heading begins at the index `begin`."""
    title, lines = lines[0].removeprefix("## ").strip(), lines[1:]
    at = next((i for i, line in enumerate(lines) if line.strip() == REVEALED), len(lines))
    before = Prose("\n".join(lines[:at]).strip("\n"), begin + 2 + _blank(lines[:at]))
    after = Prose("\n".join(lines[at + 1 :]).strip("\n"), begin + 3 + at + _blank(lines[at + 1 :]))
    return StepText(title, begin + 1, before, after)


def _blank(lines: Sequence[str]) -> int:
    return next((i for i, line in enumerate(lines) if line.strip()), 0)


def _check(lesson: LessonFile) -> None:
    head = lesson.head
    if not head.steps or len(head.steps) > MAX_STEPS:
        raise lesson.error("steps", f"must be 1 to {MAX_STEPS}, got {len(head.steps)}")
    clusters = sum(bool(run.scenario) for run in head.runs.values())
    if len(head.runs) - clusters > MAX_RUNS or clusters > MAX_CLUSTERS:
        raise lesson.error("runs", f"must be at most {MAX_RUNS}, got {len(head.runs)}")
    if len(head.claims) > MAX_CLAIMS or len(head.sources) > MAX_CLAIMS:
        raise lesson.error("claims", f"and sources must be at most {MAX_CLAIMS} each")
    if both := sorted(head.claims.keys() & head.sources.keys()):
        raise lesson.error(f"sources.{both[0]}", "is also the name of a claim")
    for number, part in enumerate(head.lights):
        if part not in LABELS:
            problem = f"{part[:60]!r} is not a part of the picture; the parts are {', '.join(LABELS)}"
            raise lesson.error(f"lights[{number}]", problem)
    for number, step in enumerate(head.steps):
        path = f"steps[{number}]"
        section = lesson.sections[number] if number < len(lesson.sections) else None
        if section is None or section.title != step.title:
            found = f"the text has {section.title!r} at this position" if section else "the text has no such section"
            raise lesson.error(f"{path}.title", f"{step.title!r} must also be a heading of the text; {found}")
        if step.focus and step.focus.run and step.focus.run not in head.runs:
            raise lesson.error(f"{path}.focus.run", f"{step.focus.run!r} is not a run of the lesson")
        if step.picture:
            _check_picture(lesson, step, path)
        if step.ask:
            _check_question(lesson, step, path)
        elif section.after.text:
            raise LessonError(
                f"{lesson.name}.md", section.after.line, f"a step without a question must not have {REVEALED!r}"
            )
    if len(lesson.sections) > len(head.steps):
        section = lesson.sections[len(head.steps)]
        raise LessonError(f"{lesson.name}.md", section.line, f"{section.title!r} is not a step of the head")


def _check_picture(lesson: LessonFile, step: Step, path: str) -> None:
    picture, at = step.picture, f"{path}.picture"
    assert picture is not None
    if picture.of_time != (picture.to is not None) or (picture.since and picture.of_time):
        needs = "must have `to`, a second, and no `since`" if picture.of_time else "must not have `to`"
        raise lesson.error(at, f"{needs} ({picture.shows})")
    if picture.to is not None and not 0 <= picture.from_ <= picture.to:
        raise lesson.error(f"{at}.to", f"must not be before `from`, {picture.from_:g} s")
    if not picture.of_time and not (step.focus and step.focus.pod):
        raise lesson.error(f"{path}.focus", f"must name the pod of the picture ({picture.shows})")
    if step.ask and step.ask.kind == "change":
        raise lesson.error(at, "is not for a step that asks for a change")


def _check_question(lesson: LessonFile, step: Step, path: str) -> None:
    ask, focus = step.ask, step.focus
    assert ask is not None
    if ask.kind not in OF_ITSELF and not (focus and focus.pod):
        raise lesson.error(f"{path}.focus", f"must name the pod of the question ({ask.kind})")
    needs_node = ask.kind in ("refuses", "score")
    if needs_node and not (focus and focus.node):
        raise lesson.error(f"{path}.focus", f"must name the node of the question ({ask.kind})")
    if ask.kind == "score" and not (focus and focus.point in ("raw", "normalized", "weighted", "total")):
        raise lesson.error(f"{path}.focus", "must have the point raw, normalized, weighted or total (score)")
    if ask.kind == "number" and not ask.of:
        raise lesson.error(f"{path}.ask", "must have `of`, the expression of the number")
    if ask.kind == "change" and not (ask.fields and ask.goal and ask.solution[:1] and len(ask.solution) == 2):
        raise lesson.error(f"{path}.ask", "must have `fields`, `goal`, and a field and its value as `solution`")
    if ask.kind == "change" and (ask.solution[0] not in ask.fields or len(ask.fields) > MAX_OPTIONS):
        raise lesson.error(f"{path}.ask", f"must have at most {MAX_OPTIONS} fields, among them that of the solution")
    if ask.kind in ("which", "choice") and not 2 <= len(ask.options) <= MAX_OPTIONS:
        raise lesson.error(f"{path}.ask", f"must have 2 to {MAX_OPTIONS} options")
