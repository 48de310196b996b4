"""python -m scheduler_core remedies: runs and records a file, then searches for suggested fixes."""

from __future__ import annotations

from functools import partial
from typing import IO, Any

import msgspec

from scheduler_core.cluster import formatting
from scheduler_core.commands.query import Played
from scheduler_core.debugger.restore import restore_run
from scheduler_core.debugger.suggestions.pending import all_pending
from scheduler_core.debugger.suggestions.prefer_node import prefer_node
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
        return _all_pending(played, out, as_json)
    pod = pod if "/" in pod else f"default/{pod}"
    number = _cycle_of(played, pod, attempt)
    simulation = _rewound(played, played.recording.before_cycle(number))
    which = int(played.facts.table["attempt"][number - 1])
    preference = prefer_node(simulation, pod, node, attempt=which) if node else None
    found = preference.remedies if preference is not None else remedies(simulation, pod, attempt=which)
    if as_json:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0 if found else 1
    if preference is not None and preference.note:
        print(preference.note, file=out)
    if found:
        for remedy in found:
            print(f"{remedy.kind:6} {remedy.text} -> {remedy.node}", file=out)
    elif preference is None:
        print(f"Nothing is needed, or nothing that was tried lets {pod} in.", file=out)
    elif not preference.goes_there or preference.tied:
        print(f"Nothing that was tried has {node} win outright.", file=out)
    return 0 if found else 1


def _rewound(played: Played, moment: int) -> Simulation:
    release = get_release(played.settings["release"])
    ties = {"seed": played.settings["seed"], "tie_break": played.settings["tie_break"]}
    make = partial(Simulation, release=release.name, config=played.configuration, **ties)
    return restore_run(played.recording, played.objects.__getitem__, moment, make, release)


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


def _all_pending(played: Played, out: IO[str], as_json: bool) -> int:
    found = all_pending(_rewound(played, played.recording.end))
    if as_json:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0 if found.remedies else 1
    print(f"{formatting.count(found.pending, 'pod')} pending.", file=out)
    for one in found.bottlenecks:
        print(f"{one.pods:>6} {one.plugin}: {one.reason} (such as {one.example})", file=out)
    for more in found.remedies:
        print(f"add    {more.text}", file=out)
    return 0 if found.remedies else 1
