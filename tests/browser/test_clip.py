"""Sharing a step of a run: a clip that plays from disk without a network, a picture with its text, a link."""

from __future__ import annotations

import re
import struct
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Problems
from tests.browser.test_axe import check_page
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance

EVIL = "</script><script>globalThis.hacked = true</script>"
NAMED = "<img src=x onerror=hacked=1>"
# Records every text that is drawn on a canvas.
RECORDED = """() => {
    globalThis.drawn = [];
    const plain = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
        if (!this.canvas.isConnected) drawn.push(text);
        return plain.call(this, text, ...more);
    };
}"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="package")
def shared(site: Instance) -> int:
    """Return a run of 12 pods on four nodes, with hostile names and labels; the fifth pod fits nowhere."""
    taint = {"key": "k", "value": EVIL, "effect": "NoSchedule"}
    pods = [pod("huge", "64") if i == 4 else pod(NAMED if i == 5 else f"p{i:02}", "500m") for i in range(12)]
    nodes = (node(f"n{i}", labels={"pool": EVIL if i else "other"}) for i in range(3))
    return site.record(as_list(*nodes, node(NAMED, taints=[taint]), *pods), tie_break="name")["run"]


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """Return a page without a network, which must report no error and load nothing but the file."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page, problems, loaded = context.new_page(), Problems(), list[str]()
    problems.watch(page)
    page.on("request", lambda request: loaded.append(request.url))
    yield page
    assert page.evaluate("typeof hacked") == "undefined"
    assert problems == []
    assert all(url.startswith("file:") for url in loaded)
    assert len(loaded) == 1
    context.close()


def share(page: Page) -> Any:
    page.get_by_role("button", name="Share").click()
    return page.get_by_role("dialog", name="Share this step")


def saved(page: Page, button: str, folder: Path) -> Path:
    """Press a button of the dialog that saves a file. Return the file."""
    with page.expect_download() as download:
        share(page).get_by_role("button", name=button).click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


@pytest.mark.long
def test_a_clip_plays_from_disk_without_a_network(page: Page, offline: Page, shared: int, tmp_path: Path) -> None:
    page.goto(f"/runs/{shared}/?cycle=5&point=filter&plugin=NodeResourcesFit&group=pool#map")
    expect(page.locator("#map [data-place]")).to_contain_text("cycle 5 of 12")
    clip = saved(page, "Save as clip", tmp_path)
    assert clip.name == f"run-{shared}-clip.html"
    offline.goto(f"file://{clip}")
    expect(offline.locator("[data-pod]")).to_have_text("default/huge")
    expect(offline.locator("[data-answer]")).to_contain_text("The pod requests 64 cpu")
    expect(offline.locator("[data-when]")).to_have_text("Cycle 5, attempt 1")
    expect(offline.locator("footer")).to_contain_text("cycles 1 to 10 of 12")
    marked = offline.locator(".decisions [aria-current]")
    expect(marked).to_contain_text("NodeResourcesFit: decides against 3 of 4 nodes")
    expect(offline.locator("#map [data-shades]")).to_contain_text("NodeResourcesFit refuses 3")
    offline.keyboard.press(",")
    expect(marked).to_have_count(0)
    expect(offline.locator("#map [data-shades]")).to_contain_text("never: 4")
    before = offline.locator("canvas").screenshot()
    offline.keyboard.press(".")
    expect(offline.locator("[data-pod]")).to_have_text(f"default/{NAMED}")
    offline.keyboard.press("ArrowRight")
    expect(marked).to_contain_text("PreFilter")
    offline.get_by_role("button", name="A step forward").click()
    expect(marked).to_contain_text("Filter")
    offline.get_by_label("Steps per second").select_option("10")
    offline.locator("h1").click()
    offline.keyboard.press(" ")
    play = offline.get_by_role("button", name="Play forward")
    expect(play).to_have_attribute("aria-pressed", "true")
    expect(offline.locator("[data-when]")).to_have_text("Cycle 8, attempt 1")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")
    offline.keyboard.press("g")
    offline.get_by_role("dialog", name="Go to a cycle").get_by_role("spinbutton").fill("10")
    offline.keyboard.press("Enter")
    expect(offline.locator("[data-when]")).to_have_text("Cycle 10, attempt 1")
    play.click()
    expect(offline.locator("[data-when]")).to_have_text("After the last cycle of this clip")
    expect(play).to_have_attribute("aria-pressed", "false")
    assert offline.locator("canvas").screenshot() != before
    offline.locator(".decisions details").nth(4).locator("summary").click()
    offline.locator(".decisions [data-decision]").nth(4).get_by_role("link", name="Cycle 5").click()
    expect(offline.locator("[data-pod]")).to_have_text("default/huge")


@pytest.mark.long
def test_a_clip_has_no_serious_findings_of_axe(page: Page, browser: Browser, shared: int, tmp_path: Path) -> None:
    page.goto(f"/runs/{shared}/?cycle=5#map")
    expect(page.locator("#map [data-place]")).to_contain_text("cycle 5 of 12")
    clip = saved(page, "Save as clip", tmp_path)
    context = browser.new_context(offline=True, bypass_csp=True)
    opened = context.new_page()
    opened.goto(f"file://{clip}")
    expect(opened.locator("#map [data-shades]")).to_contain_text("before the run")
    assert check_page(opened) == []
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


@pytest.mark.long
def test_a_clip_of_2000_nodes_has_at_most_a_megabyte(site: Instance, offline: Page, tmp_path: Path) -> None:
    zones = [{"topology.kubernetes.io/zone": f"europe-west-{zone}", "pool": f"pool-{zone}"} for zone in "abc"]
    names = [f"ip-10-{i // 250}-{i % 250}-{i * 7919 % 251}.eu-central-1.compute.internal" for i in range(2000)]
    nodes = [node(name, f"{4 + 4 * (i % 5)}", labels=zones[i % 3]) for i, name in enumerate(names)]
    running = [pod(f"run-{i * 7919 % 10007:05}-{i:05x}", "500m", on=names[i * 31 % 2000]) for i in range(3000)]
    pods = [pod(f"job-{i:04}-{i * 6151 % 65521:04x}", f"{1 + i % 9}") for i in range(60)]
    run = site.record(as_list(*nodes, *running, *pods), percentage=100)["run"]
    file = tmp_path / "clip.html"
    address = f"http://127.0.0.1:{site.port}/runs/{run}/clip/?cycle=30&first=1&last=60"
    with urllib.request.urlopen(address, timeout=120) as answer:
        file.write_bytes(answer.read())
    assert 300_000 < file.stat().st_size <= 1_000_000
    offline.goto(f"file://{file}")
    expect(offline.locator("footer")).to_contain_text(re.compile(r"cycles\s+\d+\s+to\s+\d+\s+of\s+60"))
    expect(offline.locator("[data-when]")).to_have_text("Cycle 30, attempt 1")
    offline.get_by_label("Steps per second").select_option("30")
    offline.get_by_role("button", name="Play forward").click()
    expect(offline.locator("[data-when]")).to_have_text("After the last cycle of this clip", timeout=120_000)


@pytest.mark.long
def test_a_picture_has_the_sentence_and_the_legend(page: Page, shared: int, tmp_path: Path) -> None:
    page.goto(f"/runs/{shared}/?cycle=5&point=filter&plugin=NodeResourcesFit#map")
    expect(page.locator("#map [data-shades]")).to_contain_text("NodeResourcesFit refuses 3")
    page.evaluate(RECORDED)
    file = saved(page, "Save picture", tmp_path)
    assert file.name == f"run-{shared}-default-huge-filter-NodeResourcesFit.png"
    drawn = page.evaluate("drawn")
    assert "default/huge" in drawn
    assert "The pod requests 64 cpu" in " ".join(drawn)
    assert "Cycle 5, after Filter: NodeResourcesFit" in drawn
    for item in page.locator("#map [data-shades] > span").all():
        assert (item.text_content() or "")[-12:] in "".join(drawn)
    width, height = size_of(file)
    map_box = page.locator("#map canvas").bounding_box()
    assert map_box
    assert abs(width - 2 * (map_box["width"] + 48)) <= 1
    assert height > 2 * (map_box["height"] + 150)
    page.goto(f"/runs/{shared}/pods/default/p01/?point=score&plugin=NodeResourcesFit")
    page.locator("#pod-map").scroll_into_view_if_needed()
    expect(page.locator("#pod-map [data-hand]")).to_have_text("After Score: NodeResourcesFit")
    page.evaluate(RECORDED)
    assert saved(page, "Save picture", tmp_path).name == f"run-{shared}-default-p01-score-NodeResourcesFit.png"
    answer = page.locator(".answer-card .answer").inner_text()
    assert " ".join(answer.split()) in " ".join(page.evaluate("drawn"))


def size_of(file: Path) -> tuple[int, int]:
    """Return width and height of a PNG file in pixels."""
    data = file.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_a_link_opens_the_step_and_the_node(page: Page, shared: int) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/runs/{shared}/#map")
    expect(page.locator("#map [data-place]")).to_contain_text("after 12 cycles")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.get_by_role("dialog", name="Go to a cycle").get_by_role("spinbutton").fill("5")
    page.keyboard.press("Enter")
    expect(page.locator("#map .steps")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map .steps [aria-current]")).to_have_count(2)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map .steps .here")).to_have_count(1)
    shown = page.locator("#map .steps .here a").inner_text()
    page.goto(copied(page))
    expect(page.locator("#map .steps .here a")).to_have_text(shown)
    expect(page.locator("#map")).to_be_in_viewport()
    page.goto(f"/runs/{shared}/pods/default/huge/?point=filter")
    canvas = page.locator("#pod-map canvas")
    canvas.scroll_into_view_if_needed()
    expect(page.locator("#pod-map [data-hand]")).to_have_text("After Filter")
    page.evaluate(FRAMES)
    canvas.click(position={"x": 60, "y": 90})
    card = page.locator("#pod-map .node-card")
    expect(card).to_be_visible()
    name = card.locator("h3").inner_text()
    link = copied(page)
    assert "cycle=5" in link
    page.goto(link)
    page.locator("#pod-map").scroll_into_view_if_needed()
    expect(card.locator("h3")).to_have_text(name)
    expect(page.locator("#pod-map [data-hand]")).to_have_text("After Filter")


def copied(page: Page) -> str:
    """Return the link that the dialog copies."""
    dialog = share(page)
    dialog.get_by_role("button", name="Copy link to this step").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))
