"""Details that reasons omit: the pod's requests, the free quantities of nodes before a cycle, and their taints."""

from collections.abc import Sequence

import msgspec

from kubesched_ui.models import Cycle, Run
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of, stored_object
from scheduler_core.api.objects import Pod, Toleration
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.recording.recording import Recording
from scheduler_core.releases import get_release
from scheduler_core.search.headroom import FITS, TAINTS, WITH_DETAILS, Headroom, row_of


def headroom_of(run: Run, row: Cycle, trace: CycleTrace) -> Headroom | None:
    """Return the nodes' headroom before a cycle.

    Return None if no reason needs it (no resource is short, and no taint is unnamed by the release), or if it was not
    recorded. Raises InputError.
    """
    promised = [
        node
        for number, status in trace.nominated.items()
        if status and status.plugin in FITS
        for node in row.nodes[number : number + 1]
    ]
    unnamed = _refuses(trace, TAINTS) and not get_release(run.release).taint_reason_names_taint
    if not promised and not unnamed and not any(_refuses(trace, plugin) for plugin in FITS):
        return None
    try:
        recording = recording_of(run)
    except NotRecorded:
        return None
    moment, pod = recording.before_cycle(row.number), f"{row.namespace}/{row.name}"
    tolerations = _tolerations(run, recording, moment, pod) if unnamed else None
    return Headroom(recording, moment, pod, promised, tolerations)


def _refuses(trace: CycleTrace, plugin: str) -> bool:
    verdict = trace.verdicts.get(plugin)
    return verdict is not None and verdict.codes is not None


def _tolerations(run: Run, recording: Recording, moment: int, pod: str) -> Sequence[Toleration] | None:
    row = row_of(recording, pod, moment)
    if row is None:
        return None
    _, text = stored_object(run, int(recording.tables["pods"]["object"][row]))
    return msgspec.json.decode(text, type=Pod).spec.tolerations


def reasons_on(run: Run, row: Cycle, trace: CycleTrace, at: int) -> list[str]:
    """Return why the node of row `at` in the cycle rejected the pod, with quantities."""
    status = trace.status_at(at)
    if status is None:
        return []
    headroom = headroom_of(run, row, trace) if status.plugin in WITH_DETAILS else None
    return headroom.with_amounts(status.reasons, row.nodes[at : at + 1]) if headroom else list(status.reasons)
