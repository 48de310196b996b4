"""Maps about a pod: nodes by the changes that it needs, fill and groups, the pod on a node, no text over another."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance

ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone")
GPU = "nvidia.com/gpu"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
# Records the box of each text that is written on a canvas.
RECORD = """
const write = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const size = this.measureText(text);
  const [left, right] = [x - size.actualBoundingBoxLeft, x + size.actualBoundingBoxRight];
  const [top, bottom] = [y - size.actualBoundingBoxAscent, y + size.actualBoundingBoxDescent];
  written.push({ text, left, right, top, bottom });
  return write.call(this, text, x, y, ...rest);
};
"""
DRAWN_ANEW = """() => new Promise((drawn) => {
  written.length = 0;
  document.dispatchEvent(new Event("themechange"));
  requestAnimationFrame(() => requestAnimationFrame(() => drawn(written)));
})"""


def member(i: int, large: int) -> dict[str, Any]:
    """Return node i: of pool gpu, tainted, if it is one of the first `large`, else of pool web; in zone i % 3."""
    pool = "gpu" if i < large else "web"
    taints = [TAINT] + ([{"key": "out", "effect": "NoSchedule"}] if i % 3 == 1 else [])
    labels = {"pool": pool, **dict.fromkeys(ZONES, f"z{i % 3}")}
    found = node(f"{pool}-{i:05}.example.com", "8", labels=labels)
    if pool == "gpu":
        found["spec"]["taints"] = taints
        found["status"]["allocatable"][GPU] = "4"
    return found


def cluster(nodes: int) -> bytes:
    """Return a cluster with pods on each second node, and pending: two of train, which tolerate no taint, and web."""
    members = [member(i, max(6, nodes // 100)) for i in range(nodes)]
    there = [pod(f"there-{i}", "3", on=one["metadata"]["name"]) for i, one in enumerate(members[::2])]
    train = [pod(f"train-{i}") for i in range(2)]
    for one in train:
        one["spec"]["containers"][0]["resources"]["requests"][GPU] = "2"
    return as_list(*members, *there, *train, pod("web", "2"))


@pytest.fixture(scope="package")
def gpus(site: Instance) -> int:
    """Return a run of a cluster with 6 nodes with GPUs of 60: train-0 and train-1 get no node, web gets one."""
    run: int = site.record(cluster(60), tie_break="name")["run"]
    site.api("GET", f"/runs/{run}/pods/default/train-0/ladder")  # starts the worker
    return run


def legend(page: Page) -> Locator:
    return page.locator(".map [data-shades]")


def test_the_map_of_a_pod_shows_the_nearest_nodes_by_what_it_lacks(page: Page, gpus: int) -> None:
    page.goto(f"/runs/{gpus}/pods/default/train-0/")
    page.locator("#pod-map").scroll_into_view_if_needed()
    expect(legend(page)).to_contain_text("1 change: 4")
    expect(legend(page)).to_contain_text("2+ changes: 2")
    expect(legend(page)).to_contain_text("never: 54")
    expect(page.locator("#pod-map [data-fill]")).to_have_value(GPU)
    group = page.locator("#pod-map [data-group]")
    expect(group).to_have_value(f"pool,{ZONES[0]}")
    assert [option.get_attribute("value") for option in group.locator("option").all()] == [
        *(f"pool,{ZONES[0]}", "pool", ZONES[0], "")
    ]
    page.locator("#pod-map").get_by_role("button", name="As a table").press("Enter")
    rows = page.locator("#pod-map .map-table tbody tr")
    expect(rows).to_have_count(60)
    expect(rows.first).to_contain_text(f"one change: has the untolerated taint {GPU}=present:NoSchedule")
    expect(rows.nth(4)).to_contain_text("2 changes: ")
    expect(rows.last).to_contain_text(f"never: has no {GPU}")
    page.locator("#pod-map [data-fill]").select_option("cpu")
    expect(page.locator("#pod-map .map-table thead")).to_contain_text("cpu requested")


def test_the_map_of_a_run_shows_the_nodes_for_its_pods_without_a_node(page: Page, gpus: int) -> None:
    page.goto(f"/runs/{gpus}/#map")
    expect(legend(page)).to_contain_text("1 change: 4")
    expect(page.locator("#map [data-fill]")).to_have_value(GPU)
    page.goto(f"/runs/{gpus}/?cycle=3#map")  # of web
    expect(legend(page)).to_contain_text("takes it: ")
    expect(legend(page)).to_contain_text("★ chosen")
    expect(legend(page)).not_to_contain_text("never")


def test_a_pod_is_tried_on_a_node_by_dragging_and_by_keys(page: Page, gpus: int) -> None:
    page.goto(f"/runs/{gpus}/pods/default/train-0/?group=")
    handle = page.get_by_role("button", name="Try train-0 on a node")
    handle.scroll_into_view_if_needed()
    expect(legend(page)).to_contain_text("1 change: 4")
    start, canvas = handle.bounding_box(), page.locator("#pod-map canvas").bounding_box()
    assert start
    assert canvas
    page.mouse.move(start["x"] + 20, start["y"] + 10)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 100, canvas["y"] + 100)
    page.mouse.move(canvas["x"] + 16, canvas["y"] + 34)
    expect(page.locator(".dragged-pod")).to_have_text("train-0")
    expect(page.locator("#pod-map .tip")).to_contain_text("gpu-00000.example.com")
    expect(page.locator("#pod-map .tip")).to_contain_text("one change: has the untolerated taint")
    page.mouse.up()
    dialog = page.get_by_role("dialog", name="default/train-0 on a node")
    expect(dialog).to_contain_text("gpu-00000.example.com could take the pod after one change")
    expect(page.locator(".dragged-pod")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    handle.press("Enter")
    field = dialog.get_by_label("Node")
    expect(field).to_be_focused()
    assert dialog.locator("option").first.get_attribute("value") == "gpu-00000.example.com"  # the nearest first
    field.fill("web-00007.example.com")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text(f"web-00007.example.com cannot take the pod: it has no {GPU}")
    page.goto(f"/runs/{gpus}/pods/default/web/")
    page.get_by_role("button", name="Try web on a node").press("Enter")
    page.get_by_role("dialog").get_by_label("Node").fill("web-00059.example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Place it there and compare")).to_be_visible()


def test_the_map_of_a_scenario_tries_its_pending_pods_on_nodes(page: Page, site: Instance, gpus: int) -> None:
    page.goto(f"/scenarios/{site.api('GET', f'/runs/{gpus}')['scenario']}/?group=")
    page.locator("#cluster").scroll_into_view_if_needed()
    expect(legend(page)).to_contain_text("1 change: 4")
    expect(page.locator("#cluster [data-fill]")).to_have_value(GPU)
    pods = page.get_by_label("Nodes for")
    assert pods.locator("option").all_text_contents() == ["default/train-0", "default/web"]
    page.get_by_role("button", name="Try train-0 on a node").press("Enter")
    dialog = page.get_by_role("dialog", name="default/train-0 on a node")
    dialog.get_by_label("Node").fill("gpu-00000.example.com")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("gpu-00000.example.com could take the pod after one change")
    page.keyboard.press("Escape")
    pods.select_option("default/web")
    expect(legend(page)).to_contain_text("takes it: ")
    expect(page.locator("#cluster [data-fill]")).to_have_value("cpu")
    page.locator("#cluster canvas").click(position={"x": 16, "y": 34})
    expect(page.get_by_role("link", name="Why not here? (default/web)")).to_be_visible()


def overlapping(page: Page) -> list[tuple[str, str]]:
    """Return the texts of the map that overlap, after drawing all of it."""
    texts = page.evaluate(DRAWN_ANEW)
    assert texts
    return [
        (one["text"], other["text"])
        for i, one in enumerate(texts)
        for other in texts[i + 1 :]
        if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 0.5
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 0.5
    ]


def no_text_overlaps(page: Page, address: str, drawn: str, steps: int) -> None:
    """Check the map at several zooms, each moved a bit, so that names of groups stay above their nodes."""
    page.goto(address)
    canvas = page.locator(".map canvas")
    canvas.scroll_into_view_if_needed()
    expect(legend(page)).to_contain_text(re.compile(drawn))
    for _ in range(steps):
        assert overlapping(page) == []
        canvas.press("+")
        page.wait_for_timeout(400)  # until the camera rests
        canvas.press("Shift+ArrowDown")
        canvas.press("Shift+ArrowRight")
    assert overlapping(page) == []


@pytest.mark.long
def test_no_text_is_over_another(page: Page, gpus: int) -> None:
    page.add_init_script(RECORD)
    no_text_overlaps(page, f"/runs/{gpus}/pods/default/train-0/", "1 change", 5)
    no_text_overlaps(page, f"/runs/{gpus}/?cycle=3&fill=cpu&group=#map", "chosen", 5)


@pytest.mark.long
@pytest.mark.parametrize("nodes", [30, 300, 2000, 10_000])
def test_no_text_is_over_another_with_any_number_of_nodes(page: Page, site: Instance, nodes: int) -> None:
    run = site.record(cluster(nodes), tie_break="name")["run"]
    page.add_init_script(RECORD)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for group in ("", "&group=", "&group=pool"):
            no_text_overlaps(page, f"/runs/{run}/pods/default/train-0/?x={group}", "1 change", 6)
        no_text_overlaps(page, f"/runs/{run}/pods/default/web/?point=score", "points", 6)
        no_text_overlaps(page, f"/runs/{run}/pods/default/train-0/?point=filter", "refuses", 6)


def test_patterns_and_frames_stay_with_forced_colours(page: Page, gpus: int) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(f"/runs/{gpus}/pods/default/train-0/")
    legend(page).scroll_into_view_if_needed()
    expect(legend(page)).to_contain_text("1 change: 4")
    fills = legend(page).locator("svg.hatch rect").evaluate_all("all => all.map((one) => getComputedStyle(one).fill)")
    assert len(set(fills)) == 3
    assert page.locator("#pod-map .in-hand").evaluate("one => getComputedStyle(one).borderTopStyle") == "solid"
