"""Recognizes a file that is no cluster but shows what a scheduler did, and says what it shows and what it cannot."""

from itertools import islice

from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.evidence import events, scheduler_log
from scheduler_core.evidence.log_sentences import end_lines, head_lines, timeline_lines
from scheduler_core.explain.answer import Part
from scheduler_core.messages.message import MessageAnswer
from scheduler_core.snapshot.described import described, is_described_pod

MAX_LINES = 2_000  # of a timeline


class EvidenceSummary(Part):
    """What a file shows. `what`: a phrase that names it. `contains`, `lacks`: sentences. `messages`: the explained
    messages of pods that wait. `lines`: a timeline or a list."""

    what: str
    contains: str
    lacks: str
    sentences: list[str]
    messages: list[MessageAnswer] = []
    lines: list[str] = []
    notes: list[str] = []


def recognized(data: bytes, path: str) -> EvidenceSummary | None:
    """Return what a file shows; None if it is no evidence that can be read alone. Raises InputError."""
    if scheduler_log.is_scheduler_log(data):
        return _of_log(scheduler_log.read(data, path))
    if is_described_pod(data):
        raws, _ = described(data)
        report = events.report_of(raws)
        return _of_events(report, "descriptions of pods") if report is not None else None
    report = events.read(data, path)
    return _of_events(report, "events") if report is not None else None


def read(data: bytes, path: str) -> EvidenceSummary | None:
    """Return what a file shows; None also if it cannot be read."""
    try:
        return recognized(data, path)
    except InputError:
        return None


def _of_log(log: scheduler_log.SchedulerLog) -> EvidenceSummary:
    lines = list(islice(timeline_lines(log), MAX_LINES + 1))
    notes = list(log.notes)
    if len(lines) > MAX_LINES:
        notes.append(f"the first {MAX_LINES:,} lines of the timeline are shown; `kubesched log FILE` prints all")
    return EvidenceSummary(
        "a log of kube-scheduler",
        "It shows the order of the attempts, what was bound, refused and evicted, and, from -v=10 on, the scores.",
        "It does not show what the pods request, what the nodes have, and what other schedulers did. "
        "`kubesched log FILE --cluster OTHER` compares its attempts with a recording or a snapshot of its end.",
        [*head_lines(log), *end_lines(log)],
        lines=lines[:MAX_LINES],
        notes=notes,
    )


def _of_events(report: events.EventReport, what: str) -> EvidenceSummary:
    lines = [f"{pod}: bound to {node}" for pod, node in report.bound.items()]
    lines += [f"{pod}: {how}" for pod, how in report.evicted.items()]
    lines += [f"{pod}: {other}" for pod, other in report.others.items()]
    messages = []
    for one in report.waiting:
        one.message.pods = one.pods
        messages.append(one.message)
    notes = list(report.notes)
    if len(lines) > MAX_LINES:
        notes.append(f"{count(len(lines) - MAX_LINES, 'further line')} are not shown.")
    never = [f"{of} could not create pods: {why}" for of, why in report.never_created.items()]
    return EvidenceSummary(
        what,
        "They show which pods wait, the last reports of kube-scheduler, and what was bound, evicted or never created.",
        report.adds,
        [events.sentence(report), *never],
        messages,
        lines[:MAX_LINES],
        notes,
    )
