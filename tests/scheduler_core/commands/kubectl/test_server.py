"""The plugin with --server: requests, the token, answers, failures."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scheduler_core.commands.kubectl import plugin
from scheduler_core.commands.kubectl.server import Server
from scheduler_core.errors import InputError

CLUSTER = {
    "id": 3,
    "name": "prod",
    "connection": "prod-context",
    "state": "connecting",
    "message": "It does not answer.",
}
ROWS = [
    {
        "pod": f"shop/web-{number}",
        "category": "not now",
        "cause": "waits-for-victims",
        "sentence": "It fits on n1 when shop/db is gone.",
        "details": {"leaving": [{"pod": "shop/db", "node": "n1"}], "nodes": 4, "since": 1767225600.0},
    }
    for number in range(3)
]
QUOTA = {"pod": "shop/ReplicaSet web", "category": "not asked", "cause": "creation-refused", "details": {}}
QUOTA["sentence"] = "1 of 2 pods does not exist: the API server refuses them: exceeded quota."


class Api(BaseHTTPRequestHandler):
    """What a KubeSched server answers."""

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        self.server.requests.append((path, query, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        if self.headers.get("Authorization") not in (None, "Bearer ks_secret"):
            return self._send(401, {"error": "The token is not valid."})
        match path:
            case "/api/clusters":
                return self._send(200, self.server.clusters)  # type: ignore[attr-defined]
            case "/api/clusters/3/pending":
                start, rows = int(query.get("offset", ["0"])[0]), [*ROWS, QUOTA]
                return self._send(200, {"count": len(rows), "pods": rows[start : start + 2]})
            case "/api/clusters/3/pods/shop/web-1/why":
                return self._send(200, ROWS[1])
            case "/api/clusters/3/pods/shop/moved/why":
                self.send_response(302)
                self.send_header("Location", "http://elsewhere.example/")
                return self.end_headers()
        return self._send(404, {"error": "Not found."})

    def _send(self, status: int, value: Any) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


@pytest.fixture
def server() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as found:
        found.requests, found.clusters = [], [CLUSTER]  # type: ignore[attr-defined]
        found.url = f"http://127.0.0.1:{found.server_port}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield found
        found.shutdown()


def run(arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    return plugin.main(arguments.split(), out), out.getvalue()


def test_a_pod(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_TOKEN", "ks_secret")
    code, text = run(f"why web-1 -n shop --server {server.url}/")
    assert code == plugin.EXIT_NOT_NOW
    assert text.startswith("shop/web-1\nNot now: It fits on n1 when shop/db is gone.\n")
    assert "Ending:      shop/db on n1" in text
    assert f"Page: {server.url}/clusters/3/pods/shop/web-1/" in text
    assert "Note: It does not answer." in text
    assert {token for _, _, token in server.requests} == {"Bearer ks_secret"}
    server.clusters = [CLUSTER | {"state": "following", "message": "Up to date."}]
    assert "Note" not in run(f"why web-1 -n shop --server {server.url}")[1]


def test_all_pods(server: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("ks_secret\n")
    code, text = run(f"why -A --server {server.url} --context prod-context --token-file {tmp_path / 'token'}")
    assert code == plugin.EXIT_NOT_NOW
    assert "3 pods of the cluster are pending; 1 workload lacks pods." in text
    assert "3 pods: shop/web-0, shop/web-1, shop/web-2" in text
    assert "ReplicaSet shop/web\nNot asked: 1 of 2 pods does not exist" in text
    code, text = run(f"why -A --server {server.url} -o json")
    assert len(json.loads(text)["answers"]) == 4
    assert json.loads(text)["page"] == f"{server.url}/clusters/3/"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("why missing -n shop", plugin.INPUT, "Pod shop/missing: is not pending, or does not exist"),
        ("why moved -n shop", plugin.UNREACHABLE, "answers 302"),
        ("why web-1 -n shop --context other", plugin.INPUT, "no cluster of this name; there are: prod"),
    ],
)
def test_failures(server: Any, capsys: Any, arguments: str, code: int, message: str) -> None:
    assert run(f"{arguments} --server {server.url}")[0] == code
    assert message in capsys.readouterr().err


def test_a_wrong_token_is_not_shown(server: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_TOKEN", "ks_wrong")
    assert run(f"why -A --server {server.url}")[0] == plugin.UNREACHABLE
    error = capsys.readouterr().err
    assert "answers 401: The token is not valid." in error
    assert "ks_wrong" not in error


def test_several_clusters_need_a_name(server: Any, capsys: Any) -> None:
    server.clusters = [CLUSTER, {**CLUSTER, "id": 4, "name": "test", "connection": "test"}]
    assert run(f"why -A --server {server.url}")[0] == plugin.INPUT
    assert "must name one of the server's clusters: prod, test" in capsys.readouterr().err


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_TOKEN", "ks_secret")
    for url in ("file:///etc/passwd", "http://kubesched.example", "https://user:pw@kubesched.example", "kubesched"):
        with pytest.raises(InputError):
            Server(url)
    assert (
        Server("https://kubesched.example/sub/").page(1, "a/b") == "https://kubesched.example/sub/clusters/1/pods/a/b/"
    )


def test_no_server(capsys: Any) -> None:
    assert run("why -A --server http://127.0.0.1:9")[0] == plugin.UNREACHABLE
    assert "http://127.0.0.1:9 cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", ["-f x", "deploy/web", "web --release 1.30", "web --token-file t"])
def test_what_a_server_cannot_answer(arguments: str, capsys: Any) -> None:
    server = "" if "token" in arguments else "--server https://kubesched.example"
    with pytest.raises(SystemExit) as ended:
        run(f"why {arguments} {server}")
    assert ended.value.code == plugin.USAGE
