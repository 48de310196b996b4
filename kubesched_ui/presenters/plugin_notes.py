"""What plugins do, from docs/plugins.md."""

import re
from collections.abc import Iterable
from functools import cache

from kubesched_ui.runtime.paths import RESOURCES

DOCUMENT = RESOURCES / "docs" / "plugins.md"


@cache
def notes() -> dict[str, dict[str, str]]:
    """Return plugin -> extension point (`Filter`, `Score`, ...) -> plain text; empty if the document is missing."""
    if not DOCUMENT.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    for section in DOCUMENT.read_text(encoding="utf-8").split("\n## ")[1:]:
        name, _, body = section.partition("\n")
        points = re.findall(r"^\* \*\*(\w+)\*\*: (.*?)(?=^\* |\n\n|\Z)", body + "\n", re.M | re.S)
        found[name.strip()] = {point: _plain(text) for point, text in points}
    return found


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"\n\s+\* ", "\n• ", text))
    return " ".join(text.replace("`", "").split())


def notes_of(plugins: Iterable[str], point: str) -> list[tuple[str, str]]:
    """Return (plugin, description of it at `point`) of the documented plugins."""
    return [(name, notes()[name][point]) for name in plugins if point in notes().get(name, {})]
