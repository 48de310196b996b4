"""Extenders for conformance cases and lessons: a small HTTP server on the loopback that answers as they specify.

It acts as a proxy for all hosts: extenders keep the addresses from their configuration, and no request leaves the
machine.
"""

import http.server
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import msgspec


def _nodes(request: Mapping[str, Any]) -> list[str]:
    """Return the names of the nodes in the request, in either form."""
    if "Nodes" in request:
        return [node["metadata"]["name"] for node in request["Nodes"]["items"]]
    return list(request["NodeNames"])


def _filter(answers: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    nodes = _nodes(request)
    refuse, unresolvable = ({n: why for n, why in answers.get(key, {}).items() if n in nodes} for key in _REFUSALS)
    left = [name for name in nodes if name not in refuse and name not in unresolvable]
    answer = {"FailedNodes": refuse, "FailedAndUnresolvableNodes": unresolvable, "Error": answers.get("error", "")}
    if "NodeNames" in request:
        return answer | {"NodeNames": left}
    items = [node for node in request["Nodes"]["items"] if node["metadata"]["name"] in left]
    return answer | {"Nodes": {"items": items}}


def _prioritize(answers: Mapping[str, Any], request: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"Host": name, "Score": answers.get("scores", {}).get(name, 0)} for name in _nodes(request)]


def _preempt(answers: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    whole = request.get("NodeNameToVictims") or {}
    meta = request.get("NodeNameToMetaVictims") or {node: _meta(victims) for node, victims in whole.items()}
    return {"NodeNameToMetaVictims": {n: victims for n, victims in meta.items() if n not in answers.get("drop", ())}}


def _meta(victims: Mapping[str, Any]) -> dict[str, Any]:
    uids = [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]
    return {"Pods": uids, "NumPDBViolations": victims["NumPDBViolations"]}


_REFUSALS = ("refuse", "unresolvable")
_VERBS = {"filter": _filter, "prioritize": _prioritize, "preempt": _preempt}


def serve_extenders(extenders: Mapping[str, Any]) -> AbstractContextManager[str]:
    """Run a server that answers http://HOST/NAME/VERB as `extenders` specifies, and yield its address.

    `extenders`: name -> verb -> the answer: `refuse`, `unresolvable` (node -> message), `error`; `scores` (node ->
    0..10); `drop` (nodes); `status`, an HTTP status instead of an answer.
    """

    def answer(path: str, request: Any) -> tuple[int, Any]:
        name, _, verb = path.strip("/").partition("/")
        answers = extenders.get(name, {}).get(verb, {})
        status = answers.get("status", 200 if verb in _VERBS else 404)
        return status, _VERBS[verb](answers, request) if status == 200 else None

    return serve_json(answer)


@contextmanager
def serve_json(answer: Callable[[str, Any], tuple[int, Any]], max_bytes: int = 1 << 30) -> Iterator[str]:
    """Run a server on the loopback that answers POST requests, and yield its address.

    `answer`: (path, decoded request) -> (HTTP status, response). `max_bytes`: limit of a request's body.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = min(max_bytes, int(self.headers.get("Content-Length") or 0))
            path = urllib.parse.urlsplit(self.path).path
            status, response = answer(path, msgspec.json.decode(self.rfile.read(size)))
            body = msgspec.json.encode(response) if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
