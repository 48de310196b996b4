"""A live class: the delay from a step of the teacher until the pages of all students have its parts.

Students join with the form and keep a websocket, as a browser does. The delay ends when the message with the parts of
the step arrives.
"""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.processes import quantile
from benchmarks.product import running
from tests.deployment.client import Browser

LESSON = "/learn/requests-and-allocatable/1/"
PATIENCE_S = 60.0


def joined(address: str, code: str, name: str) -> str:
    """Return the cookies of a new student."""
    student = Browser(address)
    assert student.form(f"/join/{code}/", "", name=name)[0] == 200
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in student.cookies)


async def parts(socket: ClientConnection, step: int) -> float:
    """Return when the message with the parts of a step arrived."""
    while True:
        state = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S)).get("room") or {"step": 0}
        if state["step"] == step and state["parts"]["text"]:
            return time.perf_counter()


async def lead(teacher: Browser, page: str, url: str, students: list[str], steps: int) -> list[float]:
    """Go through the steps. Return the seconds until a student has a step, for all students and steps."""
    sockets = [await connect(url, additional_headers={"Cookie": each}, proxy=None, max_size=None) for each in students]
    await asyncio.gather(*(parts(socket, 1) for socket in sockets))
    delays: list[float] = []
    for step in range(2, steps + 1):
        waiting = asyncio.gather(*(parts(socket, step) for socket in sockets))
        began = time.perf_counter()
        await asyncio.to_thread(teacher.form, page, "move/", step=str(step))
        delays += [at - began for at in await waiting]
    await asyncio.gather(*(socket.close() for socket in sockets))
    return delays


def measure(students: int = 200, steps: int = 5) -> Iterator[dict[str, Any]]:
    with running() as product:
        teacher = Browser(product.address)
        shown = teacher.form(LESSON, "class/")[2]
        found = [re.search(pattern, shown) for pattern in (r"/classes/[\w-]{43}/", r"/join/(\w{8})/")]
        assert found[0]
        assert found[1]
        page, code, began = found[0][0], found[1][1], time.perf_counter()
        with ThreadPoolExecutor(20) as pool:
            cookies = list(pool.map(lambda n: joined(product.address, code, f"student {n}"), range(students)))
        took = time.perf_counter() - began
        delays = asyncio.run(lead(teacher, page, f"ws{product.address[4:]}/ws/classes/{code}", cookies, steps))
        milliseconds = {str(share): round(quantile(delays, share) * 1e3, 1) for share in (0.5, 0.95, 1)}
        yield {"students": students, "joined_s": round(took, 1), "steps": steps - 1, "follow_ms": milliseconds}
