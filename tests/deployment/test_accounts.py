"""People sign in where several web processes serve one address: whom one of them let in the others know."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.deployment.client import Browser, Watcher
from tests.deployment.compose import Machines
from tests.deployment.servers import MISSING
from tests.kubesched_ui.instance import until
from tests.kubesched_ui.test_processes import cluster

PASSWORD = "correct horse battery staple"


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_people_sign_in_at_one_address(tmp_path: Path) -> None:
    machines = Machines(tmp_path, workers=1, ACCOUNTS="1")
    try:
        machines.up()
        ada, stranger = Browser(machines.url), Browser(machines.url)
        assert stranger.ask("GET", "/api/runs")[0] == 401
        first_administrator(machines, ada)
        for path in ("/", "/runs/", "/api/runs") * 6:  # of either process
            assert ada.ask("GET", path)[0] == 200, path
        scenario = ada.api("POST", "/scenarios?name=private", cluster(20, 40))["id"]
        run = ada.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
        until(lambda: ada.api("GET", f"/runs/{run}")["state"] == "done", "the run")
        assert {stranger.ask("GET", f"/api/runs/{run}")[0] for _ in range(4)} == {401}
        assert heard(machines, run, cookies(ada))[-1]["type"] == "run.finished"
        assert heard(machines, run, "") == []
        a_token_of_one_is_known_to_all(machines, ada, run)
        tries_are_counted_together(machines)
    finally:
        machines.down()


def first_administrator(machines: Machines, ada: Browser) -> None:
    """Each web process logs a link of its own; of eight browsers that use them at once one makes an account."""
    links = [until(lambda name=name: link_of(machines, name), f"the link of {name}") for name in machines.webs]
    people = [ada, *(Browser(machines.url) for _ in range(7))]
    for number, browser in enumerate(people):
        assert browser.ask("GET", links[number % len(links)])[0] == 200

    def sign_up(number: int) -> int:
        fields = {"username": f"person-{number}", "password1": PASSWORD, "password2": PASSWORD, "email": ""}
        return people[number].form("/account/signup/", "", **fields)[0]

    with ThreadPoolExecutor(len(people)) as crowd:
        statuses = list(crowd.map(sign_up, range(len(people))))
    made = machines.postgres.sql("SELECT username FROM auth_user").split()
    administrators = machines.postgres.sql("SELECT username FROM auth_user WHERE is_superuser").split()
    assert (len(made), administrators) == (1, made), statuses
    first = people[int(made[0].removeprefix("person-"))]
    ada.cookies, ada.opener = first.cookies, first.opener


def link_of(machines: Machines, name: str) -> str:
    found = re.findall(r"/account/invitation/[\w-]+/", machines.said(name))
    return found[0] if found else ""


def cookies(browser: Browser) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies)


def heard(machines: Machines, run: int, cookie: str) -> list[dict[str, str]]:
    """The events that a socket with these cookies gets, until it is closed."""
    events: list[dict[str, str]] = []
    address = Watcher(machines.url, run).address
    with (
        contextlib.suppress(ConnectionClosedError),  # there is no such run for others
        connect(address, additional_headers={"Cookie": cookie}, max_size=None) as socket,
    ):
        for message in socket:
            events += json.loads(message).get("events", [])
    return events


def a_token_of_one_is_known_to_all(machines: Machines, ada: Browser, run: int) -> None:
    fields = {"name": "laptop", "scope": "read", "days": "30"}
    body = urllib.parse.urlencode(fields | ada.token("/account/")).encode()
    said = ada.ask("POST", "/account/tokens/", body, Content_Type="application/x-www-form-urlencoded")[2]
    secret = re.findall(r'value="(ks_[\w-]+)"', said)[0]
    program = Browser(machines.url)

    def statuses() -> set[int]:
        return {program.ask("GET", f"/api/runs/{run}", Authorization=f"Bearer {secret}")[0] for _ in range(6)}

    assert statuses() == {200}
    number = re.findall(r"/account/tokens/(\d+)/revoke/", ada.ask("GET", "/account/")[2])[0]
    assert ada.form("/account/", f"tokens/{number}/revoke/")[0] == 200
    assert statuses() == {401}


def tries_are_counted_together(machines: Machines) -> None:
    """Five wrong passwords for a name, whichever process was asked, are five."""
    thief = Browser(machines.url)
    said = [thief.form("/account/login/", "", login="person-0", password=f"wrong {n}")[2] for n in range(6)]
    assert ["Too many failed" in text for text in said] == [False] * 5 + [True]
