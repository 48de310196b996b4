"""Opportunistic batching (1.35): reuse the scored nodes of the previous pod for a pod with the same signature.

If the node that was just used cannot take another such pod, the next best node is tried first, alone, like a nominated
node. The stored nodes are valid only for the next attempt of the same profile.

Source: pkg/scheduler/framework/runtime/batch.go. Its age limit of 500 ms is never reached in virtual time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import Int64, Plugin, Verdict
from scheduler_core.framework.signers import signature

Rows = npt.NDArray[np.intp]


class Batching:
    """The batching state of a profile. `plugins`: its PreFilter, Filter, PreScore and Score plugins; all must sign."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        found = {plugin.name: plugin for plugin in plugins}
        self._signers = [plugin for plugin in found.values() if plugin.sign is not None]
        self._signs = len(self._signers) == len(found)
        self._last: tuple[int, str] = (-1, "")  # the last attempt that found a node, and that node
        # the signature, and what returns the remaining nodes, the best last
        self._kept: tuple[bytes, Callable[[], list[str]]] | None = None

    def sign(self, pod: PodInfo) -> bytes | None:
        """Return the signature by which pods are compared; None if a plugin cannot sign the pod."""
        if not self._signs:
            return None
        fragments: dict[str, Any] = {"scheduler name": pod.pod.spec.scheduler_name}
        for place, plugin in enumerate(self._signers):
            assert plugin.sign is not None
            own = plugin.sign(pod)
            if own is None:
                # The same plugin is likely to refuse the next pod, so it is called first.
                self._signers.insert(0, self._signers.pop(place))
                return None
            fragments |= own
        return signature(fragments)

    def hint(self, signed: bytes | None, attempt: int, verdicts: Mapping[str, Verdict], nodes: NodeTable) -> str:
        """Return the node to try first, "" for none. `verdicts`: the Filter results without nominated pods."""
        before, chosen = self._last
        if not self._kept or attempt != before + 1 or signed is None or signed != self._kept[0]:
            return ""
        row = nodes.rows.get(chosen)
        if row is None:
            return ""
        # The order of the other nodes is valid only while the last chosen node is infeasible.
        first = next((status for verdict in verdicts.values() if (status := verdict.at(row)) is not None), None)
        if first is None or not first.rejected:
            return ""
        signed, others = self._kept[0], self._kept[1]()
        self._kept = signed, lambda: others
        return others.pop() if others else ""

    def store(
        self, signed: bytes | None, attempt: int, hint: str, chosen: str, others: Callable[[], list[str]] | None
    ) -> None:
        """Store the result of an attempt that found a node. `others`: returns the remaining nodes, the best last, and
        is called for the next pod, if it has the same signature and does not fit on `chosen`; None if there are none.
        """
        self._last = attempt, chosen
        if hint and hint == chosen:
            return
        self._kept = (signed, others) if signed is not None and others is not None else None


def left_over(rows: Rows, total: Int64, chosen: int, ranks: Rows, names: Sequence[str]) -> list[str]:
    """Return the feasible nodes except the chosen one, the best last. In a tie the first by name is better.

    `total`: int64 over `rows`, the total scores or numbers in their order. `ranks` and `names`: see `NodeTable`.
    """
    order = rows[np.lexsort((-ranks[rows], total))]
    return [names[row] for row in order[order != chosen].tolist()]
