"""Replay conformance cases through the API of a running KubeSched: upload, run, read.

    python scripts/replay_over_http.py CASES.jsonl[.gz] [--url http://127.0.0.1:8000] > OUT.jsonl

Writes the same lines as `python -m scheduler_core replay CASES`, so the two can be compared with each other and with
the expected decisions. Exit code 1 when a case could not be run. Scenarios are deleted again.
"""

import argparse
import gzip
import json
import sys
import time
import urllib.error
import urllib.request
from typing import Any


class Api:
    """The API at an address."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/") + "/api"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON response. Raise RuntimeError with the message of an error."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=120) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            raise RuntimeError(refusal.read().decode(errors="replace")) from None

    def replay(self, case: dict[str, Any]) -> dict[str, Any]:
        """Return the decisions of a case. Raise RuntimeError."""
        objects = {"apiVersion": "v1", "kind": "List", "items": case["objects"]}
        scenario = self.call("POST", "/scenarios", objects)["id"]
        try:
            run = self.finished(self.call("POST", f"/scenarios/{scenario}/runs", settings(case))["id"])
            cycles = [
                cycle
                for pod in dict.fromkeys(case["pods"])
                for cycle in self.call("GET", f"/runs/{run['id']}/pods/{pod}")["cycles"]
            ]
        finally:
            self.call("DELETE", f"/scenarios/{scenario}")
        return {k: case[k] for k in ("name", "kubernetes")} | {"node_order": run["node_names"], "cycles": cycles}

    def finished(self, number: int) -> Any:
        """Return the finished run. Raise RuntimeError if it failed."""
        while (run := self.call("GET", f"/runs/{number}"))["state"] in ("queued", "running"):
            time.sleep(0.02)
        if run["state"] != "done":
            raise RuntimeError(f"{run['state']}: {run['error']}")
        return run


def settings(case: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a case as those of a run."""
    return {
        "release": case["kubernetes"],
        "config": json.dumps(case["config"]) if case.get("config") else None,
        "tie_break": "name",
        "preemption": bool(case.get("preempt")),
        "percentage": case.get("percentage"),
        "pods": case["pods"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Replays conformance cases through the API of a running KubeSched.")
    parser.add_argument("cases")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    given = parser.parse_args()
    api, failed = Api(given.url), 0
    with gzip.open(given.cases, "rt") if given.cases.endswith(".gz") else open(given.cases) as lines:
        for line in lines:
            case = json.loads(line)
            try:
                print(json.dumps(api.replay(case)))
            except RuntimeError as problem:
                print(f"{case['name']}: {problem}", file=sys.stderr)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
