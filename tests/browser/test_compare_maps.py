"""Two maps of a comparison step together and start at the divergence."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance


@pytest.mark.long
def test_two_maps_step_together(page: Page, site: Instance) -> None:
    """A run of 6 cycles on three nodes, and its fork with n1 cordoned before cycle 3."""
    objects = [*(node(f"n{i}") for i in range(3)), *(pod(f"p{i}") for i in range(6))]
    a = site.record(as_list(*objects), tie_break="name")["run"]
    b = site.api("POST", f"/runs/{a}/fork", {"at": 3, "changes": [{"cordon": "n1"}, {"cordon": "n2"}]})["id"]
    assert site.finished(b)["state"] == "done"
    parting = site.api("GET", f"/compare?a={a}&b={b}")["divergence"]["cycle"]
    positions = [page.locator(f"#maps [data-side={side}] [data-status]") for side in "ab"]
    apart = page.locator("#maps [data-apart]")

    def both(text: str) -> None:
        for one in positions:
            expect(one).to_contain_text(text)

    page.goto(f"/compare/{a}/{b}/")
    page.locator("#maps").scroll_into_view_if_needed()
    both("after 6 cycles")
    expect(apart).to_contain_text("on different nodes at this step")
    page.get_by_role("button", name="Go to first difference").click()
    both(f"cycle {parting} of 6")
    expect(page.locator("#maps [data-side=b] [data-shades]")).to_contain_text("NodeUnschedulable refuses 2")
    expect(apart).to_contain_text("All pods are on the same nodes")
    page.get_by_role("button", name="A step forward", exact=True).click()
    both(f"cycle {parting + 1} of 6")
    expect(apart).to_contain_text("1 pod on different nodes")
    page.keyboard.press(".")
    both(f"cycle {parting + 2} of 6")
    expect(page).to_have_url(re.compile(f"cycle={parting + 2}"))
    page.reload()
    both(f"cycle {parting + 2} of 6")
    page.get_by_role("button", name="As tables").click()
    expect(page.locator("#maps [data-side=b] .map-table tbody tr").filter(has_text="cordoned")).to_have_count(2)
    expect(page.locator("#maps [data-side=b] .map-table tbody tr").filter(has_text="≠ 1")).to_have_count(1)
    page.get_by_role("button", name="Go to first difference").click()
    both(f"cycle {parting} of 6")
    page.get_by_label("Step both by").select_option("pod")
    expect(page).to_have_url(re.compile(f"cycle={parting}.*together=pod"))
    both(f"cycle {parting} of 6")
