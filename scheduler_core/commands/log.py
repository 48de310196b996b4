"""python -m scheduler_core log: shows what a kube-scheduler did by its log, and compares it with a recording."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO

from msgspec.structs import replace

from scheduler_core.api.objects import Object
from scheduler_core.cluster.formatting import count
from scheduler_core.commands.console import configuration_of, print_json, print_notes, release_of, snapshot_of
from scheduler_core.commands.shadow import missing_kinds, recorded_items
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.evidence.log_comparison import ComparedAttempt, compare
from scheduler_core.evidence.log_findings import equal_counts
from scheduler_core.evidence.log_sentences import end_lines, entries, head_lines, timeline_lines
from scheduler_core.evidence.scheduler_log import Attempt, SchedulerLog, is_scheduler_log, read
from scheduler_core.explain.answer import Part
from scheduler_core.live.kinds import recorded_kind
from scheduler_core.live.recorded_folder import object_of
from scheduler_core.live.watch_events import Item
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases.remarks import default_release
from scheduler_core.snapshot.files import Snapshot, read_bytes

SHOWN_DIFFERENCES = 50


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the timeline of a log to `out`; with `--cluster`, what differs. Return 1 if something does, otherwise 0.

    Raises InputError."""
    data = read_bytes(args.file)
    if not is_scheduler_log(data):
        raise InputError(args.file, "", "is not a log of kube-scheduler")
    log = read(data, args.file)
    print_notes(log.notes)
    compared = _compared(args, log) if args.cluster else []
    if args.pod:
        key = args.pod if "/" in args.pod else f"default/{args.pod}"
        log = _only(log, key)
        compared = [one for one in compared if one.pod == key]
        if not log.pods:
            raise InputError(f"Pod {key}", "", "is not in the log")
    if args.json:
        for line in _json(log, compared):
            print_json(line, out)
    else:
        for text in (*head_lines(log), *timeline_lines(log, bool(args.pod)), "", *end_lines(log)):
            print(text, file=out)
        for text in _differences(compared) if args.cluster else ():
            print(text, file=out)
    return int(any(one.outcome == "differs" for one in compared))


def _only(log: SchedulerLog, pod: str) -> SchedulerLog:
    return replace(
        log,
        attempts=[one for one in log.attempts if one.pod == pod],
        occurrences=[one for one in log.occurrences if one.pod == pod],
        pods=[one for one in log.pods if one.pod == pod],
    )


# ---- the comparison


def _compared(args: argparse.Namespace, log: SchedulerLog) -> list[ComparedAttempt]:
    """Compare the attempts with a recording or with a snapshot of the end of the log, or both. Raises InputError."""
    recorded: list[Item] = []
    latest: dict[str, list[Object]] = {}
    snapshot = Snapshot([])
    notes: list[str] = []
    for path in args.cluster:
        items = recorded_items(path, notes)
        if items is not None:
            recorded += items
            continue
        snapshot = snapshot_of(args, read_bytes(path), path)
        for raw in snapshot.objects:
            if kind := recorded_kind(raw):
                latest.setdefault(kind, []).append(object_of(raw, path))
    if not args.release and log.version:
        args.release = default_release(log.version)
    args.feature_gates = args.feature_gates or log.feature_gates
    release = release_of(args, snapshot)
    read_config = partial(load, release=release, registry=PLUGINS, unknown="leave_out")
    given = log.configuration.encode() if log.configuration and not args.config else ""
    configuration = read_config(given or configuration_of(args, snapshot.objects, read_config))
    print_notes([f"release {release.name}" + (", configuration of the log" if given else "")], notes)
    kinds = {item.kind for item in recorded}
    missing = {kind: objects for kind, objects in latest.items() if kind not in kinds}
    print_notes(missing_kinds({*kinds, *missing}) if kinds else [])
    return list(compare(log, recorded, missing, release, configuration))


# ---- output


def _json(log: SchedulerLog, compared: Sequence[ComparedAttempt]) -> Iterator[object]:
    yield {"kind": "log", **_fields(replace(log, attempts=[], occurrences=[], pods=[]))}
    for entry in entries(log):
        yield {"kind": "attempt" if isinstance(entry, Attempt) else "occurrence", **_fields(entry)}
    yield from ({"kind": "pod", **_fields(pod)} for pod in log.pods)
    yield from ({"kind": "compared", **_fields(one)} for one in compared)


def _fields(part: Part) -> dict[str, object]:
    return {name: getattr(part, name) for name in part.__struct_fields__ if getattr(part, name) not in ("", None, [])}


def _differences(compared: Sequence[ComparedAttempt]) -> Iterator[str]:
    """Yield how many attempts are equal, and the first difference of each pod."""
    yield f"Compared with our computation: {equal_counts(compared)}."
    first: dict[str, ComparedAttempt] = {}
    for one in compared:
        if one.outcome == "differs":
            first.setdefault(one.pod, one)
    for one in list(first.values())[:SHOWN_DIFFERENCES]:
        yield f"  {one.pod}, attempt {one.number} in line {one.line}: {one.difference}"
        yield f"    in the log: {one.node or one.message}"
    if len(first) > SHOWN_DIFFERENCES:
        yield f"  and {count(len(first) - SHOWN_DIFFERENCES, 'further pod')}"
    for reason, number in Counter(one.reason for one in compared if one.outcome == "unknown").most_common():
        yield f"  not comparable with the recording: {count(number, 'attempt')}, because {reason}"
