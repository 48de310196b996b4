"""What events without their cluster say, as text or JSON: the answer of `explain` to such a file."""

import argparse
from collections.abc import Iterator
from typing import IO

from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.console import print_json, print_notes
from scheduler_core.commands.why_message import message_lines
from scheduler_core.errors import InputError
from scheduler_core.evidence.events import EventReport, sentence

SHOWN_MESSAGES = 20


def write_events(args: argparse.Namespace, report: EventReport, out: IO[str]) -> int:
    """Write a report, or what it says about `--pod`, to `out`. Return 1 if a pod waits, otherwise 0. Raises InputError
    if the events do not name the pod."""
    print_notes([report.adds, *report.notes])
    if args.pod:
        key = args.pod if "/" in args.pod else f"default/{args.pod}"
        return _write_pod(key, report, args.json, out)
    if args.json:
        print_json(report, out)
    else:
        print("\n".join(_lines(report)), file=out)
    return int(bool(report.waiting))


def _write_pod(key: str, report: EventReport, as_json: bool, out: IO[str]) -> int:
    waiting = [one for one in report.waiting if key in one.pods]
    if waiting:
        if as_json:
            print_json(waiting[0], out)
        else:
            print("\n".join(message_lines(waiting[0].message)), file=out)
        return 1
    known = {"bound to": report.bound, "": report.evicted, "not tried by kube-scheduler:": report.others}
    for what, pods in known.items():
        if key in pods:
            if as_json:
                print_json({"pod": key, "state": f"{what} {pods[key]}".strip()}, out)
            else:
                print(f"{key}: {what} {pods[key]}".replace(":  ", ": "), file=out)
            return 0
    raise InputError(f"Pod {key}", "", "has no event about scheduling in the file")


def _lines(report: EventReport) -> Iterator[str]:
    yield sentence(report)
    for one in report.waiting[:SHOWN_MESSAGES]:
        yield ""
        yield f"{count(len(one.pods), 'pod')}, {count(one.attempts, 'message')}: {some(one.pods, 10)}"
        yield from (f"  {line}" for line in message_lines(one.message))
    if (more := len(report.waiting) - SHOWN_MESSAGES) > 0:
        yield f"\n{count(more, 'further message')}: see --json."
    if report.never_created:
        yield "\nNever created:"
        yield from (f"  {what}: {why}" for what, why in report.never_created.items())
    if report.evicted:
        yield "\nEvicted:"
        yield from (f"  {pod}: {how}" for pod, how in report.evicted.items())
    if report.others:
        yield "\nFrom other components, which are not kube-scheduler:"
        yield from (f"  {pod}: {what}" for pod, what in report.others.items())
