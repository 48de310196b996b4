"""`manage.py load_samples`: stores the sample scenarios in the database."""

from typing import Any

from django.core.management.base import BaseCommand

from kubesched_ui.scenarios.samples import load_samples


class Command(BaseCommand):
    help = "Stores new and changed sample scenarios. It can be repeated at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        number, stored = load_samples()
        self.stdout.write(f"{number} sample scenarios, {stored} new or changed")
