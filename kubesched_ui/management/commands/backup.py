"""`manage.py backup FILE`: writes all data to one file, while KubeSched runs."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import DatabaseError

from kubesched_ui.backup.create import create_backup
from kubesched_ui.management.own_command import OwnCommand


class Command(OwnCommand):
    help = "Writes all stored data to a file (- for standard output). KubeSched may be running."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            done = write_backup(sys.stdout.buffer) if file == "-" else write_atomically(Path(file))
        except (OSError, DatabaseError) as error:
            raise CommandError(f"The backup could not be created: {error}") from None
        self.stderr.write(f"{sum(done.values())} rows of {len(done)} tables in {file}")


def write_backup(file: IO[bytes]) -> dict[str, int]:
    done = create_backup(file)
    file.flush()
    return done


def write_atomically(path: Path) -> dict[str, int]:
    """Write to a temporary file and rename it when it is complete. An existing backup remains until then."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # private: it contains all data
    try:
        with os.fdopen(descriptor, "wb") as file:
            done = write_backup(file)
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return done
