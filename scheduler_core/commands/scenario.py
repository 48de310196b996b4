"""python -m scheduler_core scenario: makes a Scenario in virtual time of recorded changes."""

import argparse
from typing import IO

from scheduler_core.commands.console import print_json, print_notes
from scheduler_core.errors import InputError
from scheduler_core.evidence.recorded_scenario import scenario_of
from scheduler_core.snapshot.files import read_bytes


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the Scenario document of a recording to `out` as JSON; return 0. Raises InputError."""
    notes: list[str] = []
    document = scenario_of(read_bytes(args.recording), args.recording, notes, args.last)
    if document is None:
        problem = "is neither a database of etcd, an audit log, a trace of SimKube nor a recording of kwok"
        raise InputError(args.recording, "", problem)
    print_notes(f"{args.recording}: {note}" for note in notes)
    print_json(document, out)
    return 0
