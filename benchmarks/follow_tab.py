"""A tab in follow mode: memory, frames and received bytes while an active run is followed for minutes.

Starts a run and follows it in a headless Chromium of 1440 by 900 pixels from the first decision, at a --speed in
decisions a second, one of those that the page offers (2000: as fast as it runs). A row per minute: decisions shown,
JavaScript heap after a collection, DOM nodes, memory of the renderer process (RSS, and without what it shares with
other processes), bytes received since the page was opened, and of the frames until the last decision was shown: how
many, frames a second (median), and how many took longer than at 55 a second.
"""

import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.product import running
from scheduler_core.commands.bench import workload
from tests.browser.chromium import CHROMIUM, FLAGS

MB = 1024 * 1024
WATCH = """(end) => {
  window.gaps = [];
  const place = document.querySelector("#map [data-place]");
  let last = performance.now();
  const frame = (now) => {
    if (place.textContent !== end) gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def renderer_memory(browser: Browser) -> dict[str, float]:
    """Return the memory in MB of the largest renderer process, which has the page."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    found = []
    for process in processes:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
            sizes = {name: int(kb) / 1024 for name, kb in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
            private = sizes["Private_Clean"] + sizes["Private_Dirty"]
            found.append({"rss_mb": round(sizes["Rss"], 1), "private_mb": round(private, 1)})
    return max(found, key=lambda one: one["rss_mb"])


def sample(browser: Browser, page: Page, session: CDPSession) -> dict[str, Any]:
    gaps = page.evaluate("gaps.splice(0)")
    session.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return {
        "place": page.locator("#map [data-place]").text_content(),
        "heap_mb": round(metrics["JSHeapUsedSize"] / MB, 1),
        "dom_nodes": int(metrics["Nodes"]),
        **renderer_memory(browser),
        "frames": len(gaps),
        "frames_per_s": round(1000 / statistics.median(gaps), 1) if gaps else None,
        "slow_frames": sum(gap > 1000 / 55 for gap in gaps),
    }


def follow(browser: Browser, address: str, minutes: float, speed: str, end: str) -> Iterator[dict[str, Any]]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = page.context.new_cdp_session(page)
    received = [0]
    for name in ("Performance.enable", "HeapProfiler.enable"):
        session.send(name)
    session.send("Network.enable", {"maxTotalBufferSize": 1, "maxResourceBufferSize": 1})  # else bodies stay in memory
    session.on("Network.dataReceived", lambda event: received.append(event["encodedDataLength"]))
    session.on("Network.webSocketFrameReceived", lambda event: received.append(len(event["response"]["payloadData"])))
    page.goto(address)
    page.locator("#map [data-decision]").first.wait_for(state="attached", timeout=120_000)
    page.locator("#map [data-speed]").select_option(speed)
    page.evaluate(WATCH, end)
    began = time.monotonic()
    while time.monotonic() < began + minutes * 60:
        page.wait_for_timeout(min(60_000, minutes * 60_000))
        row = {"minutes": round((time.monotonic() - began) / 60, 1), **sample(browser, page, session)}
        yield row | {"received_mb": round(sum(received) / MB, 2)}


def measure(nodes: int = 2000, pods: int = 3000, minutes: float = 10, speed: str = "5") -> Iterator[dict[str, Any]]:
    with running() as product, sync_playwright() as playwright:
        run = product.start_run(product.upload(workload("basic", nodes, pods)))
        with playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
            yield from follow(browser, f"{product.address}/runs/{run}/", minutes, speed, f"after {pods:,} cycles")
