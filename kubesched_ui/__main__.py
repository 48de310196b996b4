"""The `kubesched` command: runs the commands of the application and of scheduler_core."""

import argparse
import os
import sys
from collections.abc import Sequence

from kubesched_ui import __version__

# Commands of scheduler_core, which need no database. `simulate` belongs to the application because it also reads
# scenarios.
CORE = (
    "bench", "diff", "experiment", "explain", "find", "fork", "log", "mcp", "openb", "provenance", "releases",
    "remedies", "replay", "replay-time", "scenario", "shadow", "state", "upgrade", "why-message",
)  # fmt: skip
APPLICATION = ("run", "follow", "simulate", "ingest", "export_scenario", "lessons", "backup", "restore", "completion")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="kubesched",
        description="A visual debugger for the Kubernetes scheduler. `kubesched run` starts it.",
        epilog=f"Commands with stored data: {', '.join(APPLICATION)}, and those of Django, such as createsuperuser. "
        f"Commands that read a file: {', '.join(CORE)}. `kubesched completion bash` (or zsh) prints a script that "
        "completes commands and options. `kubesched COMMAND --help` describes one.",
    )
    parser.add_argument("--version", action="version", version=f"KubeSched {__version__}")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: KUBESCHED_VAR_DIR, or a user folder)")
    parser.add_argument("command", metavar="COMMAND")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    if args.command in CORE:
        from kubesched_ui.ingest.command_reader import read_upload
        from scheduler_core.__main__ import main as run_core

        return run_core([args.command, *args.arguments], prog="kubesched", reader=read_upload)
    if args.data:
        os.environ["KUBESCHED_VAR_DIR"] = os.path.abspath(args.data)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    from django.core.management import execute_from_command_line

    from kubesched_ui.runtime.env import InvalidEnvironment

    try:
        execute_from_command_line(["kubesched", args.command, *args.arguments])
    except InvalidEnvironment as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
