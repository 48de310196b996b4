"""Template filters of the pages."""

import re
from typing import Any
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kubesched_ui import static_files
from scheduler_core.explain.formatting import count

# Why a device is none for a request, as scheduler_core/debugger/claims.py counts it.
DEVICES_OUT = {
    "class": "of other classes",
    "selector": "not selected",
    "node": "for other nodes",
    "taken": "given to others",
    "taint": "tainted",
    "counters": "beyond the counters they share",
    "capacity": "without the capacity left",
    "pool": "in a pool that cannot be used",
    "binding": "with binding conditions",
}
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
def glyph(mark: str) -> str:
    """The sign of what a step says of a node (presenters/capacity_bars.py)."""
    return {"chosen": "★", "fits": "✓", "refused": "✕", "unseen": "–", "made": "⇢"}.get(mark, "")


@register.filter
def dots(number: int) -> range:
    """So many things to draw, at most nine."""
    return range(min(number, 9))


@register.filter
def of(mapping: dict[str, Any], key: str) -> Any:
    """mapping[key], or nothing."""
    return mapping.get(key)


@register.filter
def device_out(kind: str) -> str:
    """Why devices are out, for a person: what follows their number."""
    return DEVICES_OUT.get(kind, kind)


@register.filter
def selector_named(text: str) -> str:
    """Which selector says no, without its expression; an error of it is told whole."""
    name, _, rest = text.partition(": ")
    return text if rest.startswith("CEL ") else name


@register.filter
def name_of(key: str) -> str:
    """The name in `namespace/name`."""
    return key.rpartition("/")[2]


@register.filter
def namespace_of(key: str) -> str:
    """The namespace in `namespace/name`."""
    return key.partition("/")[0]


@register.filter
def as_query(key: str) -> str:
    """`namespace/name` in an address."""
    return urlencode({"namespace": namespace_of(key), "name": name_of(key)})


@register.filter
def around(page: int, pages: int) -> list[int]:
    """The numbers of the pages to go to from one: the first, those near it, the last."""
    near = range(max(1, page - 2), min(pages, page + 2) + 1)
    return sorted({1, *near, pages})


@register.filter
def percent(value: float) -> str:
    """A width for a style attribute: between 0 and 100, two decimals."""
    return f"{min(100.0, max(0.0, float(value))):.2f}%"


@register.filter
def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Two values to loop over."""
    return first, second


@register.filter
def invalid(field: Any) -> str:
    """Attributes of a form's field that has an error: it is announced, and focused, which brings it into view."""
    if not field.errors:
        return ""
    return format_html('aria-invalid="true" aria-describedby="id_{}_error" autofocus', field.name)


@register.filter
def counted(number: int | None, one: str) -> str:
    """`1 node`, `1,200 nodes`, `2 entries`."""
    return count(number or 0, one, one[:-1] + "ies" if one.endswith("y") else one + "s")


@register.filter
def breakable(name: str) -> str:
    """A plugin's name that may be broken between its words (by zero-width spaces)."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "\u200b", name)


@register.simple_tag
def styles(name: str) -> SafeString:
    """A joined style sheet."""
    return format_html_join("", '<link rel="stylesheet" href="{}">', ([part] for part in static_files.sheets(name)))


@register.simple_tag
def modules(*names: str) -> SafeString:
    """A page's modules and, for the browser to fetch at once and not one after the other, all that they import."""
    needed = ([static(name)] for name in static_files.imported_by(names))
    links = format_html_join("", '<link rel="modulepreload" href="{}">', needed)
    scripts = format_html_join("", '<script type="module" src="{}"></script>', ([static(name)] for name in names))
    return format_html("{}{}", links, scripts)
