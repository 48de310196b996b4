"""Iteration over the cycles of a stored run, and their fingerprints."""

from collections.abc import Iterator

from kubesched_ui.event_log.cycle_batches import TraceReader
from kubesched_ui.models import Cycle, Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.recording.fingerprint import fingerprint, hash_names

AT_ONCE = 50  # cycles loaded at once


def traces(run: Run) -> Iterator[tuple[int, CycleTrace, list[str]]]:
    """Yield (number, cycle, nodes in row order). Cycles with the same nodes share one list."""
    version, names, after = 0, run.nodes_at(0), 0
    reader = TraceReader(run.pk)
    stored = Cycle.objects.filter(run=run).order_by("number").values_list("number", "trace", "nodes_version")
    while chunk := list(stored.filter(number__gt=after)[:AT_ONCE]):  # no cursor stays open between chunks
        after = chunk[-1][0]
        for number, data, listed in chunk:
            if listed != version:
                version, names = listed, run.nodes_at(listed)
            yield number, reader.trace(number, data), names


class Fingerprints:
    """Computes fingerprints of successive cycles of one run."""

    def __init__(self) -> None:
        self._names: list[str] | None = None
        self._known = b""

    def fingerprint(self, trace: CycleTrace, names: list[str]) -> bytes:
        """Return the core's `fingerprint`. `names`: the cycle's nodes."""
        if names is not self._names:
            self._names, self._known = names, hash_names(names)
        return fingerprint(trace, self._known)
