"""Writes answers to a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.cluster.formatting import agree, count, some
from scheduler_core.commands.kubectl.terminal import Terminal
from scheduler_core.explain.answer import RejectedNodes
from scheduler_core.pending_pods.pending_answer import NEVER, NOT_NOW, NOT_PENDING, Fix, PendingAnswer
from scheduler_core.pending_pods.times import clock, duration

COLOURS = {NEVER: "red", NOT_NOW: "yellow"}
GROUPS = 6  # groups of nodes of an answer
NODES = 4  # names in a group
PODS = 10  # pods of a list


def write_answer(terminal: Terminal, answer: PendingAnswer, now: float, others: Sequence[str] = ()) -> None:
    """Write an answer. `others`: pods with the same answer."""
    details = answer.details
    terminal.line("", name_of(answer), bold=True)
    _write_sentence(terminal, answer)
    if details.since:
        scheduler = f", for {details.scheduler}" if details.scheduler else ""
        waits = "" if answer.cause == NOT_PENDING else f", {duration(now - details.since)} ago"
        terminal.field("Created", f"{clock(details.since)}{waits}{scheduler}")
    _pods_in_the_way(terminal, answer, now)
    _groups(terminal, "Nodes", details.groups, details.nodes)
    for number, wait in enumerate(details.claims):
        terminal.field("" if number else "Claims", wait.sentence)
    message = details.scheduler_message
    if message is not None and message.message:
        terminal.field("Scheduler", message.message)
        if message.agrees is not None:
            terminal.field("", message.difference or "KubeSched finds the same reasons.")
    for number, report in enumerate(details.reports):
        terminal.field("" if number else "Reported", f"by {report.writer}, {report.reason}: {report.message}")
    if details.fix is not None:
        terminal.field("Fix", _fix_text(details.fix))
    if others:
        terminal.field("Same for", f"{count(len(others), 'other pod')}: {some(list(others), PODS)}")
    for number, limit in enumerate(details.limits):
        terminal.field("" if number else "Limits", limit)


def write_group(terminal: Terminal, answer: PendingAnswer, others: Sequence[str]) -> None:
    """Write an answer of many: its pods, and the sentence."""
    pods = [name_of(answer), *others]
    heading = name_of(answer) if not others else f"{count(len(pods), 'pod')}: {some(pods, NODES)}"
    terminal.line("", heading, bold=True)
    _write_sentence(terminal, answer)
    if answer.details.fix is not None:
        terminal.field("Fix", _fix_text(answer.details.fix), 4)


def name_of(answer: PendingAnswer) -> str:
    """Return namespace/name, for a workload after its kind."""
    if answer.subject == "Pod":
        return answer.key
    namespace, _, name = answer.key.partition("/")
    return f"{answer.subject} {namespace}/{name.rpartition(' ')[2]}"


def _write_sentence(terminal: Terminal, answer: PendingAnswer) -> None:
    category, found, text = answer.sentence.partition(": ")
    terminal.line(f" {text}", f"{category}{found[:1]}", "  ", colour_of(answer), bold=True)


def _fix_text(fix: Fix) -> str:
    return f"{fix.text} (it then fits on {fix.node})" if fix.node and fix.node not in fix.text else fix.text


def colour_of(answer: PendingAnswer) -> str:
    """Return the colour of an answer's category."""
    return "green" if answer.cause == NOT_PENDING else COLOURS.get(answer.category, "cyan")


def _pods_in_the_way(terminal: Terminal, answer: PendingAnswer, now: float) -> None:
    for number, one in enumerate(answer.details.in_the_way[:PODS]):
        remarks = [f"priority {one.priority}"] if one.priority else []
        if one.until:
            remarks.append(
                f"grace period ends in {duration(one.until - now)}" if one.until > now else "its grace period is over"
            )
        remarks += ["returns at once"] if one.returns else []
        remarks += ["nominated"] if one.nominated else []
        ending = f" ({', '.join(remarks)})" if remarks else ""
        terminal.field("" if number else "In the way", f"{one.pod} on {one.node}{ending}")
    if len(answer.details.in_the_way) > PODS:
        terminal.field("", f"and {count(len(answer.details.in_the_way) - PODS, 'more pod', 'more pods')}")


def _groups(terminal: Terminal, name: str, groups: Sequence[RejectedNodes], nodes: int) -> None:
    for number, group in enumerate(groups[:GROUPS]):
        shown = group.nodes[:NODES]
        more = f" and {group.count - len(shown):,} more" if group.count > len(shown) else ""
        closest = f"; closest: {group.closest}" if group.closest else ""
        text = f"{group.count:,} of {nodes:,} {agree(group.count, group.words)}: {', '.join(shown)}{more}{closest}"
        terminal.field("" if number else name, text)
    if len(groups) > GROUPS:
        terminal.field("", f"and {count(len(groups) - GROUPS, 'more reason')}")
