"""A browser and a running KubeSched for the browser tests.

Playwright is driven from fixtures of this package, not of the session: its event loop runs in the thread of the test,
where Django refuses to use a database.
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
from tests.browser.live_cluster import live_cluster
from tests.browser.preview import preview
from tests.browser.shop import shop
from tests.browser.tour import DEVICES, FORK, GROUPS, Stop, stops
from tests.kubesched_ui.instance import Instance, until

expect.set_options(timeout=20_000)  # a bound for hanging tests, not a measurement: test machines are busy


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
    """Start KubeSched as `make run` does, with its own database."""
    instance = Instance(tmp_path_factory.mktemp("var"))
    instance.start()
    until(instance.serves, "the start")
    yield instance
    instance.kill_all()


def is_problem(message: ConsoleMessage) -> bool:
    return message.type == "error" and not re.search(r"status of (400|409)\b", message.text)


class Problems(list[str]):
    """Errors of a page: script errors, blocked loads, dialogs. Status codes 400 and 409 are expected."""

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self.append(message.text) if is_problem(message) else None)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("dialog", lambda dialog: (self.append(f"dialog: {dialog.message}"), dialog.dismiss()))


@contextmanager
def new_page(browser: Browser, site: Instance, width: int = 1440, height: int = 900, **more: Any) -> Iterator[Page]:
    """Return a new page of a new profile."""
    viewport: ViewportSize = {"width": width, "height": height}
    context = browser.new_context(base_url=f"http://127.0.0.1:{site.port}", viewport=viewport, **more)
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(browser: Browser, site: Instance) -> Iterator[Page]:
    """Return a new page. The test fails if the page reports an error."""
    problems = Problems()
    with new_page(browser, site) as page:
        problems.watch(page)
        yield page
    assert problems == []


@pytest.fixture
def quiet_page(browser: Browser, site: Instance) -> Iterator[Page]:
    """Return a new page that may report errors, such as the status of a rejected request."""
    with new_page(browser, site) as page:
        yield page


@pytest.fixture(scope="package")
def recorded(site: Instance) -> dict[str, int]:
    """Return {scenario, run}: the numbers of shop() and of a finished run of its pending pods."""
    return site.record(shop(), tie_break="name")


@pytest.fixture(scope="package")
def story(site: Instance) -> dict[str, int]:
    """Return {scenario, run}: the numbers of story.yaml and of a finished run.

    At 60 s boss preempts worker, which terminates for 30 s; late waits for n2 from 120 s to 240 s.
    """
    return site.record((Path(__file__).parent / "story.yaml").read_bytes())


@pytest.fixture(scope="package")
def devices(site: Instance) -> int:
    """Return a finished run of the sample with devices, in its release."""
    return site.record(DEVICES.read_bytes(), release="1.36", tie_break="name")["run"]


@pytest.fixture(scope="package")
def groups(site: Instance) -> int:
    """Return a finished run of the sample with pod groups, with the default feature gates."""
    return site.record(GROUPS.read_bytes(), tie_break="name")["run"]


@pytest.fixture(scope="package")
def tour(site: Instance, recorded: dict[str, Any], story: dict[str, Any], devices: int, groups: int) -> dict[str, Stop]:
    """Return every stop of the tour by its key."""
    fork: int = site.api("POST", f"/runs/{recorded['run']}/fork", FORK)["id"]
    assert site.finished(fork)["state"] == "done"
    upgrade = preview(site, ["1.27", "1.34", list(RELEASES)[-1]])["id"]
    more = (upgrade, devices, groups, live_cluster(site))
    found = stops(recorded["scenario"], recorded["run"], fork, story["scenario"], story["run"], *more)
    return {stop.key: stop for stop in found}
