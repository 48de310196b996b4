"""`manage.py lessons`: lists the lessons; with --check, verifies them."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kubesched_ui.lessons import catalog, lint, parser
from kubesched_ui.lessons.errors import LessonError


class Command(BaseCommand):
    help = "Lists the lessons. With --check, computes every figure and answer and reports the first problem."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="compute every figure and answer")
        parser.add_argument("--folder", type=Path, default=catalog.FOLDER, help="folder of the lessons")
        parser.add_argument("names", nargs="*", help="beginnings of the names of the lessons to check (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["check"]:
                self._check(options["folder"], options["names"])
            else:
                for path in catalog.paths(options["folder"]):
                    self.stdout.write(f"{path.stem}  {parser.read(path).head.title}")
        except LessonError as problem:
            raise CommandError(str(problem)) from None

    def _check(self, folder: Path, names: list[str]) -> None:
        if not names:
            self.stdout.write(str(lint.check(folder)))
            return
        for path in catalog.paths(folder):
            if any(path.stem.startswith(name) for name in names):
                checked = lint.check_lesson(catalog.Lesson(parser.read(path)))
                told = f"{checked.questions} questions, {checked.figures} figures: all hold"
                self.stdout.write(f"{path.stem}: {told}")
