"""Template filters of the pages."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.forms import BoundField
from django.forms.utils import flatatt
from django.template.defaulttags import querystring
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from kubesched_ui.web import static_files
from scheduler_core.api import duration
from scheduler_core.cluster.formatting import count
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Duel, Rung, ScoreDifference
from scheduler_core.explain.matrix import ALSO, DECISIVE, LATE, NOT_EVALUATED, PASSES, MatrixCell
from scheduler_core.explain.points import rejection_at
from scheduler_core.framework.interface import Status

# Why a device cannot be used for a request, by the keys of scheduler_core/search/claims.py.
DEVICES_OUT = {
    "class": "of other classes",
    "selector": "not selected",
    "node": "for other nodes",
    "taken": "allocated to other claims",
    "taint": "tainted",
    "counters": "without enough shared counters",
    "capacity": "without enough capacity",
    "pool": "in a pool that cannot be used",
    "binding": "with binding conditions",
}
# The symbols of verdicts in the matrix of nodes and plugins, and their words.
CELLS = {
    PASSES: ("✓", "passes"),
    DECISIVE: ("✕", "decisive: rejects"),
    ALSO: ("!", "would also reject"),
    LATE: ("·", "not evaluated; would pass"),
    NOT_EVALUATED: ("–", "not evaluated"),
}
register = template.Library()

MEANING = {
    "preenqueue": "Runs before the pod enters the active queue; scheduling gates can reject it.",
    "prefilter": "Runs once per pod: plugins can precompute data, reject the pod, limit the nodes or skip Filter.",
    "prescore": "Runs once per pod if several nodes are feasible: plugins can precompute data or skip their Score.",
    "reserve": "Reserves resources on the node, so that the next pod does not use them.",
    "permit": "The last check before binding: plugins approve or reject the pod, or make it wait.",
    "prebind": "Work that must be finished before binding, such as binding the volumes.",
    "bind": "Binds the pod to its node.",
    "postbind": "Notifies plugins that the pod is bound.",
}


@register.filter
def meaning(point: str) -> str:
    """Return what happens at an extension point, for users."""
    return MEANING.get(point, "")


@register.filter
def rejection(point: str, trace: CycleTrace) -> Status | None:
    """Return the status with which a plugin rejected the pod at `point`, if any."""
    return rejection_at(trace, point)


@register.filter
def highest(pods: Iterable[str], priorities: Mapping[str, int]) -> int | str:
    """Return the highest priority of the pods, `?` if none is known."""
    return max((priorities[pod] for pod in pods if pod in priorities), default="?")


@register.filter
def effort(rung: Rung | dict[str, Any]) -> str:
    """Return how many changes a rung of the ladder needs, in words. In a live cluster it is stored as a dict."""
    found: dict[str, Any] = rung if isinstance(rung, dict) else {"changes": rung.changes, "when": rung.when}
    if found.get("when"):
        return str(found["when"])
    names = {None: "never", 0: "takes it", 1: "one change"}
    return names.get(found["changes"], f"{found['changes']} changes")


@register.filter
def cell_title(cell: MatrixCell) -> str:
    """Return the verdict of a plugin in the matrix in words."""
    return f"{cell.plugin}: {CELLS[cell.kind][1]}" + (f" ({'; '.join(cell.reasons)})" if cell.reasons else "")


@register.filter
def bars(duel: Duel) -> list[tuple[ScoreDifference, float]]:
    """Return the differences between two nodes, each with the width of its bar in percent."""
    widest = max((abs(one.difference) for one in duel.differences), default=0) or 1
    return [(one, 50 * abs(one.difference) / widest) for one in duel.differences]


@register.filter
def glyph(mark: str) -> str:
    """Return the symbol for the verdict of a step on a node (presenters/capacity_bars.py) or of a plugin on nodes
    (explain/matrix.py)."""
    return (
        CELLS[mark][0]
        if mark in CELLS
        else {"chosen": "★", "fits": "✓", "refused": "✕", "unseen": "–", "made": "⇢"}.get(mark, "")
    )


@register.filter
def lookup(mapping: dict[str, Any], key: str) -> Any:
    """Return mapping[key], or None."""
    return mapping.get(key)


@register.filter
def device_out(kind: str) -> str:
    """Return why devices cannot be used, as text after their number."""
    return DEVICES_OUT.get(kind, kind)


@register.filter
def selector_named(text: str) -> str:
    """Return which selector rejects a device, without its expression; an error of an expression is returned in full."""
    name, _, rest = text.partition(": ")
    return text if rest.startswith("CEL ") else name


@register.filter
def name_of(key: str) -> str:
    """Return the name in `namespace/name`."""
    return key.rpartition("/")[2]


@register.filter
def namespace_of(key: str) -> str:
    """Return the namespace in `namespace/name`."""
    return key.partition("/")[0]


@register.simple_tag
def cluster_pod(cluster_id: int, key: str) -> str:
    """Return the address of a pod of a live cluster, or of a workload that lacks pods (`team/ReplicaSet web`)."""
    return reverse("cluster-pod", args=[cluster_id, *key.split("/", 1)])


@register.filter
def as_query(key: str) -> str:
    """Return `namespace/name` as a URL query."""
    return urlencode({"namespace": namespace_of(key), "name": name_of(key)})


@register.filter
def around(page: int, pages: int) -> list[int]:
    """Return the page numbers for navigation: the first, those near the current page, the last."""
    near = range(max(1, page - 2), min(pages, page + 2) + 1)
    return sorted({1, *near, pages})


@register.filter
def percent(value: float) -> str:
    """Return a width for a style attribute: between 0 and 100, two decimals."""
    return f"{min(100.0, max(0.0, float(value))):.2f}%"


@register.filter
def chips(values: Iterable[Any] | Mapping[str, Any], css: str = "") -> SafeString:
    """Return values, or pairs as `key=value`, as chips with a further CSS class."""
    texts = (f"{key}={value}" for key, value in values.items()) if isinstance(values, Mapping) else values
    return format_html_join(" ", '<span class="chip{}">{}</span>', ((css and f" {css}", text) for text in texts))


@register.filter
def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return two values as a tuple for a loop."""
    return first, second


@register.filter
def invalid(field: Any) -> str:
    """Return attributes of a form field with an error: screen readers announce it, and autofocus scrolls to it."""
    if not field.errors:
        return ""
    return format_html('aria-invalid="true" aria-describedby="id_{}_error" autofocus', field.html_name)


@register.simple_tag(takes_context=True)
def sentence(context: Any, text: str, links: Iterable[Any]) -> SafeString | str:
    """Return a sentence whose words link to what decided them; plain text in a read-only page.

    `links`: as of presenters/sentence_links.py.
    """
    known = {link.text: link for link in reversed([*links]) if link.text}
    if not known or context.get("read_only"):
        return text
    words = "|".join(re.escape(word) for word in sorted(known, key=len, reverse=True))
    parts = re.split(rf"(?<![\w/.-])({words})(?![\w/-]|\.\w)", text)
    return format_html_join(
        "", "{}", ([_linked(known[part]) if place % 2 else part] for place, part in enumerate(parts))
    )


def _linked(link: Any) -> SafeString:
    data = {"data-open": link.point or None, "data-plugin": link.plugin or None}
    return format_html('<a href="{}"{}>{}</a>', link.address, flatatt(data), link.text)


@register.filter
def counted(number: int | None, one: str) -> str:
    """`1 node`, `1,200 nodes`, `2 entries`."""
    return count(number or 0, one, one[:-1] + "ies" if one.endswith("y") else one + "s")


@register.filter
def milliseconds(seconds: float) -> str:
    """`0.41 ms`, `12 ms`."""
    return duration.milliseconds(seconds)


@register.filter
def breakable(name: str) -> str:
    """Return the name of a plugin with zero-width spaces between its words, where a browser may break it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "\u200b", name)


@register.simple_block_tag(takes_context=True)
def computed(
    context: dict[str, Any],
    content: str,
    value: str,
    plugin: str = "",
    node: str = "",
    css: str = "from",
    tab: int = -1,
    label: str = "",
) -> SafeString:
    """Return a button that shows how a verdict or number (`value`) is computed, and the bare content in a read-only
    page. `label`: what screen readers read instead of the content.
    """
    if context.get("read_only"):
        return format_html('<span class="{}">{}</span>', css, content)
    title = format_html('aria-label="{}"', label) if label else ""
    button = '<button type="button" class="{}" tabindex="{}" data-from="{}" data-plugin="{}" data-node="{}" {}>'
    return format_html(button + "{}</button>", css, tab, value, plugin, node, title, content)


SCORE_CELL = """<td class="part">
<button type="button" class="from w" tabindex="-1" data-from="weighted" {of}>{weighted}</button>
<span class="calc">
<button type="button" class="from" tabindex="-1" data-from="raw" {of} title="raw score of {plugin}">{raw}</button> →
<button type="button" class="from" tabindex="-1" data-from="normalized" {of} title="{kind} score of {plugin}"
>{normalized}</button> × {weight}
</span></td>"""
READ_ONLY_SCORE_CELL = """<td class="part"><span class="from w">{weighted}</span>
<span class="calc">{raw} → {normalized} × {weight}</span></td>"""


@register.simple_tag(takes_context=True)
def score_cells(context: Any, row: Any) -> SafeString:
    """Return the cells of a node in the table of scores. `row`: a Ranked of explain/answer.py.

    A page has up to a thousand of these numbers. A tag for each (`computed`) took a third of the page's time.
    """
    html = READ_ONLY_SCORE_CELL if context.get("read_only") else SCORE_CELL
    kind = "reduced" if context.get("old") else "normalized"
    cells = (
        {
            "of": format_html('data-plugin="{}" data-node="{}"', cell.plugin, row.node),
            "plugin": cell.plugin,
            "weighted": intcomma(cell.weighted),
            "raw": intcomma(cell.raw),
            "kind": kind,
            "normalized": cell.normalized,
            "weight": cell.weight,
        }
        for cell in row.points
    )
    return format_html_join("", html, cells)


@register.simple_tag
def key(keys: str, does: str) -> SafeString:
    """Return a row of a list of keyboard shortcuts. `keys`: separated by spaces."""
    return format_html(
        "<dt>{}</dt><dd>{}</dd>", format_html_join(" ", "<kbd>{}</kbd>", ([one] for one in keys.split())), does
    )


@register.simple_block_tag
def card(content: str, name: str, heading: str, css: str = "stack-s", place: str = "") -> SafeString:
    """Return a section that its heading names. `name`: the id of the heading. `place`: the id of the section.

    `css`: with `flush`, the heading is in a bar of its own.
    """
    title = format_html('<h2 id="{}">{}</h2>', name, heading)
    if "flush" in css.split():
        title = format_html('<div class="head">{}</div>', title)
    return format_html(
        '<section class="card {}"{} aria-labelledby="{}">{}{}</section>',
        css,
        flatatt({"id": place or None}),
        name,
        title,
        content,
    )


@register.simple_block_tag(takes_context=True)
def table(
    context: Any, content: str, *columns: str | list[str], css: str = "", limit: str = "", sortable: bool = True
) -> SafeString:
    """Return a table that scrolls, with the head of `headings` and the rows in the block.

    Without columns, the block has the head as well. `limit`: the maximum height.
    """
    size = format_html(' style="max-height: {}"', limit) if limit else ""
    kind = format_html(' class="{}"', css) if css else ""
    if columns:
        content = format_html("{}<tbody>{}</tbody>", headings(context, *columns, sortable=sortable), content)
    return format_html('<div class="scroll"{}><table{}>{}</table></div>', size, kind, content)


@register.simple_tag(takes_context=True)
def headings(context: Any, *columns: str | list[str], sortable: bool = True) -> SafeString:
    """Return the head of a table.

    `columns`: texts such as "Pod, #Score, (Bar), Node@node". `#` is a column of numbers, `(...)` is for screen readers
    only, and `@` sorts by that key. A list stands for columns that sort by their names; "" is left out.
    """
    flat: list[str] = []
    for column in columns:
        flat += column.split(", ") if isinstance(column, str) else [f"{name}@{name}" for name in column]
    cells = format_html_join("", "{}", ([_heading(context, column, sortable)] for column in flat if column))
    return format_html("<thead><tr>{}</tr></thead>", cells)


def _heading(context: Any, column: str, sortable: bool) -> SafeString:
    css = mark_safe(' class="num"') if column.startswith("#") else ""
    label, _, key = column.removeprefix("#").partition("@")
    if label.startswith("("):
        return format_html('<th scope="col"><span class="visually-hidden">{}</span></th>', label.strip("()"))
    if not (key and sortable):
        return format_html('<th scope="col"{}>{}</th>', css, label)
    order = {key: ("ascending", " ▲"), f"-{key}": ("descending", " ▼")}.get(context.get("sort"))
    first = {"page": None, "cells": None}  # pages of lists
    query = querystring(context, None, sort=f"-{key}" if context.get("sort") == key else key, **first)
    content = format_html('{}<span aria-hidden="true">{}</span>', label, order[1]) if order else label
    aria = format_html(' aria-sort="{}"', order[0]) if order else ""
    link = format_html('<a href="{}{}">{}</a>', context.get("page_path", ""), query, content)
    return format_html('<th scope="col"{}{}>{}</th>', css, aria, link)


@register.simple_tag
def numbers(*values: Any) -> SafeString:
    """Return a cell of a table for each value, numbers with commas."""
    shown = ([intcomma(value) if isinstance(value, int | float) else value] for value in values)
    return format_html_join("", '<td class="num">{}</td>', shown)


@register.simple_tag(takes_context=True)
def filter_by(context: Any, name: str, label: str, everything: str, options: Iterable[Any]) -> SafeString:
    """Return a select element that filters a list by the query parameter `name`.

    `everything`: the option without a filter, "" if there is none. `options`: values, or pairs of a value and its
    number or text.
    """
    chosen = context.get(name)
    pairs = [("", everything)] if everything else []
    for option in options:
        value, text = option if isinstance(option, tuple) else (option, option)
        pairs.append((value, f"{value} ({text:,})" if isinstance(text, int) else text))
    marked = ((value, mark_safe(" selected" if value == chosen else ""), text) for value, text in pairs)
    select = format_html_join("", '<option value="{}"{}>{}</option>', marked)
    return format_html(
        '<label class="visually-hidden" for="{0}">{1}</label>'
        '<select id="{0}" name="{0}" style="width: auto" data-part="by-{0}">{2}</select>',
        *(name, label, select),
    )


@register.simple_block_tag(takes_context=True)
def searching(
    context: Any, content: str, what: str, among: str, one: str, heading: str = "", sort: str = ""
) -> SafeString:
    """Return the form above a list: the search for `what`, further filters in the block, and the number of entries.

    `one`: an entry of the list. `sort`: the key that the list is sorted by, to keep it.
    """
    title = format_html('<h2 id="t-pods">{}</h2>', heading) if heading else ""
    search = format_html(
        '<span class="search"><label class="visually-hidden" for="q">Search {}</label>'
        '<input id="q" name="q" type="search" value="{}" placeholder="Search {}" autocomplete="off"></span>',
        *(what, context.get("q", ""), among),
    )
    kept = format_html('<input type="hidden" name="sort" value="{}">', sort) if sort else ""
    count = format_html(
        '<span class="small muted push" data-part="counted" role="status">{}</span>',
        counted(context["page"].paginator.count, one),
    )
    return format_html('<form method="get" class="head">{}{}{}{}{}</form>', title, search, content, kept, count)


@register.simple_tag(takes_context=True)
def page_query(context: Any, number: int, name: str = "") -> str:
    """Return the query for another page of a list. `name`: of its parameter."""
    return querystring(context, None, **{name or "page": number})


@register.simple_tag(takes_context=True)
def no_match(context: Any, one: str, everything: str, filters: str) -> SafeString:
    """Return the text in place of a list whose filters select nothing, with a link that removes the `filters`."""
    query = querystring(context, None, **dict.fromkeys(filters.split()), page=None)
    return format_html(
        '<p class="empty"><strong>No {} matches</strong> <a href="{}{}">Show all {}</a></p>',
        *(one, context.get("page_path", ""), query, everything),
    )


@register.simple_tag
def options(choices: Iterable[tuple[Any, Any]], chosen: Any) -> SafeString:
    """Return the options of a select. `choices`: (value, label), or (name of a group, its choices).

    Django's widget renders a template for each option, which takes 10 ms for a list of all patch releases.
    """

    parts = []
    for value, label in choices:
        if isinstance(label, list | tuple):
            parts.append(f'<optgroup label="{escape(str(value))}">{options(label, chosen)}</optgroup>')
        else:
            selected = " selected" if str(value) == str(chosen) else ""
            parts.append(f'<option value="{escape(str(value))}"{selected}>{escape(str(label))}</option>')
    return mark_safe("".join(parts))


@register.simple_tag
def field(bound: BoundField, label: str, kind: str = "text", **attributes: Any) -> SafeString:
    """Return a form field with its label and errors. `kind`: the type of the input, or `select`."""
    if kind == "checkbox":
        checked = mark_safe(" checked") if bound.value() else ""
        return format_html(
            '<label class="inline"><input type="checkbox" name="{}"{}> {}</label>', bound.html_name, checked, label
        )
    if kind == "select":
        choices = options(bound.field.choices, bound.value())  # type: ignore[attr-defined]
        control = format_html('<select id="{0}" name="{0}" {1}>{2}</select>', bound.html_name, invalid(bound), choices)
    else:
        value = bound.value()
        attributes |= {"type": kind, "value": "" if value is None else value}
        control = format_html(
            '<input id="{0}" name="{0}"{1} {2}>', bound.html_name, flatatt(attributes), invalid(bound)
        )
    return format_html('<div><label for="{}">{}</label>{}{}</div>', bound.html_name, label, control, bound.errors)


@register.simple_tag(takes_context=True)
def post_button(context: Any, text: str, address: str, *args: Any, css: str = "", **attributes: str) -> SafeString:
    """Return a form of one button. `address`: the name of the URL that it posts to, with its arguments.

    `attributes`: of the button; `confirm` is the question that is to be confirmed first.
    """
    confirm = attributes.pop("confirm", None)
    return format_html(
        '<form method="post" action="{}"><input type="hidden" name="csrfmiddlewaretoken" value="{}">'
        "<button{}>{}</button></form>",
        *(reverse(address, args=args), context["csrf_token"]),
        *(flatatt({"class": css or None, "data-confirm": confirm} | attributes), text),
    )


SECTIONS = {
    "clusters": "Clusters", "scenarios": "Scenarios", "runs": "Runs", "learn": "Learn", "account": "Account",
    "people": "Groups", "docs": "Documentation", "experiments": "Experiments",
}  # fmt: skip


@register.simple_tag
def crumbs(*steps: Any) -> SafeString:
    """Return the path to a page: names of sections, scenarios, runs and pods as links, and the page itself as text."""
    items = format_html_join("", '<li><a href="{}">{}</a></li>', map(_link_to, steps[:-1]))
    return format_html(
        '<ol class="crumbs" aria-label="You are here">{}<li aria-current="page">{}</li></ol>', items, steps[-1]
    )


def _link_to(step: Any) -> tuple[str, str]:
    """Return the address and name of a section, a scenario, a run, a written lesson or, for a cycle, its pod."""
    if isinstance(step, str):
        return reverse(step), SECTIONS[step]
    if step._meta.model_name == "cycle":
        pod = reverse("pod", args=[step.run_id, step.namespace, step.name])
        return f"{pod}?cycle={step.number}", f"{step.namespace}/{step.name}"
    if step._meta.model_name == "writtenlesson":
        return reverse("written-edit", args=[step.pk]), step.name
    return reverse(step._meta.model_name, args=[step.pk]), getattr(step, "title", "") or step.name


@register.simple_tag(takes_context=True)
def section(context: dict[str, Any], name: str, address: str = "") -> SafeString:
    """Mark an element of a live class's page as a section that is rendered separately.

    `address`: the page that has the section, "" for the cluster.
    """
    context["request"].sections.append((name, address))
    return format_html('data-section="{}"', name)


@register.simple_tag
def css(*names: str) -> SafeString:
    """Return the link elements of style sheets."""
    return format_html_join("", '<link rel="stylesheet" href="{}">', ([static(name)] for name in names))


@register.simple_tag
def styles(name: str) -> SafeString:
    """Return the link elements of a joined style sheet."""
    return format_html_join("", '<link rel="stylesheet" href="{}">', ([part] for part in static_files.sheets(name)))


@register.simple_tag
def modules(*names: str) -> SafeString:
    """Return the modules of a page, with preload links for all their imports, so that the browser fetches them in
    parallel."""
    needed = ([static(name)] for name in static_files.imported_by(names))
    links = format_html_join("", '<link rel="modulepreload" href="{}">', needed)
    scripts = format_html_join("", '<script type="module" src="{}"></script>', ([static(name)] for name in names))
    return format_html("{}{}", links, scripts)
