"""`manage.py lessons`: lists the lessons; with --check, verifies them."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from kubesched_ui.lessons import catalog, lint, parser
from kubesched_ui.lessons.errors import LessonError
from kubesched_ui.management.own_command import OwnCommand


class Command(OwnCommand):
    help = "Lists the lessons. With --check, computes every figure and answer and reports the first problem."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="compute every figure and answer")
        parser.add_argument("--folder", type=Path, default=catalog.FOLDER, help="folder of the lessons")
        parser.add_argument("names", nargs="*", help="beginnings of the names of the lessons to check (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["check"]:
                checked = lint.check(options["folder"], options["names"])
                if options["names"] and not checked.lessons:
                    raise CommandError(f"No lesson has a name that begins with {' or '.join(options['names'])}.")
                self.stdout.write(str(checked))
            else:
                for path in catalog.paths(options["folder"]):
                    self.stdout.write(f"{path.stem}  {parser.read(path).head.title}")
        except LessonError as problem:
            raise CommandError(str(problem)) from None
