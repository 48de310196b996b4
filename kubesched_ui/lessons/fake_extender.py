"""An extender for a lesson: a web server on this machine, for as long as the lesson's run is played.

It answers in the place of the one that the lesson's configuration names (`Extenders`, proxy), so what is sent and what
comes back are the real requests. Nothing that somebody uploads leads here: lessons are files of ours.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.lessons.parser import Answers

MOST_BYTES = 1_000_000


class Exchange(NamedTuple):
    """A request of the scheduler and what it was answered. `verb`: filter or prioritize; `sent`: node names."""

    verb: str
    pod: str
    sent: list[str]
    answered: Any


def answer_to(answers: Answers, verb: str, asked: dict[str, Any]) -> Exchange:
    """What the extender says: as k8s.io/kube-scheduler/extender/v1 has ExtenderFilterResult and HostPriorityList."""
    names = [item["metadata"]["name"] for item in (asked.get("Nodes") or {}).get("items", [])]
    names = names or list(asked.get("NodeNames") or ())
    pod = asked["Pod"]["metadata"]["name"]
    if verb == "filter":
        failed = {name: answers.refuses[name] for name in names if name in answers.refuses}
        kept = [name for name in names if name not in failed]
        items = [{"metadata": {"name": name}} for name in kept]
        return Exchange(verb, pod, names, {"nodes": {"items": items}, "failedNodes": failed})
    scores = [{"host": name, "score": answers.points.get(name, 0)} for name in names]
    return Exchange(verb, pod, names, scores)


@contextmanager
def answering(answers: Answers, told: list[Exchange]) -> Iterator[str]:
    """The address of the server inside the `with`; what was asked is added to `told`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = min(MOST_BYTES, int(self.headers.get("Content-Length") or 0))
            exchange = answer_to(answers, self.path.rpartition("/")[2], msgspec.json.decode(self.rfile.read(size)))
            told.append(exchange)
            body = msgspec.json.encode(exchange.answered)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
