"""python -m scheduler_core provenance: shows where a number of a file's run comes from, as a tree or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import IO

import msgspec

from scheduler_core.commands.query import Played
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.provenance import NotDecided, Question, provenance_of
from scheduler_core.debugger.time_travel import RestoredRun
from scheduler_core.provenance.tree import Tree
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation


def provenance(
    played: Played, out: IO[str], pod: str, question: Question, attempt: int | None = None, as_json: bool = False
) -> int:
    """Write the tree of a number of an attempt, by default the last attempt. Returns 0. Raises InputError."""
    number, trace = _cycle_of(played, pod, attempt)
    settings = played.settings
    make = partial(
        Simulation,
        release=settings["release"],
        config=played.configuration,
        seed=settings["seed"],
        tie_break=settings["tie_break"],
    )
    rewound = RestoredRun(played.recording, played.objects.__getitem__, make, get_release(settings["release"]))
    tree = provenance_of(rewound, number, trace).explain(question)
    if as_json:
        print(msgspec.json.encode(tree).decode(), file=out)
        return 0
    print(tree.text, file=out)
    for line in lines(tree):
        print(line, file=out)
    return 0


def _cycle_of(played: Played, pod: str, attempt: int | None) -> tuple[int, CycleTrace]:
    """Return (number, trace) of the pod's attempt."""
    pods, facts = played.recording.tables["pods"], played.facts.table
    known: list[int] = []
    for number, (row, its) in enumerate(zip(facts["pod"].tolist(), facts["attempt"].tolist(), strict=True), 1):
        if pods.at("key", row) == pod:
            known.append(its)
            if attempt in (None, its):
                found = number
    if not known:
        raise NotDecided("pod", "", f"{pod[:253]!r} was not tried in this run; name it as namespace/name")
    if attempt is not None and attempt not in known:
        raise NotDecided("attempt", "", f"must be one of {', '.join(map(str, known))}, got {attempt}")
    return found, CycleTrace.decode(played.cycles[found - 1][0])


def lines(tree: Tree, depth: int = 0) -> Iterator[str]:
    """Yield the tree as text, one line for each value."""
    value = str(tree.value).lower() if isinstance(tree.value, bool) else tree.value
    head = f"{'  ' * depth}{value}{tree.unit}  {tree.op}"
    about = [tree.label] if tree.label else []
    if tree.source is not None:
        source = tree.source
        about.append(f"{source.kind} {f'{source.namespace}/' * bool(source.namespace)}{source.name} {source.path}")
    if tree.op == "argument":
        about.append(f"{tree.plugin} {tree.path}" + (" (default)" if tree.default else ""))
    if tree.op == "over":
        about.append(f"{tree.function} of {tree.count}" + (f", on {tree.node}" if tree.node else ""))
    if tree.cycle:
        about.append(f"cycle {tree.cycle}")
    yield "  ".join([head, *about])
    for arg in tree.args or ():
        yield from lines(arg, depth + 1)
