"""A planted cause with the facts of its answer, and what of an answer is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Raw = dict[str, Any]
Target = tuple[str, str, str]  # kind, namespace, name

# What no suggestion and no sentence says, whatever the cause.
NEVER_SUGGESTED = re.compile(
    r"out of the profile|run without|request no |without (the|its) (volume|claim)|\b0 (cpu|memory|nvidia)", re.I
)
SYSTEM_TAINTS = r"(node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|node-role\.kubernetes\.io)/[\w-]+"
NEVER_IN_A_SENTENCE = re.compile(rf"\bavailable node|\bnodes? (is|are) available|tolerate[^.;]*{SYSTEM_TAINTS}", re.I)


@dataclass(frozen=True)
class Case:
    """`objects`: the cluster; `pods`: keys of the pending pods of one workload.

    `kinds`: the kinds of the cause, the planted one first, then others that are as true. `near`: the nodes that the
    planted change opens; empty if there are none, None if that is open. `targets`: objects that the first fix may edit;
    empty if it is not one object. `mentions`: patterns that the sentence has; `never`: patterns that no fix has.
    `places`: how many pods the planted change places, None if that depends on the fix. `fix`: whether there is a fix.
    """

    name: str
    objects: list[Raw]
    pods: list[str]
    kinds: tuple[str, ...]
    near: frozenset[str] | None
    targets: tuple[Target, ...] = ()
    mentions: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    places: int | None = None
    fix: bool = True


def faults(case: Case, answer: Raw | None) -> dict[str, str]:
    """Return what of the answer to the first pod is wrong, by part: cause, nodes, fix, command, never, sentence."""
    if answer is None:
        return {"cause": "there is no answer"}
    found: dict[str, str] = {}
    cause, fixes, sentence = answer.get("cause") or {}, answer.get("fixes") or [], answer.get("sentence") or ""
    if cause.get("kind") not in case.kinds:
        found["cause"] = f"{cause.get('kind')}, not {' or '.join(case.kinds)}"
    nodes = set(cause.get("nodes") or ())
    if case.near and not (nodes and nodes <= case.near):
        found["nodes"] = f"{sorted(nodes)[:6]}, not of {sorted(case.near)[:6]}"
    elif case.near is not None and not case.near and nodes:
        found["nodes"] = f"{sorted(nodes)[:6]}, though no node is near"
    first = fixes[0] if fixes else None
    if case.fix and first is None:
        found["fix"] = "there is none"
    elif first is not None and case.targets:
        target = first.get("target") or {}
        key = (target.get("kind", ""), target.get("namespace", ""), target.get("name", ""))
        if key not in case.targets:
            found["fix"] = f"edits {key}, not {case.targets}: {first.get('text')}"
        elif not str(first.get("command", "")).startswith("kubectl "):
            found["command"] = f"{first.get('command')!r}: {first.get('text')}"
    if first is not None and case.places is not None and first.get("places") != case.places:
        found["places"] = f"{first.get('places')} of {first.get('of')}, not {case.places}: {first.get('text')}"
    for text in [str(fix.get("text", "")) for fix in fixes]:
        for pattern in (NEVER_SUGGESTED, *map(re.compile, case.never)):
            if pattern.search(text):
                found["never"] = text
    if NEVER_IN_A_SENTENCE.search(sentence):
        found["sentence"] = sentence
    missing = [pattern for pattern in case.mentions if not re.search(pattern, sentence)]
    if missing:
        found["sentence"] = f"no {missing}"
    return found
