"""`manage.py ingest FILE...`: uploads without a browser."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from kubesched_ui.ingest import IngestError, Limits, ingest_files
from kubesched_ui.ingest.path_hints import is_readable_name
from kubesched_ui.ingest.store import scenario_warnings, store
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.runs import import_run
from kubesched_ui.scenarios.uploads import Upload


class Command(OwnCommand):
    help = "Stores cluster snapshots (docs/formats.md) as one scenario; imports a run file with its run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="+", type=Path, help="files, archives or folders that together are one cluster"
        )
        parser.add_argument("--name", default="", help="name of the scenario (default: the name of the first file)")
        parser.add_argument("--dry-run", action="store_true", help="print the result without storing it")

    def handle(self, *args: Any, files: list[Path], name: str, dry_run: bool, **options: Any) -> None:
        try:
            result = ingest_files(named_files(files), Limits.from_settings())
        except IngestError as error:
            raise CommandError(str(error)) from None
        for kind, number in result.counts.items():
            self.stdout.write(f"{number:>8,} {kind}")
        for remark in scenario_warnings(result):
            self.stderr.write(remark["message"])
        if not dry_run:
            made = Upload(store(result, name or result.name or files[0].name), result.run)
            try:
                run = import_run.create_imported_run(made)
            except IngestError as error:
                raise CommandError(str(error)) from None
            self.stdout.write(f"Scenario {made.scenario.pk}: {made.scenario.name}")
            if run:
                self.stdout.write(f"Run {run.pk}: queued; a worker runs it again")


def named_files(paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """Yield files with their names for messages; for folders, all files whose names suggest JSON, YAML or archives.
    Raises CommandError for a path that does not exist."""
    for path in paths:
        if path.is_dir():
            inside = (file for file in sorted(path.rglob("*")) if file.is_file() and is_readable_name(file.name))
            yield from ((f"{path.name}/{file.relative_to(path)}", file) for file in inside)
        elif path.exists():
            yield path.name, path
        else:
            raise CommandError(f"{path}: no such file")
