"""`manage.py load_samples`: stores the sample scenarios in the database."""

from typing import Any

from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.scenarios.samples import load_samples


class Command(OwnCommand):
    help = "Stores new and changed sample scenarios. It can be repeated at any time."

    def handle(self, *args: Any, **options: Any) -> None:
        number, stored = load_samples()
        self.stdout.write(f"{number} sample scenarios, {stored} new or changed")
