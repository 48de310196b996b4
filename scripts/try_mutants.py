"""Damaged scenarios through upload, run and every page: nothing may be answered with a 500, and no run may die.

python scripts/try_mutants.py SEED SECONDS

Each mutant is one of the samples with one to four values replaced, taken out, moved or joined by a null. It is
uploaded, run in one pass and in time, and its pages and API addresses are opened. Everything happens in this process,
in a database that is thrown away (DATABASE_URL: in that one). Exit code 1: something was found; each kind of it is
printed once.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import random
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ODD = [
    *(None, True, 0, -1, 1 << 63, 1 << 70, 1e300, -0.5, "", "x" * 300, "\0", "<script>", "9" * 30, "-5", [], {}),
    *([None], [[]], [{}], {"": None}, {"a": []}, [1, "a", {}], {"name": 5}, {"key": None, "operator": []}),
    *("../x", "a/b", "%2e", "..", ["a/b"], {"../": "x"}),
]
KEYS = ["\0", "", "../x", "metadata"]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield from paths(inner, (*path, step))


def mutant(document: Any, chance: random.Random) -> tuple[Any, list[str]]:
    """A damaged copy, and what was done to it."""
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


class Trial:
    """What happened to the mutants. `found`: problem -> how often."""

    def __init__(self) -> None:
        from django.test import Client

        self.client = Client(headers={"host": "localhost"}, raise_request_exception=False)
        self.found: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()

    def tell(self, problem: str, detail: str, done: list[str]) -> None:
        key = re.sub(r"\d+", "#", problem)
        self.found[key] += 1
        if self.found[key] == 1:
            print(f"{problem}: {detail[-600:]}\n    {'; '.join(done)}", flush=True)

    def upload(self, document: Any, done: list[str]) -> None:
        from kubesched_ui.models import Scenario

        answer = self.client.post("/api/scenarios", json.dumps(document), content_type="application/octet-stream")
        if answer.status_code != 201:
            self.counted["refused"] += 1
            if answer.status_code >= 500:
                self.tell("upload", answer.content.decode(), done)
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
                self.tell("start", answer.content.decode(), done)
            return
        try:
            execute_run(answer.json()["id"])
        except Exception:
            self.tell("task", traceback.format_exc(), done)
        run = Run.objects.get(pk=answer.json()["id"])
        self.counted[run.state] += 1
        if run.state == "failed":
            self.tell(f"run failed: {run.error[:80]}", run.error, done)
        for address in self.addresses(scenario, run):
            opened = self.client.get(address)
            if opened.status_code >= 500:
                self.tell(f"page {address}", str(opened.status_code), done)

    def addresses(self, scenario: int, run: Any) -> Iterator[str]:
        yield from (f"/scenarios/{scenario}/", f"/scenarios/{scenario}/objects/", f"/scenarios/{scenario}/nodes/")
        yield from (f"/api/scenarios/{scenario}", f"/api/scenarios/{scenario}/export", f"/runs/{run.pk}/")
        yield from (f"/api/runs/{run.pk}", f"/api/runs/{run.pk}/pods", f"/api/runs/{run.pk}/events")
        for namespace, name in run.cycles.values_list("namespace", "name")[:3]:
            yield from (f"/runs/{run.pk}/pods/{namespace}/{name}/", f"/api/runs/{run.pk}/pods/{namespace}/{name}")


def main(seed: int, seconds: float) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    os.environ.setdefault("VAR_DIR", tempfile.mkdtemp(prefix="kubesched-mutants-"))
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from kubesched_ui.ingest import yaml_reader
    from kubesched_ui.ingest.errors import Where
    from kubesched_ui.ingest.limits import Limits
    from kubesched_ui.runs import lifecycle
    from kubesched_ui.scenarios.samples import FOLDER

    logging.disable(logging.CRITICAL)
    settings.INGEST_ISOLATED = False
    lifecycle.app.send_task = lambda *args, **options: None
    call_command("migrate", verbosity=0)
    texts = [(path, path.read_bytes()) for path in sorted(FOLDER.glob("*.yaml"))]
    samples = [
        json.loads(bytes(document))
        for path, text in texts
        for _, document in yaml_reader.documents(text, Where(path.name), Limits(), 0)
    ]
    chance, trial, end = random.Random(seed), Trial(), time.monotonic() + seconds
    while time.monotonic() < end:
        trial.upload(*mutant(chance.choice(samples), chance))
        trial.counted["mutants"] += 1
    print(dict(trial.counted), dict(trial.found))
    return 1 if trial.found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
