"""Merges the refusals of all Filter plugins for a node, if a release or a Policy runs all of them.

Upstream: PluginToStatus.Merge (pkg/scheduler/framework/interface.go, up to 1.25).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_core.framework.interface import ERROR, UNRESOLVABLE, Status, Verdict

FIRST = 2  # value of `CycleTrace.merges`: the merged status names the first refusing plugin


def merged(statuses: Sequence[Status], first: bool = False) -> Status | None:
    """Merge the statuses of plugins for one node: the reasons of all, with the most severe code.

    `statuses` is in plugin order. An error is returned alone. If several plugins have the most severe code, upstream
    names any of them; here it is the first by name, or with `first` the first plugin that refuses.
    """
    if len(statuses) < 2:
        return statuses[0] if statuses else None
    if error := next((status for status in statuses if status.code == ERROR), None):
        return error
    worst = UNRESOLVABLE if any(status.code == UNRESOLVABLE for status in statuses) else statuses[0].code
    plugin = statuses[0].plugin if first else min(status.plugin for status in statuses if status.code == worst)
    return Status(worst, tuple(reason for status in statuses for reason in status.reasons), plugin)


def merged_verdict(verdicts: Mapping[str, Verdict], first: bool = False) -> Verdict:
    """Merge the verdicts for all nodes; the statuses name their plugins."""
    refusing = {plugin: verdict for plugin, verdict in verdicts.items() if verdict.codes is not None}
    if not refusing:
        return Verdict()
    codes: Any = 0
    for verdict in refusing.values():  # combinations are renumbered each time to keep the numbers small
        combined: Any = codes * (len(verdict.statuses) + 1) + verdict.codes.astype(np.intp)  # type: ignore[union-attr]
        codes = (np.cumsum(np.bincount(combined) > 0) - 1)[combined]
    rows = np.zeros(int(codes.max()) + 1, np.intp)
    rows[codes] = np.arange(len(codes))  # one row of each combination
    found = []
    for row in rows.tolist():
        texts = [(plugin, verdict.at(row)) for plugin, verdict in refusing.items()]
        found.append(merged([status.by(plugin) for plugin, status in texts if status is not None], first))
    index: dict[Status | None, int] = {None: 0}
    numbers = np.array([index.setdefault(status, len(index)) for status in found]).astype(np.uint16)
    return Verdict(numbers[codes], tuple(status for status in index if status is not None))
