"""Conformance cases in two releases: the pods whose outcome differs, and the reported cause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from scheduler_core.api.objects import decode_all
from scheduler_core.compare.deltas import applied_to, deltas_of
from scheduler_core.compare.inputs import Inputs, Placement, play
from scheduler_core.compare.root_cause import RootCause, cause_of
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release

Raw = dict[str, Any]


def inputs_of(case: Raw, release: str) -> Inputs:
    objects = {(type(obj).__name__, obj.key): obj for obj in decode_all(case["objects"])}
    config, preempt = case.get("config"), bool(case.get("preempt"))
    pods = tuple(case["pods"]) if case.get("pods") else None
    return Inputs(get_release(release), config, 0, "name", preempt, case.get("percentage"), objects, pods)


def differing(case: Raw, older: str, newer: str, most: int = 5) -> Iterator[tuple[Inputs, Inputs, str]]:
    """Return at most `most` pods of a case that have another outcome in the newer release."""
    try:
        a, b = inputs_of(case, older), inputs_of(case, newer)
    except InputError:
        return
    for pod in case.get("pods") or ():
        outcomes = play(a, pod)[0], play(b, pod)[0]
        if outcomes[0] != outcomes[1] and "impossible" not in (outcomes[0][0], outcomes[1][0]):
            yield a, b, pod
            most -= 1
            if not most:
                return


def check(a: Inputs, b: Inputs, pod: str) -> RootCause:
    """Return the cause. Replay every subset: the cause alone gives the outcome of b, and no smaller set does."""
    cause = cause_of(a, b, pod, clock=lambda: 0.0)
    wanted: Placement = play(b, pod)[0]
    assert cause.units, cause.note
    assert cause.minimal
    assert play(applied_to(a, b, cause.units), pod)[0] == wanted
    every = deltas_of(a, b)
    for size in range(len(cause.units)):
        for some in combinations(every, size):
            assert play(applied_to(a, b, some), pod)[0] != wanted, some
    return cause
