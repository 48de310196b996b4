"""`manage.py prepare`: prepares the database once before web processes and workers of this version start."""

import io
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection


class Command(BaseCommand):
    help = "Migrates the database and loads the sample scenarios."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        """Migrate and load the samples. Raises CommandError if the database cannot be used."""
        try:
            call_command("migrate", verbosity=verbosity)
            call_command("load_samples", stdout=self.stdout if verbosity else io.StringIO())
        except (OSError, DatabaseError) as error:
            name, host = connection.settings_dict["NAME"], connection.settings_dict.get("HOST")
            place = f"{name} at {host}" if host else name
            raise CommandError(f"The database {place} cannot be used: {str(error).strip()}.") from None
