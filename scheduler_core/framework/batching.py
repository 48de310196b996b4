"""Opportunistic batching: a pod like the one before may go where that one could have gone as well (1.35).

Where the node that was just used is full for such a pod, the next best one is tried first, alone, as a nominated node
would be. What is kept is for the very next attempt of the same profile.

Source: pkg/scheduler/framework/runtime/batch.go; its age limit of 500 ms is never reached in virtual time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import Int64, Plugin, Verdict
from scheduler_core.framework.signers import signature

Rows = npt.NDArray[np.intp]


class Batching:
    """What one profile keeps. `plugins`: those of PreFilter, Filter, PreScore and Score; all of them must sign."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        found = {plugin.name: plugin for plugin in plugins}
        self._signers = [plugin for plugin in found.values() if plugin.sign is not None]
        self._signs = len(self._signers) == len(found)
        self._last: tuple[int, str] = (-1, "")  # the last attempt that found a node, and that node
        self._kept: tuple[bytes, list[str]] | None = None  # the signature, and the nodes left over, the best last

    def sign(self, pod: PodInfo) -> bytes | None:
        """By what pods are compared; None for one that cannot be."""
        if not self._signs:
            return None
        fragments: dict[str, Any] = {"scheduler name": pod.pod.spec.scheduler_name}
        for place, plugin in enumerate(self._signers):
            assert plugin.sign is not None
            own = plugin.sign(pod)
            if own is None:
                # the next pod is likely to be refused by the same plugin: it is asked first
                self._signers.insert(0, self._signers.pop(place))
                return None
            fragments |= own
        return signature(fragments)

    def hint(self, signed: bytes | None, attempt: int, verdicts: Mapping[str, Verdict], nodes: NodeTable) -> str:
        """The node to try first, "" for none. `verdicts`: what Filter plugins say without nominated pods."""
        before, chosen = self._last
        if not self._kept or not self._kept[1] or attempt != before + 1 or signed is None or signed != self._kept[0]:
            return ""
        row = nodes.rows.get(chosen)
        if row is None:
            return ""
        # The order of the others holds only as long as the node that was used is out of the question.
        first = next((said for verdict in verdicts.values() if (said := verdict.at(row)) is not None), None)
        if first is None or not first.rejected:
            return ""
        return self._kept[1].pop()

    def store(self, signed: bytes | None, attempt: int, hint: str, chosen: str, others: list[str]) -> None:
        """An attempt found a node. `others`: the nodes left over, the best last."""
        self._last = attempt, chosen
        if hint and hint == chosen:
            return
        self._kept = (signed, others) if signed is not None and others else None


def left_over(rows: Rows, total: Int64, chosen: int, nodes: NodeTable) -> list[str]:
    """The feasible nodes but the chosen one, the best last; of equals the first by name is the better."""
    order = rows[np.lexsort((-nodes.name_rank()[rows], total))]
    return [nodes.names[row] for row in order[order != chosen].tolist()]
