"""Benchmark the map: frames per second in Chromium's trace, on a large run, while panning, zooming and playing.

    python benchmarks/map.py [--nodes 5000] [--pods 10000] [--seconds 4] [--headed]

Starts the product with its own data folder, runs a workload and opens the page of the run in a headless Chromium of
1440 by 900 pixels. The map has no groups, so that every visible node is drawn as a box. For each action: frames per
second that Chromium started and did not drop (`frames`, including frames without a change), frames with something to
draw (`drawn`), dropped frames (`dropped`), the 99th percentile of the gap between two frames (`gap_ms_p99`), the time
of scripts per frame (`script_ms`: median, p95), and of these the processor time (`script_processor_ms`).
`processor_ms` is the processor time of all processes of Chromium per drawn frame; a busy machine hardly changes it.
`control` is a page that draws almost nothing: the maximum of this machine at that time. `renderer` is the GPU, or the
processor without a GPU. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.debugger import median, product, ran  # noqa: E402
from scheduler_core.commands.bench import workload  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"]
CATEGORIES = [
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "devtools.timeline",
]
# A page that moves one small box per frame: the maximum of this machine.
CONTROL = """<canvas width=100 height=100></canvas><script>
const context = document.querySelector("canvas").getContext("2d");
const frame = (now) => {
  context.clearRect(0, 0, 100, 100);
  context.fillRect((now / 10) % 90, 0, 10, 10);
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
</script>"""
MIDDLE = (450, 420)  # on the map, from the upper left corner of the viewport


def traced(browser: Browser, page: Page, act: Callable[[], None]) -> dict[str, Any]:
    """Return the frames in Chromium's trace during an action."""
    before = processor_seconds(browser)
    browser.start_tracing(page=page, categories=CATEGORIES)
    act()
    used = processor_seconds(browser) - before
    events = json.loads(browser.stop_tracing())["traceEvents"]
    begun, drawn, dropped = (
        sorted(event["ts"] / 1e3 for event in events if event["name"] == name)
        for name in ("BeginFrame", "DrawFrame", "DroppedFrame")
    )
    scripts = [event for event in events if event["name"] == "FireAnimationFrame" and "dur" in event]
    frames, processor = ([event.get(key, 0) / 1e3 for event in scripts] for key in ("dur", "tdur"))
    gaps = sorted(after - before for before, after in itertools.pairwise(begun))
    if not gaps or not frames:
        return {"frames": 0}
    seconds = (begun[-1] - begun[0]) / 1e3
    return {
        "frames": round((len(gaps) - len(dropped)) / seconds, 1),
        "drawn": round(len(drawn) / seconds, 1),
        "dropped": round(len(dropped) / seconds, 1),
        "gap_ms_p99": round(gaps[math.floor(0.99 * (len(gaps) - 1))], 1),
        "script_ms": median_and_p95(frames),
        "script_processor_ms": median_and_p95(processor),
        "processor_ms": round(1e3 * used / max(1, len(drawn)), 1),
    }


def median_and_p95(values: list[float]) -> list[float]:
    return [round(statistics.median(values), 1), round(sorted(values)[int(0.95 * len(values))], 1)]


def processor_seconds(browser: Browser) -> float:
    """Return the processor time that all processes of the browser have used."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return float(sum(process["cpuTime"] for process in processes))


def pan(page: Page, seconds: float) -> None:
    page.mouse.move(*MIDDLE)
    page.mouse.down()
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        page.mouse.move(MIDDLE[0] + 250 * math.sin(passed * 2), MIDDLE[1] + 120 * math.sin(passed * 3))
    page.mouse.up()


def zoom(page: Page, seconds: float) -> None:
    """Turn the wheel once per frame. Chromium answers an event of its protocol only every second frame."""
    page.evaluate(
        """([x, y, lasts]) => new Promise((done) => {
          const canvas = document.querySelector("#map canvas");
          const { left, top } = canvas.getBoundingClientRect();
          const began = performance.now();
          const turn = (now) => {
            const deltaY = now - began < lasts / 2 ? -4 : 4;
            const place = { clientX: left + x, clientY: top + y };
            canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, cancelable: true, ...place }));
            if (now - began < lasts) requestAnimationFrame(turn);
            else done();
          };
          requestAnimationFrame(turn);
        })""",
        [*MIDDLE, seconds * 1e3],
    )


def play(page: Page, seconds: float, speed: str) -> None:
    page.locator("#map [data-speed]").select_option(speed)
    page.get_by_role("button", name="Play forward").click()
    page.wait_for_timeout(seconds * 1e3)
    page.get_by_role("button", name="Play forward").click()


def measured(browser: Browser, address: str, seconds: float) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    found: dict[str, Any] = {}
    page.set_content(CONTROL)
    found["control"] = traced(browser, page, lambda: page.wait_for_timeout(seconds * 1e3))

    def at(cycle: int) -> None:
        page.goto(f"{address}?group=&cycle={cycle}#map")
        page.locator("#map [data-hand]").wait_for()
        page.wait_for_timeout(1500)

    at(3000)
    found["zoom"] = traced(browser, page, lambda: zoom(page, seconds))
    at(3000)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(600)
    found["pan"] = traced(browser, page, lambda: pan(page, seconds))
    for speed in ("5", "30", "500"):
        at(3000)
        found[f"play_{speed}_cycles_a_second"] = traced(browser, page, lambda s=speed: play(page, seconds, s))  # type: ignore[misc]
    page.close()
    return found


def renderer(browser: Browser) -> dict[str, str]:
    """Return the renderer of canvases and of the page."""
    features = browser.new_browser_cdp_session().send("SystemInfo.getInfo")["gpu"]["featureStatus"]
    return {"canvas": features["2d_canvas"], "compositing": features["gpu_compositing"], "version": browser.version}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--workload", default="basic", help="as of python -m scheduler_core bench")
    parser.add_argument("--seconds", type=float, default=4, help="of each thing that is done")
    parser.add_argument("--headed", action="store_true", help="in a window, with the GPU that there is")
    given = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    chromium = next(filter(None, map(shutil.which, names)), None)
    with tempfile.TemporaryDirectory() as folder, product(Path(folder)) as address, sync_playwright() as playwright:
        run = ran(address, workload(given.workload, given.nodes, given.pods))
        figures: dict[str, Any] = {"nodes": given.nodes, "pods": given.pods, "workload": given.workload}
        moments = [1 + given.pods * i // 10 for i in range(10)]
        api = f"{address}{run}"
        figures["map_ms"] = median([f"{api}/map?cycle={k}" for k in moments])
        figures["tape_ms"] = median([f"{api}/map/tape?after={k}" for k in moments])
        figures["cycle_ms"] = median([f"{api}/cycles/{k}" for k in moments])
        figures["state_ms"] = median([f"{api}/state?cycle={k}" for k in moments])
        flags = FLAGS if given.headed else [*FLAGS, "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags, headless=not given.headed)
        figures["renderer"] = renderer(browser)
        figures |= measured(browser, f"{address}{run.replace('/api', '')}/", given.seconds)
        browser.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
