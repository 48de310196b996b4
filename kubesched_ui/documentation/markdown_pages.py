"""The documentation as pages: docs/*.md with anchors, contents, and links that lead to the pages of this server."""

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kubesched_ui.runtime.paths import RESOURCES

FOLDER = RESOURCES / "docs"
# Files that pages link to or show -> their type. Nothing else is served.
TYPES = {".json": "application/json", ".png": "image/png", ".py": "text/plain", ".yaml": "text/plain"}
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
_markdown.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
_markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")


class Heading(NamedTuple):
    """A heading of a page, and the plain text of its section."""

    level: int
    title: str
    anchor: str
    text: str


class DocPage(NamedTuple):
    """A page. `summary`: its first sentence. `headings`: all of them, its title first."""

    name: str
    title: str
    summary: str
    headings: list[Heading]
    html: SafeString

    @property
    def address(self) -> str:
        return reverse("doc", args=[self.name])


class DocGroup(NamedTuple):
    """A line of the README's list of pages."""

    title: str
    pages: list[DocPage]


@cache
def groups() -> list[DocGroup]:
    """Return the pages in the order and the groups of the README; pages that it does not list come last."""
    lines = re.findall(r"^\* (\w[\w ]*): (.*(?:\n  .*)*)", (RESOURCES / "README.md").read_text(encoding="utf-8"), re.M)
    found = [(title, re.findall(r"\(docs/([\w-]+)\.md\)", line)) for title, line in lines]
    listed = {name for _, names in found for name in names}
    found.append(("More", [path.stem for path in sorted(FOLDER.glob("*.md")) if path.stem not in listed]))
    return [DocGroup(title, [_page(name) for name in names]) for title, names in found if names]


@cache
def pages() -> dict[str, DocPage]:
    """Return name -> page, in the order of `groups`."""
    return {page.name: page for group in groups() for page in group.pages}


@cache
def files() -> dict[str, Path]:
    """Return the files that pages may link to: path below docs/ -> file."""
    return {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES}


def _page(name: str) -> DocPage:
    tokens = _markdown.parse((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    headings = _headings(tokens)
    for token in tokens:
        if token.type in ("fence", "code_block"):
            token.attrSet("tabindex", "0")
        token.children = _with_addresses(token.children or []) if token.type == "inline" else token.children
    html = mark_safe(_markdown.renderer.render(tokens, _markdown.options, {}))
    opening = next(tokens[place + 1] for place, token in enumerate(tokens) if token.type == "paragraph_open")
    summary = re.split(r"(?<=\.)\s", _plain(opening), maxsplit=1)[0].rstrip(":")
    return DocPage(name, headings[0].title, summary, headings, html)


def _headings(tokens: Sequence[Token]) -> list[Heading]:
    """Give each heading its anchor, as GitHub does, and return them with the text that follows them."""
    found: list[Heading] = []
    texts: list[list[str]] = []
    times = Counter[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _plain(tokens[place + 1])
            base = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            anchor = f"{base}-{times[base]}" if times[base] else base
            times[base] += 1
            token.attrSet("id", anchor)
            found.append(Heading(int(token.tag[1:]), title, anchor, ""))
            texts.append([])
        elif texts and token.type == "inline" and tokens[place - 1].type != "heading_open":
            texts[-1].append(_plain(token))
        elif texts and token.type in ("fence", "code_block"):
            texts[-1].append(token.content)
    return [one._replace(text=" ".join(" ".join(text).split())) for one, text in zip(found, texts, strict=True)]


def _plain(inline: Token) -> str:
    return "".join(part.content if part.content else " " for part in inline.children or [] if part.nesting == 0)


def _with_addresses(parts: list[Token]) -> list[Token]:
    """Let links and images lead to pages and files of this server, and drop links to files that it does not serve."""
    kept, dropped = [], 0
    for part in parts:
        if part.type == "image":
            part.attrSet("src", address_of(str(part.attrs["src"])) or "")
            part.attrSet("loading", "lazy")
        elif part.type == "link_open":
            address = address_of(str(part.attrs["href"]))
            if address is None:
                dropped += 1
                continue
            part.attrSet("href", address)
        elif part.type == "link_close" and dropped:
            dropped -= 1
            continue
        kept.append(part)
    return kept


def address_of(target: str) -> str | None:
    """Return the address of what a page links to; None for a file of the repository that is not served."""
    if re.match(r"[a-z]+:|[/#]", target):
        return target
    path, hash_sign, anchor = target.partition("#")
    path = posixpath.normpath(path)
    if path.endswith(".md") and (FOLDER / path).parent == FOLDER and (FOLDER / path).is_file():
        return reverse("doc", args=[path.removesuffix(".md")]) + hash_sign + anchor
    return reverse("doc-file", args=[path]) if path in files() else None


# URL name of a page -> the documentation about it: page and anchor.
ABOUT: dict[str, tuple[str, str]] = {
    "scenario": ("scenario", ""),
    "scenario-nodes": ("scenario", ""),
    "scenario-node": ("scenario", ""),
    "scenario-pods": ("scenario", ""),
    "scenario-waits": ("stations", ""),
    "scenario-quotas": ("scheduler-plugins", "capacityscheduling"),
    "quotas": ("scheduler-plugins", "capacityscheduling"),
    "scenario-objects": ("scenario", ""),
    "object": ("editor", ""),
    "compose": ("editor", ""),
    "upload": ("formats", ""),
    "message": ("answers", "a-message-without-its-cluster"),
    "run": ("debugger", "the-map"),
    "pod": ("debugger", ""),
    "node": ("debugger", "the-map"),
    "why": ("debugger", "suggested-fixes"),
    "group": ("debugger", "pod-groups"),
    "compare": ("debugger", "compare"),
    "compare-chosen": ("debugger", "compare"),
    "fork": ("debugger", "fork"),
    "upgrade": ("debugger", "what-another-release-would-do"),
    "experiments": ("experiments", ""),
    "experiment": ("experiments", ""),
    "experiment-cell": ("experiments", "metrics"),
    "scenario-experiments": ("experiments", ""),
    "question": ("experiments", ""),
    "present": ("present", ""),
    "run-export": ("formats", ""),
    "learn": ("lessons", ""),
    "lesson": ("lessons", ""),
    "lesson-step": ("lessons", ""),
    "written-lesson": ("lessons", ""),
    "written-step": ("lessons", ""),
    "written-edit": ("lessons", "write-a-lesson-in-the-browser"),
    "written-check": ("lessons", "write-a-lesson-in-the-browser"),
    "live-class": ("live-classes", ""),
    "join": ("live-classes", ""),
    "clusters": ("live", "connect"),
    "cluster": ("live", "the-cluster-now"),
    "cluster-nodes": ("live", "the-cluster-now"),
    "cluster-node": ("live", "the-cluster-now"),
    "cluster-pod": ("live", "why-a-pod-is-pending"),
    "cluster-history": ("live", "history"),
    "cluster-decisions": ("live", "the-real-scheduler-checked"),
    "cluster-report": ("live", "the-real-scheduler-checked"),
    "account": ("accounts", ""),
    "people": ("accounts", ""),
}


@cache
def about(url_name: str) -> dict[str, str]:
    """Return the address and title of the documentation about a page; {} if there is none. Nothing is rendered."""
    name, anchor = ABOUT.get(url_name, ("", ""))
    if not name:
        return {}
    with (FOLDER / f"{name}.md").open(encoding="utf-8") as file:
        title = file.readline().removeprefix("# ").strip()
    return {"address": f"{reverse('doc', args=[name])}{anchor and '#'}{anchor}", "title": title}
