"""python -m scheduler_core: the commands."""

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Runs a command; returns 0, 1 for a finding, 2 for bad usage or input."""
    parser = argparse.ArgumentParser(prog="python -m scheduler_core", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    replay = commands.add_parser("replay", help="replay conformance cases and print the decisions")
    replay.add_argument("cases", metavar="CASES", help="a .jsonl file, a .jsonl.gz file, or - for standard input")
    args = parser.parse_args(argv)
    from scheduler_core.replay import replay as run

    return run(args.cases, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
