"""The run page that a live class sees, without the controls of its owner.

It is the ordinary page at that address, rendered with the permissions of the class and once for all students.
"""

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.http import QueryDict
from django.urls import Resolver404, resolve, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from kubesched_ui.accounts.permissions import permission_of
from kubesched_ui.live_classes import async_parts, impersonated_view
from kubesched_ui.live_classes.impersonated_view import Page
from kubesched_ui.live_classes.models import LiveClass, Rejected
from kubesched_ui.live_classes.run_position import position_of
from kubesched_ui.models import Run
from kubesched_ui.offload.middleware import LARGE

PAGES = frozenset({"run", "pod", "node", "group", "run-object"})
MAX_ADDRESS = 2000
CACHE_SIZE = 32
NO_PAGE = "Enter the address of a page of this run: the run, a pod, a node, a pod group or an object."
TOO_LARGE = "This run is large. A class can show only the page of the run and the pages of its pods."

_cache: OrderedDict[tuple[Any, ...], Page] = OrderedDict()
_lock = threading.Lock()


def address_in(run: Run, text: str) -> str:
    """Return the canonical address (path and query) of a page of the run. Raises Rejected."""
    if len(text) > MAX_ADDRESS or not text.isprintable():
        raise Rejected(NO_PAGE, 400)
    try:
        parts = urlsplit(text.strip())
        match = resolve(parts.path)
    except (Resolver404, ValueError):
        raise Rejected(NO_PAGE, 400) from None
    if match.url_name not in PAGES or match.kwargs.get("run_id") != run.pk:
        raise Rejected(NO_PAGE, 400)
    # such pages of a large run are not decoded in the web process
    if permission_of(match).cost.startswith("large") and run.cycles_total > LARGE:
        raise Rejected(TOO_LARGE)
    query = QueryDict(parts.query, mutable=True)
    query.pop("against", None)  # a comparison leads to another run
    wanted = query.urlencode()
    return f"{reverse(match.url_name, kwargs=match.kwargs)}{'?' if wanted else ''}{wanted}"


def shown(live_class: LiveClass) -> Page:
    """Return the shared page without its separately rendered parts. Raises Rejected."""
    run = live_class.run
    assert run is not None
    who = impersonated_view.class_of(live_class)
    key = (live_class.pk, live_class.address, run.last_seq, run.state)
    with _lock:
        if key not in _cache:
            _cache[key] = impersonated_view.page(live_class.address, who)
        _cache.move_to_end(key)
        while len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
        return _cache[key]


def title(live_class: LiveClass) -> str:
    """Return the title of the run, if the class may see it."""
    with suppress(Rejected):
        impersonated_view.class_of(live_class)
        return live_class.run.title if live_class.run else ""
    return "A run"


def state(live_class: LiveClass) -> dict[str, Any]:
    """Return the state of a class on a run, with the keys of `serializers.state`.

    `open`: whether students may open the page themselves. `before`, `after`: addresses of the previous and next
    attempts, or "". `at`: the current attempt in words. `parts`: `run` is the page, with placeholders for the
    others.
    """
    found = {"version": live_class.version, "address": live_class.address, "title": title(live_class)}
    found |= {"open": live_class.opens_run, "before": "", "after": "", "at": ""}
    if not live_class.live:
        return found | {"parts": {"run": ""}}
    try:
        page, position = shown(live_class), position_of(live_class.run, live_class.address) if live_class.run else None
    except Rejected as refused:
        return found | {"parts": {"run": format_html('<p class="notice">{}</p>', refused)}}
    if position is not None:
        found |= {"before": position.address(-1), "after": position.address(1), "at": position.sentence}
    return found | {
        "parts": {"run": page.html} | {one.name: async_parts.part(live_class, one) for one in page.sections}
    }


def whole(state: dict[str, Any]) -> SafeString:
    """Return the page of a state with its parts inserted."""
    parts = dict(state["parts"])
    return Page(mark_safe(parts.pop("run"))).filled(parts)


def start_of(run: Run, wanted: str) -> str:
    """Return the first address of a class: the page from which it was opened, else the run's page."""
    try:
        return address_in(run, wanted)
    except Rejected:
        return reverse("run", args=[run.pk])
