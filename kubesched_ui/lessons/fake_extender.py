"""A fake HTTP extender for a lesson: a local web server that runs only while the lesson's run is simulated.

It replaces the extender that the lesson's configuration names (`Extenders`, proxy), so requests and responses are
real. Uploaded configurations cannot reach it: only the product's own lesson files use it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.lessons.parser import Answers

MOST_BYTES = 1_000_000


class Exchange(NamedTuple):
    """A request of the scheduler and the response. `verb`: filter or prioritize; `sent`: node names."""

    verb: str
    pod: str
    sent: list[str]
    answered: Any


def answer_to(answers: Answers, verb: str, request: dict[str, Any]) -> Exchange:
    """Return the response of the extender: an ExtenderFilterResult or HostPriorityList of
    k8s.io/kube-scheduler/extender/v1."""
    names = [item["metadata"]["name"] for item in (request.get("Nodes") or {}).get("items", [])]
    names = names or list(request.get("NodeNames") or ())
    pod = request["Pod"]["metadata"]["name"]
    if verb == "filter":
        failed = {name: answers.refuses[name] for name in names if name in answers.refuses}
        kept = [name for name in names if name not in failed]
        items = [{"metadata": {"name": name}} for name in kept]
        return Exchange(verb, pod, names, {"nodes": {"items": items}, "failedNodes": failed})
    scores = [{"host": name, "score": answers.points.get(name, 0)} for name in names]
    return Exchange(verb, pod, names, scores)


@contextmanager
def answering(answers: Answers, exchanges: list[Exchange]) -> Iterator[str]:
    """Run the server inside the `with` and yield its URL. Exchanges are appended to `exchanges`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = min(MOST_BYTES, int(self.headers.get("Content-Length") or 0))
            exchange = answer_to(answers, self.path.rpartition("/")[2], msgspec.json.decode(self.rfile.read(size)))
            exchanges.append(exchange)
            body = msgspec.json.encode(exchange.answered)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
