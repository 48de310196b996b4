"""From a scenario to the capacity of its nodes, and from a pending pod to the moves that let it fit."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.kubesched_ui.instance import Instance
from tests.scheduler_core.build import Raw, node, pod

ANSWERED = 30_000  # milliseconds on a busy machine


def owned(name: str, on: str, cpu: str) -> Raw:
    raw = pod(name, on=on, requests={"cpu": cpu})
    raw["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}]
    return raw


@pytest.mark.long
def test_capacity_and_moves(quiet_page: Page, site: Instance) -> None:
    page = quiet_page
    objects = [node("a", cpu="4"), node("b", cpu="4"), node("c", cpu="2", labels={"pool": "small"})]
    objects += [owned("old", "a", "3"), owned("small", "b", "2"), pod("big", requests={"cpu": "4"})]
    made = site.record("\n---\n".join(map(json.dumps, objects)).encode())

    page.goto(f"/scenarios/{made['scenario']}/")
    page.get_by_role("link", name="Experiments", exact=True).last.click()
    page.get_by_role("link", name="How many more pods fit?").click()
    page.get_by_text("Or its requests").click()
    page.get_by_label("cpu", exact=True).fill("1")
    expect(page.locator("#number-of-runs")).to_contain_text("computations, about a second on one worker.")
    page.get_by_role("button", name="Start the experiment").click()
    sentence = page.locator(".experiment-answer")
    expect(sentence).to_contain_text("5 more of 1 cpu fit, then the next one stays pending.", timeout=ANSWERED)
    small = page.locator(".capacity-bar").filter(has_text="small")
    expect(small).to_contain_text("2 more")
    expect(page.get_by_role("row").filter(has_text="Whole cluster")).to_contain_text("No node has 1 cpu free")

    page.goto(f"/runs/{made['run']}/pods/default/big/")
    page.get_by_role("link", name="Find moves of running pods that let it fit").click()
    expect(page.get_by_role("combobox", name="Pending pod or group", exact=True)).to_have_value("default/big")
    page.get_by_role("button", name="Start the experiment").click()
    expect(sentence).to_contain_text("default/big fits after 1 move, and fewer do not suffice.", timeout=ANSWERED)
    expect(page.locator(".capacity-bar.made")).to_contain_text("small → c")
    expect(page.locator(".capacity-bar.chosen")).to_contain_text("big fits")
    expect(page.get_by_role("row").filter(has_text="default/small")).to_contain_text("ReplicaSet small")
