"""python -m scheduler_core simulate: runs a scenario file and writes its events, as a table or as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import IO, Any

import msgspec

from scheduler_core.config import Unknown
from scheduler_core.errors import InputError
from scheduler_core.releases.feature_gates import parse
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

_QUIET = {"nodes.listed", "pod.nominated", "pod.updated", "eviction.timed", "eviction.cancelled"}


def simulate(
    path: str,
    out: IO[str],
    style: str = "table",
    until: float | None = None,
    seed: int | None = None,
    allowed_extenders: Collection[str] = (),
    unknown_plugins: Unknown = "error",
    choices: Choices = AS_UPSTREAM,
    gates: str = "",
) -> int:
    """Run a scenario file (`-`: standard input) and write its events. `style`: table or jsonl.

    `until`, `seed`: replace those of the file. `allowed_extenders`: hosts of extenders that may be called.
    `unknown_plugins`: how to handle plugins of the configuration that do not exist here. `choices`: how to complete
    what the snapshot leaves open. `gates`: feature gates in addition to the file's, as `A=true,B=false`. Returns 0, or
    1 if a pod is left without a node. Raises InputError.
    """
    source = _read(path)
    scenario = load_scenario(source, path)
    scenario.spec.feature_gates |= parse(gates)
    if seed is not None:
        scenario.spec.seed = seed
    if until is not None:
        scenario.spec.until = until
    run = ScenarioRun(
        scenario, source, allowed_extenders=allowed_extenders, unknown_plugins=unknown_plugins, choices=choices
    )
    for note in run.notes:
        print(f"note: {note}", file=sys.stderr)
    for warning in run.simulation.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    write = _write_line if style == "jsonl" else write_row
    for record in run.run():
        write(record, out)
    left = run.engine.queue.parts()
    if style == "table":
        bound = len(run.api.cluster.pods) - len(run.api.lifecycle.assumed())
        waiting = ", ".join(f"{list(left.values()).count(part)} {part}" for part in sorted(set(left.values())))
        out.write(f"\nat {run.until:g} s: {bound} pods bound; waiting: {waiting or 'none'}\n")
    return 1 if left else 0


def _read(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as problem:
        raise InputError(path, "", f"cannot be read: {problem}") from None


def as_json(record: Record) -> dict[str, Any]:
    """Return a record as plain data: seq, time, kind, cause (left out if there is none) and its data."""
    cause = {"cause": record.cause} if record.cause else {}
    return {"seq": record.seq, "time": round(record.time, 6), "kind": record.kind, **cause, **record.data}


def _write_line(record: Record, out: IO[str]) -> None:
    out.write(msgspec.json.encode(as_json(record)).decode() + "\n")


def write_row(record: Record, out: IO[str]) -> None:
    """Write a record as a row of the table; records of little interest are left out."""
    if record.kind not in _QUIET:
        data = record.data
        subject = data.get("pod") or data.get("node") or data.get("object") or ""
        out.write(f"{record.time:>12.3f}  {record.kind:<16} {subject:<32} {_details(record)}".rstrip() + "\n")


def _details(record: Record) -> str:
    """Return the rest of a row."""
    data = record.data
    match record.kind:
        case "queue.moved":
            return f"{data['from'] or '-'} -> {data['to']}  ({data['event']})"
        case "attempt":
            victims = f" evicts {', '.join(data['victims'])}" if data.get("victims") else ""
            where = f" -> {data['node']}" if data.get("node") else ""
            promised = f" nominated to {data['nominated_node']}{victims}" if data.get("nominated_node") else ""
            return f"#{data['attempt']} {data['result']}{where}{promised}  {data.get('message', '')}".rstrip()
        case "warning" | "extender.failed":
            return str(data["message"])
        case "node.changed":
            return ", ".join(change["text"] for change in data["what"]) or str(data["change"])
        case "scenario.step":
            taint = f" {data['taint']}" if "taint" in data else ""
            return f"step {data['step']}: {data['operation']} {data['object']}{taint}"
    shown = (f"{key} {value}" for key, value in data.items() if value and key not in ("pod", "object"))
    return ", ".join(shown)
