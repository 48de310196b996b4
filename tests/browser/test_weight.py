"""Size of pages: at 50 kB/s the content is there within two seconds."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Response

from tests.examples import selection
from tests.kubesched_ui.instance import Instance

MOST = 75_000  # bytes of all but Plotly and the map; at 50 kB/s 1.5 s, and the latency
MAP = 91_000  # bytes of the map, its player and their data, which load after the page


def addresses(recorded: dict[str, Any]) -> dict[str, str]:
    run = f"/runs/{recorded['run']}/"
    return {
        "home": "/",
        "scenario": f"/scenarios/{recorded['scenario']}/",
        "run": run,
        "placed": f"{run}pods/shop/front-3/?point=score",
        "pending": f"{run}pods/shop/search-1/",
        "lesson": "/learn/preemption-victims/1/",
        "slide": f"{run}present/?cycle=1&point=fits",
        "compare": f"/compare/{recorded['run']}/{recorded['run']}/",
    }


@pytest.mark.parametrize(
    "name", selection(["home", "scenario", "lesson", "run", "slide", "compare", "placed", "pending"], 3)
)
def test_pages_are_light(page: Page, recorded: dict[str, Any], name: str) -> None:
    received: dict[str, float] = {}
    urls: dict[str, str] = {}
    network = page.context.new_cdp_session(page)
    network.on("Network.requestWillBeSent", lambda event: urls.update({event["requestId"]: event["request"]["url"]}))
    network.on(
        "Network.loadingFinished",
        lambda event: received.update({urls[event["requestId"]]: event["encodedDataLength"]}),
    )
    network.send("Network.enable")
    page.goto(addresses(recorded)[name], wait_until="networkidle")
    later = {address: size for address, size in received.items() if "/js/map/" in address or "/api/" in address}
    own = {a: size for a, size in received.items() if "plotly" not in a and a not in later}
    assert sum(own.values()) < MOST, sorted(own.items(), key=lambda item: -item[1])[:5]
    assert sum(later.values()) < MAP, sorted(later.items(), key=lambda item: -item[1])[:5]


@pytest.mark.long
def test_static_files_are_kept_for_a_year_and_compressed(page: Page, site: Instance, recorded: dict[str, Any]) -> None:
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    for address in addresses(recorded).values():
        page.goto(address, wait_until="networkidle")
    files = {answer.url: answer for answer in answers if "/static/" in answer.url}
    assert len(files) > 12
    for address, answer in files.items():
        assert answer.status == 200, address
        assert answer.headers["cache-control"] == "max-age=31536000, public, immutable", address
        if not address.endswith("theme.js"):
            assert answer.headers.get("content-encoding") == "gzip", address


def test_no_module_waits_for_another(page: Page, recorded: dict[str, Any]) -> None:
    """Every script that a page's modules import is named in its head, but those of the map, which comes later."""
    page.goto(addresses(recorded)["placed"], wait_until="networkidle")
    named = set(page.evaluate("[...document.head.querySelectorAll('[href], [src]')].map((e) => e.href || e.src)"))
    loaded = page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter(({ startTime }) => startTime < performance.getEntriesByType("navigation")[0].loadEventStart)
          .map(({ name }) => name)"""
    )
    assert [address for address in loaded if address.endswith(".js") and address not in named] == []
