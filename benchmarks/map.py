"""The map: frames per second in Chromium's trace, on a large run, while panning, zooming and playing.

Opens the page of a run in a headless Chromium of 1440 by 900 pixels (--headed: in a window, with the GPU that there
is). The map has no groups, so that every visible node is drawn as a box. For each action: frames per second that
Chromium started and did not drop (`frames`, including frames without a change), frames with something to draw
(`drawn`), dropped frames (`dropped`), the 99th percentile of the gap between two frames (`gap_ms_p99`), the time of
scripts per frame (`script_ms`: median, p95), and of these the processor time (`script_processor_ms`). `processor_ms`
is the processor time of all processes of Chromium per drawn frame; a busy machine hardly changes it. `control` is a
page that draws almost nothing: the maximum of this machine at that time. `renderer` is the GPU, or the processor
without a GPU.
"""

import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.processes import quantile
from benchmarks.product import running
from scheduler_core.commands.bench import workload
from tests.browser.chromium import CHROMIUM, FLAGS

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
    gaps = [after - before for before, after in itertools.pairwise(begun)]
    if not gaps or not frames:
        return {"frames": 0}
    seconds = (begun[-1] - begun[0]) / 1e3
    return {
        "frames": round((len(gaps) - len(dropped)) / seconds, 1),
        "drawn": round(len(drawn) / seconds, 1),
        "dropped": round(len(dropped) / seconds, 1),
        "gap_ms_p99": round(quantile(gaps, 0.99), 1),
        "script_ms": median_and_p95(frames),
        "script_processor_ms": median_and_p95(processor),
        "processor_ms": round(1e3 * used / max(1, len(drawn)), 1),
    }


def median_and_p95(values: list[float]) -> list[float]:
    return [round(statistics.median(values), 1), round(quantile(values, 0.95), 1)]


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


def measure(
    nodes: int = 5000, pods: int = 10_000, kind: str = "basic", seconds: float = 4, headed: bool = False
) -> Iterator[dict[str, Any]]:
    with running() as product, sync_playwright() as playwright:
        run = product.run(product.upload(workload(kind, nodes, pods)), release="1.34", percentage=100, seed=1)["id"]
        figures: dict[str, Any] = {"nodes": nodes, "pods": pods, "workload": kind}
        moments, api = [1 + pods * i // 10 for i in range(10)], f"/api/runs/{run}"
        for name, path in (
            ("map_ms", "map?cycle="),
            ("tape_ms", "map/tape?after="),
            ("cycle_ms", "cycles/"),
            ("state_ms", "state?cycle="),
        ):
            times = [product.call(f"{api}/{path}{moment}")[1] for moment in moments]
            figures[name] = round(statistics.median(times) * 1e3, 1)
        flags = [flag for flag in FLAGS if not headed or flag != "--disable-gpu"]
        with playwright.chromium.launch(executable_path=CHROMIUM, args=flags, headless=not headed) as browser:
            figures["renderer"] = renderer(browser)
            yield figures | measured(browser, f"{product.address}/runs/{run}/", seconds)
