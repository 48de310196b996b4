"""A sweep survives kill -9 of workers, broker and database: each cell is counted once, and nothing differs from an
undisturbed computation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_core.commands.bench import workload
from scheduler_core.experiments.cell import Done, Result
from scheduler_core.experiments.questions import QUESTIONS, load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from tests.kubesched_ui.experiments.documents import document
from tests.kubesched_ui.instance import CHECKOUT, POSTGRES, REDIS, Instance, RedisServer, postgres_server, until
from tests.kubesched_ui.test_processes import needs

pytestmark = pytest.mark.long

CELLS = 60
WORKERS = 4
OBJECTS = workload("basic", 60, 300)


class Sweep:
    """An instance with four workers of experiments, of which supervisord restarts the first."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        queues = ["-Q", "experiments", "--concurrency=1", "--without-gossip", "--without-mingle"]
        command = [sys.executable, "-m", "celery", "--quiet", "-A", "kubesched_ui", "worker", *queues, "-n"]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.workers = [
            subprocess.Popen(
                [*command, f"further{number}@%h"],
                cwd=CHECKOUT,
                env=instance.environment,
                start_new_session=True,
                **quiet,
            )
            for number in range(1, WORKERS)
        ]

    def kill_worker(self, number: int) -> None:
        """Kill a further worker with its child process."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def stop(self) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()

    def state(self, number: int) -> Any:
        """Return the experiment; {} while the instance does not answer."""
        with suppress(urllib.error.URLError, OSError):
            return self.instance.api("GET", f"/experiments/{number}")
        return {}

    def reaches(self, number: int, cells: int) -> None:
        until(lambda: self.state(number).get("cells_done", 0) >= cells, f"{cells} cells", 120)


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("services", marks=[needs(POSTGRES, "PostgreSQL 15"), needs(REDIS, "redis-server")]),
    ],
)
def sweep(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sweep]:
    with ExitStack() as services:
        environment, redis, postgres = {}, None, None
        if request.param == "services":
            redis = RedisServer()
            services.callback(redis.kill)
            postgres = services.enter_context(postgres_server())
            environment = {"REDIS_URL": redis.url, "DATABASE_URL": postgres.url}
        instance = Instance(tmp_path, RUN_LONG_SLOTS="1", RUN_SHORT_SLOTS="1", **environment)
        instance.redis, instance.postgres = redis, postgres
        services.callback(instance.interrupt)
        assert f"http://127.0.0.1:{instance.port}" in instance.start()
        found = Sweep(instance)
        services.callback(found.stop)
        yield found


def undisturbed(wanted: dict[str, Any]) -> tuple[list[Result], Result]:
    """Return the results of all cells and the answer, computed in this process."""
    experiment = load_experiment(json.dumps(wanted))
    scenario = ScenarioInput("cluster", "", lambda: msgspec.json.decode(msgspec.json.encode(OBJECTS)))
    question = QUESTIONS[experiment.spec.question]
    cells = list(question.plan(experiment, {"cluster": scenario}))
    results = [question.compute(cell, scenario, lambda: None) for cell in cells]
    done = [Done(cell, result) for cell, result in zip(cells, results, strict=True)]
    return results, question.summarise(experiment, done)


def test_a_sweep_survives_kills_and_counts_each_cell_once(sweep: Sweep) -> None:
    instance = sweep.instance
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}).encode()
    scenario = instance.api("POST", "/scenarios", items)["id"]
    wanted = document(seeds={"count": CELLS}, releases=["1.34"])
    wanted["spec"]["scenarios"] = [{"id": scenario, "name": "cluster"}]
    number = instance.api("POST", "/experiments", wanted)["id"]
    kills: list[Callable[[], None]] = [lambda: sweep.kill_worker(0), lambda: kill_broker(instance)]
    kills += [lambda: sweep.kill_worker(1), lambda: kill_database(instance)]
    for step, kill in enumerate(kills, 1):
        sweep.reaches(number, step * CELLS // 8)
        kill()
    until(lambda: sweep.state(number).get("state") not in (None, "queued", "running"), "the end of the sweep", 180)
    found = sweep.state(number)
    assert (found["state"], found["error"], found["cells_failed"], found["cells_reused"]) == ("done", "", 0, 0)
    assert (found["cells_total"], found["cells_done"]) == (CELLS, CELLS)
    cells = instance.api("GET", f"/experiments/{number}/cells?limit=1000")["cells"]
    assert [(cell["number"], cell["state"]) for cell in cells] == [(one, "done") for one in range(1, CELLS + 1)]
    results, answer = undisturbed(wanted)
    assert [cell["metrics"] for cell in cells] == [result["metrics"] for result in results]
    assert instance.api("GET", f"/experiments/{number}/answer") == msgspec.json.decode(msgspec.json.encode(answer))
    again = instance.api("POST", "/experiments", wanted)["id"]
    until(lambda: sweep.state(again).get("state") == "done", "the same sweep again", 60)
    assert sweep.state(again)["cells_reused"] == CELLS


def kill_broker(instance: Instance) -> None:
    if instance.redis:
        instance.redis.kill()
        time.sleep(1)
        instance.redis.start()
    else:
        instance.kill("valkey-server")


def kill_database(instance: Instance) -> None:
    """Kill PostgreSQL and start it again; SQLite has no process, so the first worker is killed instead."""
    if instance.postgres:
        instance.postgres.process.kill()
        instance.postgres.process.wait()
        time.sleep(1)
        instance.postgres.start()
    else:
        instance.kill("-n long@")
