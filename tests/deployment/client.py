"""A user of the public address: requests, and sockets that reconnect."""

from __future__ import annotations

import http.cookiejar
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

NORMAL = 1000  # close code of a socket that has sent everything


class Browser:
    """Client with cookies. `url`: of the proxy, or of one web process, which gets `host` as its host name."""

    def __init__(self, url: str, host: str = "") -> None:
        self.url = url
        self.host = {"Host": host} if host else {}
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies)
        )

    def ask(
        self, method: str, path: str, body: Any = None, seconds: float = 60, **headers: str
    ) -> tuple[int, Any, str]:
        """Return (status, headers, text). Other bodies than bytes are sent as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        for name, value in ({"Content-Type": kind} | self.host | headers).items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with self.opener.open(request, timeout=seconds) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode(errors="replace")

    def api(self, method: str, path: str, body: Any = None, seconds: float = 60) -> Any:
        """Return the JSON response. Raise OSError for an error."""
        status, _, text = self.ask(method, f"/api{path}", body, seconds)
        if status >= 400:
            raise OSError(f"{method} {path}: {status} {text[:300]}")
        return json.loads(text or "null")

    def form(self, page: str, action: str, **fields: str) -> tuple[int, Any, str]:
        """Send a form of a page. Return the response of the page that it redirects to."""
        body = urllib.parse.urlencode(fields | self.token(page)).encode()
        return self.ask("POST", page + action, body, Content_Type="application/x-www-form-urlencoded")

    def token(self, page: str) -> dict[str, str]:
        """Return the CSRF token of a page."""
        self.ask("GET", page)
        return {"csrfmiddlewaretoken": next(c.value or "" for c in self.cookies if c.name == "csrftoken")}

    def patiently(self, method: str, path: str, body: Any = None, seconds: float = 180) -> Any:
        """As `api`, repeated during an outage of the service."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.api(method, path, body, seconds=15)
            except (OSError, urllib.error.URLError, ValueError) as error:
                message = str(error)
                if time.monotonic() > end or any(f": {code} " in message for code in (400, 403, 404, 409, 413, 422)):
                    raise
                time.sleep(0.3)


class Watcher:
    """A socket of a run that reconnects with `since` whenever it ends early. `key`: of the number of an event."""

    path, messages, key = "", "events", "seq"

    def __init__(self, url: str, run: int) -> None:
        self.address = f"{url.replace('http', 'ws', 1)}/ws/runs/{run}{self.path}"
        self.events: list[dict[str, Any]] = []
        self.codes: list[int] = []  # how sockets ended; 0: without a close frame
        self.came = 0  # number of sockets

    def watch(self, seconds: float = 240, silent: float = 20) -> Watcher:
        """Watch until the run is finished. Reconnect after `silent` seconds without a message. Raise TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            since = self.events[-1][self.key] if self.events else 0
            try:
                with connect(f"{self.address}?since={since}", max_size=None, open_timeout=10, close_timeout=1) as ws:
                    self.came += 1
                    while True:
                        self.events += json.loads(ws.recv(timeout=silent))[self.messages]
            except ConnectionClosed as closed:
                self.codes.append(closed.rcvd.code if closed.rcvd else 0)
                if self.over:
                    return self
            except (WebSocketException, OSError):
                pass
            time.sleep(0.2)
        raise TimeoutError(f"{self.address} did not end within {seconds} s; {len(self.events)} events so far")

    @property
    def over(self) -> bool:
        return bool(self.events) and self.events[-1]["type"] == "run.finished"

    @property
    def whole(self) -> bool:
        """Tell whether every event was received once and in order."""
        return self.over and [event[self.key] for event in self.events] == list(range(1, len(self.events) + 1))


class Follower(Watcher):
    """A socket of a run's decisions, as of a page in follow mode."""

    path, messages, key = "/decisions", "decisions", "cycle"

    @property
    def over(self) -> bool:
        return self.codes[-1:] == [NORMAL]


def decisions(events: list[dict[str, Any]]) -> list[Any]:
    """Return the decisions in the events of a run."""
    return [{name: event[name] for name in ("seq", "t", "type", "pod", "attempt", "data")} for event in events]
