"""A small OpenID Connect provider in this process: discovery, authorization, token, userinfo and keys."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

ENDPOINTS = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}


class Provider(ThreadingHTTPServer):
    """`person`: the claims of the user who signs in. `token_requests`: the forms posted to the token endpoint."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ProviderHandler)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.person: dict[str, Any] = {"sub": "7", "preferred_username": "grace"}
        self.token_requests: list[dict[str, str]] = []


class ProviderHandler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        here, path = self.server.issuer, urlsplit(self.path)
        if path.path == "/.well-known/openid-configuration":
            endpoints = {f"{name}_endpoint": f"{here}/{path}" for name, path in ENDPOINTS.items()}
            self.answer({"issuer": here, "jwks_uri": f"{here}/keys", **endpoints})
        elif path.path == "/authorize":
            parameters = {name: values[0] for name, values in parse_qs(path.query).items()}
            self.send_response(302)
            query = urlencode({"code": "c0de", "state": parameters["state"]})
            self.send_header("Location", f"{parameters['redirect_uri']}?{query}")
            self.end_headers()
        elif path.path == "/userinfo" and self.headers["Authorization"] == "Bearer t0ken":
            self.answer(self.server.person)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.token_requests.append({name: values[0] for name, values in parse_qs(text).items()})
        self.answer({"access_token": "t0ken", "token_type": "Bearer", "expires_in": 60})

    def answer(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def provider() -> Iterator[Provider]:
    server = Provider()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
