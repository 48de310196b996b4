"""Scripts and styles of a page as elements of one file that works without a server."""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from django.contrib.staticfiles import finders
from django.utils.safestring import SafeString, mark_safe

from kubesched_ui.web import static_files

IMPORT = re.compile(r'^import (?:\{(?P<names>[^}]*)\} from )?"[^"]+";\n?', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function)\b\*? (?P<names>\w+|\[[\w, ]+\]))", re.M)
OTHER = re.compile(r"^(?:import|export)\b.*", re.M)
NAME = re.compile(r"\w+")
AS, RENAMED = re.compile(r"(\w+) as (\w+)"), r"\1: \2"


class Element(NamedTuple):
    """An element with a script or a style, and the source expression by which a Content-Security-Policy allows it."""

    text: SafeString
    source: str


def script_of(entry: str) -> Element:
    """Return the module `entry`, such as "js/clip.js", with all that it imports, as a script element."""
    return _element("script", bundle(entry), ' type="module"')


def style_of(sheets: Iterable[str]) -> Element:
    """Return style sheets as a style element."""
    return _element("style", "".join(_text_of(name) for name in sheets))


def _element(tag: str, content: str, attributes: str = "") -> Element:
    assert f"</{tag}" not in content.lower(), f"a {tag} contains its own end"
    assert "<!--" not in content, f"a {tag} contains a comment of HTML"
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return Element(mark_safe(f"<{tag}{attributes}>{content}</{tag}>"), f"'sha256-{digest}'")


def _text_of(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), f"no static file {name}"
    return Path(path).read_text()


def bundle(entry: str) -> str:
    """Return the module `entry`, such as "js/clip.js", and its imports as one module without imports.

    Each import becomes a function that is called once and returns what the module exports. Only named exports of
    constants, functions and classes are supported, in the form in which biome writes them, and no import cycles;
    raises ValueError for others.
    """
    ordered: dict[str, str] = {}
    _add(entry, ordered, ())
    return "".join(ordered.values())


def _add(name: str, ordered: dict[str, str], importing: tuple[str, ...]) -> None:
    if name in importing:
        raise ValueError(" imports ".join((*importing, name)))
    if name in ordered:
        return
    needed = static_files.imports_of(name)
    for other in needed:
        _add(other, ordered, (*importing, name))
    text, sources = _text_of(name), iter(needed)
    text = IMPORT.sub(lambda found: _import(found["names"], next(sources)), text)
    exported = ", ".join(part for found in EXPORT.finditer(text) for part in NAME.findall(found["names"]))
    text = EXPORT.sub("", text)
    if left := OTHER.search(text):
        raise ValueError(f"{name} has a statement that cannot be bundled: {left[0]}")
    if importing:
        text = f"const {_variable(name)} = (() => {{\n{text}return {{ {exported} }};\n}})();\n"
    ordered[name] = text


def _import(names: str | None, source: str) -> str:
    return f"const {{{AS.sub(RENAMED, names)}}} = {_variable(source)};\n" if names else ""


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)
