"""Follow mode: the page of an active run plays its decisions, each once and in order; all its counts agree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from scheduler_core.commands.bench import workload
from tests.browser.conftest import Problems, new_page
from tests.browser.test_axe import serious_findings
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance, until

PODS, NODES = 3000, 2000
MOST_BYTES = 2_000_000
ROWS = 200

# Collects the decisions in the order in which they are listed, the intervals between frames, and every moment at which
# counts of the page disagree.
WATCH = """() => {
  const numbers = (text) => (text.match(/\\d[\\d,]*/g) ?? []).map((number) => Number(number.replaceAll(",", "")));
  const list = document.querySelector("#map [data-ticker]");
  window.watched = {listed: [], frames: [], samples: 0, wrong: [], rows: 0};
  new MutationObserver((changes) => {
    const added = changes.flatMap(({addedNodes}) => [...addedNodes].reverse());
    watched.listed.push(...added.map(({dataset}) => Number(dataset.decision)));
    watched.rows = Math.max(watched.rows, list.childElementCount);
  }).observe(list, {childList: true});
  let last = performance.now();
  const frame = (now) => {
    watched.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  setInterval(() => {
    const place = document.querySelector("#map [data-place]").textContent;
    if (!place) return;
    const [shown, head = shown] = numbers(place);
    const [done] = numbers(document.querySelector('[data-part="cycles"]').textContent);
    const bar = document.getElementById("progress").value;
    const newest = Number(list.firstElementChild?.dataset.decision ?? 0);
    const behind = document.querySelector("#map [data-behind]").textContent;
    const [waiting = 0] = numbers(behind);
    const slider = Number(document.querySelector("#map input[type=range]").value) - (/^after/.test(place) ? 1 : 0);
    watched.samples += 1;
    const found = {place, done, bar, newest, behind, slider};
    const same = [done, bar, newest, slider].every((number) => number === shown) && waiting === head - shown;
    if (!same) watched.wrong.push(JSON.stringify(found));
  }, 50);
}"""


# Collects every moment at which counts or clocks of the page of a run in virtual time disagree.
WATCH_TIME = """() => {
  const text = (selector) => document.querySelector(selector)?.textContent.replace(/\\s+/g, " ").trim() ?? "";
  const all = (found) => (found.match(/\\d[\\d,]*/g) ?? []).map((one) => Number(one.replaceAll(",", "")));
  const numbers = (selector) => all(text(selector));
  const list = document.querySelector("#map [data-ticker]");
  window.watched = {listed: [], samples: 0, rows: 0, wrong: []};
  new MutationObserver((changes) => {
    const added = changes.flatMap(({addedNodes}) => [...addedNodes].reverse());
    watched.listed.push(...added.map(({dataset}) => Number(dataset.decision)));
  }).observe(list, {childList: true});
  setInterval(() => {
    const [second, place] = text("#map [data-place]").split(", ", 2);
    if (!place) return;
    const [shown] = all(place);
    const [done] = numbers('[data-part="cycles"]');
    const newest = Number(list.firstElementChild?.dataset.decision ?? 0);
    const clocks = [text('[data-part="clock"]').replace(/^at | of .*/g, ""), text("#lanes [data-clock]")];
    watched.samples += 1;
    const found = {second, clocks, shown, done, newest};
    if (done !== shown || newest !== shown || clocks.some((clock) => clock !== second))
      watched.wrong.push(JSON.stringify(found));
    const [, pending] = text('[data-part="answer"]').match(/placed, ([\\d,]+) pending/) ?? [];
    // After the last decision so far, a pod may have been created that is not in the queue yet.
    if (pending === undefined || /^after/.test(place) || document.querySelector("#lanes.reading")) return;
    const sizes = ["active", "backoff", "unschedulable", "gated"].map((lane) => numbers(`[data-count="${lane}"]`)[0]);
    watched.rows += 1;
    if (sizes.reduce((sum, size) => sum + size) !== Number(pending.replaceAll(",", "")))
      watched.wrong.push(JSON.stringify({...found, sizes, pending}));
  }, 50);
}"""


class Received:
    """Bytes of the responses and messages that decisions and their steps take."""

    def __init__(self, session: CDPSession, run: int) -> None:
        self.bytes = 0
        self.addresses: dict[str, str] = {}
        session.send("Network.enable")
        session.on("Network.responseReceived", lambda e: self.addresses.update({e["requestId"]: e["response"]["url"]}))
        session.on("Network.loadingFinished", lambda e: self.add(e, f"/api/runs/{run}/"))
        session.on("Network.webSocketFrameReceived", lambda e: self.count(len(e["response"]["payloadData"])))

    def add(self, event: dict[str, Any], path: str) -> None:
        if path in self.addresses.get(event["requestId"], ""):
            self.count(event["encodedDataLength"])

    def count(self, number: int) -> None:
        self.bytes += number


@pytest.fixture(scope="module")
def large(site: Instance) -> int:
    objects = workload("basic", NODES, PODS)
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    number: int = site.api("POST", "/scenarios", document)["id"]
    return number


@pytest.fixture
def followed(browser: Browser, site: Instance) -> Iterator[tuple[Page, int]]:
    """Return the page of a run that lasts until the test cancels it: 40,000 copies of a pod."""
    full = [pod(f"high{i}", "2", on=f"n{i}") for i in range(20)]
    scenario = site.api("POST", "/scenarios", as_list(*(node(f"n{i}") for i in range(60)), *full))["id"]
    settings = {"pods": [], "template": json.dumps(pod("copy", cpu="10m")), "copies": 40_000}
    run = site.api("POST", f"/scenarios/{scenario}/runs", settings)["id"]
    problems = Problems()
    with new_page(browser, site, 1280, 720) as page:
        problems.watch(page)
        page.goto(f"/runs/{run}/")
        expect(page.locator("#map [data-behind]")).to_contain_text("behind", timeout=60_000)
        yield page, run
        site.api("POST", f"/runs/{run}/cancel")
        site.finished(run)
    assert problems == []


def place(page: Page) -> int:
    """Return the number of the shown cycle."""
    text = page.locator("#map [data-place]").text_content() or ""
    return int(re.findall(r"cycle ([\d,]+)", text)[0].replace(",", ""))


@pytest.mark.long
def test_every_decision_once_in_order_with_equal_counts(page: Page, site: Instance, large: int) -> None:
    run = site.api("POST", f"/scenarios/{large}/runs", {})["id"]
    received = Received(page.context.new_cdp_session(page), run)
    page.goto(f"/runs/{run}/")
    page.evaluate(WATCH)
    expect(page.locator("#map [data-speed]")).to_have_value("5")
    expect(page.locator("#map [data-decision]").nth(19)).to_be_attached(timeout=120_000)
    page.get_by_role("button", name="Play forward").click()
    there = place(page)
    page.wait_for_timeout(30_000)  # decisions continue to arrive
    assert place(page) == there
    page.locator("#map [data-speed]").select_option(label="as fast as it runs")
    page.get_by_role("button", name="Play forward").click()
    expect(page.locator("#map [data-place]")).to_have_text("after 3,000 cycles", timeout=300_000)
    expect(page.locator('[data-part="cycles"]')).to_have_text("3,000 / 3,000")
    expect(page.locator("#map [data-following]")).to_be_hidden()
    watched = page.evaluate("watched")
    assert watched["listed"] == list(range(1, PODS + 1))
    assert watched["samples"] >= 200
    assert watched["wrong"] == []
    assert watched["rows"] <= ROWS
    assert received.bytes <= MOST_BYTES
    expect(page.locator('[data-part="answer"]')).to_contain_text("All 3,000 pending pods placed.")
    assert site.finished(run)["cycles_done"] == PODS


@pytest.mark.long
def test_virtual_time_is_followed_with_equal_counts_and_clocks(page: Page, site: Instance) -> None:
    low = {"priorityClassName": "", "containers": pod("x", "3")["spec"]["containers"]}
    high = low | {"priorityClassName": "urgent"}
    spec = {
        "until": "4h",
        "objects": [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9},
            *(node(f"n{i}", cpu="4") for i in range(40)),
        ],
        "arrivals": [
            {"name": "low", "every": "2s", "count": 7200, "duration": "2m", "template": {"spec": low}},
            {"name": "high", "every": "7s", "count": 2000, "duration": "1m", "template": {"spec": high}},
        ],
    }
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    scenario = site.api("POST", "/scenarios", json.dumps(document).encode())["id"]
    run = site.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
    page.goto(f"/runs/{run}/")
    page.evaluate(WATCH_TIME)
    expect(page.locator("#map [data-decision]").nth(9)).to_be_attached(timeout=120_000)
    page.locator("#map [data-speed]").select_option("30")
    page.wait_for_timeout(5_000)
    page.get_by_role("button", name="Play forward").click()
    there = place(page)
    page.wait_for_timeout(2_000)
    assert place(page) == there
    page.locator("#map [data-speed]").select_option(label="as fast as it runs")
    page.get_by_role("button", name="Play forward").click()
    page.wait_for_function("watched.rows >= 40", timeout=120_000)
    site.api("POST", f"/runs/{run}/cancel")  # a run that ended by itself would depend on the speed of the machine
    ended = site.finished(run)
    cycles = f"{ended['cycles_done']:,}"
    expect(page.locator("#map [data-place]")).to_contain_text(f", after {cycles} cycles", timeout=120_000)
    expect(page.locator("#map [data-following]")).to_be_hidden()
    watched = page.evaluate("watched")
    assert watched["listed"] == list(range(1, ended["cycles_done"] + 1))
    assert watched["samples"] >= 100
    assert watched["wrong"] == []
    assert ended["evicted"] > 0


@pytest.mark.long
def test_back_to_the_newest_decision(followed: tuple[Page, int]) -> None:
    page, _ = followed
    behind = page.locator("#map [data-behind]")
    page.get_by_role("button", name="Go to the newest").click()
    expect(behind).to_have_text("live", timeout=60_000)
    expect(page.locator("#map [data-speed]")).to_have_value("2000")
    page.keyboard.press("r")
    expect(behind).to_contain_text("paused")
    page.keyboard.press("g")
    page.locator("#go-to input").fill("20")
    page.locator("#go-to").get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#map [data-place]")).to_contain_text("cycle 20 of")
    page.get_by_role("button", name="A step back", exact=True).click()
    expect(page.locator("#map [data-decision]").first).to_have_attribute("data-decision", "19")
    expect(behind).to_contain_text(re.compile(r"^paused, [\d,]+ decisions? behind$"))
    expect(page.locator("#map [data-cycle]")).to_contain_text("Cycle 19 of")
    page.locator('#map [data-decision="15"] a').click()  # a link to its cycle
    expect(page).to_have_url(re.compile(r"cycle=15\b"))
    page.keyboard.press("e")
    expect(behind).to_have_text("live", timeout=60_000)
    page.keyboard.press("r")
    expect(behind).to_contain_text("paused")
    expect(page.locator('[data-part="state"]')).to_contain_text("running")


@pytest.mark.long
def test_playback_shows_the_stages_of_a_cycle(followed: tuple[Page, int]) -> None:
    page, _ = followed
    page.emulate_media(reduced_motion="reduce")
    stages = """() => {
      window.points = [];
      new MutationObserver(() => {
        const point = document.querySelector("#map .steps .current > a")?.textContent;
        if (point && points.at(-1) !== point) points.push(point);
      }).observe(document.querySelector("#map [data-cycle]"), {childList: true});
    }"""
    page.evaluate(stages)
    page.locator("#map [data-speed]").select_option("0.5")
    until(lambda: page.evaluate("points.join().includes('Filter,PreScore,Score,Reserve')"), "the stages")
    page.keyboard.press("r")
    assert page.evaluate("document.querySelectorAll('#map .steps .here').length") <= 1


# Collects what playback shows of each cycle: the point, the legend and what is requested on the selected node.
STAGES = """() => {
  window.shown = [];
  const text = (selector) => document.querySelector(selector)?.textContent ?? "";
  new MutationObserver(() => {
    const requested = text("#map [data-node] p").split(" · ")[0];
    const one = [text("#map [data-place]").split(" of ")[0], text("#map .steps .current > a"), requested].join("; ");
    if (one !== shown.at(-1)) shown.push(one);
  }).observe(document.querySelector("#map .inspector"), {childList: true, subtree: true});
}"""


@pytest.mark.long
def test_preemption_is_followed_in_stages_and_its_victims_leave_the_node(page: Page, site: Instance) -> None:
    low = [pod(f"low{i}-{k}", "2", on=f"n{i}") for i in range(30) for k in range(2)]
    scenario = site.api("POST", "/scenarios", as_list(*(node(f"n{i}", cpu="4") for i in range(30)), *low))["id"]
    urgent = pod("urgent", "3")
    urgent["spec"]["priority"] = 9
    settings = {"pods": [], "template": json.dumps(urgent), "copies": 20_000}
    run = site.api("POST", f"/scenarios/{scenario}/runs", settings)["id"]
    until(lambda: site.api("GET", f"/runs/{run}")["cycles_done"] > 0, "the first cycle")
    first = site.api("GET", f"/runs/{run}/decisions?since=0&limit=1")["decisions"][0]
    assert first["victims"] == 2
    page.goto(f"/runs/{run}/?cycle=1&node={first['nominated']}")
    expect(page.locator("#map [data-node]")).to_contain_text("4 of 4 cpu requested")
    page.evaluate(WATCH)
    page.evaluate(STAGES)
    page.locator("#map [data-speed]").select_option("0.5")
    page.get_by_role("button", name="Play forward").click()
    until(lambda: place(page) >= 3, "the third cycle", 60)
    page.get_by_role("button", name="Play forward").click()
    shown = page.evaluate("shown")
    site.api("POST", f"/runs/{run}/cancel")
    for cycle, requested in (("cycle 1", "4 of 4"), ("cycle 2", "0 of 4")):
        rows = [row.split("; ") for row in shown if row.startswith(f"{cycle};")]
        assert [row[1] for row in rows if row[1] in ("Filter", "PostFilter")][-2:] == ["Filter", "PostFilter"]
        assert {row[2].partition(" cpu")[0] for row in rows} == {requested}
    assert page.evaluate("watched.wrong") == []


@pytest.mark.long
def test_picture_player_and_inspector_are_in_view_together(followed: tuple[Page, int]) -> None:
    page, _ = followed
    page.keyboard.press("r")
    page.locator("#map").evaluate("map => map.scrollIntoView()")
    for part in ("canvas", ".transport", ".inspector", ".ticker", ".following"):
        box = page.locator(f"#map {part}").first.bounding_box()
        assert box, part
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= 720, part


# Returns the pods in the table of nodes and those that the page says are placed.
TABLE = """() => {
  const rows = [...document.querySelectorAll("#map [data-table] tbody tr")];
  const pods = rows.map(({cells}) => Number(cells[4].textContent));
  const placed = document.querySelector('[data-part="answer"]').textContent.match(/[\\d,]+/)[0];
  return [pods.reduce((sum, one) => sum + one, 0), Number(placed.replaceAll(",", ""))];
}"""


@pytest.mark.long
def test_the_table_shows_the_same_as_the_map_while_a_run_is_followed(followed: tuple[Page, int]) -> None:
    page, _ = followed
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="As a table").click()
    expect(page.locator("#map [data-table] tbody tr")).to_have_count(60)
    page.locator("#map [data-speed]").select_option("50")
    seen = set()
    for _ in range(20):
        page.wait_for_timeout(200)
        pods, placed = page.evaluate(TABLE)
        assert pods == placed + 20  # those that the scenario has
        seen.add(placed)
    assert len(seen) > 5


@pytest.mark.long
def test_all_of_the_player_is_reached_by_keyboard(followed: tuple[Page, int]) -> None:
    page, _ = followed
    page.keyboard.press("r")
    expect(page.locator("#map [data-behind]")).to_contain_text("paused")
    there = place(page)
    page.locator("#map input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map [data-place]")).to_contain_text(f"cycle {there + 1:,} of")
    names = []
    for _ in range(8):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.dataset.unit ?? ''"))
    assert names == [
        "Before the first cycle", "Play backward", "A step back", "A step forward", "Play forward",
        "After the last cycle", "", "Steps per second",
    ]  # fmt: skip
    page.locator("#map [data-play='1']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#map [data-play='1']")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    page.locator("#map [data-ticker]").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-decision]') !== null")
    page.keyboard.press("Enter")
    expect(page.locator("#map .steps")).to_be_visible()


@pytest.mark.long
def test_axe_finds_nothing_while_a_run_is_followed(followed: tuple[Page, int]) -> None:
    page, _ = followed
    page.keyboard.press("r")
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious_findings(page) == []


@pytest.mark.long
def test_finished_runs_list_decisions(page: Page, site: Instance, large: int) -> None:
    run = site.api("POST", f"/scenarios/{large}/runs", {})["id"]
    site.finished(run)
    page.goto(f"/runs/{run}/")
    rows = page.locator("#map [data-decision]")
    expect(rows.first).to_have_attribute("data-decision", str(PODS))
    assert rows.count() <= ROWS
    rows.nth(3).get_by_role("link").click()
    expect(page.locator("#map [data-place]")).to_have_text("cycle 2,997 of 3,000")
    expect(rows.first).to_have_attribute("data-decision", "2997")
    page.get_by_role("button", name="Before", exact=True).click()
    expect(rows).to_have_count(0)
