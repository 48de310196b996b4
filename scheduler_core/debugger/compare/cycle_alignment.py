"""Which cycle of the one run is which of the other: the same pod, tried the same time."""

from __future__ import annotations

from scheduler_core.debugger.compare.run_side import Side


def partners(a: Side, b: Side) -> tuple[list[int], int | None]:
    """Of each cycle of `a` its partner in `b`, and the first cycle of `a` whose partner came to something else.

    A partner is the cycle of the same pod and attempt. Where there is none, -K: before b's cycle K, the one after the
    last partner before. The second is None if all came to the same.
    """
    theirs: dict[tuple[str, int], int] = {}
    tried: dict[str, int] = {}
    for number, key in enumerate(b.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        theirs[key, tried[key]] = number
    results = [_results(side) for side in (a, b)]
    found: list[int] = []
    parting = None
    tried, last = {}, 0
    for number, key in enumerate(a.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        partner = theirs.get((key, tried[key]))
        last = partner or last
        found.append(partner or -(last + 1))
        same = partner is not None and results[0][number - 1] == results[1][partner - 1]
        parting = number if parting is None and not same else parting
    if parting is None and len(a.keys) < len(b.keys):
        parting = len(a.keys) + 1
    return found, parting


def _results(side: Side) -> list[tuple[str, ...]]:
    """What each cycle came to."""
    table = side.facts.table
    columns = [
        [table.texts[name][i] for i in table[name].tolist()] for name in ("result", "node", "nominated", "victims")
    ]
    return list(zip(*columns, strict=True))
