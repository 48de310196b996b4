"""Compares a log of kube-scheduler with a recording or a snapshot of its end, and says the result in sentences.

The comparison is that of `log --cluster`. It ends after some seconds, since an upload waits for it.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from scheduler_core.api.objects import Object
from scheduler_core.cluster.formatting import count
from scheduler_core.config.loader import load
from scheduler_core.evidence.log_comparison import ComparedAttempt, compare
from scheduler_core.evidence.recorded_decisions import (
    MAX_CHANGES,
    MAX_SECONDS,
    MAX_SHOWN,
    Finding,
    discovered,
    start_of,
)
from scheduler_core.evidence.scheduler_log import SchedulerLog
from scheduler_core.live.watch_events import Item
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases import get_release
from scheduler_core.releases.feature_gates import parse, with_known_gates
from scheduler_core.releases.remarks import default_release


def check(log: SchedulerLog, recorded: Sequence[Item], latest: Mapping[str, Sequence[Object]]) -> list[Finding]:
    """Return how many attempts of a log are equal, then each that differs; [] if nothing can be compared.

    `recorded`: the items of a recording, or none. `latest`: kind -> objects at the end of the log, of kinds that the
    recording lacks. Raises InputError.
    """
    if len(recorded) > MAX_CHANGES or sum(map(len, latest.values())) > MAX_CHANGES:
        more = f"there are more than {MAX_CHANGES:,} {'changes' if recorded else 'objects'}"
        return [Finding(f"its attempts are not compared, because {more}: use `log --cluster`")]
    name = default_release(log.version) if log.version else discovered(recorded).release
    release = with_known_gates(get_release(name), parse(log.feature_gates))
    read = partial(load, release=release, registry=PLUGINS, unknown="leave_out")
    configuration = read(log.configuration.encode() or None)
    compared, end = list[ComparedAttempt](), time.thread_time() + MAX_SECONDS
    for one in compare(log, recorded, latest, release, configuration):
        compared.append(one)
        if time.thread_time() > end:
            break
    start = start_of(recorded)
    return list(_findings(compared, len(compared) < len(log.attempts), start))


def _findings(compared: Sequence[ComparedAttempt], ended: bool, start: float | None) -> Iterator[Finding]:
    known = [one for one in compared if one.outcome != "unknown"]
    if not known:
        return
    first = f"the first {count(len(compared), 'attempt')}" if ended else "its attempts"
    yield Finding(f"{first}, compared with our computation: {equal_counts(known)}")
    unknown = Counter(one.reason for one in compared if one.outcome == "unknown")
    for reason, number in unknown.most_common(3):
        yield Finding(f"not comparable: {count(number, 'attempt')}, because {reason}")
    differing: dict[str, ComparedAttempt] = {}
    for one in known:
        if one.outcome == "differs":
            differing.setdefault(one.pod, one)
    for one in list(differing.values())[:MAX_SHOWN]:
        second = None if start is None else round(max(one.time - start, 0.0), 3)
        where = f", second {second:.1f}" if second is not None else ""
        text = f"{one.pod}{where}, attempt {one.number} in line {one.line}: {one.difference}"
        yield Finding(f"{text}; in the log: {one.node or one.message}", second)
    if len(differing) > MAX_SHOWN:
        yield Finding(f"{count(len(differing) - MAX_SHOWN, 'further pod')} differ: `log --cluster` lists all")


def equal_counts(compared: Sequence[ComparedAttempt]) -> str:
    """Return how many results of attempts are equal, as a clause."""
    bound, refused = ([one for one in compared if bool(one.node) == chosen] for chosen in (True, False))
    equal = [one for one in compared if one.outcome == "equal"]
    return (
        f"{_equal(bound)} of {count(len(bound), 'chosen node')} and {_equal(refused)} "
        f"of {count(len(refused), 'refusal')} equal, with {count(sum(one.scores for one in equal), 'score')} of "
        "plugins"
    )


def _equal(compared: Sequence[ComparedAttempt]) -> str:
    return f"{sum(one.outcome == 'equal' for one in compared):,}"
