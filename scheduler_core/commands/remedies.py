"""python -m scheduler_core remedies: runs and records a file, then searches for suggested fixes."""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import msgspec

from scheduler_core.cluster import formatting
from scheduler_core.commands.query import Played
from scheduler_core.debugger.restore import rewind
from scheduler_core.debugger.suggestions.pending import together
from scheduler_core.debugger.suggestions.prefer_node import make_win
from scheduler_core.debugger.suggestions.search import remedies
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation


def run(
    played: Played, out: IO[str], pod: str | None, attempt: int | None, node: str | None, as_json: bool = False
) -> int:
    """Write the suggested fixes with which a pod fits, or goes to a node; without a pod, the fixes for all pending
    pods.

    Returns 0, or 1 if there are none. Raises InputError.
    """
    if pod is None:
        return _together(played, out, as_json)
    pod = pod if "/" in pod else f"default/{pod}"
    number = _cycle_of(played, pod, attempt)
    simulation = _rewound(played, played.recording.before_cycle(number))
    which = int(played.facts.table["attempt"][number - 1])
    winning = make_win(simulation, pod, node, attempt=which) if node else None
    found = winning.remedies if winning is not None else remedies(simulation, pod, attempt=which)
    if as_json:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0 if found else 1
    if winning is not None and winning.note:
        print(winning.note, file=out)
    if found:
        for remedy in found:
            print(f"{remedy.kind:6} {remedy.text} -> {remedy.node}", file=out)
    elif winning is None:
        print(f"Nothing is needed, or nothing that was tried lets {pod} in.", file=out)
    elif not winning.goes_there or winning.tied:
        print(f"Nothing that was tried has {node} win outright.", file=out)
    return 0 if found else 1


def _rewound(played: Played, moment: int) -> Simulation:
    release = get_release(played.settings["release"])
    ties = {"seed": played.settings["seed"], "tie_break": played.settings["tie_break"]}
    make = partial(Simulation, release=release.name, config=played.configuration, **ties)
    return rewind(played.recording, played.objects.__getitem__, moment, make, release)


def _cycle_of(played: Played, pod: str, attempt: int | None) -> int:
    """Return the number of a pod's cycle. Raises InputError."""
    table = played.facts.table
    pods = played.recording.tables["pods"]
    tried = zip(table["pod"].tolist(), table["attempt"].tolist(), strict=True)
    found: dict[Any, int] = {}
    for number, (row, which) in enumerate(tried, 1):
        if pods.at("key", row) == pod:
            found[which] = found[None] = number
    if attempt not in found:
        which = f"attempt {attempt} of it" if found else "it"
        raise InputError(f"Pod {pod[:253]}", "", f"the run has not tried {which}")
    return found[attempt]


def _together(played: Played, out: IO[str], as_json: bool) -> int:
    found = together(_rewound(played, played.recording.end))
    if as_json:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0 if found.remedies else 1
    print(f"{formatting.count(found.pending, 'pod')} pending.", file=out)
    for one in found.bottlenecks:
        print(f"{one.pods:>6} {one.plugin}: {one.reason} (such as {one.example})", file=out)
    for more in found.remedies:
        print(f"add    {more.text}", file=out)
    return 0 if found.remedies else 1
