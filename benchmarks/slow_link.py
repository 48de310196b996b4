"""Pages over a slow link: waiting times at --kbytes a second, with an empty browser cache.

Runs a snapshot and a sample in virtual time, and opens pages in Chromium, each in a new profile, through the DevTools'
network emulation with --latency milliseconds added to every request. A row for each page: requests, kilobytes received
until all is loaded, seconds until the first paint and until the main content is visible (median of the visits).
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks.product import Product, running
from scheduler_core.commands.bench import workload
from tests.browser.chromium import CHROMIUM, FLAGS

COLUMNS = {name: f"{{{name}}}" for name in ("page", "requests", "kB", "first paint s", "content s")}

# Checks at every frame whether the main content is laid out. There is no frame before the style sheets are loaded.
WATCH = """(selector) => {
  const look = () => {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    if (box?.height) window.contentAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
MAP = "#map:has([data-wait][hidden]) canvas"  # once it is drawn
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def record(product: Product, nodes: int, pods: int) -> dict[str, tuple[str, str]]:
    """Return name -> (path, selector of the main content) of new runs."""
    huge = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "999"}}}]}
    objects = workload("basic", nodes, pods)
    objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"}, "spec": huge})
    scenario = product.upload(objects)
    samples = product.call("/api/scenarios")[0]
    timed = next(one["id"] for one in samples if one["name"].startswith("Virtual time: a gang"))
    runs = [product.run(number)["id"] for number in (scenario, timed)]
    return {
        "home": ("/", ".tiles"),
        "scenario": (f"/scenarios/{scenario}/", "#startform"),
        "run": (f"/runs/{runs[0]}/", MAP),
        "run in virtual time": (f"/runs/{runs[1]}/", MAP),
        "pod that was placed": (f"/runs/{runs[0]}/pods/default/pod-000000/?point=score", ".scores"),
        "pod without a node": (f"/runs/{runs[0]}/pods/default/huge/", ".matrix"),
        "pod in virtual time": (f"/runs/{runs[1]}/pods/default/training-1/", ".answer"),
    }


def visit(browser: Browser, address: str, path: str, selector: str, link: dict[str, float]) -> dict[str, float]:
    """Measure one visit with an empty cache."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    received: list[float] = []
    network.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", {"offline": False, "uploadThroughput": -1, **link})
    page.add_init_script(f"({WATCH})({json.dumps(selector)})")
    answer = page.goto(f"{address}{path}", wait_until="load", timeout=600_000)
    assert answer is not None
    assert answer.ok, path
    while not all(times := page.evaluate(f"[{PAINTED}, window.contentAt]")):
        page.wait_for_timeout(50)
    context.close()
    return {
        "requests": len(received),
        "kB": round(sum(received) / 1000, 1),
        "first paint s": round(times[0] / 1000, 2),
        "content s": round(max(times) / 1000, 2),
    }


def measure(
    nodes: int = 1000, pods: int = 2000, kbytes: float = 50, latency: float = 100, visits: int = 3
) -> Iterator[dict[str, Any]]:
    link = {"downloadThroughput": kbytes * 1000, "latency": latency}
    with (
        running() as product,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser,
    ):
        for name, (path, selector) in record(product, nodes, pods).items():
            seen = [visit(browser, product.address, path, selector, link) for _ in range(visits)]
            yield {"page": name, **{key: statistics.median(one[key] for one in seen) for key in seen[0]}}
