"""python -m scheduler_core why-message: explains messages of FailedScheduling without their cluster."""

import argparse
import sys
from collections.abc import Iterator
from typing import IO

from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.console import print_json, print_notes
from scheduler_core.errors import InputError
from scheduler_core.messages.message import MessageAnswer, MessageReason
from scheduler_core.messages.reader import explain_text
from scheduler_core.snapshot.files import read_bytes

BAR = 20  # characters of a bar over all nodes


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Explain the messages in a text to `out`; return 0. Raises InputError if it has none."""
    if args.text and args.file:
        raise InputError("why-message", "", "takes TEXT or --file, not both")
    if not args.text and not args.file and sys.stdin.isatty():
        print("Paste the text, and end it with Ctrl-D.", file=sys.stderr)
    text = " ".join(args.text) if args.text else read_bytes(args.file or "-").decode("utf-8", "replace")
    report = explain_text(text)
    print_notes(report.remarks)
    for number, answer in enumerate(report.messages):
        if args.json:
            print_json(answer, out)
        else:
            print("\n".join([*([""] if number else []), *message_lines(answer)]), file=out)
    return 0


def message_lines(answer: MessageAnswer) -> Iterator[str]:
    """Yield the lines of the answer to a message."""
    who = f"{some(answer.pods, 3)}: " if answer.pods else ""
    yield f"{who}{answer.sentence}"
    yield from (f"  {line}" for reason in answer.reasons for line in _reason(reason, answer.nodes))
    if answer.more_reasons:
        yield f"  {count(answer.more_reasons, 'further reason')} not shown."
    if answer.counted:
        yield f"  {answer.counted}"
    if answer.preemption is not None:
        yield f"  Preemption: {answer.preemption.sentence}"
        yield from (f"    {reason.text}" for reason in answer.preemption.reasons)
    yield f"  Release: {answer.releases.sentence}"
    yield from (f"    {one.releases}: {one.wording}" for one in answer.releases.evidence)
    yield "  Next, ask kubectl:"
    yield from (f"    {one.command}\n      # {one.shows}" for one in answer.commands)
    yield "  Only a snapshot of the cluster answers (kubesched explain SNAPSHOT):"
    yield from (f"    {one}" for one in answer.snapshot)
    yield f"  Event: {answer.message}"


def _reason(reason: MessageReason, nodes: int) -> Iterator[str]:
    full = max(1, round(BAR * reason.share / 100))
    bar = f"[{'#' * full}{'.' * (BAR - full)}] " if nodes else ""
    yield f"{bar}{reason.text} ({reason.plugin or 'plugin unknown'}, {reason.kind})"
    if reason.meaning:
        yield f"{' ' * len(bar)}{reason.meaning}"
