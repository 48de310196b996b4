"""The place of a pod in the queue of a single pass, which tries each pod once and in order."""

from typing import NamedTuple

from kubesched_ui.models import PodResult, Run


class QueuePlace(NamedTuple):
    """`number`: the pod's place, from 1. `total`: the number of pods. `ahead`: the pods that are still tried before it;
    None if it was tried."""

    number: int
    total: int
    ahead: int | None


def place_of(run: Run, key: str, result: PodResult | None) -> QueuePlace | None:
    """Return the place of a pod (`key`: namespace/name); None in virtual time, if the run has not begun, or if it does
    not try the pod. `result`: the pod's, if it was tried."""
    if run.in_time:
        return None
    total = max(run.cycles_total, run.cycles_done)
    if result is not None:
        return QueuePlace(result.position + 1, max(total, result.position + 1), None)
    if key not in run.remaining:
        return None
    first = (run.fork_at or 1) - 1 if run.adopts else 0
    index = first + run.remaining.index(key)
    tried = PodResult.objects.filter(run=run, position__lt=index).count()
    return QueuePlace(index + 1, total, index - tried)
