"""Traces of versions 1 and 2: their documents become what version 3 writes, so that one reader is enough.

What a version 1 is differs, as it was changed twice without a new number; the shapes tell it:

* version 1: columns as (length, type, bytes), later as they are now; preemption's refusals by node, later with whether
  it decides the nomination.
* version 2: preemption's refusals as (status, nodes).
* version 3: preemption's refusals as (status, rows). Its head and preemption became longer at their ends, which
  `CycleTrace.decode` reads.

Versions are never taken away from here: whatever was recorded stays readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

VERSIONS = (1, 2)

_CONSTANT = 0
_WIDE = {0: 8, 1: 16, 2: 32, 3: 64}  # the first type numbers -> bits; the widest was signed, the bits are the same


def upgraded(document: Sequence[Any], nodes: Sequence[str]) -> list[Any]:
    """The document as version 3 has it. `nodes`: in the order of its rows; of refusals on others nothing is known.
    Raises ValueError, TypeError or LookupError for what is no trace."""
    head, statuses, *columns, verdicts, nominated, scores, postfilter = document
    return [
        head,
        statuses,
        *map(_column, columns),
        [(plugin, told, _column(codes)) for plugin, told, codes in verdicts],
        nominated,
        [(plugin, weight, _column(raw), _column(normalized)) for plugin, weight, raw, normalized in scores],
        None if postfilter is None else _postfilter(postfilter, nodes),
    ]


def _column(packed: Sequence[Any] | None) -> Sequence[Any] | None:
    if packed is None or len(packed) != 3:
        return packed
    size, kind, data = packed
    if kind == -1:
        return size, data, _CONSTANT, b""
    return size, 0, _WIDE[kind], data


def _postfilter(packed: Sequence[Any], nodes: Sequence[str]) -> tuple[Any, ...]:
    status, nominated, candidates, rejected, any_of, rule, *decides = packed
    rows = {name: row for row, name in enumerate(nodes)}
    told = [(said, _rows(rows[name] for name in names if name in rows)) for said, names in _alike(rejected)]
    return status, nominated, candidates, told, any_of, rule, decides[0] if decides else bool(nominated)


def _alike(rejected: Any) -> Iterable[tuple[Any, Sequence[str]]]:
    """(status, nodes), whether it was stored so or node by node."""
    if not isinstance(rejected, dict):
        yield from rejected
        return
    found: dict[tuple[Any, ...], list[str]] = {}
    for node, (code, reasons, plugin) in rejected.items():
        found.setdefault((code, tuple(reasons), plugin), []).append(node)
    yield from found.items()


def _rows(rows: Iterable[int]) -> tuple[int, int, int, bytes]:
    found = np.array(sorted(rows), np.uint32)
    return len(found), 0, 32, found.tobytes()
