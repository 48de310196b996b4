"""Explains the result of a pod group in a sentence, and that of a member that fits while its group does not."""

from collections.abc import Mapping
from typing import Any

from scheduler_core.cluster.formatting import count, some
from scheduler_core.cycle.trace import CycleTrace

OUTSIDE_PHRASE = "are outside the domain that its group was tried in"
OUTSIDE = f"node(s) {OUTSIDE_PHRASE}"
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_NO_PLACEMENTS = "no feasible placements found"
OUT_OF_REACH = "minCount ("  # the beginning of the message of a member that was not tried because of the others
NAMED = 3


def verdict(group: Mapping[str, Any], why: str = "") -> str:
    """Return `Gang team/train: 3 of 4 fit; the fourth, w-3, lacks 2 cpu on every node. None is bound.`

    `group`: the serialized group cycle. `why`: why the first member without a feasible node does not fit, as a phrase
    after its name.
    """
    return f"{'Gang' if group['policy'] == 'gang' else 'Group'} {group['name']}: {_outcome(group, why)}"


def _outcome(group: Mapping[str, Any], why: str) -> str:
    members, key, domains = group["members"], group["topology_key"], group["placements"]
    if group["status"]["reasons"] == [_NO_PLACEMENTS]:
        return f"no node has the label {key}, which all its members must share. None is bound."
    if group["result"] == "waiting":
        victims = [victim["pod"] for victim in group["victims"]]
        gone = "resources are free"
        if victims:
            gone = f"{some(victims, NAMED)} {'is' if len(victims) == 1 else 'are'} gone"
        return f"it fits once {gone}; until then its members wait."
    out = [number for number, member in enumerate(members) if not member["fits"]]
    some_fit = f"{len(members) - len(out)} of {len(members)} {'fits' if len(members) == 1 else 'fit'}"
    sentence = "both fit" if not out and len(members) == 2 else f"all {len(members)} fit"
    sentence = some_fit if out or len(members) < 2 else sentence
    if out:
        sentence += f"; {_first_out(members, out, why)}"
    if group["result"] == "scheduled":
        return f"{sentence}. {_bound(group, len(members))}{_domain(group)}"
    if domains:
        sentence = f"none of {count(len(domains), 'domain')} of {key} is feasible; in {group['placement']} {sentence}"
    return f"{sentence}.{_minimum(group)} None is bound."


def _first_out(members: Any, out: list[int], why: str) -> str:
    number, rest = out[0], len(out) - 1
    member = members[number]
    place = f"the {_ORDINALS[number]}" if number < len(_ORDINALS) else f"member {number + 1}"
    text = f"needs preemption on {member['node']}" if member["preempts"] else why or "fits on no node"
    more = f", and {rest} more {'does' if rest == 1 else 'do'} not fit either" if rest else ""
    return f"{place}, {_name(member['pod'])}, {text}{more}"


def _bound(group: Mapping[str, Any], members: int) -> str:
    if group["bound"] == members:
        return "It is bound." if members == 1 else "All are bound."
    takes = f"a gang that needs {group['min_count']}" if group["policy"] == "gang" else "a group without a minimum"
    return f"{group['bound']} {'is' if group['bound'] == 1 else 'are'} bound, because it is {takes}."


def _domain(group: Mapping[str, Any]) -> str:
    domains = group["placements"]
    if not domains:
        return ""
    able = sum(one["score"] is not None for one in domains)
    among = f"the best of {able} feasible ones" if able > 1 else "the only feasible one"
    alone = among if len(domains) > 1 else "the only one there is"
    return f" They are in {group['topology_key']}={group['placement']}, {alone}."


def _minimum(group: Mapping[str, Any]) -> str:
    if group["policy"] != "gang":
        return ""
    running = f"; {count(group['running'], 'member')} ran already" if group["running"] else ""
    held = [_name(pod) for pod in group["held"]]
    kept = f"; {some(held, NAMED)} {'is' if len(held) == 1 else 'are'} gated" if held else ""
    return f" It takes {group['min_count']}{running}{kept}."


def _name(pod: str) -> str:
    return pod.partition("/")[2]


def of_member(trace: CycleTrace) -> str:
    """Return the answer for a member that fits while its group waits or does not fit; "" for any other pod."""
    if not trace.pends_with_group:
        return ""
    if trace.message == _NO_PLACEMENTS:
        return f"No node was evaluated: no topology domain is feasible for its group {trace.group}."
    if trace.message.startswith(OUT_OF_REACH):
        return f"It was not tried: its group {trace.group} cannot be scheduled any more ({trace.message})."
    if not trace.node or trace.reserve is not None:
        return ""
    if trace.nominated_node:
        return f"It fits on {trace.node} after preemption; its group {trace.group} waits until the victims are gone."
    return f"It fits on {trace.node}, but its group {trace.group} is not scheduled as a whole, so it stays pending."
