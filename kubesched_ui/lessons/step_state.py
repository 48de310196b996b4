"""The parts of a step that a page or a live class shows. They depend only on the step and whether it is revealed."""

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_ui.lessons import changes, diagram, feedback, markdown, questions, statements
from kubesched_ui.lessons.catalog import Lesson, lock
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.moving_picture import moving_picture
from kubesched_ui.lessons.questions import Question, Verdict
from kubesched_ui.lessons.runner import Attempted


def joined(question: Question, parts: Sequence[str]) -> str:
    """Return the parts of an answer as one line."""
    if question.form == "change":
        field, value = parts
        if field == changes.COMMAND:
            return value
        return f"{field} = {value}" if value else f"{field} removed"
    return (", then " if question.form == "order" else ", ").join(parts) or "none"


def shows(lesson: Lesson, number: int, revealed: bool = False, given: Any = None) -> dict[str, Any]:
    """Return what is shown of a step. Before it is revealed, nothing depends on the answer. Raises Unknown.

    `given`: the student's answer; if it is a change, its run is shown.
    """
    with lock:
        step, section = lesson.steps[number - 1], lesson.section(number)
        facts = lesson.facts(number, hides=True)
        view: dict[str, Any] = {
            "revealed": revealed,
            "title": section.title,
            "text": markdown.render(section.before.text, facts),
            "focus": step.focus,
        }
        question, found = lesson.question(number), None
        if question is not None:
            view["question"] = describe(question, revealed)
        if question is None or revealed:
            view["after"] = markdown.render(section.after.text, lesson.facts(number))
            found = lesson.facts(number)
        if question is not None and question.ask.kind == "change":
            found = facts
            if change := given or (question.ask.solution if revealed else None):
                facts = found = questions.changed(question, change)
                view["changed"] = joined(question, change)
        shown_texts = [section.before.text, *([section.after.text] if "after" in view else [])]
        view["sources"] = list(statements.shown_references(shown_texts, lesson.head.sources))
        view["given"] = diagram.given(facts)
        whole = not has_later_question(lesson, number)
        if step.picture is not None and (question is None or revealed or is_past(lesson, number)):
            view["moving"] = moving_picture(lesson.facts(number), step.picture, whole)
        else:
            view["stages"] = diagram.stages(facts, found is not None, whole)
        if found is not None:
            view["found"] = diagram.revealed(found, whole, next_questioned(lesson, number))
        if question is not None and revealed:
            view["answer"] = view.get("changed") or answer_text(question)
        return view


def is_past(lesson: Lesson, number: int) -> bool:
    """Return whether the picture of a step shows only what precedes the cycle in focus. Raises Unknown."""
    picture, facts = lesson.steps[number - 1].picture, lesson.facts(number)
    if picture is None or picture.to is None or not facts.focus.pod:
        return False
    return picture.to < facts.focused.t


def has_later_question(lesson: Lesson, number: int) -> bool:
    """Return whether a later step of the lesson asks about the cycle in focus of a step."""
    facts = lesson.facts(number)
    return bool(facts.focus.pod) and facts.focused.number in {cycle.number for cycle in later_cycles(lesson, number)}


def later_cycles(lesson: Lesson, number: int) -> Iterator[Attempted]:
    """Yield the cycles of the step's run that later steps ask about."""
    run = lesson.facts(number).run
    for later, step in enumerate(lesson.steps[number:], number + 1):
        if step.ask is None or step.ask.kind == "change" or step.focus is None or not step.focus.pod:
            continue
        there = lesson.facts(later)
        if there.run is run:
            yield there.focused


def next_questioned(lesson: Lesson, number: int) -> Attempted | None:
    """Return the first later attempt of the pod in focus that a later step asks about, or None."""
    facts = lesson.facts(number)
    if not facts.focus.pod:
        return None
    here = facts.focused
    later = (cycle for cycle in later_cycles(lesson, number) if cycle.pod == here.pod and cycle.number > here.number)
    return min(later, key=lambda cycle: cycle.number, default=None)


def describe(question: Question, revealed: bool) -> dict[str, Any]:
    """Return a question's text, form and options. `revealed`: whether the hint may use hidden values."""
    shown = revealed or question.ask.kind == "change"
    facts = question.facts if shown else type(question.facts)(question.facts.runs, question.focus, hides=True)
    known = questions.options(question)
    own = question.ask.kind in ("which", "choice")
    return {
        "text": markdown.render_line(question.text, facts),
        "form": question.form,
        "options": [{"value": text, "text": markdown.render_line(text, facts) if own else text} for text in known],
        "changeable": [(field, changes.current(facts.run, field)) for field in question.ask.fields],
        "is_command": question.ask.fields == [changes.COMMAND],
        "places": range(1, len(known) + 1),
        "hint": markdown.render_line(question.ask.hint, facts) if question.ask.hint else "",
        "unit": {"cpu": "CPUs", "memory": "bytes, such as 2Gi", "s": "seconds"}.get(questions.unit_of(question), ""),
    }


def answer_text(question: Question) -> str:
    """Return the right answer as one line."""
    found: Any = questions.answer(question)
    if question.form == "number":
        found = questions.measured(question, float(found))
    if isinstance(found, list):
        own = [markdown.plain(text, question.facts) if question.form == "set" else text for text in found]
        return joined(question, own)
    return markdown.plain(found, question.facts) if question.ask.kind == "choice" else shown(found)


def answered(lesson: Lesson, step: int, answers: Sequence[str]) -> tuple[Verdict, list[str]]:
    """Return the verdict on an answer, and feedback if it is wrong. Raises Unknown."""
    with lock:
        question = lesson.question(step)
        assert question is not None
        verdict = questions.judge(question, answers)
        return verdict, [] if verdict.right else feedback.explain(question, verdict)
