"""python -m scheduler_core replay-time: runs cases in virtual time and writes attempts, queue moves and the final
state."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from scheduler_core.api.objects import Object, decode
from scheduler_core.commands import replay
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.api_server import ApiServer
from scheduler_core.virtual_time.engine import Engine, Record


def replay_case(case: dict[str, Any]) -> dict[str, Any]:
    """Return the records of one case in the golden format. Raises InputError."""
    simulation = Simulation(
        case["objects"],
        release=replay.release_of(case),
        config=case.get("config"),
        tie_break="name",
        timer=lambda: 0,
        unknown_plugins=case.get("unknown_plugins", "error"),
    )
    timeline = Engine(simulation)
    for entry in case["timeline"]:
        obj = decode(entry["object"])
        if obj is not None:
            timeline.at(float(entry["at"]), _operation(timeline.api, entry["op"], obj))
    records = list(timeline.run(float(case["until"])))
    return {
        "name": case["name"],
        "kubernetes": case["kubernetes"],
        "attempts": [_attempt(record) for record in records if record.kind == "attempt"],
        "queue": list(_moves(records)),
        "end": {
            "bound": {key: pod.node for key, pod in sorted(timeline.api.pods.items()) if pod.node},
            "pending": dict(sorted(timeline.queue.parts().items())),
        },
    }


run = partial(replay.run, one=replay_case)
"""Replays every case of a file in virtual time."""


def _operation(api: ApiServer, op: str, obj: Object) -> Callable[[], None]:
    operations = {"create": api.create, "update": api.update, "delete": api.delete}
    if op not in operations:
        raise InputError("timeline", "op", f"must be one of {', '.join(operations)}, got {op!r}")
    return lambda: operations[op](obj)


def _attempt(record: Record) -> dict[str, Any]:
    trace = record.trace
    assert trace is not None
    out: dict[str, Any] = {"t": record.time, "pod": trace.pod, "attempt": trace.attempt}
    if trace.result == "scheduled":
        return {**out, "result": "scheduled", "node": trace.node}
    out |= {"result": "unschedulable", "message": trace.message}
    out["unschedulable_plugins"] = trace.unschedulable_plugins
    if trace.nominated_node:
        out |= {"nominated_node": trace.nominated_node, "victims": sorted(trace.victims)}
    return out


def _moves(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    for record in records:
        if record.kind == "queue.moved":
            yield {"t": record.time, **{key: record.data[key] for key in ("pod", "to", "event")}}
