"""Pod group: from the run to the group, to a member, and its open details."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

VERDICT = "3 of 4 fit; the fourth, train-3, lacks 2 cpu on every node"


def test_a_group_opens_into_its_members(page: Page, groups: int) -> None:
    page.goto(f"/runs/{groups}/")
    train = page.locator("#groups tr").filter(has_text="team/train")
    expect(train).to_contain_text(VERDICT)
    train.get_by_role("link", name="team/train").click()
    expect(page).to_have_url(re.compile(r"/groups/team/train/"))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("fits, not bound")
    page.get_by_role("link", name="train-3").click()
    opened = page.locator("#group details")
    expect(opened.locator("summary")).to_contain_text(VERDICT)
    expect(opened.get_by_role("link", name="train-0")).to_be_hidden()
    opened.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(opened.locator("tr[aria-current]")).to_contain_text("this pod")
    opened.get_by_role("link", name="train-0").click()
    expect(page.locator(".answer")).to_contain_text("Its gang team/train needs 4 pods at once, and only 1 fits.")
    expect(page.locator("#why")).to_contain_text("The pod is pending because of its group")


def test_the_map_shows_the_tried_nodes(page: Page, groups: int) -> None:
    page.goto(f"/runs/{groups}/groups/team/train/")
    page.get_by_role("link", name="The map before the first member's cycle").click()
    expect(page.locator("#map")).to_be_visible()
    expect(page).to_have_url(re.compile(r"cycle=4"))


def test_the_start_form_has_the_gates_that_the_cluster_needs(page: Page, groups: int) -> None:
    page.goto(f"/runs/{groups}/")
    page.locator(".crumbs a").nth(1).click()
    expect(page.get_by_label("Feature gates")).to_have_value(
        "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    )
    page.get_by_label("Feature gates").fill("")
    page.get_by_role("button", name="Start run").click()
    expect(page.locator(".notice.warn:not([data-link])")).to_contain_text("this run schedules each pod individually")
    expect(page.locator(".notice.warn:not([data-link])")).to_contain_text("set the feature gates GenericWorkload=true")
