"""Answer statistics of a live class: bars for the teacher, the hardest questions, and a CSV table."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kubesched_ui.lessons import markdown, questions
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.live_classes.models import Answer, LiveClass
from kubesched_ui.live_classes.parts import GivenAnswer, answer_text, once, option_text

BARS_MAX = 10  # maximum number of different answers shown, most common first
WRONG_MAX = 3
# a spreadsheet evaluates a cell that starts with one of these
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class AnswerBar(NamedTuple):
    """One bar of the answer chart. `number`: students who gave this answer or chose this option. `share`: their
    percentage of all answers. `right`: None until the step is revealed."""

    text: str
    number: int
    share: int
    right: bool | None


class QuestionResult(NamedTuple):
    """The result of one question. `share`: percentage of right answers, None if there are no answers."""

    step: int
    title: str
    text: str
    answered: int
    right: int
    share: int | None
    wrong: list[AnswerBar]


def bars(lesson: Lesson, step: int, answers: Sequence[GivenAnswer], revealed: bool) -> list[AnswerBar]:
    """Return the bars of a step's question: one per option if it has options, else one per common answer."""
    if lesson.steps[step - 1].ask is None:
        return []
    known, texts, right = choices(lesson, step, revealed)
    if not known:
        return _text_bars(lesson, step, answers, revealed)
    given = [one.given if isinstance(one.given, list) else [one.given] for one in answers]
    chosen = Counter(option for options in given for option in options)
    total = len(answers)
    return [
        AnswerBar(text, chosen[one], _per_cent(chosen[one], total), one in right if revealed else None)
        for one, text in zip(known, texts, strict=True)
    ]


@once
def choices(lesson: Lesson, step: int, revealed: bool) -> tuple[list[str], list[str], list[str]]:
    """Return the options of a question, their texts and, if revealed, the right ones. Other questions have none."""
    question = lesson.question(step)
    if question is None or question.form not in ("choice", "set"):
        return [], [], []
    known = questions.options(question)
    answer = questions.answer(question) if revealed else []
    return known, [option_text(question, one) for one in known], [answer] if isinstance(answer, str) else answer


def _text_bars(
    lesson: Lesson, step: int, answers: Iterable[GivenAnswer], revealed: bool, most: int = BARS_MAX
) -> list[AnswerBar]:
    answers = list(answers)
    found: Counter[tuple[str, bool]] = Counter((answer_text(lesson, step, one.given), one.right) for one in answers)
    total = len(answers)
    common = found.most_common(most)
    made = [AnswerBar(text, n, _per_cent(n, total), right if revealed else None) for (text, right), n in common]
    if rest := total - sum(number for _, number in common):
        made.append(AnswerBar("others", rest, _per_cent(rest, total), None))
    return made


def _per_cent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def results(live_class: LiveClass, lesson: Lesson) -> list[QuestionResult]:
    """Return the results of the questions that the class has reached, hardest first."""
    rows = Answer.objects.filter(student__live_class=live_class).values_list("step", "given", "right")
    by_step: dict[int, list[GivenAnswer]] = {}
    for step, given, right in rows:
        by_step.setdefault(step, []).append(GivenAnswer(given, right))
    reached = [n for n, step in enumerate(lesson.steps, 1) if step.ask and (n <= live_class.step or n in by_step)]
    found = [_question_result(lesson, step, by_step.get(step, [])) for step in reached]
    return sorted(found, key=lambda one: (one.share is None, one.share or 0, one.step))


def _question_result(lesson: Lesson, step: int, answers: list[GivenAnswer]) -> QuestionResult:
    right = sum(one.right for one in answers)
    wrong = _text_bars(lesson, step, (one for one in answers if not one.right), True, WRONG_MAX)
    wrong = [one._replace(share=_per_cent(one.number, len(answers))) for one in wrong]
    share = _per_cent(right, len(answers)) if answers else None
    return QuestionResult(
        step, lesson.steps[step - 1].title, question_text(lesson, step, True), len(answers), right, share, wrong
    )


@once
def question_text(lesson: Lesson, step: int, as_html: bool = False) -> str:
    """Return the text of a step's question."""
    question = lesson.question(step)
    assert question is not None
    if as_html:
        return markdown.render_line(question.text, question.facts)
    return markdown.plain(question.text, question.facts).replace("`", "")


def csv_table(live_class: LiveClass, lesson: Lesson) -> str:
    """Return a CSV table with one line per student and question, including unanswered questions. No cell is a
    formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["nickname", "step", "question", "answer", "right", "answered at (UTC)"])
    writer.writerows([escape_formula(cell) for cell in row] for row in _rows(live_class, lesson))
    return out.getvalue()


def _rows(live_class: LiveClass, lesson: Lesson) -> Iterator[list[str]]:
    rows = Answer.objects.filter(student__live_class=live_class).order_by("step", "pk")
    found = {(one.student_id, one.step): one for one in rows}
    steps = {step for _, step in found}
    steps |= {step for step, one in enumerate(lesson.steps, 1) if one.ask and step <= live_class.step}
    steps = {step for step in steps if step <= len(lesson.steps) and lesson.steps[step - 1].ask}
    texts = {step: question_text(lesson, step) for step in steps}
    for student in live_class.students.there().order_by("pk"):
        for step in sorted(steps):
            one = found.get((student.pk, step))
            row = _cells(lesson, one) if one else [""] * 3
            yield [student.name, str(step), texts[step], *row]


def _cells(lesson: Lesson, one: Answer) -> list[str]:
    return [answer_text(lesson, one.step, one.given), "yes" if one.right else "no", f"{one.at:%Y-%m-%d %H:%M:%S}"]


def escape_formula(cell: str) -> str:
    """Return the cell, quoted if a spreadsheet would evaluate it as a formula."""
    return f"'{cell}" if cell.lstrip().startswith(FORMULA) or cell.startswith(FORMULA) else cell
