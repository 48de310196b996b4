"""Take screenshots of every page: at three widths, light and dark, and with colour blindness.

    python scripts/screenshots.py FOLDER [--only WORDS] [--widths N ...] [--looks NAME ...] [--sheets]

Starts the product with its own data, uploads the clusters of the browser tests, runs them and opens every page of
`tests/browser/tour.py` in Chromium. A file is `PAGE.WIDTH.LOOK.png`; with --sheets, also `sheet-N.WIDTH.LOOK.png`, a
dozen pages side by side. Prints the errors of page scripts; exit code 1 if there are any.
"""

import argparse
import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from scheduler_core.releases import RELEASES  # noqa: E402
from tests.browser.chromium import CHROMIUM, FLAGS, emulate_colour_blindness  # noqa: E402
from tests.browser.live_cluster import live_cluster  # noqa: E402
from tests.browser.preview import preview  # noqa: E402
from tests.browser.shop import shop  # noqa: E402
from tests.browser.tour import DEVICES, FORK, GROUPS, Stop, stops  # noqa: E402
from tests.kubesched_ui.instance import Instance, until  # noqa: E402

WIDTHS = {390: 844, 1440: 900, 2560: 1300}
BLIND = ("deuteranopia", "protanopia", "tritanopia")
LOOKS = ("light", "dark", *BLIND)  # simulated on light pages
TALLEST = 3000  # visible pixels of a page


def recorded(site: Instance) -> list[Stop]:
    """Create the runs that pages need, one of them with many pods. Return the pages."""
    scenario, run = site.record(shop()).values()
    story = site.record((ROOT / "tests" / "browser" / "story.yaml").read_bytes()).values()
    pod = "{kind: Pod, metadata: {name: copy}, spec: {containers: [{name: c, resources: {requests: {cpu: 2m}}}]}}"
    wanted = {"pods": [], "template": pod, "copies": 5000, "name": "Five thousand copies"}
    many = site.api("POST", f"/scenarios/{scenario}/runs", wanted)["id"]
    site.finished(many)
    fork = site.api("POST", f"/runs/{run}/fork", FORK)["id"]
    site.finished(fork)
    upgrade = preview(site, ["1.27", "1.34", list(RELEASES)[-1]])["id"]
    devices = site.record(DEVICES.read_bytes(), release="1.36", tie_break="name")["run"]
    groups = site.record(GROUPS.read_bytes(), tie_break="name")["run"]
    pages = stops(scenario, run, fork, *story, upgrade, devices, groups, live_cluster(site))
    return [*pages, Stop("run, many pods", f"/runs/{many}/")]


def shoot(
    browser: Browser, address: str, stop: Stop, width: int, looks: list[str], folder: Path, errors: list[str]
) -> None:
    """Take a page in the looks, with one visit each for light and dark."""
    simulated = [look for look in looks if look in BLIND]
    for scheme in ("light", "dark"):
        if scheme not in looks and not (scheme == "light" and simulated):
            continue
        context = browser.new_context(
            base_url=address, viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme
        )
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(f"{stop.name}: {error}"))
        stop.visit(page)
        if scheme in looks:
            take(page, folder, stop.name, scheme, width)
        for kind in simulated if scheme == "light" else ():
            emulate_colour_blindness(page, kind)
            take(page, folder, stop.name, kind, width)
        context.close()


def take(page: Page, folder: Path, name: str, look: str, width: int) -> None:
    height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.{width}.{look}.png"
    page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})


def sheets(browser: Browser, folder: Path, width: int, look: str, across: int = 6, each: int = 12) -> None:
    """Combine the upper parts of all pages of a width and a look into pictures."""
    files = [file for file in sorted(folder.glob(f"*.{width}.{look}.png")) if not file.name.startswith("sheet")]
    context = browser.new_context(viewport={"width": 2400, "height": 1000})
    page = context.new_page()
    style = f"""body {{ display: grid; grid-template-columns: repeat({across}, 1fr); gap: 8px; background: #888 }}
        figure {{ margin: 0; max-height: 700px; overflow: hidden }} img {{ width: 100% }}"""
    for start in range(0, len(files), each):
        shown = "".join(
            f"<figure><figcaption>{file.name.partition('.')[0]}</figcaption>"
            f"<img src='data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}'></figure>"
            for file in files[start : start + each]
        )
        page.set_content(f"<style>{style}</style>{shown}", timeout=120_000)
        path = folder / f"sheet-{start // each + 1}.{width}.{look}.png"
        page.screenshot(path=path, full_page=True)
    context.close()


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="pages with this in their name")
    parser.add_argument("--widths", type=int, nargs="*", choices=WIDTHS, default=list(WIDTHS))
    parser.add_argument("--looks", nargs="*", choices=LOOKS, default=list(LOOKS))
    parser.add_argument("--sheets", action="store_true", help="contact sheets, too")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as var, sync_playwright() as playwright:
        site = Instance(Path(var))
        site.start()
        until(site.serves, "the start")
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for stop in recorded(site):
                for width in given.widths if given.only in stop.name else ():
                    shoot(browser, f"http://127.0.0.1:{site.port}", stop, width, given.looks, given.folder, errors)
            for width in given.widths if given.sheets else ():
                for look in given.looks:
                    sheets(browser, given.folder, width, look)
            browser.close()
        finally:
            site.interrupt()
    print("\n".join(errors) or f"The pictures are in {given.folder}.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
