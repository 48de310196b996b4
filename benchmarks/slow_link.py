"""Measure pages over a slow link: waiting times at 50 kB/s, with an empty browser cache.

    python benchmarks/slow_link.py [--nodes 1000] [--pods 2000] [--kbytes 50] [--latency 100] [--visits 3]
                                   [--update docs/performance.md]

Starts the product, runs a snapshot and a sample in virtual time, and opens pages in Chromium, each in a new profile,
through the DevTools' network emulation. Prints one JSON object: page -> requests, kilobytes received until all is
loaded, seconds until the first paint and until the main content is visible (median of the visits).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

from app import call, running
from playwright.sync_api import Browser, sync_playwright

from scheduler_core.commands.bench import workload

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

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


def record(address: str, nodes: int, pods: int) -> dict[str, tuple[str, str]]:
    """Return name -> (path, selector of the main content) of new runs."""
    huge = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "999"}}}]}
    objects = workload("basic", nodes, pods)
    objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"}, "spec": huge})
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario = call(f"{address}/api/scenarios", document)[0]["id"]
    samples = call(f"{address}/api/scenarios")[0]
    listed = samples["items"] if isinstance(samples, dict) else samples
    timed = next(one["id"] for one in listed if one["name"].startswith("Virtual time: a gang"))
    runs = [finished(address, number) for number in (scenario, timed)]
    return {
        "home": ("/", ".tiles"),
        "scenario": (f"/scenarios/{scenario}/", "#startform"),
        "run": (f"/runs/{runs[0]}/", MAP),
        "run in virtual time": (f"/runs/{runs[1]}/", MAP),
        "pod that was placed": (f"/runs/{runs[0]}/pods/default/pod-000000/?point=score", ".scores"),
        "pod without a node": (f"/runs/{runs[0]}/pods/default/huge/", ".matrix"),
        "pod in time": (f"/runs/{runs[1]}/pods/default/training-1/", ".answer"),
    }


def finished(address: str, scenario: int) -> int:
    """Return a finished new run of the scenario."""
    run: int = call(f"{address}/api/scenarios/{scenario}/runs", {})[0]["id"]
    while call(f"{address}/api/runs/{run}")[0]["state"] in ("queued", "running"):
        time.sleep(0.2)
    return run


def measure(browser: Browser, address: str, path: str, selector: str, link: dict[str, float]) -> dict[str, float]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Pages over a slow link.")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--kbytes", type=float, default=50, help="per second")
    parser.add_argument("--latency", type=float, default=100, help="milliseconds added to every request")
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--update", type=Path, help="the document whose figures are replaced")
    given = parser.parse_args()
    link = {"downloadThroughput": given.kbytes * 1000, "latency": given.latency}
    with running() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        found: dict[str, Any] = {}
        for name, (path, selector) in record(address, given.nodes, given.pods).items():
            visits = [measure(browser, address, path, selector, link) for _ in range(given.visits)]
            found[name] = {key: statistics.median(visit[key] for visit in visits) for key in visits[0]}
        browser.close()
    print(json.dumps(found, indent=2))
    if given.update:
        head = list(next(iter(found.values())))
        rows = [f"| {name} | " + " | ".join(str(row[key]) for key in head) + " |" for name, row in found.items()]
        table = [f"| page | {' | '.join(head)} |", "| --- |" + " --: |" * len(head), *rows]
        body = "\n".join(["<!-- slow link -->", *table, "<!-- /slow link -->"])
        text = given.update.read_text()
        given.update.write_text(re.sub(r"<!-- slow link -->.*<!-- /slow link -->", lambda _: body, text, flags=re.S))


if __name__ == "__main__":
    main()
