"""Main path of a user: drop a cluster, run it, watch, open a pod, step through it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.shop import shop
from tests.kubesched_ui.clusters import as_list
from tests.kubesched_ui.instance import Instance
from tests.kubesched_ui.recordings import node, pod
from tests.scheduler_core.evidence.logs import text

DROP = """async ([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "application/json" }));
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
}"""


def expect_point(page: Page, point: str) -> None:
    """Expect the point of the stepper in the URL, once the page has handled the key."""
    expect(page).to_have_url(re.compile(rf"[?&]point={point}\b"))


def test_drop_run_watch_open_step(page: Page) -> None:
    page.goto("/")
    page.evaluate(DROP, ["shop.json", shop().decode()])
    page.wait_for_url("**/runs/*/")
    page.locator(".crumbs").get_by_role("link", name="shop.json").click()
    page.wait_for_url("**/scenarios/*/")  # with its scripts
    expect(page.get_by_role("heading", level=1)).to_have_text("shop.json")

    page.get_by_label("Bound pods, rescheduled").check()
    page.locator("#pick").fill("front")
    page.get_by_role("button", name="Select shown").click()
    expect(page.locator("#pick-count")).to_have_text("2 of 8 selected")
    page.get_by_label("Or enter pods, namespace/name, one per line").fill("shop/search-1")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")

    expect(page.locator('[data-part="state"]')).to_contain_text("done")
    expect(page.locator("#pods tbody tr")).to_have_count(3)
    expect(page.locator('[data-part="cycles"]')).to_have_text("3 / 3")
    page.locator("#all-pods > summary").click()
    page.locator("#pods").get_by_role("link", name="shop/search-1").click()
    page.wait_for_url("**/pods/shop/search-1/*")  # with its scripts, which read keys

    expect(page.locator(".answer")).to_contain_text("gamma is the only node that suits the pod, but it is short by 3")
    expect(page.locator("#why li").first).to_contain_text("Add 1 node")
    expect(page.locator("blockquote").filter(has_text="3 Insufficient cpu.")).to_have_count(2)
    expect(page.locator("#point-filter")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect_point(page, "postfilter")
    expect(page.locator("#point-postfilter")).to_be_visible()
    expect(page.locator("#point-filter")).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect_point(page, "prefilter")
    page.reload()
    expect(page.locator("#point-prefilter")).to_be_visible()
    page.go_back()
    expect_point(page, "filter")


def test_paste_text(page: Page) -> None:
    page.goto("/")
    page.get_by_text("Type or paste objects").click()
    page.get_by_label("Objects, YAML or JSON").fill("{apiVersion: v1, kind: Node, metadata: {name: pasted}}")
    page.get_by_role("button", name="Upload objects").click()
    page.wait_for_url("**/scenarios/*/")
    expect(page.get_by_text("No pending pods")).to_be_visible()


@pytest.mark.long
def test_edit_a_node_in_place(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/scenarios/{recorded['scenario']}/object/Node/gamma/")
    text = page.locator("#text")
    text.fill(text.input_value().replace("cpu: '8'", "cpu: '32'"))
    page.get_by_role("button", name="Save as new version").click()
    page.wait_for_url("**/scenarios/*/")
    expect(page.get_by_text("This is a new version")).to_be_visible()
    expect(page.locator(".crumbs")).to_contain_text("earlier version")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")
    page.locator("#all-pods > summary").click()
    page.locator("#pods").get_by_role("link", name="shop/search-1").click()
    expect(page.locator(".answer")).to_contain_text("Placed on gamma")


def test_score_bars_are_drawn(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/pods/shop/front-3/?point=score")
    bars = page.locator(".score-bars .parts")
    assert bars.count() > 1
    legend = page.locator(".score-bars .legend i")
    looks = legend.evaluate_all("some => some.map((one) => getComputedStyle(one).backgroundImage)")
    assert len(set(looks)) == len(looks) > 4, "plugins differ in more than hue"
    assert looks[:1] == bars.first.locator("i").first.evaluate_all("([one]) => [getComputedStyle(one).backgroundImage]")
    widths = [
        bars.nth(i).evaluate("bar => bar.lastElementChild.getBoundingClientRect().right") for i in range(bars.count())
    ]
    assert widths == sorted(widths, reverse=True)  # the best node at the top has the longest bar


@pytest.mark.long
def test_the_chart_library_is_loaded_last_and_only_with_charts(page: Page, recorded: dict[str, Any]) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"/runs/{recorded['run']}/pods/shop/front-3/?point=score", wait_until="networkidle")
    assert not any("plotly" in address for address in loaded)
    page.goto(f"/runs/{recorded['run']}/")
    page.get_by_text("Charts", exact=True).click()
    chart = page.locator('[data-chart="fullness"]')
    expect(chart.locator(".bars .point").first).to_be_attached(timeout=20_000)
    expect(chart.locator(".legendtext")).to_have_text(["before", "after"])
    first = {name: next(i for i, address in enumerate(loaded) if name in address) for name in ("/js/run.", "plotly")}
    assert first["/js/run."] < first["plotly"]


def test_a_plugin_links_to_its_lines_in_the_yaml_and_back(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/pods/shop/search-1/?point=filter")
    page.locator('.matrix th.plug[data-plugin="NodeResourcesFit"] a').click()
    expect(page.locator(".yaml .hit")).to_contain_text(["requests:", "cpu: '6'", "memory: 1Gi"])
    assert "plugin=NodeResourcesFit" in page.url
    page.reload()
    expect(page.locator(".yaml .hit").first).to_be_visible()
    expect(page.locator(".matrix th.plug[aria-current] a")).to_have_text("NodeResourcesFit")


def test_a_table_filters_while_typing(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    page.locator("#all-pods > summary").click()
    rows = page.locator("#pods tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Search pods", exact=True).press_sequentially("front")
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Search pods", exact=True)).to_be_focused()
    expect(page.get_by_label("Search pods", exact=True)).to_have_value("front")
    page.get_by_label("Search pods", exact=True).fill("")
    expect(rows).to_have_count(3)
    page.get_by_role("link", name="Pod", exact=True).click()
    expect(page.locator('#pods th[aria-sort="ascending"]')).to_contain_text("Pod")


@pytest.fixture(scope="package")
def large(site: Instance) -> int:
    """Return a scenario of 5,000 nodes; every third is tainted, one is large."""
    taint = [{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]
    nodes = [node(f"node-{i:04}", cpu="2", taints=taint if i % 3 == 0 else []) for i in range(5000)]
    nodes[4321]["status"]["allocatable"]["cpu"] = "64"
    objects = as_list(*nodes, pod("huge", cpu="100"), pod("big", cpu="32"))
    number: int = site.api("POST", "/scenarios", objects)["id"]
    return number


@pytest.mark.long
def test_five_thousand_nodes_are_a_few_rows(page: Page, site: Instance, large: int) -> None:
    run = site.api("POST", f"/scenarios/{large}/runs", {})["id"]
    assert site.finished(run)["state"] == "done"
    page.goto(f"/runs/{run}/pods/default/huge/")
    expect(page.locator(".answer")).to_contain_text("The pod requests 100 cpu; the largest node has 64.")
    assert page.locator(".matrix tbody tr").count() < 5
    page.locator("#nodes-card > summary").click()
    lines = page.locator("#nodelist .line")
    assert 0 < lines.count() < 60
    for part in (".who", ".why"):  # within its line, read in one step because later rows move both
        boxes = "(line, part) => [line, line.querySelector(part)].map((one) => one.getBoundingClientRect())"
        outer, inner = lines.nth(3).evaluate(boxes, part)
        assert outer["y"] <= inner["y"] <= inner["y"] + inner["height"] <= outer["y"] + outer["height"], part
    page.locator("#nodelist").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(lines.last).to_contain_text("node-4998")
    assert lines.count() < 60
    page.locator("#node-search").fill("node-4321")
    expect(lines).to_have_count(1)
    expect(page.locator("#node-count")).to_have_text("1 of 5,000 nodes")
    page.locator("#node-search").fill("dedicated")
    expect(page.locator("#node-count")).to_have_text("1,667 of 5,000 nodes")


def many(site: Instance, scenario: int, copies: int) -> int:
    """Start a run of so many copies of a pod."""
    template = json.dumps(pod("copy", cpu="10m"))
    wanted = {"pods": [], "template": template, "copies": copies}
    number: int = site.api("POST", f"/scenarios/{scenario}/runs", wanted)["id"]
    return number


def test_a_pod_page_updates_when_its_cycle_comes(page: Page, site: Instance, large: int) -> None:
    run = many(site, large, 1500)
    page.goto(f"/runs/{run}/pods/default/copy-1500/", wait_until="domcontentloaded")
    expect(page.locator(".answer")).to_contain_text("Placed on", timeout=60_000)
    expect(page.locator("#stepper [aria-current]")).to_contain_text("Score")


@pytest.mark.long
def test_a_run_page_survives_a_broken_socket(page: Page, site: Instance, large: int) -> None:
    opened: list[str] = []

    def drop_messages(ours: WebSocketRoute) -> None:
        opened.append(ours.url)
        server, frames = ours.connect_to_server(), []

        def pass_on(text: str | bytes) -> None:
            frames.append(text)
            if len(opened) > 2 or len(frames) == 1:
                ours.send(text)
            elif len(frames) == 2:
                ours.close(code=1011)  # Drop this message and those that follow.

        server.on_message(pass_on)

    page.route_web_socket(re.compile("/ws/runs/"), drop_messages)
    run = many(site, large, 3000)  # enough to be running when the page has loaded
    page.goto(f"/runs/{run}/")
    expect(page.locator('[data-part="state"]')).to_contain_text("done", timeout=120_000)
    page.keyboard.press("e")  # playback has not reached the end
    expect(page.locator('[data-part="cycles"]')).to_have_text("3,000 / 3,000")
    expect(page.get_by_text("Fork with any change")).to_be_visible()  # as soon as it is finished
    expect(page.get_by_label("Outcome")).to_contain_text("placed (3,000)")
    assert len(opened) > 1
    assert opened[0].endswith(f"/ws/runs/{run}/progress")
    expect(page.locator("#pods tbody tr")).to_have_count(100)


@pytest.mark.long
def test_a_run_page_shows_that_it_waits_for_a_connection(page: Page, site: Instance, large: int) -> None:
    tries: list[str] = []

    def reject(ours: WebSocketRoute) -> None:
        tries.append(ours.url)
        if len(tries) > 1:
            ours.connect_to_server()
            return
        ours.send('{"error": "The server has too many open websockets."}')
        ours.close(code=1013)

    page.route_web_socket(re.compile("/ws/runs/"), reject)
    run = many(site, large, 20_000)
    page.goto(f"/runs/{run}/")
    notice = page.locator("[data-link]")
    expect(notice).to_contain_text("The server has too many open websockets. Reconnecting in")
    expect(notice).to_be_empty()
    expect(notice).to_be_hidden()
    site.api("POST", f"/runs/{run}/cancel")
    expect(page.locator('[data-part="state"]')).to_contain_text("cancelled", timeout=60_000)


@pytest.mark.long
def test_cancel_by_keyboard(page: Page, site: Instance, large: int) -> None:
    """The button stays focused when the button before it disappears, and when the run starts."""
    first, second, run = (many(site, large, 40_000) for _ in range(3))
    page.goto(f"/runs/{run}/")
    lower, cancel = (page.get_by_role("button", name=name) for name in ("Lower priority", "Cancel"))
    expect(lower).to_be_visible()
    cancel.focus()
    site.api("POST", f"/runs/{first}/cancel")
    expect(lower).to_have_count(0, timeout=60_000)  # when the worker takes the next run
    expect(cancel).to_be_focused()
    site.api("POST", f"/runs/{second}/cancel")
    state = page.locator('[data-part="state"]')
    expect(state).to_contain_text("running", timeout=60_000)
    expect(cancel).to_be_focused()
    page.keyboard.press("Enter")
    expect(state).to_contain_text("cancelled", timeout=60_000)


def test_hostile_names_stay_text(page: Page, site: Instance) -> None:
    evil = "<img src=x onerror=alert(1)>"
    name = "%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    stored = site.api("POST", f"/scenarios?name={name}", as_list(node(evil), node("n2"), pod(evil)))
    run = site.api("POST", f"/scenarios/{stored['id']}/runs", {"tie_break": "name"})["id"]
    site.finished(run)
    page.goto(f"/runs/{run}/")
    page.locator("#all-pods > summary").click()
    page.locator("#pods").get_by_role("link", name=f"default/{evil}").click()
    expect(page.locator(".answer")).to_contain_text("Placed on")
    page.locator('[data-step="filter"] a').click()
    page.locator("#nodes-card > summary").click()
    expect(page.locator("#nodelist .who").filter(has_text=evil)).to_be_visible()
    page.locator("#nodelist .who").filter(has_text=evil).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(evil)
    assert page.locator("img").count() == 0


@pytest.mark.long
def test_a_run_file_is_dropped_and_recreated(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/export/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Run file").click()
    page.goto("/")
    page.evaluate(DROP, [download.value.suggested_filename, download.value.path().read_text()])
    page.wait_for_url("**/runs/*/")
    assert not page.url.endswith(f"/runs/{recorded['run']}/")
    expect(page.locator(".notice.good")).to_contain_text("As recorded: 3 cycles, same decisions")


def test_an_error_of_an_upload_is_shown_at_the_drop_zone(page: Page) -> None:
    page.goto("/")
    page.evaluate(DROP, ["pods.txt", "NAME    READY   STATUS\nweb-1   1/1     Running\n"])
    expect(page.locator(".drop [role=alert]")).to_contain_text("pods.txt: is a table printed by kubectl")
    assert page.url.endswith("/")
    page.evaluate(DROP, ["shop.json", shop().decode()])  # and the next one is accepted
    page.wait_for_url("**/runs/*/")


def test_a_dropped_log_opens_the_page_of_what_it_tells(page: Page) -> None:
    page.goto("/")
    page.evaluate(DROP, ["scheduler.log", text()])
    expect(page.get_by_role("heading", name="This is a log of kube-scheduler")).to_be_visible()
    expect(page.locator("pre")).to_contain_text("attempt 1: bound to n2")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
