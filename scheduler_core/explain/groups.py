"""What became of a pod group, in a sentence; and of a member that fits while its group does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.words import count, listing, some

OUTSIDE = "node(s) are outside the domain that its group was tried in"
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_NO_PLACEMENTS = "no feasible placements found"
NAMED = 3


def verdict(told: Mapping[str, Any], why: str = "") -> str:
    """`3 of 4 fit; the fourth, w-3, lacks 2 cpu on every node. None of them is bound.` `told`: as `groups.told` has it.
    `why`: what keeps the first member out that fits nowhere, `lacks 2 cpu on every node`."""
    members = told["members"]
    fitting = [member for member in members if member["fits"]]
    out = [number for number, member in enumerate(members) if not member["fits"]]
    if told["status"]["reasons"] == [_NO_PLACEMENTS]:
        return f"No node has the label {told['topology_key']}, which its members are to share the value of."
    if told["result"] == "waiting":
        victims = [victim["pod"] for victim in told["victims"]]
        gone = (
            f"{some(victims, NAMED)} {'is' if len(victims) == 1 else 'are'} gone" if victims else "its victims are gone"
        )
        return f"It fits once {gone}; its members wait for that."
    fit = f"all {len(members)} fit" if not out and len(members) > 1 else f"{len(fitting)} of {len(members)} fit"
    parts = [fit if members else "no member could be tried"]
    if out:
        parts.append(_first_out(members, out, why))
    sentence = _capital("; ".join(parts)) + "."
    if told["result"] == "scheduled":
        return f"{sentence} {_those_bound(told, len(members))}"
    return f"{sentence}{_minimum(told)} None of them is bound."


def heading(told: Mapping[str, Any]) -> str:
    """`Gang team/train`."""
    return f"{'Gang' if told['policy'] == 'gang' else 'Group'} {told['name']}"


def _first_out(members: Any, out: list[int], why: str) -> str:
    number, rest = out[0], len(out) - 1
    member = members[number]
    name = member["pod"].partition("/")[2]
    place = f"the {_ORDINALS[number]}" if number < len(_ORDINALS) else f"member {number + 1}"
    said = f"needs room made on {member['node']}" if member["preempts"] else why or "fits on no node"
    more = f", and {rest} more {'does' if rest == 1 else 'do'} not fit either" if rest else ""
    return f"{place}, {name}, {said}{more}"


def _those_bound(told: Mapping[str, Any], members: int) -> str:
    if told["bound"] == members:
        return "It is bound." if members == 1 else "All are bound."
    return f"{told['bound']} {'is' if told['bound'] == 1 else 'are'} bound: {_takes(told)}."


def _takes(told: Mapping[str, Any]) -> str:
    return f"the gang takes {told['min_count']}" if told["policy"] == "gang" else "a group without a minimum takes any"


def _minimum(told: Mapping[str, Any]) -> str:
    if told["policy"] != "gang":
        return ""
    running = f", of which {count(told['running'], 'member')} ran before" if told["running"] else ""
    held = [pod.partition("/")[2] for pod in told["held"]]
    kept = f"; {listing(held[:NAMED])} {'is' if len(held) == 1 else 'are'} held back" if held else ""
    return f" The gang takes {told['min_count']}{running}{kept}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def keeps_out(answer: Answer, everywhere: str = "") -> str:
    """What keeps a member out, to follow its name. `everywhere`: what every node lacks for it, `at least 2 cpu`."""
    if everywhere:
        return f"lacks {everywhere} on every node"
    sentence = answer.sentence.removesuffix(".")
    return sentence[:1].lower() + sentence[1:] if sentence else ""


def of_member(trace: CycleTrace) -> str:
    """The answer for a member that could be placed, while its group could not, or waits; "" for any other."""
    if not trace.group or trace.result == "scheduled":
        return ""
    if trace.message == _NO_PLACEMENTS:
        return f"No node was asked: there is no domain in which its group {trace.group} may be."
    if not trace.node or trace.reserve is not None:
        return ""
    if trace.nominated_node:
        return (
            f"{trace.node} takes it once room is made; its group {trace.group} waits until the pods evicted are gone."
        )
    return f"{trace.node} would take it, but its group {trace.group} is not scheduled as a whole, so it stays pending."
