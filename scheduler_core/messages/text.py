"""Reads the message of a FailedScheduling event: the number of nodes, the counted reasons, and what PostFilter added.

Source: pkg/scheduler/framework/types.go (FitError.Error), which `framework/fit_error.py` writes.
"""

import re
from dataclasses import dataclass, field

MAX_REASONS = 100
MAX_NODES = 10**9  # a larger number is no number of nodes

HEAD = re.compile(r"0/(\d{1,10}) nodes are available:?(?=\s|$)")
_COUNTED = re.compile(r"(\d{1,10}) (\S.*)", re.S)
_NEXT = re.compile(r", (?=\d{1,10} \S)")
_POSTFILTER = re.compile(
    r"[.,]? ?(?<![^ .,])(?=preemption: |, preemption: |no new claims to deallocate|still not schedulable"
    r"|(?:deallocation|deletion) of ResourceClaim completed|expected at least one victim pod"
    r"|0/\d{1,10} nodes are available: )"  # of plugins outside the tree
)
_END = re.compile(r"\. (?=\S)")


@dataclass(frozen=True, slots=True)
class MessageText:
    """A message, read. `nodes`: of the cluster. `reasons`: (number of nodes, reason), in the order of the message.
    `prefilter`: the reason for all nodes, which has no count; "" if there is none. `postfilter`: the rest, "" if there
    is none. `more`: number of reasons that were left out because there are too many."""

    nodes: int
    reasons: list[tuple[int, str]] = field(default_factory=list)
    prefilter: str = ""
    postfilter: str = ""
    more: int = 0


def read_message(text: str) -> MessageText | None:
    """Read a message such as `0/3 nodes are available: 3 Insufficient cpu. preemption: ...`; None if it is none."""
    found = HEAD.match(text)
    if found is None or int(found[1]) > MAX_NODES:
        return None
    body, postfilter = _parts(text[found.end() :].strip())
    parts = _NEXT.split(body)
    counted = [_COUNTED.fullmatch(part) for part in parts[:MAX_REASONS]]
    nodes = int(found[1])
    if not all(counted):  # PreFilter rejected the pod, and its reason has no count
        return MessageText(nodes, prefilter=body, postfilter=postfilter)
    reasons = [(int(one[1]), one[2]) for one in counted if one is not None]
    return MessageText(nodes, reasons, postfilter=postfilter, more=max(0, len(parts) - MAX_REASONS))


def _parts(text: str) -> tuple[str, str]:
    """Return the reasons without their full stop, and what PostFilter added."""
    start = _POSTFILTER.search(text)
    if start is None:
        # What follows a full stop is a further sentence, unless more counted reasons follow it.
        ends = [end for end in _END.finditer(text) if not _NEXT.search(text, end.end())]
        return (text[: ends[0].start()], text[ends[0].end() :]) if ends else (text.removesuffix("."), "")
    return text[: start.start()].rstrip(" .,"), text[start.end() :].lstrip(" ,")
