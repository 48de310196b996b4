"""`manage.py restore FILE`: replaces all stored data with the data of a backup."""

import shutil
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection

from kubesched_ui.backup.format import NotReadable
from kubesched_ui.backup.restore import NotEmpty, check, restore
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.observability.health import ask_broker_and_worker
from kubesched_ui.runtime.supervisord_config import CannotStart, lock

RUNS = "Stop web and workers first."

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Command(OwnCommand):
    help = "Restores a backup (- for standard input) into this installation, which must be empty."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--replace", action="store_true", help="delete all data of this installation first")

    def handle(self, *args: Any, file: str, replace: bool, **options: Any) -> None:
        try:
            with lock(settings.VAR_DIR), opened(file) as backup:  # the lock prevents a start of `make run` meanwhile
                check(backup)
                if used := in_use():
                    raise CommandError(f"{used} {RUNS}")
                call_command("migrate", verbosity=0)
                done = restore(backup, replace)
                call_command("migrate", verbosity=0)  # creates the tables of apps that were not installed there
        except (CannotStart, NotReadable, NotEmpty) as problem:
            raise CommandError(f"{problem} Nothing was changed.") from None
        except (OSError, DatabaseError) as error:
            raise CommandError(f"The backup could not be restored: {error} Nothing was changed.") from None
        self.stdout.write(f"{sum(done.values())} rows of {len(done)} tables from {file}")


def opened(file: str) -> IO[bytes]:
    """Return the file, which is read twice. Raises OSError."""
    if file != "-":
        return Path(file).open("rb")
    copy = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    shutil.copyfileobj(sys.stdin.buffer, copy)
    return copy


def in_use() -> str:
    """Return a sentence about other users of the database; "" if there are none."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(OTHERS)
            (others,) = cursor.fetchone()
        if others:
            return f"{others} other connections use the database."
    broker, worker = ask_broker_and_worker()
    return "A worker answers." if not broker and not worker else ""
