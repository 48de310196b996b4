"""Sentences about a log of kube-scheduler, for terminals and pages."""

from collections.abc import Iterator

from scheduler_core.cluster.formatting import count, some
from scheduler_core.evidence.scheduler_log import Attempt, NodeScores, Occurrence, SchedulerLog

SHOWN_NODES = 5  # of the scores of an attempt
_WHAT = {
    "added": "added to the queue",
    "gated": "gated",
    "preempted": "evicted",
    "rejected": "rejected",
    "deleted": "deleted",
}


def entries(log: SchedulerLog) -> list[Attempt | Occurrence]:
    """Return the attempts and occurrences in the order of their lines."""
    return sorted([*log.attempts, *log.occurrences], key=lambda one: one.line)


def head_lines(log: SchedulerLog) -> Iterator[str]:
    """Yield who wrote the log and how many attempts it has."""
    version = f" {log.version}" if log.version else ""
    level = f" at -v={log.level}" if log.level else ""
    results = [attempt.result for attempt in log.attempts]
    yield f"kube-scheduler{version}{level}: {count(log.lines, 'line')} from {log.started} on."
    yield (
        f"{count(len(results), 'attempt')}: {results.count('scheduled'):,} bound, "
        f"{results.count('unschedulable'):,} refused, {results.count('error'):,} failed."
    )


def timeline_lines(log: SchedulerLog, everything: bool = False) -> Iterator[str]:
    """Yield a line for each entry. `everything`: also moves between queues and the scores of all nodes."""
    for entry in entries(log):
        if isinstance(entry, Attempt):
            yield f"{entry.at}  {entry.pod}  {_sentence(entry)}"
            yield from (f"    {line}" for line in _scores(entry.scores, everything))
        elif entry.what in ("node added", "node deleted"):
            yield f"{entry.at}  node {entry.node} {entry.what.removeprefix('node ')}"
        elif entry.what != "node changed" and (everything or entry.what != "queued"):
            yield f"{entry.at}  {entry.pod}  {_occurrence(entry)}"


def end_lines(log: SchedulerLog) -> Iterator[str]:
    """Yield what the pods are at the end of the log."""
    for state in ("pending", "gated", "waiting", "unknown"):
        messages: dict[str, list[str]] = {}
        for pod in log.pods:
            if pod.state == state:
                messages.setdefault(pod.message, []).append(pod.pod)
        for message, pods in messages.items():
            yield f"At the end {state}: {some(pods, 5)}{f': {message}' if message else ''}"
    states = [pod.state for pod in log.pods]
    yield f"At the end {states.count('bound'):,} bound, {states.count('gone'):,} gone."


def _sentence(attempt: Attempt) -> str:
    group = f" (group {attempt.group})" if attempt.group else ""
    number = f"attempt {attempt.number}{group}: "
    if attempt.result == "scheduled":
        of = ""
        if attempt.evaluated is not None:
            of = f", {attempt.feasible} of {attempt.evaluated} evaluated nodes feasible"
        return f"{number}bound to {attempt.node}{of}"
    if attempt.result == "chosen":
        return f"{number}{attempt.node} was chosen; the log has no binding"
    victims = f"; evicted {some(attempt.victims, 3)} on {attempt.nominated_node}" if attempt.victims else ""
    queue = f"; moved to {attempt.queue}" if attempt.queue else ""
    what = {"unschedulable": "refused: ", "error": "failed: "}.get(attempt.result, "the log has no result")
    return f"{number}{what}{attempt.message}{victims}{queue}"


def _scores(scores: list[NodeScores], every: bool) -> Iterator[str]:
    """Yield a line for each of the best nodes: the sum and the weighted scores."""
    for node in scores if every else scores[:SHOWN_NODES]:
        parts = ", ".join(
            f"{name} {score.weighted}" + (f" ({score.raw} raw)" if score.raw not in (None, score.normalized) else "")
            for name, score in node.plugins.items()
        )
        yield f"{node.node}: {'?' if node.total is None else node.total} = {parts}"
    if not every and len(scores) > SHOWN_NODES:
        yield f"and {count(len(scores) - SHOWN_NODES, 'further node')}"


def _occurrence(one: Occurrence) -> str:
    if one.what == "queued":
        return f"{one.event}: moved to {one.queue}"
    by = f" by {one.by}" if one.by else ""
    plugin = f" by {one.plugin}" if one.plugin else ""
    node = f" on {one.node}" if one.node else ""
    return f"{_WHAT[one.what]}{by}{plugin}{node}{f': {one.message}' if one.message else ''}"
