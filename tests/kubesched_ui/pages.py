"""Parsed pages."""

import html
import re
from html.parser import HTMLParser

from django.http import HttpResponse
from django.test import Client


class Page(HTMLParser):
    """Text of a page, its hidden panels, and all that could run a foreign script."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.source = response.content.decode()
        self.open_panels: list[str] = []
        self.inline: list[str] = []
        self.ids: list[str] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        if "data-panel" in given and "hidden" not in given:
            self.open_panels.append(given["data-panel"] or "")
        if tag == "script" and "src" not in given and given.get("type") != "application/json":
            self.inline.append(str(attrs))
        self.inline += [name for name in given if name.startswith("on")]
        if (given.get("href") or "").lower().startswith(("javascript:", "data:")):
            self.inline.append(str(given["href"]))

    @property
    def flat(self) -> str:
        """Return the source without line breaks, which the formatter places."""
        return re.sub(r"\s+", " ", self.source)

    @property
    def answer(self) -> str:
        """Return the text of the answer, without its links."""
        found = re.search(r'class="answer">(.*?)</p>', self.source, re.S)
        return html.unescape(re.sub(r"<[^>]*>", "", found[1])) if found else ""


def get(client: Client, address: str, status: int = 200) -> Page:
    response = client.get(address)
    assert response.status_code == status, address
    return Page(response)


def source(client: Client, address: str, status: int = 200) -> str:
    """Return a page without escapes and line breaks."""
    return html.unescape(get(client, address, status).flat)
