"""Extenders over HTTP with a small server: requests, use of the responses, and failures.

Source: pkg/scheduler/extender.go (extender_test.go), k8s.io/kube-scheduler/extender/v1 (types.go).
"""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.virtual_time_runs import scenario

Answer = Callable[[Raw], Any]


class Server:
    """Extender that responds by verb. `requests`: the received (verb, arguments)."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, Raw]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                arguments = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.rpartition("/")[2]
                outer.requests.append((verb, arguments))
                answer = outer.answers[verb](arguments)
                status, body = answer if isinstance(answer, tuple) else (200, json.dumps(answer).encode())
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/scheduler"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.http.shutdown()
    one.http.server_close()


def play(
    server: Server, *objects: Raw, allowed: tuple[str, ...] = ("127.0.0.1",), release: str = "1.34", **extender: Any
) -> list[Record]:
    """Run a scenario of two nodes and one pod, whose configuration names the extender."""
    config = {"extenders": [{"urlPrefix": server.url, "nodeCacheCapable": True, **extender}]}
    things = objects or (node("n1"), node("n2"), pod("web", requests={"cpu": "1"}))
    run = ScenarioRun(scenario(*things, config=config, until=0, kubernetes=release), allowed_extenders=allowed)
    return list(run.run())


def attempt(records: list[Record]) -> Record:
    return next(record for record in records if record.kind == "attempt")


def failures(records: list[Record]) -> list[str]:
    return [record.data["message"] for record in records if record.kind == "extender.failed"]


def test_an_extender_is_not_called_unless_its_host_is_allowed(server: Server) -> None:
    assert attempt(play(server, allowed=(), filterVerb="filter")).data["result"] == "scheduled"
    with pytest.raises(InputError, match="is not an allowed host"):
        play(server, allowed=("example.com",), filterVerb="filter")
    assert server.requests == []


def test_filter(server: Server) -> None:
    server.answers["filter"] = lambda args: {"NodeNames": ["n2"], "FailedNodes": {"n1": "too warm"}}
    trace = attempt(play(server, filterVerb="filter"))
    assert trace.data["node"] == "n2"
    verb, arguments = server.requests[0]
    assert (verb, arguments["NodeNames"], arguments["Pod"]["metadata"]["name"]) == ("filter", ["n1", "n2"], "web")


def test_bind(server: Server) -> None:
    server.answers["bind"] = lambda args: {"Error": ""}
    records = play(server, bindVerb="bind")
    assert [r.data["node"] for r in records if r.kind == "pod.bound"] == ["n1"]
    assert server.requests[0][1] == {"PodName": "web", "PodNamespace": "default", "PodUID": "default-web", "Node": "n1"}
    server.answers["bind"] = lambda args: {"Error": "no"}
    records = play(server, bindVerb="bind")
    assert [r.kind for r in records if r.kind.startswith(("bind", "pod.bound"))] == ["bind.failed"]
    assert failures(records)[0].endswith(": no")


def slow(args: Raw) -> Any:
    time.sleep(0.4)
    return {}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (slow, "no answer within 0.1 s"),
        (lambda args: (500, b"oops"), "failed filter with extender at URL"),
        (lambda args: (302, b""), "code 302"),
        (lambda args: (200, b"<html>"), "the answer is not JSON"),
        (lambda args: (200, b"\xff\xfe"), "the answer is not JSON"),
        (lambda args: ["n1"], "unexpected format"),
        (lambda args: {"NodeNames": "n1"}, "unexpected format"),
        (lambda args: {"NodeNames": [1]}, "unexpected format"),
        (lambda args: {"NodeNames": ["n1"], "FailedNodes": ["n2"]}, "unexpected format"),
        (lambda args: {"Nodes": {"items": [{}]}}, "unexpected format"),
        (lambda args: {"NodeNames": ["n9"]}, "claims a node 'n9' that was not in the request"),
        (lambda args: {"NodeNames": ["n1"], "Error": "out of order"}, "out of order"),
    ],
)
@pytest.mark.parametrize("ignorable", [False, True])
def test_a_slow_dead_or_invalid_filter(server: Server, answer: Answer, words: str, ignorable: bool) -> None:
    server.answers["filter"] = answer
    timeout = "100ms" if answer is slow else "5s"
    records = play(server, filterVerb="filter", ignorable=ignorable, httpTimeout=timeout)
    assert words in failures(records)[0]
    trace = attempt(records).data
    assert trace["result"] == ("scheduled" if ignorable else "error")
    if not ignorable:
        assert words in trace["message"]


def test_an_unreachable_extender(server: Server) -> None:
    server.http.server_close()
    records = play(server, filterVerb="filter", httpTimeout="1s")
    assert attempt(records).data["result"] == "error"
    assert "cannot be reached" in failures(records)[0] or "no answer" in failures(records)[0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([{"Host": "n1", "Score": 11}], "scores node 'n1' 11, which is not in 0..10"),
        ([{"Host": "n9", "Score": 1}], "scores a node 'n9' that was not in the request"),
        ({"Host": "n1"}, "unexpected format"),
    ],
)
def test_invalid_scores_are_ignored(server: Server, answer: Any, words: str) -> None:
    server.answers["prioritize"] = lambda args: answer
    records = play(server, prioritizeVerb="prioritize", weight=5)
    assert words in failures(records)[0]
    assert attempt(records).data["result"] == "scheduled"


def test_a_pod_rejected_by_an_extender_is_woken_by_any_event(server: Server) -> None:
    server.answers["filter"] = lambda args: {"NodeNames": []}
    config = {"extenders": [{"urlPrefix": server.url, "nodeCacheCapable": True, "filterVerb": "filter"}]}
    change = {"at": 9, "patch": {"kind": "Node", "name": "n1", "patch": {"metadata": {"annotations": {"a": "b"}}}}}
    run = ScenarioRun(
        scenario(node("n1"), pod("web"), config=config, timeline=[change]), allowed_extenders=["127.0.0.1"]
    )
    assert [r.time for r in run.run() if r.kind == "attempt"][:2] == [0, 9]


@pytest.mark.parametrize(("release", "chosen"), [("1.27", "n1"), ("1.34", "n2")])
@pytest.mark.parametrize("capable", [False, True])
def test_returned_nodes_are_scored_without_their_pods(server: Server, release: str, chosen: str, capable: bool) -> None:
    """n1 has capacity, n2 is larger but busy. Its pods do not count after an extender returned it (1.33)."""
    server.answers["filter"] = lambda args: {key: args[key] for key in ("Nodes", "NodeNames") if key in args}
    nodes = (node("n1", cpu="4", memory="8Gi"), node("n2", cpu="8", memory="16Gi"))
    busy = pod("busy", on="n2", requests={"cpu": "6", "memory": "12Gi"})
    web = pod("web", requests={"cpu": "1", "memory": "2Gi"})
    records = play(server, *nodes, busy, web, release=release, filterVerb="filter", nodeCacheCapable=capable)
    assert attempt(records).data["node"] == ("n1" if capable else chosen)


def test_a_nominated_node_is_sent_alone_first_and_then_with_all(server: Server) -> None:
    server.answers["filter"] = lambda args: {
        "NodeNames": [name for name in args["NodeNames"] if name != "n1"],
        "FailedNodes": {"n1": "too warm"},
    }
    promised = pod("web", requests={"cpu": "1"}, status={"phase": "Pending", "nominatedNodeName": "n1"})
    records = play(server, node("n1"), node("n2"), promised, filterVerb="filter")
    assert attempt(records).data["node"] == "n2"
    assert [arguments["NodeNames"] for _, arguments in server.requests] == [["n1"], ["n1", "n2"]]


def test_no_candidate_remains(server: Server) -> None:
    server.answers["preempt"] = lambda args: {"NodeNameToMetaVictims": {}}
    high = pod("web", requests={"cpu": "3"}, priority=10)
    trace = attempt(play(server, node("n1"), pod("low", on="n1", requests={"cpu": "3"}), high, preemptVerb="preempt"))
    assert "preemption: no candidate node for preemption" in trace.data["message"]
    assert not trace.data.get("nominated_node")


@pytest.mark.parametrize(
    ("release", "plugins"), [("1.29.9", ["NodeResourcesFit"]), ("1.29.10", ["Extender", "NodeResourcesFit"])]
)
def test_an_extender_counts_among_the_plugins_that_rejected_a_pod(
    server: Server, release: str, plugins: list[str]
) -> None:
    """Before, only events of the other plugins requeue the pod (kubernetes/kubernetes#122022)."""
    server.answers["filter"] = lambda args: {"NodeNames": [], "FailedNodes": {"n1": "too warm"}}
    things = node("n1"), node("n2", cpu="1"), pod("web", requests={"cpu": "2"})
    assert attempt(play(server, *things, release=release, filterVerb="filter")).data["plugins"] == plugins
