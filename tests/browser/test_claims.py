"""Devices for the claims of a pod: from a group of nodes to a device and back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect


@pytest.mark.long
def test_from_node_to_node(page: Page, devices: int) -> None:
    page.goto(f"/runs/{devices}/pods/default/huge/")
    page.locator("#stepper [data-step=filter] a").click()
    claims = page.locator("#claims")
    expect(claims.locator(".lead")).to_contain_text("cannot allocate all claims")
    claims.get_by_role("link", name="gpu-c", exact=True).first.click()
    shown = claims.locator("[data-node=gpu-c]")
    expect(shown.locator("li.out")).to_have_count(2)
    expect(shown.locator("li.out").first).to_contain_text("selector #0")
    expect(shown.locator(".cel").last).to_contain_text("141Gi")
    expect(shown).to_contain_text("gpu.example.com/unhealthy=overheating:NoSchedule")
    expect(page).to_have_url(re.compile(r"node=gpu-c"))
    claims.get_by_role("combobox", name="Node").fill("gpu-b")
    page.keyboard.press("Enter")
    expect(claims.locator("[data-node=gpu-b]")).to_contain_text("allocated to default/train-gpus")
    page.reload()
    expect(claims.locator("[data-node=gpu-b]")).to_be_visible()
    page.go_back()
    expect(claims.locator("[data-node=gpu-c]")).to_be_visible()
    claims.locator("[data-node] .lead a").click()
    expect(page.get_by_role("heading", name="Devices")).to_be_visible()
    expect(page.locator("tr").filter(has_text="gpu-1")).to_contain_text("default/any")
