"""Documentation pages: every page and link of docs/ works, and no other file is served."""

import html
import re

import pytest
from django.test import Client
from django.urls import resolve, reverse

from kubesched_ui.documentation import markdown_pages
from kubesched_ui.views.urls import urlpatterns
from tests.kubesched_ui.pages import get

PAGES = sorted(path.stem for path in markdown_pages.FOLDER.glob("*.md"))


def test_the_contents_list_every_page_once(client: Client) -> None:
    found = re.findall(r'<li> <a href="/docs/([\w-]+)/">', get(client, "/docs/").flat)
    assert sorted(found) == PAGES
    assert [group.title for group in markdown_pages.groups()][-1] == "Develop", "the README lists them all"


def test_links_and_anchors_have_a_target() -> None:
    pages = markdown_pages.pages()
    anchors = {name: re.findall(r' id="([^"]*)"', page.html) for name, page in pages.items()}
    assert [name for name, found in anchors.items() if len(found) != len(set(found))] == []
    broken = []
    for name, page in pages.items():
        for address in map(html.unescape, re.findall(r'(?:href|src)="([^"]*)"', page.html)):
            path, _, anchor = address.partition("#")
            if re.match(r"https?:", path) or path.startswith(("/api/", "/compose/", "/learn/")):
                continue
            match = resolve(path) if path else None
            known = match is None or match.kwargs.get("path") in markdown_pages.files() or match.url_name == "doc"
            if not known or (anchor and anchor not in anchors[match.kwargs["name"] if match else name]):
                broken.append(f"{name}: {address}")
    assert broken == []


def test_a_page_has_contents_figures_and_neighbours(client: Client) -> None:
    page = get(client, "/docs/virtual-time/")
    assert '<img src="/docs/files/img/time-pod.png"' in page.source
    assert page.source.count("<h1") == 1
    assert re.search(r'<nav class="card doc-contents".*href="#[\w-]+"', page.flat)
    assert 'rel="prev"' in page.source
    picture = client.get("/docs/files/img/time-pod.png")
    assert (picture["Content-Type"], next(iter(picture))[:4]) == ("image/png", b"\x89PNG")


@pytest.mark.parametrize("path", ["../pyproject.toml", "..%2f..%2fmanage.py", "img/", "plugins.md", "/etc/passwd"])
def test_no_other_file_is_served(client: Client, path: str) -> None:
    assert client.get(f"/docs/files/{path}").status_code == 404


def test_an_unknown_page_links_to_the_contents(client: Client) -> None:
    assert "The contents list all pages" in get(client, "/docs/nothing/", 404).source


def test_text_is_escaped() -> None:
    rendered = markdown_pages._markdown.render("<script>x</script> [a](javascript:x)")
    assert "<script>" not in rendered
    assert "href" not in rendered


def test_pages_link_to_their_documentation(client: Client, db: None) -> None:
    names = {pattern.name for pattern in urlpatterns}
    for name, (page, anchor) in markdown_pages.ABOUT.items():
        assert name in names or reverse(name)
        found = markdown_pages.about(name)
        assert found["title"] == markdown_pages.pages()[page].title
        assert not anchor or f'id="{anchor}"' in markdown_pages.pages()[page].html
    assert '<a href="/docs/lessons/">Documentation: Lessons</a>' in get(client, "/learn/").flat
