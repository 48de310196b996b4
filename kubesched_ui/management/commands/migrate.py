"""`manage.py migrate`: Django's command, run by one process at a time across all machines."""

from typing import Any

from django.core.management.commands.migrate import Command as Migrate

from kubesched_ui.runtime.advisory_lock import one_at_a_time


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> None:
        with one_at_a_time("migrate"):
            super().handle(*args, **options)
