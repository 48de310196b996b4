"""Makes a page read-only for a live class: removes controls and script hooks, and inserts placeholders for slow
parts.

These are pure functions from HTML to HTML. The input is the product's own HTML and is already escaped.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import NamedTuple

from django.utils.safestring import SafeString, mark_safe

MAIN = re.compile(r"<main\b[^>]*>(.*)</main>", re.S)
FORMS = re.compile(r"<(form|script|noscript|dialog|template)\b.*?</\1>", re.S)
LOADED = re.compile(r"<section\b[^>]*\bdata-load=.*?</section>", re.S)
LIVE = re.compile(r"\s(?:data-(?:live|load|swap|part|map|chart|link|keep)|autofocus)(?:=\"[^\"]*\")?(?=[\s>])")
BUTTON = re.compile(r"<button\b([^>]*)>(.*?)</button>", re.S)
RELATIVE = re.compile(r'href="(?=[?#])')
# Parts that a script would fetch and that the server renders for the class: element id -> start tag of the
# placeholder.
LATER = {"why": '<section class="card remedy" aria-labelledby="t-why"', "together": '<div class="stack-s"'}
FETCHED = re.compile(rf"<(section|div)\b([^>]*\bid=\"({'|'.join(LATER)})\"[^>]*)>(.*?)</\1>", re.S)
LOAD = re.compile(r'\bdata-load="([^"]*)"')
# this section contains only a form
ASKING = re.compile(r'<section class="card remedy" aria-labelledby="t-why">.*?</section>', re.S)
MAP = re.compile(r"<section\b[^>]*\bid=\"map\".*?</section>", re.S)
ANSWER = re.compile(r"<section class=\"card answer-card.*?</section>", re.S)
DRAWING = '<p class="small muted" role="status">Drawing the cluster …</p>'


class Want(NamedTuple):
    """A part that is rendered separately.

    `load`: its address, "" for the cluster. `waiting`: HTML to show until it is ready.
    """

    what: str
    load: str
    waiting: str


class Trimmed(NamedTuple):
    """A read-only page. `html` has an empty placeholder for each of `wants`."""

    html: SafeString
    wants: tuple[Want, ...]


def place_for(what: str) -> str:
    """Return the placeholder of a part."""
    tag = LATER.get(what, '<div class="stack-s"')
    return f'{tag} data-part="{what}"></{tag[1:].split()[0]}>'


def filled(html: str, parts: dict[str, str]) -> SafeString:
    """Insert the parts into their placeholders."""
    for what, part in parts.items():
        empty = place_for(what)
        cut = empty.rindex("</")
        html = html.replace(empty, f"{empty[:cut]}{part}{empty[cut:]}", 1)
    return mark_safe(html)


def within(page: str, path: str) -> Trimmed:
    """Return the read-only main content of a page."""
    found = MAIN.search(page)
    html, wants = found[1].replace("\0", "") if found else "", []  # remove NUL, which marks placeholders below
    for fetched in FETCHED.finditer(html):
        if load := LOAD.search(fetched[2]):
            wants.append(Want(fetched[3], unescape(load[1]), read_only(fetched[4], path)))
    kept = {want.what for want in wants}
    html = FETCHED.sub(lambda one: f"\0{one[3]}\0" if one[3] in kept else one[0], html)
    html = MAP.sub("\0map\0", html, count=1)
    html = ANSWER.sub(lambda one: f"{one[0]}\0map\0", html, count=1)
    html = read_only(ASKING.sub("", LOADED.sub("", html)), path)
    if "\0map\0" in html:
        wants.append(Want("map", "", DRAWING))
    for want in wants:
        html = html.replace(f"\0{want.what}\0", place_for(want.what), 1)
    return Trimmed(mark_safe(html), tuple(wants))


def inner(page: str, what: str, path: str) -> str:
    """Return the content of the element whose id is `what` (a key of LATER), or "" if the page has none."""
    found = FETCHED.search(page)
    return read_only(found[4], path) if found and found[3] == what else ""


def read_only(html: str, path: str) -> str:
    """Remove forms, scripts and script hooks. Resolve relative links against `path`."""
    for pattern in (FORMS, LIVE):
        html = pattern.sub("", html)
    html = BUTTON.sub(_shown, html)
    return RELATIVE.sub(f'href="{escape(path)}', html)


def _shown(button: re.Match[str]) -> str:
    """Keep the content of a button that shows a figure or verdict; drop all other buttons."""
    return f'<span class="from">{button[2]}</span>' if 'class="from' in button[1] else ""
