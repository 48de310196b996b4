"""Formats the reasons of rejections as phrases."""

import re
from collections.abc import Sequence

from scheduler_core.cluster.formatting import listing
from scheduler_core.explain.groups import OUTSIDE
from scheduler_core.plugins import PLUGINS

_TAINT = re.compile(
    r"node\(s\) had (?:untolerated )?taint(?:\(s\))?(?: \{(.*?): ?(.*?)\}(?:, that the pod didn't tolerate)?)?$"
)
_LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(.*)\]$")
_NEAR_OR_FAR = "node(s) didn't match pod affinity/anti-affinity"  # until 1.20, before the specific reason
_PHRASES = {reason: phrase for plugin in PLUGINS.values() for reason, phrase in plugin.phrases.items()}
_PHRASES |= {
    OUTSIDE: OUTSIDE.removeprefix("node(s) "),
    "node is filtered out by the prefilter result": "are excluded by PreFilter",
    # of predicates
    "node(s) had taints that the pod didn't tolerate": "refuse it by a taint",
    "node(s) were not ready": "are not ready",
    "node(s) had unavailable network": "have no network",
    "node(s) had memory pressure": "have memory pressure",
    "node(s) had disk pressure": "have disk pressure",
    "node(s) had pid pressure": "have PID pressure",
    _NEAR_OR_FAR: "break its affinity or anti-affinity to other pods",
}


def phrase(reasons: Sequence[str]) -> str:
    """Return a phrase for nodes with these reasons, a plural verb first: `lack cpu and memory`, `refuse it by taint
    a=b`."""
    lacks = [reason.removeprefix("Insufficient ") for reason in reasons if reason.startswith("Insufficient ")]
    if "Too many pods" in reasons:
        lacks.append("a free pod slot")
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
            parts.append(f"are excluded by {listing(left_out[1].split())}")
        else:
            parts.append(_PHRASES.get(reason) or f"refuse it ({reason})")
    return listing(parts) or "refuse it without a reason"
