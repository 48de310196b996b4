"""Measure a class of 200 students: delay of their pages; whether answers count once while processes are killed.

    python benchmarks/live_class.py [--students 200] [--no-kills] [--run]

Starts the product with its own data. Students send the requests of a browser: they join with the form, keep a websocket
that reconnects, and send their answer until it is acknowledged. The delay ends when the message with the parts of the
step arrives. With --run the class is on a run, which has no questions (benchmarks/live_class_run.py). Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import csv
import io
import json
import os
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.watchers import DEFLATE, HELLO, frame, masked  # noqa: E402
from tests.kubesched_ui.instance import Instance, until  # noqa: E402

LESSON = "02-requests-and-allocatable"
SPREAD_S = 3.0  # time in which a class answers
KILLS = {
    "celery": 2.0,
    "kubesched_ui.server": 5.0,
    "valkey-server": 8.0,
}  # a part of the command line -> seconds
KILLED_SPREAD_S = 0.5  # each student answers before and after one of these moments
PATIENCE_S = 60.0


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: str


async def ask(port: int, method: str, path: str, cookies: dict[str, str], form: dict[str, Any] | None = None) -> Answer:
    """Send one request on its own connection. Raise OSError or ValueError if the response is incomplete."""
    body = urlencode(form or {}, doseq=True).encode()
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close", "X-Requested-With: fetch"]
    if form is None or "name" in form:
        lines.pop()  # as a page does
    if cookies:
        lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in cookies.items()))
    if form is not None:
        lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + (body if form is not None else b""))
        head, _, rest = (await asyncio.wait_for(reader.read(-1), PATIENCE_S)).partition(b"\r\n\r\n")
    finally:
        writer.close()
    first, *others = head.decode("latin1").split("\r\n")
    pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in others)]
    length = next((int(value) for name, value in pairs if name == "content-length"), len(rest))
    if len(rest) < length:
        raise ValueError("cut off")
    for name, value in pairs:
        if name == "set-cookie":
            cookie, _, given = value.split(";")[0].partition("=")
            cookies[cookie] = given
    return Answer(int(first.split()[1]), pairs, rest.decode("utf-8", "replace"))


@dataclass(eq=False)
class Student:
    """`at`: (step, revealed) -> time at which its last parts arrived."""

    port: int
    code: str
    name: str
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""
    at: dict[tuple[int, bool], float] = field(default_factory=dict)
    version: int = 0
    connects: int = 0
    posts: int = 0
    task: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Join with the form, then connect the socket."""
        page = await ask(self.port, "GET", f"/join/{self.code}/", self.cookies)
        self.token = token_in(page.body)
        form = {"name": self.name, "csrfmiddlewaretoken": self.token}
        joined = await ask(self.port, "POST", f"/join/{self.code}/", self.cookies, form)
        assert joined.status == 302, joined
        self.task = asyncio.create_task(self.follow())

    async def follow(self) -> None:
        """Follow the socket and reconnect."""
        while True:
            with suppress(OSError, ValueError, asyncio.IncompleteReadError):
                await self.listen()
            await asyncio.sleep(0.25 * (0.5 + random.random() / 2))

    async def listen(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            key = base64.b64encode(os.urandom(16)).decode()
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            path = f"/ws/rooms/{self.code}?version={self.version}"
            more = f"{DEFLATE}Cookie: {cookies}\r\n"
            writer.write(HELLO.format(path=path, host=f"127.0.0.1:{self.port}", key=key, more=more).encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head.split(b"\r\n", 1)[0]:
                return
            self.connects += 1
            data, parts, packed = bytearray(), [], False
            while received := await reader.read(65_536):
                data += received
                while taken := frame(data):
                    first, payload = taken
                    if first & 15 == 9:
                        writer.write(masked(10, payload))
                    elif first & 15 == 8:
                        return
                    else:
                        packed = bool(first & 64) if first & 15 else packed
                        parts.append(payload)
                        if first & 128:
                            self.receive(b"".join(parts), packed)
                            parts = []
        finally:
            writer.close()

    def receive(self, payload: bytes, packed: bool) -> None:
        now = time.perf_counter()
        text = zlib.decompressobj(-15).decompress(payload + b"\0\0\xff\xff") if packed else payload
        if (state := json.loads(text).get("room")) is not None:
            assert state["parts"]["text"]
            self.version = state["version"]
            self.at[state["step"], state["revealed"]] = now

    async def answer(self, step: int, answers: list[str], after_s: float) -> None:
        """Send the answer until it is acknowledged."""
        await asyncio.sleep(after_s)
        form = {"step": step, "answer": answers, "csrfmiddlewaretoken": self.token}
        while True:
            self.posts += 1
            with suppress(OSError, ValueError, TimeoutError, IndexError):
                response = await ask(self.port, "POST", f"/join/{self.code}/answer/", self.cookies, form)
                if response.status == 200:
                    return
                assert response.status >= 500, response
            await asyncio.sleep(0.4 * (0.5 + random.random() / 2))


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, page[:500]
    return found[1]


@dataclass
class Teacher:
    port: int
    students: list[Student]
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""
    key: str = ""
    code: str = ""
    delays: list[float] = field(default_factory=list)

    async def open(self, step: int) -> None:
        page = await ask(self.port, "GET", f"/learn/{LESSON}/{step}/", self.cookies)
        self.token = token_in(page.body)
        form = {"csrfmiddlewaretoken": self.token, "name": ""}
        opened = await ask(self.port, "POST", f"/learn/{LESSON}/{step}/room/", self.cookies, form)
        self.key = dict(opened.headers)["location"].split("/")[2]
        shown = await ask(self.port, "GET", f"/rooms/{self.key}/", self.cookies)
        found = re.search(r"/join/(\w{8})/", shown.body)
        assert found
        self.code = found[1]

    async def move(self, step: int, revealed: bool, measured: bool = True) -> None:
        """Step or reveal. Return when all students have the result."""
        form: dict[str, Any] = {"reveal" if revealed else "step": step, "csrfmiddlewaretoken": self.token}
        for student in self.students:
            student.at.clear()
        began = time.perf_counter()
        response = await ask(self.port, "POST", f"/rooms/{self.key}/move/", self.cookies, form)
        assert response.status == 200, response
        while missing := [one for one in self.students if not any(at == step for at, _ in one.at)]:
            assert time.perf_counter() - began < PATIENCE_S, len(missing)
            await asyncio.sleep(0.01)
        if measured:
            self.delays += [max(one.at.values()) - began for one in self.students]

    async def results(self) -> list[dict[str, str]]:
        response = await ask(self.port, "GET", f"/rooms/{self.key}/answers.csv", self.cookies)
        return list(csv.DictReader(io.StringIO(response.body.removeprefix("\ufeff"))))


def questions() -> dict[int, list[list[str]]]:
    """Return step -> possible answers, the right one first."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    os.environ.setdefault("KUBESCHED_VAR_DIR", tempfile.mkdtemp())
    import django

    django.setup()
    from kubesched_ui.lessons import catalog, lint
    from kubesched_ui.lessons.questions import judge

    lesson = catalog.lesson(LESSON)
    assert lesson
    found: dict[int, list[list[str]]] = {}
    for step in range(1, len(lesson.steps) + 1):
        one = lesson.question(step)
        wrong = [it for it in lint.wrong_answers(one) if not judge(one, it).problem] if one else []
        found[step] = [lint.right_answers(one), *wrong] if one else []
    return found


async def play(instance: Instance, number: int, kills: bool) -> dict[str, Any]:
    answers_of = questions()
    steps = [step for step, answers in answers_of.items() if answers]
    teacher = Teacher(instance.port, [])
    await teacher.open(1)
    teacher.students = [Student(instance.port, teacher.code, f"student {n}") for n in range(number)]
    began = time.perf_counter()
    for start in range(0, number, 20):
        await asyncio.gather(*(one.join() for one in teacher.students[start : start + 20]))
    joined_s = time.perf_counter() - began
    while any(not one.at for one in teacher.students):
        await asyncio.sleep(0.05)
    given: dict[tuple[str, int], bool] = {}  # whether it is right

    async def answer(step: int, after_s: Callable[[], float]) -> float:
        began = time.perf_counter()
        chosen = [random.choice(answers_of[step]) for _ in teacher.students]
        given.update(
            {(one.name, step): it is answers_of[step][0] for one, it in zip(teacher.students, chosen, strict=True)}
        )
        await asyncio.gather(
            *(one.answer(step, it, after_s()) for one, it in zip(teacher.students, chosen, strict=True))
        )
        return time.perf_counter() - began

    answered_s = []
    for step in range(2, len(answers_of) + 1):  # without kills
        await teacher.move(step, revealed=False)
        if answers_of[step] and step != steps[-1]:
            answered_s.append(round(await answer(step, lambda: SPREAD_S * random.random()), 2))
            await teacher.move(step, revealed=True)
    report: dict[str, Any] = {"students": number, "joined_s": round(joined_s, 1)}
    report |= {"steps": len(teacher.delays) // number, "follow_ms": summary(teacher.delays)}
    report |= {"answering_s": answered_s, "answers_spread_over_s": SPREAD_S}
    if kills:
        report["killed"] = await killed(instance, teacher, answer, steps[-1])
    report["answers"] = await counted(instance, teacher, given)
    report["posts"] = sum(one.posts for one in teacher.students)
    report["socket_connects"] = sum(one.connects for one in teacher.students)
    for one in teacher.students:
        if one.task:
            one.task.cancel()
    return report


async def killed(instance: Instance, teacher: Teacher, answer: Any, step: int) -> dict[str, Any]:
    """Kill the worker, the web process and the broker, each once while a question is answered."""
    before = sum(one.posts for one in teacher.students)
    moments = list(KILLS.values())
    answering = asyncio.create_task(
        answer(step, lambda: random.choice(moments) + random.uniform(-KILLED_SPREAD_S, KILLED_SPREAD_S))
    )
    began = time.perf_counter()
    back = {}
    for part, after in KILLS.items():
        await asyncio.sleep(max(0.0, after - (time.perf_counter() - began)))
        at = time.perf_counter()
        await asyncio.to_thread(instance.kill, part)
        back[part] = round(time.perf_counter() - at, 2)
    took = await answering
    again = len(teacher.delays)
    await teacher.move(step, revealed=True)
    return {
        "processes_back_s": back,
        "answering_s": round(took, 1),
        "resent": sum(one.posts for one in teacher.students) - before - len(teacher.students),
        "follow_ms_after": summary(teacher.delays[again:]),
    }


async def counted(instance: Instance, teacher: Teacher, given: dict[tuple[str, int], bool]) -> dict[str, Any]:
    """Compare the exported table and the stored rows with the given answers: each once and unchanged."""
    lines = [row for row in await teacher.results() if row["answered at (UTC)"]]
    seen = {(row["nickname"], int(row["step"])): row["right"] == "yes" for row in lines}
    with sqlite3.connect(f"file:{instance.var}/kubesched.sqlite3?mode=ro", uri=True) as database:
        rows = database.execute(
            "select name, step, count(*) from live_classes_answer a"
            " join live_classes_student s on s.id = a.student_id group by 1, 2"
        ).fetchall()
    return {
        "sent": len(given),
        "counted": len(lines),
        "missing": len(given.keys() - seen.keys()),
        "other_than_given": sum(seen.get(key) != right for key, right in given.items()),
        "twice": sum(count > 1 for _, _, count in rows) + len(lines) - len(seen),
        "rows": len(rows),
    }


def summary(delays: list[float]) -> dict[str, float]:
    found = sorted(1000 * one for one in delays)
    return {
        "median": round(statistics.median(found), 1),
        "p95": round(found[int(len(found) * 0.95)], 1),
        "max": round(found[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="A live class.")
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--run", action="store_true", help="a class at a run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        instance = Instance(Path(folder))
        instance.start()
        try:
            until(instance.serves, "the start")
            if given.run:
                from benchmarks import live_class_run

                report = asyncio.run(live_class_run.play(instance, given.students))
            else:
                report = asyncio.run(play(instance, given.students, not given.no_kills))
            print(json.dumps(report, indent=1))
        finally:
            instance.interrupt()


if __name__ == "__main__":
    main()
