"""python -m scheduler_core replay: conformance cases in, decisions out, one JSON line per case."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

import msgspec

from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation


def read_lines(path: str) -> Iterator[bytes]:
    """The lines of a file, of a .gz file, or of standard input for `-`. Raises InputError."""
    try:
        if path == "-":
            yield from sys.stdin.buffer
            return
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as stream:
            yield from stream
    except (OSError, EOFError) as problem:
        raise InputError(path, "", f"cannot be read: {problem}") from None


def replay_case(case: dict[str, Any]) -> dict[str, Any]:
    """One case's decisions in the golden format. Raises InputError."""
    simulation = Simulation(
        case["objects"],
        release=case["kubernetes"],
        config=case.get("config"),
        tie_break="name",
        preemption=bool(case.get("preempt")),
        percentage=case.get("percentage"),
        pods=case["pods"],
    )
    return {
        "name": case["name"],
        "kubernetes": case["kubernetes"],
        "node_order": list(simulation.nodes),
        "cycles": [trace.golden(simulation.nodes) for trace in simulation.run()],
    }


def replay(path: str, out: IO[bytes], one: Callable[[dict[str, Any]], dict[str, Any]] = replay_case) -> int:
    """Replays every case of a file, each by `one`. Returns the exit code: 0, or 1 when a case could not be replayed."""
    failed = 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            case = msgspec.json.decode(line)
            answer = one(case)
        except (InputError, msgspec.DecodeError, KeyError, TypeError) as problem:
            print(f"{path}, line {number}: {problem}", file=sys.stderr)
            failed = 1
            continue
        out.write(msgspec.json.encode(answer) + b"\n")
    return failed
