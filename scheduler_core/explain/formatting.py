"""Formats amounts, lists and reasons as readable text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scheduler_core.cluster.quantity_format import amount as amount
from scheduler_core.cluster.quantity_format import balance as balance

_TAINT = re.compile(
    r"node\(s\) had (?:untolerated )?taint(?:\(s\))?(?: \{(.*?): ?(.*?)\}(?:, that the pod didn't tolerate)?)?$"
)
_LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(.*)\]$")
_NEAR_OR_FAR = "node(s) didn't match pod affinity/anti-affinity"  # until 1.20, before the specific reason
_ONE_POD = "ReadWriteOncePod access mode"
_CLAIM_IN_USE = "have a pod that has its volume for itself"
_PHRASES = {
    "cannot allocate all claims": "lack devices that its claims ask for",
    "resourceclaim not available on the node": "are not where its claim has its devices",
    "node(s) were unschedulable": "are cordoned",
    "node(s) didn't match Pod's node affinity/selector": "do not match its node selector or affinity",
    "node(s) didn't match scheduler-enforced node affinity": "do not match the affinity that the profile adds",
    "node(s) didn't match the requested node name": "are not the node that it names",
    "node(s) didn't have free ports for the requested pod ports": "have its host port taken",
    "node(s) didn't match pod topology spread constraints": "would break its topology spread",
    "node(s) didn't match pod topology spread constraints (missing required label)": "lack the label it spreads over",
    "node(s) didn't match pod affinity rules": "have no pod that it wants to be near",
    "node(s) didn't match pod anti-affinity rules": "have a pod that it wants to be away from",
    "node(s) didn't satisfy existing pods anti-affinity rules": "have a pod that wants to be away from it",
    "node(s) had volume node affinity conflict": "cannot reach its volume",
    "node(s) didn't match PersistentVolume's node affinity": "cannot reach its volume",
    "node(s) had no available volume zone": "are outside its volume's zone",
    "node(s) didn't find available persistent volumes to bind": "have no volume to bind",
    "node(s) did not have enough free storage": "have no room for its volume",
    "node(s) exceed max volume count": "have no room for another volume",
    "node(s) had no available disk": "have its disk in use",
    "node is filtered out by the prefilter result": "are left out by PreFilter",
    "node(s) didn't match Pod's required features": "lack a feature that it needs",
    f"node has pod using PersistentVolumeClaim with the same name and {_ONE_POD}": _CLAIM_IN_USE,
    f"node(s) unavailable due to PersistentVolumeClaim with {_ONE_POD} already in-use by another pod": _CLAIM_IN_USE,
    # of old releases
    "node(s) had taints that the pod didn't tolerate": "refuse it by a taint",
    "node(s) didn't match node selector": "do not match its node selector or affinity",
    "node(s) didn't match Pod's node affinity": "do not match its node selector or affinity",
    "node(s) didn't have the requested labels": "do not have the labels that the configuration wants",
    "node(s) didn't match service affinity": "are not like the nodes of its service's pods",
    "node(s) were not ready": "are not ready",
    "node(s) had unavailable network": "have no network",
    "node(s) had memory pressure": "have memory pressure",
    "node(s) had disk pressure": "have disk pressure",
    "node(s) had pid pressure": "have PID pressure",
    _NEAR_OR_FAR: "break its affinity or anti-affinity to other pods",
    "node(s) are outside the domain that its group was tried in": "are outside the domain that its group was tried in",
}
_FURTHER = re.compile(r"(, | and )(lack|refuse|break|have|are|do|were|would|cannot)\b")
_IRREGULAR = {"have": "has", "are": "is", "do": "does", "were": "was", "would": "would", "cannot": "cannot"}


def count(number: int, one: str = "node", many: str = "") -> str:
    """Return `1 node`, `1,200 nodes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def some(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def phrase(reasons: Sequence[str]) -> str:
    """Return a phrase for nodes with these reasons, a plural verb first: `lack cpu and memory`, `refuse it by taint
    a=b`."""
    lacks = [reason.removeprefix("Insufficient ") for reason in reasons if reason.startswith("Insufficient ")]
    if "Too many pods" in reasons:
        lacks.append("room for another pod")
    parts = [f"lack {listing(lacks)}"] if lacks else []
    for reason in reasons:
        if reason == "Too many pods" or reason.startswith("Insufficient "):
            continue
        if reason == _NEAR_OR_FAR and len(reasons) > 1:
            continue
        taint, left_out = _TAINT.match(reason), _LEFT_OUT.match(reason)
        if taint:
            label = f"{taint[1]}={taint[2]}" if taint[2] else taint[1]
            parts.append(f"refuse it by taint {label}" if label else "refuse it by a taint")
        elif left_out:
            parts.append(f"are left out by {listing(left_out[1].split())}")
        else:
            parts.append(_PHRASES.get(reason) or f"refuse it ({reason})")
    return listing(parts) or "refuse it without a reason"


def agree(number: int, words: str) -> str:
    """Return `words` (a plural verb first) in the singular for one node."""
    if number != 1:
        return words
    verb, _, rest = words.partition(" ")
    rest = _FURTHER.sub(lambda verb: verb[1] + _singular(verb[2]), rest)
    return f"{_singular(verb)} {rest}".rstrip()


def _singular(verb: str) -> str:
    return _IRREGULAR.get(verb, f"{verb}s")
