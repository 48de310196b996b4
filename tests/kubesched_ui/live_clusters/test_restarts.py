"""An API server that starts again and again while a server follows it."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.api_server.process import api_server
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.instance import Instance, until
from tests.kubesched_ui.live_clusters.settings_files import clusters_file

pytestmark = pytest.mark.long

RESTARTS = int(os.environ.get("RESTARTS", "200"))
JSON = {"Content-Type": "application/json"}
STARTING: tuple[dict[str, Any], ...] = (
    {"status": 403},
    {"status": 401},
    {"status": 429, "retry_after": 1},
    {"status": 500},
    {"status": 503},
    {"empty": True},
    {"cut_after": -1},
)


def test_no_answer_rests_on_missing_nodes(tmp_path: Path) -> None:
    source = random.Random(1)
    with api_server() as server:
        for number in range(5):
            server.request("POST", "/api/v1/nodes", node(f"n{number}"), **JSON)
        server.request("POST", "/api/v1/namespaces/default/pods", pod("waits", "64"), **JSON)
        server.control("refuse", key="default/waits", message="0/5 nodes are available: 5 Insufficient cpu.")
        instance = Instance(tmp_path, CLUSTERS_FILE=str(clusters_file(tmp_path, {"live": server.url})))

        def cluster() -> Any:
            return instance.api("GET", "/clusters/1")

        def answered() -> bool:
            found = instance.api("GET", "/clusters/1/pending")
            return bool(found["pods"]) and found["pods"][0]["category"] == "never"

        try:
            instance.start()
            until(lambda: cluster()["state"] == "following" and cluster()["limits"] == [], "following", 120)
            until(answered, "the answer")
            stated = 0
            for number in range(RESTARTS):
                if number % 3 == 0:
                    server.control("restart", seconds=0)
                    patch = {"metadata": {"labels": {"n": str(number)}}}
                    headers = {"Content-Type": "application/merge-patch+json"}
                    server.request("PATCH", f"/api/v1/nodes/n{number % 5}", patch, **headers)
                server.control("restart", seconds=source.uniform(0.1, 2), **source.choice(STARTING))
                if source.random() < 0.2:
                    server.control("compact")
                end = time.monotonic() + source.uniform(0.2, 2)
                while time.monotonic() < end:
                    found = cluster()
                    refused = [one["kind"] for one in found["kinds"] if one["state"] == "refused"]
                    assert refused == []
                    stated += bool(found["limits"])
                    if found["counts"]["nodes"] != 5:
                        assert found["limits"], found
                    answer = instance.api("GET", "/clusters/1/pods/default/waits/why")
                    assert answer["cause"] == "request-exceeds-nodes"
                    if any(one["stale_since"] for one in found["kinds"]):
                        assert found["limits"]
                        assert found["message"] != "Up to date."
                    time.sleep(0.1)
            assert stated > RESTARTS / 4
            newest = server.control("state")["revision"]
            until(lambda: cluster()["limits"] == [] and cluster()["message"] == "Up to date.", "up to date", 60)
            until(lambda: cluster()["resource_version"] >= newest, "the newest change", 5)
            assert cluster()["counts"]["nodes"] == 5
        finally:
            instance.interrupt()
