"""Alignment of the cycles of two runs by pod and attempt."""

from __future__ import annotations

from scheduler_core.debugger.compare.run_side import RunSide


def partners(a: RunSide, b: RunSide) -> tuple[list[int], int | None]:
    """Return the partner in `b` of each cycle of `a`, and the first cycle of `a` with another result than its partner.

    A partner is the cycle of the same pod and attempt. If there is none, the entry is -K: the position before b's cycle
    K, which follows the last partner. The second value is None if all results agree.
    """
    theirs: dict[tuple[str, int], int] = {}
    tried: dict[str, int] = {}
    for number, key in enumerate(b.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        theirs[key, tried[key]] = number
    found: list[int] = []
    parting = None
    tried, last = {}, 0
    for number, key in enumerate(a.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        partner = theirs.get((key, tried[key]))
        last = partner or last
        found.append(partner or -(last + 1))
        same = partner is not None and a.results[number - 1] == b.results[partner - 1]
        parting = number if parting is None and not same else parting
    if parting is None and len(a.keys) < len(b.keys):
        parting = len(a.keys) + 1
    return found, parting
