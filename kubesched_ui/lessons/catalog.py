"""The catalogue of lessons with their runs. A process simulates the runs of a lesson on first use and caches them."""

from __future__ import annotations

import re
import threading
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kubesched_ui.ingest import IngestError
from kubesched_ui.lessons import parser
from kubesched_ui.lessons.changes import WithSolution, document_of, spec_of
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import Ask, LessonFile, Settings, Step, StepText
from kubesched_ui.lessons.questions import Question
from kubesched_ui.lessons.runner import Played, TooLarge
from kubesched_ui.scenarios import samples
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST
from scheduler_core.releases.versions import minor_of

FOLDER = Path(__file__).parent / "content"
COURSE = "course.txt"  # the names of the lessons in course order, below the titles of their parts: "# B. Scores"
KEPT = 40  # lessons cached with their runs; each takes some hundred kB

# The estimate of a lesson's time: a guess, to be corrected by the times of a class.
WORDS_A_MINUTE = 130
MINUTES = {"change": 3.0}  # of a question, by its kind
USUAL = 1.0

# Plugins of a replayed cluster cache state between calls, so only one question is answered at a time.
lock = threading.RLock()


class Lesson:
    """A lesson and its runs. Raises LessonError if a run cannot be created."""

    def __init__(self, file: LessonFile) -> None:
        self.file, self.name = file, file.name
        self.head = file.head

    @property
    def number(self) -> int:
        """The position in the course, from 1."""
        return next((i for i, path in enumerate(paths(), 1) if path.stem == self.name), 0)

    @property
    def title(self) -> str:
        return self.head.title

    @property
    def steps(self) -> list[Step]:
        return self.head.steps

    @property
    def questions(self) -> int:
        return sum(step.ask is not None for step in self.steps)

    @property
    def shows_queue(self) -> bool:
        """Whether a picture of the lesson shows the queue."""
        return any(step.picture is not None and step.picture.shows in ("queue", "events") for step in self.steps)

    @property
    def minutes(self) -> int:
        """An estimate of the time that the lesson takes, from its words and questions."""
        words = sum(len(prose.text.split()) for step in self.file.sections for prose in (step.before, step.after))
        answering = sum(MINUTES.get(step.ask.kind, USUAL) for step in self.steps if step.ask is not None)
        return max(1, round(words / WORDS_A_MINUTE + answering))

    @cached_property
    def releases(self) -> list[str]:
        """The releases of its runs, without their feature gates."""
        default = self.spec.get("kubernetes") or NEWEST
        runs = self.head.runs.values() or [Settings()]
        return list(dict.fromkeys(minor_of((run.release or default).split()[0]) for run in runs))

    @cached_property
    def document(self) -> tuple[str, bytes]:
        """The scenario as a file: name and content."""
        scenario = self.head.scenario
        if isinstance(scenario, str):
            found = next((path for path in sorted(samples.FOLDER.glob("*.yaml")) if path.stem == scenario), None)
            if found is None:
                raise self.file.error("scenario", f"there is no sample {scenario[:60]!r}")
            return found.name, found.read_bytes()
        return f"{self.name}.yaml", document_of(f"Lesson: {self.title}", scenario)

    @property
    def spec(self) -> dict[str, Any]:
        """The scenario as the `spec` of a Scenario document. It must not be changed."""
        return spec_of(self.document[1])

    def with_spec(self, spec: dict[str, Any]) -> Lesson:
        """Return the lesson with another scenario."""
        varied = Lesson(self.file)
        varied.document = self.document[0], document_of(self.title, spec)
        return varied

    @cached_property
    def runs(self) -> dict[str, Played]:
        """Runs by name. The first is the default."""
        name, document = self.document
        found: dict[str, Played] = {}
        for run, settings in (self.head.runs or {"run": Settings()}).items():
            path = f"runs.{run}" if self.head.runs else "scenario"
            own = document_of(f"Lesson: {self.title}, {run}", settings.scenario) if settings.scenario else document
            try:
                found[run] = Played(name, own, settings)
            except (IngestError, InputError, TooLarge) as problem:
                raise self.file.error(path, str(problem)) from None
        return found

    def facts(self, step: int, hides: bool = False) -> Facts:
        """Return the facts that a step's text may use; steps start at 1. `hides`: leave out the answer of the step's
        question. A change has no hidden facts but its solution, the run `changed`."""
        here = self.steps[step - 1]
        if here.ask is None or here.ask.kind != "change":
            return Facts(self.runs, here.focus, hides and here.ask is not None)
        run = here.focus.run if here.focus else ""
        return Facts(self.runs if hides else WithSolution(self.runs, run, *here.ask.solution), here.focus)

    def question(self, step: int) -> Question | None:
        """Return the question of a step, or None."""
        ask: Ask | None = self.steps[step - 1].ask
        return Question(ask, self.facts(step)) if ask is not None else None

    def section(self, step: int) -> StepText:
        """Return the text of a step."""
        return self.file.sections[step - 1]


class Chapter(NamedTuple):
    """Lessons about one subject. `title`: "" for lessons that the course does not list."""

    title: str
    lessons: list[Lesson]

    @property
    def minutes(self) -> int:
        """An estimate of its time, in steps of five minutes."""
        return max(5, 5 * round(sum(lesson.minutes for lesson in self.lessons) / 5))

    @property
    def lights(self) -> list[str]:
        """The parts of the picture that its lessons light."""
        return list(dict.fromkeys(light for lesson in self.lessons for light in lesson.head.lights))


class InvalidLesson(NamedTuple):
    """A file that is not a valid lesson."""

    file: str
    message: str


class Listed(NamedTuple):
    """A lesson in the list of the course: its line, from 1, its name and the title of its chapter."""

    line: int
    name: str
    chapter: str


def course(folder: Path = FOLDER) -> list[Listed]:
    """Return the list of the course."""
    file, found, chapter = folder / COURSE, list[Listed](), ""
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else (), 1):
        if line.startswith("#"):
            chapter = line.lstrip("# ").strip()
        elif name := line.strip():
            found.append(Listed(number, name, chapter))
    return found


def chapters(lessons: list[Lesson]) -> list[Chapter]:
    """Return these lessons by chapter, in their order."""
    titles, found = {one.name: one.chapter for one in course()}, dict[str, list[Lesson]]()
    for lesson in lessons:
        found.setdefault(titles.get(lesson.name, ""), []).append(lesson)
    return [Chapter(title, some) for title, some in found.items()]


def paths(folder: Path = FOLDER) -> list[Path]:
    """Return the lesson files in course order, those that the course does not list last."""
    position = {one.name: number for number, one in enumerate(course(folder))}
    return sorted(folder.glob("*.md"), key=lambda path: (position.get(path.stem, len(position)), path.stem))


def current_name(name: str) -> str:
    """Return a lesson's name without the number that it began with in version 1.0.0 (`07-topology-spread`)."""
    return re.sub(r"^\d\d-", "", name)


def lesson(name: str) -> Lesson | None:
    """Return the current version of a lesson, or None if it does not exist. Raises LessonError."""
    name = current_name(name)
    path = next((path for path in paths() if path.stem == name), None)
    return _of(path) if path is not None else None


def lessons() -> tuple[list[Lesson], list[InvalidLesson]]:
    """Return all valid lessons, and the problems of the others."""
    found, problems = [], []
    for path in paths():
        try:
            found.append(_of(path))
        except LessonError as problem:
            problems.append(InvalidLesson(path.name, str(problem)))
    return found, problems


def _of(path: Path) -> Lesson:
    status = path.stat()
    with lock:
        return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(KEPT)
def _read(path: Path, modified: int, size: int) -> Lesson:
    return Lesson(parser.read(path))


def neighbours(name: str) -> dict[str, Any]:
    """Return the names of the previous and next lessons."""
    names = [path.stem for path in paths()]
    at = names.index(name)
    return {"previous": names[at - 1] if at else "", "following": names[at + 1] if at + 1 < len(names) else ""}
