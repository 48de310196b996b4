"""`manage.py prepare`: prepares the database once before web processes and workers of this version start."""

import io
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection

from kubesched_ui.clusters import connections
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.runtime.env import InvalidEnvironment
from scheduler_core.errors import InputError


class Command(OwnCommand):
    help = "Migrates the database, loads the sample scenarios, and stores the names of the live clusters."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        """Prepare the database. Raises CommandError if it cannot be used, or if the names of live clusters are
        invalid."""
        try:
            call_command("migrate", verbosity=verbosity)
            call_command("load_samples", stdout=self.stdout if verbosity else io.StringIO())
            connections.store_configured()
        except (InputError, InvalidEnvironment) as error:
            raise CommandError(f"{error}.") from None
        except (OSError, DatabaseError) as error:
            name, host = connection.settings_dict["NAME"], connection.settings_dict.get("HOST")
            place = f"{name} at {host}" if host else name
            raise CommandError(f"The database {place} cannot be used: {str(error).strip()}.") from None
