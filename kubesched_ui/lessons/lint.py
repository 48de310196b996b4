"""Lesson linter: checks every figure, every answer and the link of every focus, and rejects numbers that are not
computed."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from itertools import islice
from pathlib import Path

from django.urls import NoReverseMatch, resolve
from django.utils.html import strip_tags

from kubesched_ui.lessons import changes, feedback, markdown, parser, questions, statements, step_state
from kubesched_ui.lessons.catalog import COURSE, Lesson, course, paths
from kubesched_ui.lessons.cycle_moments import cycles_shown
from kubesched_ui.lessons.decisive_fields import hidden_fields
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.expressions import evaluate
from kubesched_ui.lessons.formatting import same, shown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.moving_picture import moving_picture
from kubesched_ui.lessons.parser import Prose
from kubesched_ui.lessons.publish_run import address_of
from kubesched_ui.lessons.questions import Question, Verdict
from kubesched_ui.runtime.paths import RESOURCES
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.search.provenance import DISAGREES, UNEXPLAINED

MIN_QUESTIONS = 3  # per lesson
KINDS = ("computed", "by release", "by source")  # what a statement can rest on
VERBATIM = RESOURCES / "docs" / "writing-plugins.md"


@dataclass
class Checked:
    """Numbers of checked lessons, questions and figures."""

    lessons: int = 0
    questions: int = 0
    figures: int = 0
    sentences: Counter[str] = dataclass_field(default_factory=Counter)

    def __str__(self) -> str:
        named = {"lesson": self.lessons, "question": self.questions, "figure": self.figures}
        counts = [count(number, name) for name, number in named.items()]
        kinds = [f"{self.sentences[kind]} {kind}" for kind in KINDS]
        statements = sum(self.sentences[kind] for kind in KINDS)
        return f"{', '.join(counts)}, {count(statements, 'statement')} ({', '.join(kinds)}): all hold"


def check(folder: Path, names: Sequence[str] = (), searches: bool = True) -> Checked:
    """Check the lessons of a folder, or those whose names begin with one of `names`. Raises LessonError for the first
    problem. `searches`: search hidden fields that decide an answer, which takes most of the time."""
    found = Checked()
    check_course(folder)
    for path in paths(folder):
        if names and not path.stem.startswith(tuple(names)):
            continue
        lesson = Lesson(parser.read(path))
        checked = _Check(lesson, complete=True).run()
        if searches:
            check_hidden_fields(lesson)
        last = lesson.steps[-1].ask
        if last is None or last.kind != "change":
            raise LessonError(path.name, 1, "must end with a step that asks for a change")
        if checked.questions < MIN_QUESTIONS:
            number = count(checked.questions, "question")
            raise LessonError(path.name, 1, f"asks {number}; a lesson asks at least {MIN_QUESTIONS}")
        if not lesson.head.lights:
            raise LessonError(path.name, 1, "must name the parts of the picture that it lights, as `lights: [filter]`")
        found.lessons += 1
        found.questions += checked.questions
        found.figures += checked.figures
        found.sentences += checked.sentences
    return found


def check_course(folder: Path) -> None:
    """Check that the course lists every lesson of the folder once. Raises LessonError."""
    listed, files = course(folder), {path.stem for path in paths(folder)}
    known: set[str] = set()
    for one in listed:
        if one.name not in files or one.name in known:
            problem = "is listed twice" if one.name in files else "is listed, but there is no such file"
            raise LessonError(COURSE, one.line, f"{one.name}.md {problem}")
        known.add(one.name)
    for part in dict.fromkeys(one.chapter for one in listed if one.chapter):
        inside = [one for one in listed if one.chapter == part]
        exams = [one.name for one in inside if parser.read(folder / f"{one.name}.md").head.exam]
        if exams != [inside[-1].name]:
            raise LessonError(COURSE, inside[-1].line, f"{part!r} must end with an exam, and have no other one")
    if missing := sorted(files.difference(known)):
        raise LessonError(COURSE, listed[-1].line + 1 if listed else 1, f"must list {missing[0]}.md")


def check_lesson(lesson: Lesson) -> Checked:
    """Check one lesson. Raises LessonError."""
    return _Check(lesson).run()


def check_hidden_fields(lesson: Lesson) -> None:
    """Check that the pages show the fields that decide the answers. Raises LessonError."""
    for found in hidden_fields(lesson):
        problem = f"no page shows {found.field} before the question is answered, but the answer depends on it"
        raise lesson.file.error(f"steps[{found.step - 1}].ask", problem)


def problems(lesson: Lesson) -> list[LessonError]:
    """Return the problems of a lesson: the first one of its head and of each step."""
    try:
        check = _Check(lesson)
    except LessonError as problem:
        return [problem]
    found: list[LessonError] = []
    parts: list[Callable[[], None]] = [check.head]
    parts += [partial(check.step, number) for number in range(1, len(lesson.steps) + 1)]
    for part in parts:
        try:
            part()
        except LessonError as problem:
            found.append(problem)
    return found


class _Check:
    """The check of a lesson. `complete`: every statement must rest on something."""

    def __init__(self, lesson: Lesson, complete: bool = False) -> None:
        self.lesson, self.file, self.complete = lesson, lesson.file, complete
        self.used: set[str] = set()
        self.words = {word for run in lesson.runs.values() for word in run.words} | set(lesson.runs)
        self.words |= {
            path
            for step in lesson.steps
            if step.ask
            for field in step.ask.fields
            for path in (field, field.partition(" ")[2])
        }
        self.verbatim = VERBATIM.read_text() if VERBATIM.exists() else ""
        self.found = Checked(lessons=1)

    def run(self) -> Checked:
        self.head()
        for number in range(1, len(self.lesson.steps) + 1):
            self.step(number)
        head = self.lesson.head
        for kind, names in (("claims", head.claims), ("sources", head.sources)):
            if unused := [name for name in names if name not in self.used]:
                raise self.file.error(f"{kind}.{unused[0]}", "no sentence names it")
        return self.found

    def head(self) -> None:
        """Check the texts of the head. Raises LessonError."""
        opening = Facts(self.lesson.runs)
        for field in ("title", "summary"):
            self._line(field, getattr(self.lesson.head, field), opening)
        for name, source in self.lesson.head.sources.items():
            if problem := statements.source_problem(source):
                raise self.file.error(f"sources.{name}", problem)

    @contextmanager
    def _at(self, path: str) -> Iterator[None]:
        """Report errors inside the `with` at a position in the head."""
        try:
            yield
        except (Unknown, InputError) as problem:
            raise self.file.error(path, str(problem).rpartition("\0")[2]) from None

    def _line(self, path: str, text: str, facts: Facts) -> None:
        """Check a text of the head."""
        with self._at(path):
            if "{{" in text and path.endswith(("title", "summary")):
                raise Unknown("has a figure; titles and summaries cannot have figures")
            for problem in markdown.problems(text, self.words):
                raise Unknown(problem.message)
            self.found.figures += markdown.checked(text, facts)

    def _prose(self, text: Prose, facts: Facts) -> None:
        """Check a text of a section."""
        name = f"{self.file.name}.md"
        for problem in markdown.problems(text.text, self.words, self.verbatim):
            raise LessonError(name, text.line + problem.line, problem.message)
        try:
            self.found.figures += markdown.checked(text.text, facts)
        except Unknown as problem:
            line, _, message = str(problem).partition("\0")
            raise LessonError(name, text.line + int(line), message) from None

    def step(self, number: int) -> None:
        """Check a step. Raises LessonError."""
        lesson, path = self.lesson, f"steps[{number - 1}]"
        step, section = lesson.steps[number - 1], lesson.section(number)
        with self._at(f"{path}.focus"):
            self._focus(number)
        with self._at(f"{path}.picture"):
            self._picture(number)
        self._line(f"{path}.title", step.title, Facts(lesson.runs))
        self._prose(section.before, lesson.facts(number, hides=True))
        self._prose(section.after, lesson.facts(number))
        self._statements([section.before, section.after], lesson.facts(number))
        for index, expression in enumerate(step.holds):
            with self._at(f"{path}.holds[{index}]"):
                if evaluate(expression, lesson.facts(number)) is not True:
                    raise Unknown(f"{expression} is not true")
        question = lesson.question(number)
        if question is not None:
            self.found.questions += 1
            self._question(number, question, f"{path}.ask")
        with self._at(path):
            for revealed in (False, True):
                step_state.shows(lesson, number, revealed)

    def _statements(self, texts: Sequence[Prose], facts: Facts) -> None:
        """Check what the statements of a section rest on."""
        claims, sources = self.lesson.head.claims, self.lesson.head.sources
        name, marks = f"{self.file.name}.md", set[str]()
        for text in texts:
            for found in markdown.MARK.finditer(text.text):
                if found[1] not in claims and found[1] not in sources:
                    line = text.line + text.text.count("\n", 0, found.start())
                    raise LessonError(name, line, f"{found[0]} is neither a claim nor a source of the head")
            for one in statements.sentences(text.text):
                line = text.line + one.line
                with self._at("claims"):
                    kind = statements.kind_of(one, claims)
                if not kind and self.complete:
                    raise LessonError(name, line, f"this statement rests on nothing: {one.text[:80]}")
                self.found.sentences[kind] += 1
                marks.update(one.marks)
        self.used |= marks
        for mark in sorted(marks & claims.keys()):
            with self._at(f"claims.{mark}"):
                if evaluate(claims[mark], statements.ClaimFacts(facts.runs, facts.focus)) is not True:
                    raise Unknown(f"{claims[mark]} is not true")

    def _focus(self, number: int) -> None:
        """Check that what is in focus exists and has an address."""
        focus = self.lesson.steps[number - 1].focus
        if focus is None:
            return
        facts = self.lesson.facts(number)
        try:
            resolve(address_of(1, focus, facts).partition("?")[0])
        except NoReverseMatch as problem:
            raise Unknown(f"has no address: {problem}") from None
        if not focus.pod:
            return
        if focus.node:
            facts.node(focus.node)
        if focus.point in ("raw", "normalized", "weighted", "total") or (focus.point == "filter" and focus.plugin):
            tree = facts.tree(focus.point, focus.pod, focus.node, focus.plugin)
            if tree.label in (UNEXPLAINED, DISAGREES):
                raise Unknown(f"{tree.value} {tree.label}")

    def _picture(self, number: int) -> None:
        """Check that the moments of a picture exist, and that no later question is about them."""
        lesson, step = self.lesson, self.lesson.steps[number - 1]
        if step.picture is None:
            return
        facts = lesson.facts(number)
        own = facts.focused.number if facts.focus.pod else 0
        seen = {cycle.number for cycle in cycles_shown(facts, step.picture)}
        moving_picture(facts, step.picture, not step_state.has_later_question(lesson, number))
        for cycle in step_state.later_cycles(lesson, number):
            if cycle.number in seen and (cycle.number != own or step.picture.of_time):
                raise Unknown(f"shows attempt {cycle.attempt} of {cycle.pod}, about which a later step asks")

    def _question(self, number: int, question: Question, path: str) -> None:
        hidden = self.lesson.facts(number, hides=True)
        for field in ("text", "hint"):
            self._line(f"{path}.{field}", getattr(question.ask, field), hidden)
        for text in question.ask.options:
            self._line(f"{path}.options", text, hidden)
            self._line(f"{path}.options", question.ask.option(text).say, question.facts)
        for index, mistake in enumerate(question.ask.mistakes):
            self._line(f"{path}.mistakes[{index}].say", mistake.say, question.facts)
            with self._at(f"{path}.mistakes[{index}].is"):
                self._mistake(question, evaluate(mistake.is_, question.facts))
        with self._at(path):
            self._judged(question)

    def _mistake(self, question: Question, thought: object) -> None:
        right = questions.answer(question)
        if (
            isinstance(thought, list)
            and question.ask.kind == "change"
            and questions.judge(question, [str(one) for one in thought]).right
        ):
            raise Unknown("reaches the goal")
        if thought == right or (isinstance(right, float | int) and same(thought, right)):
            raise Unknown("is the right answer, not a mistake")

    def _judged(self, question: Question) -> None:
        """Check that the right answer is accepted, and that wrong answers are rejected with feedback."""
        known = questions.options(question)
        if len(set(known)) != len(known):
            raise Unknown("has the same option twice")
        if question.ask.kind == "choice":
            right = questions.answer(question)
            for text in known:
                if (text == right) == bool(question.ask.option(text).say):
                    does = "explains the right option" if text == right else "does not explain the wrong option"
                    raise Unknown(f"{does} {text!r} with `say`")
                if self.complete and (text == right) == bool(question.ask.option(text).kind):
                    does = "gives the right option" if text == right else "must give the wrong option"
                    raise Unknown(f"{does} {text!r} a `kind` of mistake")
        if question.ask.kind == "change" and evaluate(question.ask.goal, question.facts) is True:
            raise Unknown("has a goal that the run reaches without a change")
        verdict = questions.judge(question, right_answers(question))
        if not verdict.right:
            raise Unknown(f"rejects its own answer: {verdict.problem}".removesuffix(": "))
        for wrong in wrong_answers(question):
            verdict = questions.judge(question, wrong)
            if verdict.right or not feedback.explain(question, verdict):
                raise Unknown(f"accepts the wrong answer {wrong}")
        for verdict in wrong_verdicts(question):
            if text := revealed_by(question, verdict):
                raise Unknown(f"reveals the answer in the feedback on {verdict.given}: {text}")


def wrong_verdicts(question: Question) -> Iterator[Verdict]:
    """Yield the verdicts on wrong answers, and on the mistakes that the lesson knows."""
    for wrong in wrong_answers(question):
        yield questions.judge(question, wrong)
    for mistake in question.ask.mistakes:
        thought = evaluate(mistake.is_, question.facts)
        given = float(thought) if question.form == "number" else thought
        yield Verdict(False, [str(one) for one in given] if isinstance(given, list) else given)


def revealed_by(question: Question, verdict: Verdict) -> str:
    """Return the feedback sentence that contains the right answer, or "". Of several right options, those that the
    student did not choose count."""
    right = questions.answer(question)
    if question.form in ("order", "change") or verdict.given is None:
        return ""
    if question.form == "number":
        parts = [shown(questions.measured(question, float(right)))]
    else:
        given = verdict.given if isinstance(verdict.given, list) else [verdict.given]
        parts = [part for part in ([right] if isinstance(right, str) else right) if part not in given]
    texts = [markdown.plain(part, question.facts) if part in question.ask.options else part for part in parts]
    for sentence in map(strip_tags, feedback.explain(question, verdict)):
        if any(feedback.mentions(sentence, text.replace("`", "")) for text in texts):
            return sentence
    return ""


def right_answers(question: Question) -> list[str]:
    """Return the right answer as the form sends it."""
    right = questions.answer(question)
    if question.form == "number":
        return [repr(float(right)) if questions.unit_of(question) in ("", "s") else _quantity(question, right)]
    if question.form == "order":
        return [str(right.index(one) + 1) for one in questions.options(question)]
    return [right] if isinstance(right, str) else list(right)


def wrong_answers(question: Question) -> list[list[str]]:
    """Return wrong answers, one for each kind of error."""
    right, known = questions.answer(question), questions.options(question)
    if question.form == "number":
        return [[f"{float(right) + 7 if questions.unit_of(question) in ('', 's') else 7:g}"], ["soon"]]
    if question.form == "order":
        places = right_answers(question)[::-1]
        mirrored = questions.judge(question, places).right
        return [["1"] * len(known)] if mirrored else [places, ["1"] * len(known)]
    if question.form == "change":
        tries = ([field, text] for field in known for text in ("1", "true", "other"))
        missed = (one for one in tries if questions.judge(question, one) == Verdict(False, one))
        return [
            *islice(missed, 1),
            [right[0], changes.current(question.facts.run, right[0])],
            ["something else", "1"],
            [right[0]],
        ]
    if question.form == "choice":
        return [[one] for one in known if one != right] + [["something else"]]
    return [[one] for one in known if [one] != list(right)] + [[]] * bool(right)


def _quantity(question: Question, right: float) -> str:
    return f"{int(right)}m" if questions.unit_of(question) == "cpu" else str(int(right))
