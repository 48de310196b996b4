"""Checks the decisions of the real scheduler in a recording, and says the result in sentences.

The check is that of `shadow`. It ends after some seconds, since an upload waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scheduler_core.api.objects import Object, Pod
from scheduler_core.cluster.formatting import count, some
from scheduler_core.etcd.bbolt import is_database
from scheduler_core.live import recorded_audit_log, recorded_database
from scheduler_core.live.discovery import Discovered, SchedulerObjects, discover
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.ordering import in_order
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Item, Listed, WatchEvent
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement

MAX_SECONDS = 5.0  # of processor time, so that a busy machine checks as much
MAX_CHANGES = 50_000
MAX_SHOWN = 20  # decisions and messages that differ
_NOT_REPLAYED = ("Event", "ConfigMap")  # kinds that no second of the scenario depends on


def discovered(
    items: Iterable[Item], version: Mapping[str, Any] | None = None, raws: Sequence[dict[str, Any]] = ()
) -> Discovered:
    """Return the release and the configuration, as far as a recording shows them. `version`: the answer of /version.
    `raws`: objects that say something about the scheduler."""
    store = Store()
    for item in items:
        # pods of groups show feature gates, also if they are created later
        if isinstance(item, Listed) or (isinstance(item, WatchEvent) and _has_group(item.object)):
            store.apply(item)
    return discover(store, version or {}, SchedulerObjects(tuple(raws)))


def _has_group(obj: Object) -> bool:
    return isinstance(obj, Pod) and obj.spec.scheduling_group is not None


class Finding(NamedTuple):
    """A sentence of the check. `second`: that of the decision in the timeline of the recording's scenario; None for
    the other sentences."""

    text: str
    second: float | None = None


def items_of(data: bytes, path: str) -> list[Item]:
    """Return the items of a database of etcd or an audit log; [] for other data. Raises InputError."""
    if is_database(data):
        return recorded_database.read(data, path, [])
    return recorded_audit_log.read(data, path, []) if recorded_audit_log.is_audit_log(data) else []


def with_lists(items: Sequence[Item], latest: Mapping[str, Sequence[Object]]) -> list[Item]:
    """Return a recording with a list of each kind that it lacks, from its beginning on. `latest`: kind -> objects."""
    recorded = {item.kind for item in items}
    first = next((item for item in items if isinstance(item, Listed)), None)
    version, at = (first.resource_version, first.time) if first is not None else (0, 0.0)
    lacking = ((kind, objects) for kind, objects in latest.items() if kind not in recorded)
    return [*(Listed(kind, version, tuple(objects), at) for kind, objects in lacking), *items]


def check(recorded: Sequence[Item], latest: Mapping[str, Sequence[Object]]) -> list[Finding]:
    """Return what the check of a recording finds: first how many decisions and messages are equal, then each that
    differs; [] without decisions. `latest`: kind -> objects, of kinds that the recording lacks. Raises InputError."""
    items = with_lists(recorded, latest)
    if len(items) > MAX_CHANGES:
        more = f"there are more than {MAX_CHANGES:,} changes"
        return [Finding(f"the decisions are not checked, because {more}: use `shadow`")]
    judge, end = Judge(get_release(discovered(items).release)), time.thread_time() + MAX_SECONDS
    start = start_of(items) or 0.0
    differing: list[Judgement] = []
    for item in in_order(iter(items), {item.kind for item in items}):
        differing += [one for one in judge.feed(item) if not one.explained]
        if time.thread_time() > end:
            break
    else:
        differing += [one for one in judge.finish() if not one.explained]
    found = judge.summary()
    if not found["decisions"] and not found["messages"]:
        return []
    first = f"the first {count(found['decisions'], 'decision')}" if time.thread_time() > end else "the decisions"
    bindings, messages = count(found["decisions"], "binding"), count(found["messages"], "message")
    alike = found["messages"] - judge.message_counts["differs"]
    equal = f"{found['explained']:,} of {bindings} and {alike:,} of {messages} are as ours"
    findings = [Finding(f"{first} of the real scheduler, checked: {equal}")]
    kinds = {item.kind for item in items}
    lacks = [kind.resource for kind in KINDS.values() if not kind.optional and kind.kind not in kinds]
    if differing and lacks:
        findings.append(Finding(f"some can differ because it does not have {some(lacks, 5)}"))
    findings += [_finding(one, max(one.time - start, 0.0)) for one in differing[:MAX_SHOWN]]
    if len(differing) > MAX_SHOWN:
        findings.append(Finding(f"{len(differing) - MAX_SHOWN:,} more differ: `shadow` lists all"))
    return findings


def start_of(items: Iterable[Item]) -> float | None:
    """Return the time of a recording's first change, second 0 of its scenario; None without changes."""
    changes = (item for item in items if isinstance(item, WatchEvent) and item.kind not in _NOT_REPLAYED)
    return min((change.time for change in changes), default=None)


def _finding(judgement: Judgement, second: float) -> Finding:
    return Finding(f"{judgement.pod}, second {second:.1f}: {_difference(judgement)}", round(second, 3))


def _difference(judgement: Judgement) -> str:
    if judgement.kind == "message":
        return f"the scheduler reported {judgement.message!r}, and ours is {some(judgement.ours, 1) or 'a node'!r}"
    text = f"the scheduler chose {judgement.node}, and our best are {some(judgement.ours, 3) or 'none'}"
    details = judgement.details
    if "best_score" in details:
        return f"{text} (score {details['score']}, best {details['best_score']})"
    reasons = [str(reason) for reason in details.get("reasons", ())]
    return f"{text} ({some(reasons, 2)})" if reasons else text
