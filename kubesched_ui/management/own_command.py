"""The base class of our management commands: how their help and their errors look."""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError

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
    """A command whose help does not show the options that Django adds to every command. They still work.

    An error is printed after the name of the command, as `kubesched explain` prints it, and not as "CommandError".
    """

    suppressed_base_arguments = DJANGO_OPTIONS
    program = ""
    _called_from_command_line: bool  # of BaseCommand

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        self.program = parser.prog
        for action in parser._actions:
            if SKIP_CHECKS in action.option_strings:
                action.help = argparse.SUPPRESS
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except SystemCheckError:
            raise
        except CommandError as error:
            if not self._called_from_command_line or options["traceback"]:
                raise
            self.stderr.write(f"{self.program}: {error}")
            sys.exit(error.returncode)
