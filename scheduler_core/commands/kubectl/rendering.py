"""Writes answers to a terminal."""

from collections.abc import Sequence

from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.kubectl.terminal import Terminal
from scheduler_core.pending_pods.pending_answer import NEVER, NOT_NOW, NOT_PENDING, PendingAnswer
from scheduler_core.stations.times import clock, duration

COLOURS = {NEVER: "red", NOT_NOW: "yellow"}
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
    if details.stations:
        stops = [stop.name if stop.state == "done" else f"{stop.name} ({stop.state})" for stop in details.stations]
        terminal.field("Stations", " > ".join(one for one in stops if not one.endswith("(not-needed)")))
    for number, text in enumerate(details.says):
        terminal.field("" if number else "Says", text)
    _leaving(terminal, answer, now)
    for number, rung in enumerate(details.answer.ladder if details.answer is not None else ()):
        terminal.field("" if number else "Nodes", f"{rung.text[:1].upper()}{rung.text[1:]}")
    for number, wait in enumerate(details.claims):
        terminal.field("" if number else "Claims", wait.sentence)
    message = details.scheduler_message
    if message is not None and message.message:
        terminal.field("Scheduler", message.message)
        if message.agrees is not None:
            terminal.field("", message.difference or "KubeSched finds the same reasons.")
    for number, report in enumerate(details.reports):
        terminal.field("" if number else "Reported", f"by {report.writer}, {report.reason}: {report.message}")
    _fixes(terminal, answer)
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
    _fixes(terminal, answer, 4, 1)


def name_of(answer: PendingAnswer) -> str:
    """Return namespace/name, for a workload after its kind."""
    if answer.subject == "Pod":
        return answer.key
    namespace, _, name = answer.key.partition("/")
    return f"{answer.subject} {namespace}/{name.rpartition(' ')[2]}"


def _write_sentence(terminal: Terminal, answer: PendingAnswer) -> None:
    category = "Not pending" if answer.cause == NOT_PENDING else answer.category.capitalize()
    note = f" {answer.details.note}" if answer.details.note else ""
    terminal.line(f" {answer.sentence}{note}", f"{category}:", "  ", colour_of(answer), bold=True)


def _fixes(terminal: Terminal, answer: PendingAnswer, width: int = 12, most: int = 3) -> None:
    """Write the suggested fixes, each with what it places and its command."""
    for fix in answer.details.answer.fixes[:most] if answer.details.answer is not None else ():
        places = f" (places {fix.places:,} of {count(fix.of, 'pod')})" if fix.places else ""
        remark = f"; {fix.remark}" if fix.remark else ""
        terminal.field("Fix", f"{fix.text[:1].upper()}{fix.text[1:]}{places}{remark}", width)
        if fix.command:
            terminal.field("", fix.command, width)


def colour_of(answer: PendingAnswer) -> str:
    """Return the colour of an answer's category."""
    return "green" if answer.cause == NOT_PENDING else COLOURS.get(answer.category, "cyan")


def _leaving(terminal: Terminal, answer: PendingAnswer, now: float) -> None:
    pods = answer.details.leaving
    for number, one in enumerate(pods[:PODS]):
        priority = f"priority {one.priority}, " if one.priority else ""
        end = f"grace period ends in {duration(one.until - now)}" if one.until > now else "its grace period is over"
        terminal.field("" if number else "Ending", f"{one.pod} on {one.node} ({priority}{end})")
    if len(pods) > PODS:
        terminal.field("", f"and {count(len(pods) - PODS, 'more pod', 'more pods')}")
