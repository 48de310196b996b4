"""A browser and a running KubeSched for the tests of this folder.

The browser is driven from fixtures of this package, not of the whole session: while Playwright is at work its event
loop runs in the test's thread, and Django refuses to use a database there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from scheduler_core.releases import RELEASES
from tests.browser.chromium import CHROMIUM, FLAGS
from tests.browser.preview import preview
from tests.browser.shop import shop
from tests.browser.tour import DEVICES, FORK, GROUPS, Stop, stops
from tests.kubesched_ui.instance import Instance, until

expect.set_options(timeout=20_000)  # a bound on hanging, not on speed: machines that test are busy


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (tests/system_packages.sh installs it where it can)")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """KubeSched as `make run` starts it, with a database of its own."""
    instance = Instance(tmp_path_factory.mktemp("var"))
    instance.start()
    until(instance.serves, "the start")
    yield instance
    instance.interrupt()


def is_problem(message: ConsoleMessage) -> bool:
    return message.type == "error" and not re.search(r"status of (400|409)\b", message.text)


class Problems(list[str]):
    """What a page complained about: errors of scripts, refused loads, dialogs. 400 and 409 are answers."""

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self.append(message.text) if is_problem(message) else None)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("dialog", lambda dialog: (self.append(f"dialog: {dialog.message}"), dialog.dismiss()))


@contextmanager
def new_page(browser: Browser, site: Instance, width: int = 1440, height: int = 900, **more: Any) -> Iterator[Page]:
    """A new page of a new profile."""
    viewport: ViewportSize = {"width": width, "height": height}
    context = browser.new_context(base_url=f"http://127.0.0.1:{site.port}", viewport=viewport, **more)
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(browser: Browser, site: Instance) -> Iterator[Page]:
    """A new page; the test fails if the page complained about anything."""
    problems = Problems()
    with new_page(browser, site) as page:
        problems.watch(page)
        yield page
    assert problems == []


@pytest.fixture
def quiet_page(browser: Browser, site: Instance) -> Iterator[Page]:
    """A new page that may complain: of the status of a rejected request."""
    with new_page(browser, site) as page:
        yield page


@pytest.fixture(scope="package")
def recorded(site: Instance) -> dict[str, int]:
    """{scenario, run}: numbers of shop() and of a completed run of its pending pods."""
    return site.record(shop(), tie_break="name")


@pytest.fixture(scope="package")
def story(site: Instance) -> dict[str, int]:
    """{scenario, run}: numbers of story.yaml and of a completed run of it.

    At 60 s boss preempts worker, which takes 30 s to go; late waits for n2 from 120 s to 240 s.
    """
    return site.record((Path(__file__).parent / "story.yaml").read_bytes())


@pytest.fixture(scope="package")
def devices(site: Instance) -> int:
    """A completed run of the sample with devices, of the release that it is for."""
    return site.record(DEVICES.read_bytes(), release="1.36", tie_break="name")["run"]


@pytest.fixture(scope="package")
def groups(site: Instance) -> int:
    """A completed run of the sample with pod groups, with the default feature gates."""
    return site.record(GROUPS.read_bytes(), tie_break="name")["run"]


@pytest.fixture(scope="package")
def tour(site: Instance, recorded: dict[str, Any], story: dict[str, Any], devices: int, groups: int) -> dict[str, Stop]:
    """Every stop, by its key."""
    fork: int = site.api("POST", f"/runs/{recorded['run']}/fork", FORK)["id"]
    assert site.finished(fork)["state"] == "done"
    upgrade = preview(site, ["1.27", "1.34", list(RELEASES)[-1]])["id"]
    more = (upgrade, devices, groups)
    found = stops(recorded["scenario"], recorded["run"], fork, story["scenario"], story["run"], *more)
    return {stop.key: stop for stop in found}
