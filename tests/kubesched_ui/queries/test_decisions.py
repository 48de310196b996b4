"""Decisions of runs: what they say, and their websocket: every decision once, in order, also after reconnections."""

import asyncio
import json
import random
from typing import Any

import jsonschema
import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from kubesched_ui.asgi import application
from kubesched_ui.models import Run
from kubesched_ui.queries.decisions import decisions_after
from kubesched_ui.runs import services
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios import uploads
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod
from tests.kubesched_ui.http_api import get
from tests.test_docs import ROOT

SCHEMA = json.loads((ROOT / "docs" / "websocket.schema.json").read_text())


def made(objects: bytes, **settings: Any) -> Run:
    """Return a run that has not started."""
    scenario = uploads.store_upload([("a.json", objects)]).scenario
    return services.create_run(scenario, services.RunSettings(tie_break="name", **settings), send=False)


@pytest.mark.django_db
def test_each_outcome_has_its_text(client: Client) -> None:
    run = made(every_outcome())
    execute_run(run.pk)
    run.refresh_from_db()
    found = {one["pod"].removeprefix("default/"): one for one in decisions_after(run, 0, 100)}
    texts = {
        "important": "0 of 4 fit: node(s) didn't match Pod's node affinity/selector (2), "
        "node(s) had untolerated taint(s) (1), Insufficient cpu (1); nominated to n3, 1 pod evicted",
        "scored": "2 of 4 fit, equal with 1 other",
        "only": "1 of 4 fit, the only one",
        "nowhere": "0 of 4 fit: Insufficient cpu (3), node(s) had untolerated taint(s) (1)",
        "gated": "SchedulingGates: waiting for scheduling gates: [example.com/wait]",
    }
    assert {name: found[name]["text"] for name in texts} == texts
    assert (found["scored"]["node"], found["scored"]["margin"], found["scored"]["ties"]) == ("n1", 0, 2)
    assert (found["important"]["nominated"], found["important"]["victims"], found["important"]["node"]) == ("n3", 1, "")
    assert (found["gated"]["nodes"], found["gated"]["feasible"]) == (0, 0)
    numbers = [one["cycle"] for one in decisions_after(run, 0, 100)]
    assert numbers == list(range(1, run.cycles_done + 1))
    path = f"/api/runs/{run.pk}/decisions"
    assert get(client, path, since=2, limit=2)["decisions"] == decisions_after(run, 2, 2)
    assert get(client, path, since=10**9)["decisions"] == []
    assert get(client, path, 422, since=-1)


@pytest.mark.django_db
def test_successive_cycles_equal_single_ones(client: Client) -> None:
    run = made(every_outcome())
    execute_run(run.pk)
    together = get(client, f"/api/runs/{run.pk}/cycles", since=1, limit=3)["cycles"]
    assert [one["number"] for one in together] == [2, 3, 4]
    assert [one["names"] is None for one in together] == [False, True, True]
    for one in together:
        alone = get(client, f"/api/runs/{run.pk}/cycles/{one['number']}")
        assert {**alone, "names": one["names"]} == one
    assert get(client, f"/api/runs/{run.pk}/cycles", known=0)["cycles"][0]["names"] is None


@pytest.mark.django_db(transaction=True)
def test_the_socket_sends_each_decision_once_while_the_run_goes_on(settings: Any) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    settings.RUN_BATCH_CYCLES = 7
    pods = (pod(f"p{i}", "64" if i % 9 == 0 else "100m") for i in range(150))
    run = made(as_list(*(node(f"n{i}") for i in range(5)), *pods))
    got, messages = async_to_sync(follow)(run)
    run.refresh_from_db()
    assert run.state == "done"
    assert got == decisions_after(run, 0, 1000)
    assert len(got) == run.cycles_done == 150
    for message in messages:
        jsonschema.validate(message, SCHEMA)


async def follow(run: Run) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return all decisions, and the messages, of a client that reconnects often while the run is executed."""
    executing = asyncio.create_task(database_sync_to_async(execute_run)(run.pk))
    dice, over = random.Random(5), False
    got: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    while not over:
        socket = WebsocketCommunicator(application, f"/ws/runs/{run.pk}/decisions?since={len(got)}")
        await socket.connect()
        for _ in range(dice.randint(1, 3)):
            message = await socket.receive_output(timeout=10)
            if over := message["type"] == "websocket.close":
                assert message["code"] == 1000
                break
            messages.append(json.loads(message["text"]))
            got += messages[-1]["decisions"]
        await socket.disconnect()
    await executing
    return got, messages
