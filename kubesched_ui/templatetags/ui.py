"""Template filters of the pages."""

import re
from typing import Any

from django import template

register = template.Library()

MEANING = {
    "preenqueue": "Before the pod may enter the active queue: a gate may hold it back.",
    "prefilter": "Once for the pod: plugins prepare, may refuse it outright, narrow the nodes, or step aside.",
    "prescore": "Once for the pod, when more than one node fits: plugins prepare their scores or step aside.",
    "reserve": "The node is set aside for the pod, so that the next pod does not count on the same room.",
    "permit": "A last word before binding: approve, refuse, or wait.",
    "prebind": "What must be done before the pod may run there, such as binding its volumes.",
    "bind": "The pod is given its node.",
    "postbind": "Plugins are told that the pod is bound.",
}


@register.filter
def meaning(point: str) -> str:
    """What happens at an extension point, for a person."""
    return MEANING.get(point, "")


@register.filter
def said(point: str, cycle: dict[str, Any]) -> dict[str, Any] | None:
    """The status by which a plugin rejected the pod at `point`, if one did."""
    return cycle.get(point) if point in ("preenqueue", "prefilter", "reserve", "permit", "prebind", "bind") else None


@register.filter
def of(mapping: dict[str, Any], key: str) -> Any:
    """mapping[key], or nothing."""
    return mapping.get(key)


@register.filter
def percent(value: float) -> str:
    """A width for a style attribute: between 0 and 100, two decimals."""
    return f"{min(100.0, max(0.0, float(value))):.2f}%"


@register.filter
def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Two values to loop over."""
    return first, second


@register.filter
def breakable(name: str) -> str:
    """A plugin's name that may be broken between its words (by zero-width spaces)."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "\u200b", name)
