"""The page of a run that a class looks at: any of its pages by its address, shown without what only its owner may do.

The page is the one that the product has at that address, made for who sees the run by the room alone. It is made once
for everybody in the room.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.urls import Resolver404, resolve, reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from kubesched_ui import viewing
from kubesched_ui.accounts import access
from kubesched_ui.accounts.access import Viewer
from kubesched_ui.beside.routes import LARGE, OF_LARGE_RUNS
from kubesched_ui.models import Run
from kubesched_ui.rooms.errors import Refused
from kubesched_ui.rooms.models import Room

PAGES = frozenset({"run", "pod", "node", "group", "run-object"})
MAX_ADDRESS = 2000
KEPT = 32
NO_PAGE = "Show a page of this run: the run itself, a pod, a node, a group or an object in it."
TOO_LARGE = "Of so large a run its own page and those of its pods can be shown in a room."

_kept: OrderedDict[tuple[Any, ...], str] = OrderedDict()
_lock = threading.Lock()


class Onlooker(viewing.By):
    """Somebody where there are no accounts: sees everything, and is offered nothing to do."""

    def may(self, action: str, thing: Any) -> bool:
        return False


def address_in(run: Run, text: str) -> str:
    """The address of a page of the run, as it is kept: path and query. Raises Refused."""
    if len(text) > MAX_ADDRESS or not text.isprintable():
        raise Refused(NO_PAGE, 400)
    try:
        parts = urlsplit(text.strip())
        match = resolve(parts.path)
    except (Resolver404, ValueError):
        raise Refused(NO_PAGE, 400) from None
    if match.url_name not in PAGES or match.kwargs.get("run_id") != run.pk:
        raise Refused(NO_PAGE, 400)
    if match.route in OF_LARGE_RUNS and run.cycles_total > LARGE:  # not decoded in the web process
        raise Refused(TOO_LARGE)
    query = QueryDict(parts.query, mutable=True)
    query.pop("against", None)  # leads away from here
    asked = query.urlencode()
    return f"{reverse(match.url_name, kwargs=match.kwargs)}{'?' if asked else ''}{asked}"


def part(room: Room) -> str:
    """HTML of what the class looks at, or a sentence why there is nothing to see."""
    run = room.run
    assert run is not None
    key = (room.pk, room.address, run.last_seq, run.state)
    try:
        who = class_of(room)
        with _lock:
            if key not in _kept:
                _kept[key] = within(page(room.address, who), urlsplit(room.address).path)
            _kept.move_to_end(key)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
            return _kept[key]
    except Refused as refused:
        return format_html('<p class="notice">{}</p>', refused)


def class_of(room: Room) -> viewing.Viewer:
    """Somebody who holds nothing but the room's link. Raises Refused where the teacher does not see the run."""
    if not settings.ACCOUNTS:
        return Onlooker(None)
    teacher = access.viewer_of(room.owner or AnonymousUser())
    if room.share_id is None or not access.sees(teacher, Run, room.run_id or 0):
        raise Refused("Who opened this room does not see the run any more.", 410)
    return Viewer(links=(room.share_id,))


def page(address: str, who: viewing.Viewer) -> str:
    """The whole page, as the product makes it for them. Raises Refused."""
    request = request_for(address)
    match = request.resolver_match
    assert match is not None
    try:
        with viewing.looking(who):
            answer = match.func(request, *match.args, **match.kwargs)
    except (Http404, PermissionDenied) as problem:
        raise Refused(str(problem) or "The run has no such page any more.", 404) from None
    return str(answer.content.decode())


def request_for(address: str) -> HttpRequest:
    """A request of nobody for an address of ours."""
    parts = urlsplit(address)
    request: Any = HttpRequest()
    request.method, request.path, request.path_info = "GET", parts.path, parts.path
    request.META = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "QUERY_STRING": parts.query}
    request.GET = QueryDict(parts.query)
    request.user, request.session = AnonymousUser(), {}
    request.resolver_match = resolve(parts.path)
    return request


FORMS = re.compile(r"<(form|script|noscript|dialog|template)\b.*?</\1>", re.S)
LOADED = re.compile(r"<section\b[^>]*\bdata-load=.*?</section>", re.S)
LIVE = re.compile(r"\s(?:data-(?:live|load|swap|part|map|chart|link|keep)|autofocus)(?:=\"[^\"]*\")?(?=[\s>])")
BUTTON = re.compile(r"<button\b([^>]*)>(.*?)</button>", re.S)
MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.S)
RELATIVE = re.compile(r'href="(?=[?#])')


def within(page: str, path: str) -> str:
    """What is in the frame of a page, to be looked at: without forms, scripts and what they would fetch."""
    found = MAIN.search(page)
    html = found[1] if found else ""
    for pattern in (FORMS, LOADED, LIVE):
        html = pattern.sub("", html)
    html = BUTTON.sub(_read_only, html)
    return mark_safe(RELATIVE.sub(f'href="{escape(path)}', html))  # a page of ours, escaped when it was made


def _read_only(button: re.Match[str]) -> str:
    """What a button shows where it is a figure or a verdict that can be asked about; else nothing."""
    return f'<span class="from">{button[2]}</span>' if 'class="from' in button[1] else ""


def title(room: Room) -> str:
    """What the run is called, to who may see it."""
    with suppress(Refused):
        class_of(room)
        return room.run.title if room.run else ""
    return "A run"


def state(room: Room) -> dict[str, Any]:
    """As seen.state has it of a lesson. `open`: students may open that page by themselves, too."""
    told = {"version": room.version, "address": room.address, "title": title(room), "open": room.opens_run}
    return told | {"parts": {"run": part(room) if room.live else ""}}


def start_of(run: Run, asked: str) -> str:
    """Where a room begins: at the page from which it was opened, else at the run's."""
    try:
        return address_in(run, asked)
    except Refused:
        return reverse("run", args=[run.pk])
