"""`manage.py serve`: runs a web process under supervisord, as in the container image."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.runtime import env
from kubesched_ui.runtime.supervisord_config import CannotStart, check_open_files, serving


class Command(OwnCommand):
    help = "Serves pages and API until it is stopped, and replaces a failed web process. Run `prepare` first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=env.text("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=env.number("PORT", 8000))

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        try:
            check_open_files()
        except CannotStart as problem:
            raise CommandError(str(problem)) from None
        config = settings.VAR_DIR / "supervisord.conf"
        config.write_text(serving(host, port))
        os.environ["PYTHONUNBUFFERED"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "kubesched_ui.runtime.supervisord_main", "-c", str(config)])
