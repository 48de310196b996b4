"""python -m scheduler_core remedies: runs and records a file, then searches for suggested fixes."""

from __future__ import annotations

import argparse
from typing import IO

from scheduler_core.cluster import formatting
from scheduler_core.commands.output import print_json
from scheduler_core.commands.query import Played, play
from scheduler_core.debugger.suggestions.pending import all_pending
from scheduler_core.debugger.suggestions.prefer_node import prefer_node
from scheduler_core.debugger.suggestions.search import remedies


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the suggested fixes for a pod, or those for all pending pods.

    Returns 0, or 1 if there are none. Raises InputError.
    """
    played = play(args)
    if args.pod is None:
        return _all_pending(played, out, args.json)
    pod = args.pod if "/" in args.pod else f"default/{args.pod}"
    number = played.cycle_of(pod, args.attempt)
    simulation = played.restored().at(played.recording.before_cycle(number))
    attempt = int(played.facts.table["attempt"][number - 1])
    preference = prefer_node(simulation, pod, args.node, attempt=attempt) if args.node else None
    found = preference.remedies if preference is not None else remedies(simulation, pod, attempt=attempt)
    if args.json:
        print_json(found, out)
        return 0 if found else 1
    if preference is not None and preference.note:
        print(preference.note, file=out)
    if found:
        for remedy in found:
            print(f"{remedy.kind:6} {remedy.text} -> {remedy.node}", file=out)
    elif preference is None:
        print(f"{pod} needs no fix, or no fix was found.", file=out)
    elif not preference.goes_there or preference.tied:
        print(f"No fix was found that makes {args.node} the only best node.", file=out)
    return 0 if found else 1


def _all_pending(played: Played, out: IO[str], as_json: bool) -> int:
    found = all_pending(played.restored().at(played.recording.end))
    if as_json:
        print_json(found, out)
        return 0 if found.remedies else 1
    print(f"{formatting.count(found.pending, 'pod')} pending.", file=out)
    for one in found.bottlenecks:
        print(f"{one.pods:>6} {one.plugin}: {one.reason} (such as {one.example})", file=out)
    for more in found.remedies:
        print(f"add    {more.text}", file=out)
    return 0 if found.remedies else 1
