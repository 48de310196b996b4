"""The one sentence that a pod page begins with: where the pod landed and why, or what keeps it from landing.

Pure functions from a cycle with the golden format's keys to plain text (templates escape it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kubesched_ui.cycleview import Cycle, Duel, Group, Matrix, duel, score_rows

Closest = Callable[[list[str]], str]
"""Names the node of a group that lacks least, e.g. `n4, short by 250m`; empty where nothing is known."""

TAINT = re.compile(r"node\(s\) had untolerated taint(?:\(s\))?(?: \{(.*?): ?(.*?)\})?$")
NOT_ELIGIBLE = "preemption: not eligible due to "
SUBSET = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(.*)\]$")
PHRASES = {
    "node(s) were unschedulable": "are cordoned",
    "node(s) didn't match Pod's node affinity/selector": "do not match its node selector or affinity",
    "node(s) didn't match the requested node name": "are not the node it names",
    "node(s) didn't have free ports for the requested pod ports": "have its host port taken",
    "node(s) didn't match pod topology spread constraints": "would break its topology spread",
    "node(s) didn't match pod topology spread constraints (missing required label)": "lack the label it spreads over",
    "node(s) didn't match pod affinity rules": "have no pod it wants to be near",
    "node(s) didn't match pod anti-affinity rules": "have a pod it wants to be away from",
    "node(s) didn't satisfy existing pods anti-affinity rules": "have a pod that wants to be away from it",
    "node(s) had volume node affinity conflict": "cannot reach its volume",
    "node(s) didn't match PersistentVolume's node affinity": "cannot reach its volume",
    "node(s) had no available volume zone": "are outside its volume's zone",
    "node(s) didn't find available persistent volumes to bind": "have no volume to bind",
    "node(s) exceed max volume count": "have no room for another volume",
}


def count(number: int, one: str = "node", many: str = "nodes") -> str:
    return f"{number:,} {one if number == 1 else many}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def phrase(reasons: Sequence[str]) -> str:
    """What the nodes of a group do, from the reasons they give: `lack cpu and memory`, `refuse it by taint a=b`."""
    lacks = [reason.removeprefix("Insufficient ") for reason in reasons if reason.startswith("Insufficient ")]
    if "Too many pods" in reasons:
        lacks.append("room for another pod")
    parts = [f"lack {listing(lacks)}"] if lacks else []
    for reason in reasons:
        taint, subset = TAINT.match(reason), SUBSET.match(reason)
        if reason == "Too many pods" or reason.startswith("Insufficient "):
            continue
        if taint:
            label = f"{taint[1]}={taint[2]}" if taint[2] else taint[1]
            parts.append(f"refuse it by taint {label}" if label else "refuse it by a taint")
        elif subset:
            parts.append(f"are not among the nodes {subset[1]} allows")
        else:
            parts.append(PHRASES.get(reason) or f"refuse it ({reason})")
    return listing(parts) or "were left out by PreFilter"


def agree(number: int, words: str) -> str:
    """`words` (a plural verb first) in the singular for one node."""
    if number != 1:
        return words
    verb, _, rest = words.partition(" ")
    verb = {"have": "has", "are": "is", "do": "does", "were": "was"}.get(verb, verb if verb in MODAL else f"{verb}s")
    return f"{verb} {rest}"


MODAL = {"would", "cannot"}


def refusals(groups: Sequence[Group], closest: Closest, most: int = 4) -> str:
    """`5 lack cpu (closest: n4, short by 250m), 4 refuse it by taint a=b`: groups by decisive reason, largest first."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for group in groups:
        if group.state == "refused":
            merged.setdefault(group.reasons, []).extend(group.nodes)
    ordered = sorted(merged.items(), key=lambda entry: -len(entry[1]))
    parts = []
    for reasons, nodes in ordered[:most]:
        near = closest(nodes) if any(reason.startswith(("Insufficient ", "Too many")) for reason in reasons) else ""
        parts.append(f"{len(nodes):,} {agree(len(nodes), phrase(reasons))}" + (f" (closest: {near})" if near else ""))
    if len(ordered) > most:
        rest = sum(len(nodes) for _, nodes in ordered[most:])
        parts.append(f"{rest:,} for {count(len(ordered) - most, 'other reason', 'other reasons')}")
    return ", ".join(parts)


def why_ahead(match: Duel) -> str:
    """The plugins that put the winner ahead, and the one that spoke most against it."""
    favour = [f"{a.plugin} (+{diff})" for a, _, diff, _ in match.lines if diff > 0][:3]
    against = [f"{a.plugin} ({diff})" for a, _, diff, _ in match.lines if diff < 0][:1]
    if not favour:
        return ""
    return f"because of {listing(favour)}" + (f", in spite of {against[0]}" if against else "")


def placed(cycle: Cycle, verdicts: Matrix, closest: Closest, tie_break: str) -> str:
    node = cycle.get("selected") or "its node"
    rows = score_rows(cycle)
    if not rows:
        others = refusals(verdicts.groups, closest)
        only = "the only node" if verdicts.nodes == 1 else "the only one that fits"
        return f"Placed on {node}, {only}" + (f": {others}." if others else ".")
    match = duel(rows)
    top = next((row.total for row in rows if row.chosen), rows[0].total)
    if match is None:
        return f"Placed on {node} with {top:,}."
    if match.margin > 0:
        why = why_ahead(match)
        return f"Placed on {node} with {top:,}, {match.margin:,} ahead of {match.other}" + (f", {why}." if why else ".")
    tied = len(cycle.get("best") or ()) or sum(row.total == top for row in rows)
    how = "by name" if tie_break == "name" else "by the run's seed"
    return f"Placed on {node} with {top:,}, the same as {count(tied - 1, 'other node', 'other nodes')}; chosen {how}."


def nowhere(cycle: Cycle, verdicts: Matrix, closest: Closest) -> str:
    rejected = cycle.get("prefilter")
    if rejected:
        return f"{rejected['plugin']} refused the pod before any node was asked: {_reasons(rejected)}."
    if not verdicts.nodes:
        return "There are no nodes to place it on."
    sentence = f"No node fits: {refusals(verdicts.groups, closest)}."
    found = cycle.get("postfilter") or {}
    if found.get("nominated_node"):
        victims = found["candidates"][found["nominated_node"]]["victims"]
        sentence += f" It will get room on {found['nominated_node']} by evicting {count(len(victims), 'pod', 'pods')}."
    elif found:
        said = [r for r in (found.get("status") or {}).get("reasons") or () if r.startswith(NOT_ELIGIBLE)]
        sentence += (
            f" It may not preempt: {said[0].removeprefix(NOT_ELIGIBLE)}"
            if said
            else " Evicting pods of lower priority would not help."
        )
    return sentence


def _reasons(status: dict[str, Any]) -> str:
    return "; ".join(status.get("reasons") or ()) or status.get("code", "no reason given")


def answer(
    cycle: Cycle,
    result: str,
    verdicts: Matrix,
    *,
    closest: Closest = lambda _: "",
    tie_break: str = "seed",
) -> str:
    """The sentence for a cycle whose outcome is `result` (scheduled, unschedulable, gated, error, waiting)."""
    if cycle.get("preenqueue"):
        return f"Not queued: {cycle['preenqueue']['plugin']} holds it back ({_reasons(cycle['preenqueue'])})."
    if cycle.get("error"):
        return f"The cycle ended in an error: {cycle['error']}"
    if cycle.get("reserve"):
        status = cycle["reserve"]
        return (
            f"{cycle.get('selected')} was chosen, but {status.get('plugin')} could not reserve it: {_reasons(status)}."
        )
    if result == "scheduled" or cycle.get("selected"):
        return placed(cycle, verdicts, closest, tie_break)
    return nowhere(cycle, verdicts, closest)
