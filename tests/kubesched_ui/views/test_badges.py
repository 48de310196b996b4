"""Badges do not rely on colour: each has a symbol and a word."""

import re
from pathlib import Path

from django.conf import settings

BADGE = re.compile(r'<span class="badge ?(\w*)"[^>]*>\s*<span aria-hidden="true">(.)</span>\s*(.+?)\s*</span>', re.S)


def badges(part: str) -> list[tuple[str, str, str]]:
    """Return (colour, symbol, words) of each badge of a template."""
    found = BADGE.findall((Path(settings.BASE_DIR) / "templates" / "parts" / part).read_text())
    assert len(found) > 4
    return found


def test_badges_of_two_colours_have_different_symbols() -> None:
    for part in ("result.html", "state.html"):
        colours: dict[str, set[str]] = {}
        for colour, sign, words in badges(part):
            assert re.sub(r"\{.*?\}", "", words).strip(), part
            colours.setdefault(sign, set()).add(colour or "plain")
        shared = {sign: some for sign, some in colours.items() if len(some) > 1}
        assert shared in ({}, {"⋯": {"live", "plain"}}), part
