"""Upload, run and open damaged scenarios: no response has status 500, and no run dies.

python scripts/try_mutants.py SEED SECONDS

Each mutant is one of the samples with one to four values replaced, removed, moved or joined by a null. The file of
every fourth is damaged as well: bytes are changed, removed or repeated, plain, compressed or in an archive. It is
uploaded and run as a single pass and in virtual time; its pages, their links and API URLs are opened, a few of each
kind. Everything runs in this process, in a temporary database (or in DATABASE_URL). Exit code 1: there are problems;
each kind is printed once.
"""

import asyncio
import copy
import gzip
import html
import io
import json
import logging
import os
import random
import re
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ODD = [
    *(None, True, 0, -1, 1 << 63, 1 << 70, 1e300, -0.5, "", "x" * 300, "\0", "<script>", "9" * 30, "-5", [], {}),
    *([None], [[]], [{}], {"": None}, {"a": []}, [1, "a", {}], {"name": 5}, {"key": None, "operator": []}),
    *("../x", "a/b", "%2e", "..", ["a/b"], {"../": "x"}),
]
KEYS = ["\0", "", "../x", "metadata"]
LINK = re.compile(rb'(?:href|src|data-url|hx-get|data-src)="(/[^"]*)"')
OF_EACH = 2  # URLs of a kind that are opened
QUERIES = (
    "", "/pods", "/events", "/lanes", "/lanes/overview", "/moment?t=1", "/state?cycle=1", "/map", "/map/tape?after=0",
    "/find?where=attempt%3E0", "/groups", "/remedies", "/breakpoints", "/cycles/1", "/export",
    "/export?format=simulator", "/export?format=run", "/export?format=parquet",
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield from paths(inner, (*path, step))


def mutant(document: Any, chance: random.Random) -> tuple[Any, list[str]]:
    """Return a damaged copy, and a description of the damage."""
    made, done = copy.deepcopy(document), []
    for _ in range(chance.randint(1, 4)):
        *way, last = chance.choice(list(paths(made)))
        holder = made
        for step in way:
            holder = holder[step]
        how = chance.random()
        if how < 0.6:
            holder[last] = copy.deepcopy(chance.choice(ODD))
        elif isinstance(holder, list):
            holder.insert(0, None)
        else:
            value = holder.pop(last)
            if how > 0.85:
                holder[chance.choice(KEYS)] = value
        done.append(f"{[*way, last]} {how:.1f}")
    return made, done


def damaged(text: bytes, chance: random.Random) -> tuple[str, bytes]:
    """Return a file name and its bytes: `text` packed in some format, with a few bytes changed, removed or repeated."""
    how = chance.choice(["json", "yaml", "json.gz", "tar", "tar.gz", "zip"])
    data = packed(how, scratched(text, chance) if chance.random() < 0.5 else text)
    return f"cluster.{how}", scratched(data, chance)


def packed(how: str, text: bytes) -> bytes:
    made = io.BytesIO()
    if how == "json.gz":
        return gzip.compress(text)
    if how == "zip":
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("../cluster.json", text)
    elif how.startswith("tar"):
        with tarfile.open(fileobj=made, mode="w:gz" if how == "tar.gz" else "w") as archive:
            entry = tarfile.TarInfo("dump/cluster.json")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return made.getvalue() or text


def scratched(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at, length = chance.randrange(len(made) + 1), chance.choice([1, 1, 4, 100])
        how = chance.random()
        if how < 0.5:
            made[at : at + 1] = bytes([chance.randrange(256)])
        elif how < 0.75:
            del made[at : at + length]
        else:
            made[at:at] = made[at : at + length] * chance.choice([1, 20])
    return bytes(made)


async def gathered(answer: Any) -> bytes:
    """Read a whole export."""
    return b"".join([part async for part in answer.streaming_content])


class Trial:
    """Results of the mutants. `found`: problem -> number."""

    def __init__(self) -> None:
        from django.test import Client

        self.client = Client(headers={"host": "localhost"}, raise_request_exception=False)
        self.found: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()

    def report(self, problem: str, detail: str, done: list[str]) -> None:
        key = re.sub(r"\d+", "#", problem)
        self.found[key] += 1
        if self.found[key] == 1:
            print(f"{problem}: {detail[-600:]}\n    {'; '.join(done)}", flush=True)

    def upload(self, name: str, data: bytes, done: list[str]) -> None:
        from kubesched_ui.models import Scenario

        headers = {"x-filename": name}
        answer = self.client.post("/api/scenarios", data, content_type="application/octet-stream", headers=headers)
        if answer.status_code != 201:
            self.counted["refused"] += 1
            if answer.status_code >= 500:
                self.report("upload", answer.content.decode(), done)
            return
        scenario = answer.json()["id"]
        for in_time in (False, True):
            self.run(scenario, in_time, done)
        Scenario.objects.filter(pk=scenario).delete()

    def run(self, scenario: int, in_time: bool, done: list[str]) -> None:
        from kubesched_ui.models import Run
        from kubesched_ui.runs.tasks import execute_run

        body = json.dumps({"in_time": in_time, **({"until": 60} if in_time else {})})
        answer = self.client.post(f"/api/scenarios/{scenario}/runs", body, content_type="application/json")
        if answer.status_code != 202:
            self.counted["run refused"] += 1
            if answer.status_code >= 500:
                self.report("start", answer.content.decode(), done)
            return
        try:
            execute_run(answer.json()["id"])
        except Exception:
            self.report("task", traceback.format_exc(), done)
        run = Run.objects.get(pk=answer.json()["id"])
        self.counted[run.state] += 1
        if run.state == "failed":
            self.report(f"run failed: {run.error[:80]}", run.error, done)
        self.crawl(scenario, run, done)

    def crawl(self, scenario: int, run: Any, done: list[str]) -> None:
        """Open the pages and URLs of a run and the pages that they link to, OF_EACH of a kind."""
        todo = [f"/scenarios/{scenario}/", f"/runs/{run.pk}/", f"/compare/{run.pk}/{run.pk}/"]
        todo += [f"/api/scenarios/{scenario}", f"/api/scenarios/{scenario}/export"]
        todo += [f"/api/runs/{run.pk}{fields}" for fields in QUERIES]
        seen, kinds = set(todo), Counter[str]()
        while todo:
            address = todo.pop()
            opened = self.client.get(address)
            self.counted["opened"] += 1
            try:
                body = asyncio.run(gathered(opened)) if opened.streaming else opened.content
            except Exception:
                self.report(f"broken off {address}", traceback.format_exc(), done)
                continue
            if opened.status_code >= 500:
                self.report(f"page {address}", str(opened.status_code), done)
            if not opened["Content-Type"].startswith("text/html"):
                continue
            for link in map(html.unescape, map(bytes.decode, LINK.findall(body))):
                kind = self.kind_of(link)
                if kind and link not in seen and kinds[kind] < OF_EACH:
                    seen.add(link)
                    kinds[kind] += 1
                    todo.append(link)

    @staticmethod
    def kind_of(link: str) -> str:
        """Return the name of a page with the names of its query, "" for files and other sites."""
        from django.urls import Resolver404, resolve

        path, _, query = link.partition("#")[0].partition("?")
        try:
            name = resolve(unquote(path)).view_name
        except Resolver404:
            return ""
        fields = sorted(part.partition("=")[0] for part in query.split("&"))
        return f"{name} {fields}" if path.startswith(("/runs/", "/scenarios/", "/compare/", "/api/")) else ""


def main(seed: int, seconds: float) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    os.environ.setdefault("KUBESCHED_VAR_DIR", tempfile.mkdtemp(prefix="kubesched-mutants-"))
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from kubesched_ui.ingest import yaml_reader
    from kubesched_ui.ingest.errors import Where
    from kubesched_ui.ingest.limits import Limits
    from kubesched_ui.scenarios.samples import FOLDER
    from kubesched_ui.work import leases

    logging.disable(logging.CRITICAL)
    settings.INGEST_ISOLATED = False
    leases.app.send_task = lambda *args, **options: None
    call_command("migrate", verbosity=0)
    texts = [(path, path.read_bytes()) for path in sorted(FOLDER.glob("*.yaml"))]
    samples = [
        json.loads(bytes(document))
        for path, text in texts
        for _, document in yaml_reader.documents(text, Where(path.name), Limits(), 0)
    ]
    chance, trial, end = random.Random(seed), Trial(), time.monotonic() + seconds
    while time.monotonic() < end:
        document, done = mutant(chance.choice(samples), chance)
        text = json.dumps(document).encode()
        trial.upload(*(damaged(text, chance) if chance.random() < 0.25 else ("cluster.json", text)), done)
        trial.counted["mutants"] += 1
    print(dict(trial.counted), dict(trial.found))
    return 1 if trial.found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
