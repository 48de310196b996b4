"""The base class of our management commands: their help shows their own options only."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

DJANGO_OPTIONS = {
    "--version",
    "--verbosity",
    "--settings",
    "--pythonpath",
    "--traceback",
    "--no-color",
    "--force-color",
}
SKIP_CHECKS = "--skip-checks"  # the only one that `suppressed_base_arguments` does not hide


class OwnCommand(BaseCommand):
    """A command whose help does not show the options that Django adds to every command. They still work."""

    suppressed_base_arguments = DJANGO_OPTIONS

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        for action in parser._actions:
            if SKIP_CHECKS in action.option_strings:
                action.help = argparse.SUPPRESS
        return parser
