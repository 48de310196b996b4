"""python -m scheduler_core simulate: runs a scenario file and writes its events, as a table or as JSON lines."""

import argparse
from collections.abc import Collection
from typing import IO, Any

from scheduler_core.cluster.formatting import count
from scheduler_core.commands.console import choices_of, print_json, print_notes, scenario_release
from scheduler_core.commands.progress import shown
from scheduler_core.controllers.pod_template import KINDS as WORKLOADS
from scheduler_core.errors import InputError
from scheduler_core.metrics.groups import workloads
from scheduler_core.releases.feature_gates import parse
from scheduler_core.snapshot.files import read_bytes, read_snapshot
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import API_VERSION, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

_QUIET = {"nodes.listed", "pod.nominated", "pod.updated", "eviction.timed", "eviction.cancelled"}


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Run a scenario file and write its events. Returns 0, or 1 if a pod is left without a node. Raises InputError."""
    source = read_bytes(args.file)
    if API_VERSION.encode() not in source:
        _refuse_snapshot(source, args.file)
    scenario = load_scenario(source, args.file)
    scenario.spec.kubernetes = scenario_release(scenario.spec)
    scenario.spec.feature_gates |= parse(args.feature_gates)
    if args.seed is not None:
        scenario.spec.seed = args.seed
    if args.until is not None:
        scenario.spec.until = args.until
    run = ScenarioRun(
        scenario,
        source,
        allowed_extenders=args.allow_extender,
        unknown_plugins=args.unknown_plugins,
        choices=choices_of(args),
    )
    print_notes(run.notes, run.simulation.warnings)
    evicted = 0
    for record in shown(run.run(), "records", out=out):
        evicted += record.kind == "pod.evicted"
        if args.format == "jsonl":
            print_json(as_json(record), out)
        else:
            write_row(record, out)
    left = run.engine.queue.parts()
    if args.format == "table":
        bound = len(run.api.cluster.pods) - len(run.api.lifecycle.assumed())
        waiting = ", ".join(f"{list(left.values()).count(part)} {part}" for part in sorted(set(left.values())))
        nominated = sum(pod in left for pod in run.simulation.cluster.nominator.nominations())
        totals = "".join(f", {n} {what}" for n, what in ((nominated, "nominated"), (evicted, "evicted")) if n)
        write_sentences(run, left, out)
        out.write(f"\nat {run.until:g} s: {count(bound, 'pod')} bound{totals}; waiting: {waiting or 'none'}\n")
    return 1 if left else 0


def write_sentences(run: ScenarioRun, left: Collection[str], out: IO[str]) -> None:
    """Write why pods are pending at the end: a sentence for each workload and reason, with the number of its pods."""
    simulation, pods = run.simulation, run.api.pods
    simulation.pending = [pods[key] for key in left if key in pods]
    workload_of = workloads(pod.pod for pod in pods.values())
    for number, group in enumerate(answers_of(simulation, fixes=False)):
        key, pending = group.answer.pod, len(group.pods)
        whose = key if pending == 1 else f"{workload_of.get(key, key)} ({count(pending, 'pod')})"
        out.write(f"{'' if number else chr(10)}{whose}: {group.answer.sentence}\n")


def _refuse_snapshot(source: bytes, path: str) -> None:
    """Raise InputError that names the commands for a snapshot if the file is one."""
    try:
        kinds = {str(raw.get("kind")) for raw in read_snapshot(source, path).objects}
    except InputError:
        return  # the loader of scenarios reports the file
    if kinds & {"Pod", "Node", *WORKLOADS}:
        problem = "is a snapshot, not a Scenario; `kubesched simulate` runs it, `kubesched explain` explains its pods"
        raise InputError(path, "", problem)


def as_json(record: Record) -> dict[str, Any]:
    """Return a record as plain data: seq, time, kind, cause (left out if there is none) and its data."""
    cause = {"cause": record.cause} if record.cause else {}
    return {"seq": record.seq, "time": round(record.time, 6), "kind": record.kind, **cause, **record.data}


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
