"""From an upload to the answer: default run, sentence, pending pods and a simulated fix."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.shop import shop
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance


def test_two_actions_from_an_upload_to_a_simulated_fix(page: Page) -> None:
    refused: list[str] = []
    page.on("response", lambda answer: refused.append(answer.url) if answer.status >= 400 else None)
    page.goto("/")
    page.locator("#files").set_input_files({"name": "shop.json", "mimeType": "text/plain", "buffer": shop()})  # 1
    page.wait_for_url("**/runs/*/")
    expect(page.locator("h1 + * + .badge, [data-part=state]").first).to_contain_text("done")
    expect(page.locator(".answer")).to_contain_text("1 of 3 pending pods placed; 2 not")
    expect(page.locator("main .primary:visible")).to_have_count(1)
    expect(page.locator("#map [data-place]")).to_contain_text("after")
    page.locator("#together .pods a", has_text="search-1").click()  # 2
    expect(page.locator("#why [name=changes]").first).to_be_attached()
    assert refused == []


@pytest.mark.long
def test_a_sample_opens_with_its_run(page: Page) -> None:
    page.goto("/")
    page.locator(".samples summary", has_text="Pending pods").click()
    page.locator(".tile", has_text="Preemption: ").first.click()
    page.wait_for_url("**/runs/*/")
    expect(page.locator(".answer")).to_contain_text("placed")


@pytest.mark.long
def test_nominated_pods_and_why_not_this_node(page: Page, site: Instance) -> None:
    victim = pod("victim", "3", on="n1") | {"status": {"phase": "Running"}}
    objects = node("n1"), node("n2"), victim, pod("a", "1"), pod("boss", "4", priority=9), pod("huge", "64")
    run = site.record(as_list(*objects), tie_break="name")["run"]
    page.goto(f"/runs/{run}/")
    before, after = (page.get_by_role("button", name=name, exact=True) for name in ("Before", "After"))
    expect(after).to_have_attribute("aria-pressed", "true")
    canvas = page.locator("#map canvas")
    end = canvas.evaluate("(canvas) => canvas.toDataURL()")
    before.click()
    expect(before).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#map [data-cycle]")).to_contain_text("Before the run")
    assert canvas.evaluate("(canvas) => canvas.toDataURL()") != end
    page.get_by_role("button", name="A step forward").click()
    expect(page.locator("#map [data-place]")).to_have_text(re.compile("^cycle 1 of 3"))
    page.goto(f"/runs/{run}/?node=n2")
    why = page.locator("#map [data-node]").get_by_role("link", name="default/huge")
    expect(page.locator("#map [data-node]")).to_contain_text("Why not here?")
    why.click()
    page.wait_for_url("**/why/**")
    expect(page.locator("main")).to_contain_text("n2")


@pytest.mark.long
def test_a_queued_and_running_run_requests_only_existing_data(page: Page, site: Instance) -> None:
    refused: list[str] = []
    page.on(
        "response", lambda answer: refused.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
    )
    story = (Path(__file__).parent / "story.yaml").read_bytes()
    scenario = site.api("POST", "/scenarios", story)["id"]
    run = site.api("POST", f"/scenarios/{scenario}/runs", {"until": 40_000})["id"]
    page.goto(f"/runs/{run}/")
    expect(page.locator("[data-part=state]")).to_contain_text("done", timeout=120_000)
    expect(page.locator(".lanes-body [data-lane=active]")).to_have_count(1)
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_count(1)
    assert refused == []


@pytest.mark.long
def test_playing_the_timeline_stops_at_a_breakpoint(page: Page, site: Instance, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=0")
    expect(page.locator("#map [data-place]")).to_contain_text("before cycle")
    page.locator("#map-where").fill('pod == "default/late" && attempt == 2')
    page.get_by_role("button", name="Add breakpoint", exact=True).click()
    expect(page.get_by_role("list", name="Breakpoints").get_by_role("listitem")).to_have_count(1)
    page.locator("#lanes").get_by_label("Speed").select_option("60")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#lanes [data-stopped]")).to_contain_text("Stopped", timeout=60_000)
    expect(page.locator("#lanes [data-clock]")).to_have_text("4:00")
    page.get_by_role("button", name=re.compile("^Remove")).click()
    expect(page.get_by_role("list", name="Breakpoints").get_by_role("listitem")).to_have_count(0)


@pytest.mark.long
def test_a_cluster_without_pending_pods_is_shown(page: Page, site: Instance) -> None:
    page.goto("/")
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("p", on="n1")]}).encode()
    page.locator("#files").set_input_files({"name": "calm.json", "mimeType": "text/plain", "buffer": data})
    page.wait_for_url("**/scenarios/*/")
    expect(page.locator(".answer")).to_have_text("1 node, 1 pod: 1 bound.")
    expect(page.get_by_role("link", name="Preview an upgrade")).to_be_visible()
    expect(page.locator("#cluster [data-wait]")).to_be_hidden()
    page.locator("#cluster canvas").click(position={"x": 60, "y": 60})
    expect(page.locator("#cluster [data-node]")).to_contain_text("default/p")
