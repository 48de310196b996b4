"""Measure a class on a run (`benchmarks/live_class.py --run`).

The figures are the delay of students' pages, and the time until the suggested fixes of a pending pod arrive.

The teacher goes through cycles on the run's page, then through pages of placed and of pending pods, each for the first
time. The delay ends when the message with the page and its cluster arrives.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from dataclasses import dataclass, field
from typing import Any

from benchmarks.live_class import PATIENCE_S, Student, Teacher, ask, summary, token_in
from tests.kubesched_ui.instance import Instance

NODES, PODS, LARGE = 100, 120, 12  # LARGE: pods that fit nowhere
WAITING = "Simulating fixes"


@dataclass(eq=False)
class Onlooker(Student):
    """`came`: (address, whether all of its parts were there) -> time. `octets`: size of the last message."""

    came: dict[tuple[str, bool], float] = field(default_factory=dict)
    octets: int = 0

    def receive(self, payload: bytes, packed: bool) -> None:
        now = time.perf_counter()
        text = zlib.decompressobj(-15).decompress(payload + b"\0\0\xff\xff") if packed else payload
        if (state := json.loads(text).get("room")) is None:
            return
        assert "room-map" in state["parts"]["map"], state["address"]
        self.version, self.octets = state["version"], len(payload)
        self.came.setdefault((state["address"], WAITING not in state["parts"].get("why", "")), now)


@dataclass
class Guide(Teacher):
    """`follow`, `remedies`: seconds from the teacher's move to each student."""

    follow: list[float] = field(default_factory=list)
    remedies: list[float] = field(default_factory=list)

    async def show(self, run: int) -> None:
        """Open the class."""
        page = await ask(self.port, "GET", f"/runs/{run}/", self.cookies)
        self.token = token_in(page.body)
        form = {"csrfmiddlewaretoken": self.token, "name": "", "address": f"/runs/{run}/?cycle=1"}
        opened = await ask(self.port, "POST", f"/runs/{run}/room/", self.cookies, form)
        self.key = dict(opened.headers)["location"].split("/")[2]
        shown = await ask(self.port, "GET", f"/rooms/{self.key}/", self.cookies)
        self.code = shown.body.split("/join/")[1][:8]

    async def lead(self, address: str, pending: bool) -> None:
        """Open another page. Return when all students have all of it."""
        began = time.perf_counter()
        form = {"address": address, "csrfmiddlewaretoken": self.token}
        response = await ask(self.port, "POST", f"/rooms/{self.key}/move/", self.cookies, form)
        assert response.status == 200, response
        came = [one.came for one in self.students if isinstance(one, Onlooker)]
        while not all((address, True) in one for one in came):
            assert time.perf_counter() - began < PATIENCE_S, address
            await asyncio.sleep(0.01)
        whole = [one[address, True] - began for one in came]
        self.follow += [min(one.get((address, False), one[address, True]), one[address, True]) - began for one in came]
        self.remedies += whole if pending else []


def cluster() -> bytes:
    """Return nodes in three zones, and pods of which some fit nowhere."""
    offers = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    items: list[dict[str, Any]] = [
        {
            "kind": "Node",
            "metadata": {"name": f"node-{n}", "labels": {"topology.kubernetes.io/zone": f"zone-{n % 3}"}},
            "status": {"allocatable": offers, "capacity": offers},
        }
        for n in range(NODES)
    ]
    for n in range(PODS):
        asks = {"cpu": "64" if n < LARGE else "2", "memory": "1Gi"}
        spec = {"containers": [{"name": "c", "resources": {"requests": asks}}]}
        items.append({"kind": "Pod", "metadata": {"name": f"pod-{n}", "namespace": "default"}, "spec": spec})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


async def play(instance: Instance, number: int) -> dict[str, Any]:
    """Run the benchmark. Return the figures."""
    scenario = instance.api("POST", "/scenarios", cluster())["id"]
    run = instance.api("POST", f"/scenarios/{scenario}/runs", {"tie_break": "name"})["id"]
    await asyncio.to_thread(instance.finished, run)
    guide = Guide(instance.port, [])
    await guide.show(run)
    guide.students = [Onlooker(instance.port, guide.code, f"student {n}") for n in range(number)]
    began = time.perf_counter()
    for start in range(0, number, 20):
        await asyncio.gather(*(one.join() for one in guide.students[start : start + 20]))
    joined_s = time.perf_counter() - began
    base = f"/runs/{run}/"
    for cycle in range(2, 22):
        await guide.lead(f"{base}?cycle={cycle}", False)
    for pod in range(LARGE, LARGE + 10):
        await guide.lead(f"{base}pods/default/pod-{pod}/", False)
    for pod in range(LARGE):
        await guide.lead(f"{base}pods/default/pod-{pod}/", True)
    for one in guide.students:
        if one.task:
            one.task.cancel()
    return {
        "students": number,
        "nodes": NODES,
        "joined_s": round(joined_s, 1),
        "moves": len(guide.follow) // number,
        "follow_ms": summary(guide.follow),
        "remedies_ms": summary(guide.remedies),
        "message_octets": max(one.octets for one in guide.students if isinstance(one, Onlooker)),
        "socket_connects": sum(one.connects for one in guide.students),
    }
