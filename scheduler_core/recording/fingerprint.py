"""Fingerprint of a cycle's decisions in eight bytes, stable across machines and later versions.

It covers rejections, scores, the chosen node and the result. Durations and the storage format of traces do not affect
it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np

from scheduler_core.cycle.trace import CycleTrace, PostFilterTrace
from scheduler_core.framework.interface import Status, Verdict

SIZE = 8  # bytes of a fingerprint

_encode = msgspec.msgpack.Encoder(order="sorted").encode


def hash_names(nodes: Sequence[str]) -> bytes:
    """Return a hash of the nodes in the order of a trace's rows."""
    return blake2b(_encode(list(nodes)), digest_size=SIZE).digest()


def fingerprint(trace: CycleTrace, names: bytes) -> bytes:
    """Return the fingerprint of a cycle, SIZE bytes. `names` is `hash_names` of the nodes."""
    after = (trace.reserve, trace.permit, trace.prebind, trace.bind)
    content = [
        [trace.pod, trace.attempt, trace.profile, round(trace.time, 6), trace.result, trace.node],
        [trace.message, trace.error, trace.nominated_node, trace.victims, sorted(trace.unschedulable_plugins)],
        names,
        [_status(status) for status in (trace.preenqueue, trace.prefilter, trace.subset_status, *after)],
        np.packbits(trace.looked_mask()).tobytes(),
        _rows(trace.feasible_rows()),
        [found for plugin, verdict in trace.verdicts.items() if (found := _verdict(plugin, verdict))],
        [(row, _status(status)) for row, status in sorted(trace.nominated.items())],
        [(plugin, s.weight, _int64(s.raw), _int64(s.normalized)) for plugin, s in trace.scores.items()],
        trace.permit_waits,
        _postfilter(trace.postfilter),
    ]
    return blake2b(_encode(content), digest_size=SIZE).digest()


def _status(status: Status | None) -> Any:
    return status and [status.code, status.reasons, status.plugin]


def _verdict(plugin: str, verdict: Verdict) -> Any:
    """Return the used statuses in a canonical order and the status number of each node; None if all nodes pass."""
    if verdict.codes is None or not verdict.codes.any():
        return None
    used = [(code, verdict.statuses[code - 1]) for code in np.unique(verdict.codes).tolist() if code]
    statuses = {code: (status.code, status.reasons) for code, status in used}
    order = sorted(statuses, key=lambda code: statuses[code])
    number = np.zeros(len(verdict.statuses) + 1, "<u2")
    number[order] = np.arange(1, len(order) + 1)
    return [plugin, [statuses[code] for code in order], number[verdict.codes].tobytes()]


def _postfilter(found: PostFilterTrace | None) -> Any:
    if found is None:
        return None
    rejected = sorted(((status.code, status.reasons, status.plugin), _rows(rows)) for status, rows in found.rejected)
    candidates = {node: [victims, violations] for node, (victims, violations) in found.candidates.items()}
    return [_status(found.status), found.nominated_node, candidates, rejected, found.nominated_any_of, found.decides]


def _rows(rows: Any) -> bytes:
    return np.asarray(rows).astype("<u4").tobytes()


def _int64(column: Any) -> bytes:
    return np.asarray(column).astype("<i8").tobytes()
