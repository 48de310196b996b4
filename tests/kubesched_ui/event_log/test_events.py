"""Events of recorded cycles: their content, and the schema in docs/websocket.schema.json."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator

from kubesched_ui.asgi import application
from kubesched_ui.event_log.best_nodes import TOP, ranking
from kubesched_ui.event_log.events import MAX_RANGES, cycle_events
from kubesched_ui.models import ClusterObject, Run
from kubesched_ui.runs import services
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios import uploads
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status
from scheduler_core.search.cycle_steps import ranges
from scheduler_core.simulation import Simulation
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod

PLACED = [
    "cycle.started", "preenqueue", "prefilter", "filter", "prescore", "score", "select", "assume", "reserve", "permit",
    "prebind", "bind", "postbind", "cycle.finished",
]  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text = (Path(__file__).parents[3] / "docs" / "websocket.schema.json").read_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.fixture(scope="module")
def cycles() -> dict[str, list[dict[str, Any]]]:
    """Return the events by pod of a cluster with a pod of each outcome."""
    simulation = Simulation(json.loads(every_outcome())["items"])
    return {trace.pod: cycle_events(trace, simulation.nodes) for trace in simulation.run()}


def types(events: list[dict[str, Any]]) -> list[str]:
    return [e["type"] for e in events]


def data(events: list[dict[str, Any]], type_: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e["data"] for e in events if e["type"] == type_)
    return found


def test_a_placed_pod_passes_all_extension_points(cycles: dict[str, list[dict[str, Any]]]) -> None:
    events = cycles["default/scored"]
    assert types(events) == PLACED
    select, score = data(events, "select"), data(events, "score")
    assert score["top"][0]["node"] == select["node"]
    assert select["score"] - score["top"][1]["total"] == select["margin"]
    weighted = {p: score["weights"][p] * normalized for p, (_, normalized) in score["top"][0]["scores"].items()}
    assert sum(weighted.values()) == score["top"][0]["total"]


def test_a_single_feasible_node_is_not_scored(cycles: dict[str, list[dict[str, Any]]]) -> None:
    events = cycles["default/only"]
    assert types(events) == [t for t in PLACED if t not in ("prescore", "score")]
    assert data(events, "select") == {"node": "n2", "score": None, "ties": 1, "runner_up": "", "margin": None}


def test_rejections_are_grouped_with_ranges_of_nodes(cycles: dict[str, list[dict[str, Any]]]) -> None:
    events = cycles["default/nowhere"]
    assert types(events) == ["cycle.started", "preenqueue", "prefilter", "filter", "postfilter", "cycle.finished"]
    first, second = data(events, "filter")["refusals"]
    assert (first["plugin"], first["reasons"], first["count"], first["nodes"]) == (
        "NodeResourcesFit", ["Insufficient cpu"], 3, [[0, 2]],
    )  # fmt: skip
    assert (second["plugin"], second["nodes"]) == ("TaintToleration", [[3, 3]])


def test_a_gated_pod_ends_at_preenqueue(cycles: dict[str, list[dict[str, Any]]]) -> None:
    assert types(cycles["default/gated"]) == ["cycle.started", "preenqueue", "cycle.finished"]
    assert data(cycles["default/gated"], "preenqueue")["status"]["plugin"] == "SchedulingGates"


def test_a_victim_has_its_own_event(cycles: dict[str, list[dict[str, Any]]]) -> None:
    events = cycles["default/important"]
    evicted = next(e for e in events if e["type"] == "pod.evicted")
    assert (evicted["pod"], evicted["data"]) == ("default/bound", {"by": "default/important", "node": "n3"})
    assert data(events, "postfilter")["victims"] == ["default/bound"]


@pytest.mark.parametrize("point", ["reserve", "permit", "prebind", "bind"])
def test_a_later_rejection_undoes_the_selection(point: str) -> None:
    trace = CycleTrace("a/b", nodes=1, result="unschedulable", node="n", feasible=None)
    setattr(trace, point, Status("Unschedulable", ("no",), "Mine"))
    events = cycle_events(trace, ["n"])
    assert types(events)[-3:] == [point, "unreserve", "cycle.finished"]
    assert data(events, point)["status"]["reasons"] == ["no"]
    assert data(events, "cycle.finished")["node"] == ""


@pytest.mark.parametrize(
    ("rows", "pairs"), [([0], [[0, 0]]), ([0, 1, 2], [[0, 2]]), ([1, 3, 4, 9], [[1, 1], [3, 4], [9, 9]])]
)
def test_ranges(rows: list[int], pairs: list[list[int]]) -> None:
    assert ranges(np.array(rows), MAX_RANGES) == pairs


def test_scattered_rows_are_cut_to_the_first_ranges() -> None:
    for count in (MAX_RANGES - 1, MAX_RANGES, MAX_RANGES + 1, 2500):
        expected = [[row, row] for row in range(0, 2 * count, 2)][:MAX_RANGES]
        assert ranges(np.arange(0, 2 * count, 2), MAX_RANGES) == expected


@pytest.mark.parametrize("count", [2, 3, TOP, TOP + 1, 500])
def test_the_ranking_is_by_total_then_by_row_with_the_selected_node_first(count: int) -> None:
    total = np.random.default_rng(1).integers(-3, 4, count)
    chosen = int(np.flatnonzero(total == total.max())[-1])
    wanted = sorted(range(count), key=lambda i: (i != chosen, -total[i], i))[:TOP]
    assert ranking(total, chosen).tolist() == wanted


@pytest.mark.django_db(transaction=True)
def test_recorded_messages_match_the_schema(schema: jsonschema.Draft202012Validator, settings: Any) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    scenario = uploads.store_upload([("a.json", every_outcome())]).scenario
    done = services.create_run(scenario, services.RunSettings(), send=False)
    values = {"kind": "Pod", "namespace": "default", "name": "other", "data": pod("other", schedulerName="other")}
    ClusterObject.objects.create(scenario=scenario, position=99, **values)
    failed = services.create_run(scenario, services.RunSettings(pods=["default/other"]), send=False)
    seen: set[str] = set()
    for run in (done, failed):
        execute_run(run.pk)
        for message in async_to_sync(messages)(f"/ws/runs/{run.pk}"):
            schema.validate(message)
            seen |= {e["type"] for e in message["events"]}
        (progress,) = async_to_sync(messages)(f"/ws/runs/{run.pk}/progress")
        schema.validate(progress)
    assert seen == {*PLACED, "run.started", "run.finished", "postfilter", "pod.evicted"}
    assert Run.objects.get(pk=failed.pk).state == "failed"
    (error,) = async_to_sync(messages)("/ws/runs/0")
    schema.validate(error)


async def messages(path: str) -> list[Any]:
    """Return all frames of a websocket until the server closes it."""
    socket = WebsocketCommunicator(application, path)
    await socket.connect()
    found = []
    while (message := await socket.receive_output(timeout=10))["type"] == "websocket.send":
        found.append(json.loads(message["text"]))
    return found


def test_the_schema_rejects_invalid_messages(schema: jsonschema.Draft202012Validator) -> None:
    right = {"seq": 1, "t": 0.0, "type": "assume", "pod": "a/b", "attempt": 1, "data": {"node": "n"}}
    schema.validate({"events": [right]})
    data = ({"data": {}}, {"data": {"node": "n", "x": 1}})
    for wrong in ({"seq": 0}, {"type": "assumed"}, {"pod": ""}, {"attempt": 0}, *data):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate({"events": [right | wrong]})


def test_events_of_many_nodes_are_small() -> None:
    objects = json.loads(as_list(*(node(f"n{n}", cpu=str(1 + n % 2)) for n in range(2000)), pod("a", "2")))["items"]
    simulation = Simulation(objects, percentage=100)
    (trace,) = simulation.run()
    assert len(json.dumps(cycle_events(trace, simulation.nodes))) < 8000
