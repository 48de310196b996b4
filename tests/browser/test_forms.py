"""Forms and lists: an error scrolls into view, names, lists that filter while typing."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.tour import stops
from tests.kubesched_ui.instance import Instance


@pytest.mark.parametrize(
    ("name", "field", "kept", "message"),
    [
        ("scenario, configuration refused", "#config", "Coscheduling", "is not part of kube-scheduler"),
        ("scenario, template refused", "#template", "half", "requests['cpu']"),
    ],
)
def test_an_error_is_in_view_and_its_url_opens(
    quiet_page: Page, site: Instance, recorded: dict[str, Any], name: str, field: str, kept: str, message: str
) -> None:
    page, before = quiet_page, site.api("GET", "/runs?limit=1")
    (stop,) = (stop for stop in stops(recorded["scenario"], recorded["run"], *[0] * 7) if stop.name == name)
    page.set_viewport_size({"width": 1000, "height": 500})
    page.goto(stop.address)
    stop.then(page)
    expect(page.locator(field)).to_be_focused()
    expect(page.locator(field)).to_be_in_viewport()
    assert kept in page.locator(field).input_value()
    expect(page.locator(f"{field}_error, #id{field.replace('#', '_')}_error")).to_contain_text(message)
    assert site.api("GET", "/runs?limit=1") == before, "nothing was started"
    page.goto(page.url)
    expect(page.get_by_role("button", name="Start run")).to_be_attached()


def test_a_named_run_is_found_while_typing(page: Page, site: Instance, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    page.get_by_text("Rename", exact=True).click()
    page.locator(".rename input[name=name]").fill("The run with a name of its own")
    page.locator(".rename button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The run with a name of its own")
    site.api("POST", f"/scenarios/{recorded['scenario']}/runs", {"name": "Another"})
    page.goto("/runs/")
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text="Another")).to_have_count(1)
    search = page.locator("input[type=search]")
    search.press_sequentially("name of its own")
    expect(rows).to_have_count(1)
    expect(search).to_be_focused()
    expect(rows).to_contain_text("The run with a name of its own")
    search.fill("nothing has this")
    expect(rows).to_have_count(0)
