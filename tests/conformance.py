"""Conformance cases in tests/golden: what upstream kube-scheduler decided for generated and for real clusters."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

GOLDEN = Path(__file__).parent / "golden"
SELECTION = "selection.txt"
Raw = dict[str, Any]


class CaseName(msgspec.Struct):
    """The field of a case that has its name."""

    name: str


def golden_cases(name: str, *kinds: str, whole: bool = False) -> list[Raw]:
    """Return the cases of a set whose names start with one of the kinds (all if none is given).

    Without `whole`, return only the cases that the set's selection.txt names, if there is one.
    """
    decoded = map(msgspec.json.decode, _lines(f"{name}/cases.jsonl.gz", whole))
    return [case for case in decoded if not kinds or case["name"].startswith(kinds)]


def golden_decisions(name: str, whole: bool = False) -> dict[str, Raw]:
    """Return upstream's decisions by the name of the case."""
    decoded = map(msgspec.json.decode, _lines(f"{name}/expected.jsonl.gz", whole))
    return {case["name"]: case for case in decoded}


class CaseDecisions(msgspec.Struct):
    """The decisions of a case, undecoded."""

    cycles: list[msgspec.Raw] = []
    attempts: list[msgspec.Raw] = []


def cycle_counts(name: str) -> list[int]:
    """Return how many cycles, or attempts in virtual time, each case of a set has."""
    lines = _lines(f"{name}/expected.jsonl.gz", whole=True)
    decided = (msgspec.json.decode(line, type=CaseDecisions) for line in lines)
    return [len(case.cycles or case.attempts) for case in decided]


def golden_sets(virtual_time: bool = False) -> list[str]:
    """Return the names of all sets of one format: one cycle per pod, or scheduling over virtual time."""
    folders = [path.parent for path in GOLDEN.rglob("cases.jsonl.gz")]
    return sorted(str(f.relative_to(GOLDEN)) for f in folders if f.name.startswith("time") == virtual_time)


def known_differences(name: str) -> dict[str, int]:
    """Return the known differences of a set: case -> how many of its cycles differ from upstream's.

    For scenarios in virtual time: how many of its attempts, queue moves and final placements differ.
    """
    differences: dict[str, dict[str, int]] = msgspec.json.decode((GOLDEN / "differences.json").read_bytes())
    return differences.get(name, {})


def _lines(file: str, whole: bool) -> Iterator[bytes]:
    path = GOLDEN / file
    if not whole and (path.parent / SELECTION).exists():
        yield from _selected_lines(path)
    else:
        with gzip.open(path) as stream:
            yield from stream


@cache
def _selected_lines(path: Path) -> list[bytes]:
    names = set((path.parent / SELECTION).read_text().split())
    with gzip.open(path) as stream:
        return [line for line in stream if msgspec.json.decode(line, type=CaseName).name in names]
