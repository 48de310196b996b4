"""axe-core, which checks the rules of WCAG, finds no serious problem on any page, light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.tour import KEYS, Stop

IMPACTS = ("serious", "critical")
# Texts of visible headings whose level is more than one below the heading before. Those of Swagger UI are not ours.
JUMPS = """() => {
    let last = 0;
    const jumps = [];
    for (const one of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
        if (!one.checkVisibility() || one.closest("dialog, .swagger-ui")) continue;
        const level = Number(one.localName[1]);
        if (level > last + 1) jumps.push(`h${level} ${one.textContent.trim()} follows h${last}`);
        last = level;
    }
    return jumps;
}"""
CONTRAST = ["color-contrast", "link-in-text-block"]  # rules that depend on the colours of a page
WIDTH = ["scrollable-region-focusable", "target-size"]  # rules that depend on its width


def serious_findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return `rule at selector: description` of each serious finding, for all rules or some."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{rule['id']} at {node['target']}: {node['failureSummary']} {node['html'][:160]}"
        for rule in found
        if rule["impact"] in IMPACTS
        for node in rule["nodes"][:3]
    ]


def check_page(page: Page, visit: Callable[[Page], Any] = lambda page: None) -> list[str]:
    """Return the findings on a page, light and wide, then dark and narrow."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page)
    found = serious_findings(page) + page.evaluate(JUMPS)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return found + [f"dark and narrow: {one}" for one in serious_findings(page, CONTRAST + WIDTH)]


@pytest.mark.long
@pytest.mark.parametrize("stop", KEYS)
def test_no_serious_findings(quiet_page: Page, tour: dict[str, Stop], stop: str) -> None:
    assert check_page(quiet_page, tour[stop].visit) == []


def test_axe_finds_a_problem(quiet_page: Page) -> None:
    quiet_page.set_content("<h1>a</h1><h3>b</h3>")
    assert quiet_page.evaluate(JUMPS) == ["h3 b follows h1"]
    quiet_page.set_content("<title>t</title><p style='color: #ccc'>faint</p><input>")
    assert {found.partition(" ")[0] for found in serious_findings(quiet_page)} >= {"color-contrast", "label"}
