"""A step of a written lesson as the fields of a form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from kubesched_ui.lessons import lesson_source, parser
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.lesson_source import LessonSource, StepSource
from kubesched_ui.lessons.parser import MAX_OPTIONS, Ask, Focus, Step
from scheduler_core.errors import InputError

POINTS: tuple[str, ...] = get_args(get_type_hints(Focus)["point"])
UNITS: tuple[str, ...] = get_args(get_type_hints(Ask)["unit"])
SLIPS: tuple[str, ...] = ("", *get_args(parser.Slip))
KINDS: tuple[str, ...] = get_args(parser.Kind)
MAX_ROWS = 40  # options or mistakes that are read
# Field of the form -> its label and its path in a step.
FIELDS = {
    "title": ("Title", "title"),
    "before": ("Text", ""),
    "run": ("Run", "focus.run"),
    "pod": ("Pod", "focus.pod"),
    "attempt": ("Attempt", "focus.attempt"),
    "point": ("Point", "focus.point"),
    "plugin": ("Plugin", "focus.plugin"),
    "node": ("Node", "focus.node"),
    "kind": ("Kind of question", "ask.kind"),
    "question": ("Question", "ask.text"),
    "of": ("Expression", "ask.of"),
    "unit": ("Unit", "ask.unit"),
    "options": ("Options", "ask.options"),
    "fields": ("Fields", "ask.fields"),
    "goal": ("Goal", "ask.goal"),
    "solution_field": ("Field of the solution", "ask.solution"),
    "solution_value": ("Value of the solution", "ask.solution"),
    "hint": ("Hint", "ask.hint"),
    "mistakes": ("Mistakes", "ask.mistakes"),
    "after": ("After the answer", ""),
    "holds": ("Expressions that must be true", "holds"),
}
LONG = ("before", "after", "question", "hint", "fields", "holds")  # with several lines


class FieldError(NamedTuple):
    """A value that is not accepted. `line`: in a field of several lines."""

    field: str
    problem: str
    line: int = 0

    def __str__(self) -> str:
        return f"{FIELDS[self.field][0]}{f', line {self.line}' if self.line else ''}: {self.problem}"


@dataclass(frozen=True)
class StepFields:
    """The values of the form. `options`: text, expression, kind of mistake and feedback; `mistakes`: expression and
    feedback."""

    title: str = ""
    before: str = ""
    run: str = ""
    pod: str = ""
    attempt: str = ""
    point: str = ""
    plugin: str = ""
    node: str = ""
    kind: str = ""
    question: str = ""
    of: str = ""
    unit: str = ""
    options: tuple[tuple[str, str, str, str], ...] = ()
    fields: str = ""
    goal: str = ""
    solution_field: str = ""
    solution_value: str = ""
    hint: str = ""
    mistakes: tuple[tuple[str, str], ...] = ()
    after: str = ""
    holds: str = ""

    @property
    def head(self) -> StepFields:
        """The fields of the head."""
        return replace(self, before="", after="")


def fields_of(source: LessonSource, number: int) -> StepFields | None:
    """Return the fields of a step, or None if the form cannot show all of it."""
    step = source.steps[number - 1]
    if not lesson_source.is_plain(lesson_source.content(step.head, source.indent)):
        return None
    try:
        (parsed,) = msgspec.convert(lesson_source.value_of(step.head), list[Step])
    except (msgspec.ValidationError, ValueError):
        return None
    found = _fields(parsed, step)
    return found if found is not None and _fits(parsed, found) else None


def _fields(step: Step, source: StepSource) -> StepFields | None:
    focus, ask, section = step.focus or Focus(), step.ask, parser.section(source.section)
    found = StepFields(
        title=step.title.strip(),
        before=section.before.text,
        after=section.after.text,
        attempt="" if focus.attempt is None else str(focus.attempt),
        holds="\n".join(step.holds),
        **{name: getattr(focus, name).strip() for name in ("run", "pod", "point", "plugin", "node")},
    )
    if ask is None:
        return found
    if len(ask.solution) not in (0, 2):
        return None
    options = [(text, ask.option(text)) for text in ask.options]
    field, value = ask.solution or ("", "")
    return replace(
        found,
        kind=ask.kind,
        question=ask.text.strip(),
        options=tuple((text.strip(), one.if_.strip(), one.kind, one.say.strip()) for text, one in options),
        fields="\n".join(ask.fields),
        solution_field=field.strip(),
        solution_value=value.strip(),
        mistakes=tuple((one.is_.strip(), one.say.strip()) for one in ask.mistakes),
        **{name: getattr(ask, name).strip() for name in ("of", "unit", "goal", "hint")},
    )


def _fits(step: Step, found: StepFields) -> bool:
    """Return whether the form sends the same values."""
    lists = [*step.holds, *(step.ask.fields if step.ask else ())]
    short = [getattr(found, one.name) for one in fields(found) if one.name not in (*LONG, "options", "mistakes")]
    short += [text for text, *_ in found.options]
    rows = (
        len(found.options) <= MAX_ROWS and len(found.mistakes) <= MAX_ROWS and all(text for text, *_ in found.options)
    )
    return rows and step.picture is None and not any("\n" in text for text in [*lists, *short]) and all(lists)


def posted(form: Any) -> StepFields:
    """Return the fields of a sent form, a QueryDict."""
    values = {one.name: form.get(one.name, "") for one in fields(StepFields) if one.name not in ("options", "mistakes")}
    long = {name: _lines(values[name]) for name in LONG}
    short = {name: " ".join(text.split("\n")).strip() for name, text in values.items() if name not in LONG}
    return StepFields(
        **(long | short),
        options=tuple(_rows(form, "option_text", "option_if", "option_kind", "option_say")),
        mistakes=tuple(_rows(form, "mistake_is", "mistake_say")),
    )


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n ")


def _rows(form: Any, *names: str) -> Iterator[Any]:
    for row in list(zip(*(form.getlist(name) for name in names), strict=False))[:MAX_ROWS]:
        row = tuple(_lines(text) for text in row)
        if any(row):
            yield row


def problems(found: StepFields) -> list[FieldError]:
    """Return why a step cannot be stored."""
    return [*_problems(found)]


def _problems(found: StepFields) -> Iterator[FieldError]:
    if not found.title:
        yield FieldError("title", "must not be empty")
    for name, known in (("point", POINTS), ("unit", UNITS), ("kind", ("", *KINDS))):
        if getattr(found, name) not in known:
            yield FieldError(name, f"{getattr(found, name)[:60]!r} is not one of {', '.join(filter(None, known))}")
    if found.attempt and not re.fullmatch(r"[1-9]\d{0,8}", found.attempt):
        yield FieldError("attempt", "must be a whole number from 1")
    if bool(found.solution_field) < bool(found.solution_value):
        yield FieldError("solution_field", "must be one of the fields")
    texts = [text for text, *_ in found.options]
    for number, (text, _, slip, _) in enumerate(found.options, 1):
        if slip not in SLIPS:
            yield FieldError("options", f"the mistake {slip[:60]!r} is not one of {', '.join(filter(None, SLIPS))}")
        if not text or text in texts[: number - 1]:
            yield FieldError("options", f"option {number} must have a text of its own")
    for name in ("before", "after"):
        yield from _structure(name, getattr(found, name))


def _structure(name: str, text: str) -> Iterator[FieldError]:
    fence = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fence = 0 if fence else number
        elif line.startswith("## ") and not fence:
            yield FieldError(name, "a heading with ## begins another step; use ###", number)
        elif line.strip() == parser.REVEALED and name == "before":
            yield FieldError(name, f"write what follows {parser.REVEALED!r} into the field After the answer", number)
    if fence:
        yield FieldError(name, "this block of code has no line with ``` at its end", fence)


def apply(source: LessonSource, number: int, found: StepFields) -> None:
    """Store the fields in a step. What did not change keeps its text."""
    before = fields_of(source, number)
    if before is None or before.head != found.head:
        source.set_item(number, value_of(found))
    old = parser.section(source.steps[number - 1].section)
    if (old.title, old.before.text, old.after.text) != (found.title, found.before, found.after):
        source.steps[number - 1].section = [*section_of(found), ""]


def value_of(found: StepFields) -> dict[str, Any]:
    """Return the step as in the head, without empty values."""
    focus = {name: getattr(found, name) for name in ("run", "pod", "point", "plugin", "node")}
    focus["attempt"] = int(found.attempt) if found.attempt else ""
    ask = {
        "kind": found.kind,
        "text": found.question,
        "of": found.of,
        "unit": found.unit,
        "options": {
            text: _filled({"if": if_, "kind": slip, "say": say}) if slip or say else if_
            for text, if_, slip, say in found.options
        },
        "fields": _texts(found.fields),
        "goal": found.goal,
        "solution": [found.solution_field, found.solution_value] if found.solution_field else [],
        "hint": found.hint,
        "mistakes": [{"is": is_, "say": say} for is_, say in found.mistakes],
    }
    step = {"title": found.title, "focus": _filled(focus), "ask": _filled(ask) if found.kind else {}}
    return _filled(step | {"holds": _texts(found.holds)})


def _filled(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one}


def _texts(lines: str) -> list[str]:
    return [line.strip() for line in lines.split("\n") if line.strip()]


def section_of(found: StepFields) -> Sequence[str]:
    """Return the section of a step as lines."""
    text = f"## {found.title}\n\n{found.before}"
    return (f"{text}\n\n{parser.REVEALED}\n\n{found.after}" if found.after else text).rstrip("\n").split("\n")


def rows(found: StepFields) -> dict[str, Any]:
    """Return the options and mistakes with empty rows to fill in."""
    options = [*found.options, *[("", "", "", "")] * max(2, 4 - len(found.options))]
    return {"options": options[: max(MAX_OPTIONS, len(found.options))], "mistakes": [*found.mistakes, ("", "")]}


class PlacedProblem(NamedTuple):
    """A problem of a lesson. `step`: 0 for the head. `place`: field and line in it. `line`: in the whole text."""

    step: int
    place: str
    problem: str
    line: int


def placed(problem: LessonError | InputError, source: LessonSource | None) -> PlacedProblem:
    """Return a problem with its step and field. `source`: None if forms cannot edit the text."""
    if isinstance(problem, InputError):
        return PlacedProblem(0, "", str(problem), 0)
    message, line = problem.problem, problem.line
    if found := re.match(r"steps\[(\d+)\](?:\.([\w.\[\]]+))?: ", message):
        return PlacedProblem(int(found[1]) + 1, label_of(found[2] or ""), message[found.end() :], line)
    for number in range(1, len(source.steps) + 1 if source else 0):
        assert source is not None
        begin, lines = source.section_line(number), source.steps[number - 1].section
        if begin <= line < begin + len(lines):
            text = parser.section(lines, begin - 1)
            name, first = (
                ("after", text.after.line)
                if text.after.text and line >= text.after.line
                else ("before", text.before.line)
            )
            return PlacedProblem(number, f"{FIELDS[name][0]}, line {max(1, line - first + 1)}", message, line)
    return PlacedProblem(0, "", message, line)


def label_of(path: str) -> str:
    """Return the label of a path in a step, such as `ask.mistakes[1].say`."""
    labels = {known: label for label, known in FIELDS.values() if known} | {"focus": "Focus", "ask": "Question"}
    labels |= {"ask.text": "Question", "ask.solution": "Solution"}
    path = re.sub(r"\[\d+\]", "", path)
    while path and path not in labels:
        path = path.rpartition(".")[0]
    return labels.get(path, "")
