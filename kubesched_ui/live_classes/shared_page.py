"""The run page that a live class sees, without the controls of its owner.

It is the ordinary page at that address, rendered with the permissions of the class and once for all students.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.http import QueryDict
from django.urls import Resolver404, resolve, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from kubesched_ui.live_classes import async_parts, impersonated_view
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.impersonated_view import Page
from kubesched_ui.live_classes.models import Room
from kubesched_ui.live_classes.run_position import place_of
from kubesched_ui.models import Run
from kubesched_ui.offload.routes import LARGE, OF_LARGE_RUNS

PAGES = frozenset({"run", "pod", "node", "group", "run-object"})
MAX_ADDRESS = 2000
KEPT = 32
NO_PAGE = "Show a page of this run: the run itself, a pod, a node, a group or an object in it."
TOO_LARGE = "Of so large a run its own page and those of its pods can be shown in a room."

_kept: OrderedDict[tuple[Any, ...], Page] = OrderedDict()
_lock = threading.Lock()


def address_in(run: Run, text: str) -> str:
    """Return the canonical address (path and query) of a page of the run. Raises Refused."""
    if len(text) > MAX_ADDRESS or not text.isprintable():
        raise Refused(NO_PAGE, 400)
    try:
        parts = urlsplit(text.strip())
        match = resolve(parts.path)
    except (Resolver404, ValueError):
        raise Refused(NO_PAGE, 400) from None
    if match.url_name not in PAGES or match.kwargs.get("run_id") != run.pk:
        raise Refused(NO_PAGE, 400)
    # such pages of a large run are not decoded in the web process
    if match.route in OF_LARGE_RUNS and run.cycles_total > LARGE:
        raise Refused(TOO_LARGE)
    query = QueryDict(parts.query, mutable=True)
    query.pop("against", None)  # a comparison leads to another run
    asked = query.urlencode()
    return f"{reverse(match.url_name, kwargs=match.kwargs)}{'?' if asked else ''}{asked}"


def shown(room: Room) -> Page:
    """Return the shared page without its separately rendered parts. Raises Refused."""
    run = room.run
    assert run is not None
    who = impersonated_view.class_of(room)
    key = (room.pk, room.address, run.last_seq, run.state)
    with _lock:
        if key not in _kept:
            _kept[key] = impersonated_view.page(room.address, who)
        _kept.move_to_end(key)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return _kept[key]


def title(room: Room) -> str:
    """Return the title of the run, if the class may see it."""
    with suppress(Refused):
        impersonated_view.class_of(room)
        return room.run.title if room.run else ""
    return "A run"


def state(room: Room) -> dict[str, Any]:
    """Return the state of a class on a run, with the keys of `serializers.state`.

    `open`: whether students may open the page themselves. `before`, `after`: addresses of the previous and next
    attempts, or "". `at`: the current attempt in words. `parts`: `run` is the page, with placeholders for the
    others.
    """
    told = {"version": room.version, "address": room.address, "title": title(room), "open": room.opens_run}
    told |= {"before": "", "after": "", "at": ""}
    if not room.live:
        return told | {"parts": {"run": ""}}
    try:
        page, place = shown(room), place_of(room.run, room.address) if room.run else None
    except Refused as refused:
        return told | {"parts": {"run": format_html('<p class="notice">{}</p>', refused)}}
    if place is not None:
        told |= {"before": place.address(-1), "after": place.address(1), "at": place.sentence}
    return told | {"parts": {"run": page.html} | {one.name: async_parts.part(room, one) for one in page.sections}}


def whole(state: dict[str, Any]) -> SafeString:
    """Return the page of a state with its parts inserted."""
    parts = dict(state["parts"])
    return Page(mark_safe(parts.pop("run"))).filled(parts)


def start_of(run: Run, asked: str) -> str:
    """Return the first address of a class: the page from which it was opened, else the run's page."""
    try:
        return address_in(run, asked)
    except Refused:
        return reverse("run", args=[run.pk])
