"""python -m scheduler_core log: shows what a kube-scheduler did by its log, and compares it with a snapshot."""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import IO

from msgspec.structs import replace

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count, some
from scheduler_core.commands.console import (
    choices_of,
    configuration_of,
    prepared,
    print_json,
    print_notes,
    release_of,
    snapshot_of,
)
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.evidence.log_sentences import end_lines, entries, head_lines, timeline_lines
from scheduler_core.evidence.scheduler_log import Attempt, LoggedPod, SchedulerLog, is_scheduler_log, read
from scheduler_core.explain.answer import Part
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases.remarks import default_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.files import read_bytes


class Compared(Part):
    """A pod of the log in comparison with the snapshot.

    `outcome`: equal, node differs, message differs, bound later (pending in the log, bound in the snapshot) or gone
    (not in the snapshot). `simulated`: the message of the simulation.
    """

    pod: str
    outcome: str
    log: str = ""
    snapshot: str = ""
    simulated: str = ""


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the timeline of a log to `out`; with `--cluster`, what differs. Return 1 if something does, otherwise 0.

    Raises InputError."""
    data = read_bytes(args.file)
    if not is_scheduler_log(data):
        raise InputError(args.file, "", "is not a log of kube-scheduler")
    log = read(data, args.file)
    print_notes(log.notes)
    compared = _compared(args, log) if args.cluster else []
    if args.pod:
        key = args.pod if "/" in args.pod else f"default/{args.pod}"
        log = _only(log, key)
        compared = [one for one in compared if one.pod == key]
        if not log.pods:
            raise InputError(f"Pod {key}", "", "is not in the log")
    if args.json:
        for line in _json(log, compared):
            print_json(line, out)
    else:
        for text in (*head_lines(log), *timeline_lines(log, bool(args.pod)), "", *end_lines(log)):
            print(text, file=out)
        for text in _differences(compared) if args.cluster else ():
            print(text, file=out)
    return int(any(one.outcome.endswith("differs") for one in compared))


def _only(log: SchedulerLog, pod: str) -> SchedulerLog:
    return replace(
        log,
        attempts=[one for one in log.attempts if one.pod == pod],
        occurrences=[one for one in log.occurrences if one.pod == pod],
        pods=[one for one in log.pods if one.pod == pod],
    )


# ---- the comparison


def _compared(args: argparse.Namespace, log: SchedulerLog) -> list[Compared]:
    """Compare the end of the log with a snapshot, and the last refusals with those of a simulation of it."""
    snapshot = snapshot_of(args, read_bytes(args.cluster), args.cluster)
    if not args.release and log.version:
        args.release = default_release(log.version)
    args.feature_gates = args.feature_gates or log.feature_gates
    release, raws = release_of(args, snapshot), snapshot.objects
    read_config = partial(load, release=release, registry=PLUGINS, unknown="leave_out")
    given = log.configuration.encode() if log.configuration and not args.config else ""
    configuration = read_config(given or configuration_of(args, raws, read_config))
    print_notes([f"release {release.name}" + (", configuration of the log" if given else "")])
    found = prepared(args.cluster, raws, release, configuration, choices_of(args))
    pods = {obj.key: obj for obj in found.objects if isinstance(obj, Pod)}
    simulation = Simulation(found.objects, release=release, config=configuration, tie_break="name")
    messages = {trace.pod: trace.message for trace in simulation.run()}
    return [one for logged in log.pods if (one := _outcome(logged, pods.get(logged.pod), messages)) is not None]


def _outcome(logged: LoggedPod, pod: Pod | None, messages: dict[str, str]) -> Compared | None:
    """Compare a pod that the log saw to its end; None if the log says nothing that the snapshot shows."""
    if logged.state == "bound" and logged.node:
        if pod is None:
            return Compared(logged.pod, "gone", logged.node)
        now = pod.spec.node_name
        return Compared(logged.pod, "equal" if now == logged.node else "node differs", logged.node, now)
    if logged.state != "pending":
        return None
    if pod is None:
        return Compared(logged.pod, "gone", logged.message)
    if pod.spec.node_name:
        return Compared(logged.pod, "bound later", logged.message, pod.spec.node_name)
    ours = messages.get(logged.pod, "")
    return Compared(logged.pod, "equal" if ours == logged.message else "message differs", logged.message, "", ours)


# ---- output


def _json(log: SchedulerLog, compared: list[Compared]) -> Iterator[object]:
    yield {"kind": "log", **_fields(replace(log, attempts=[], occurrences=[], pods=[]))}
    for entry in entries(log):
        yield {"kind": "attempt" if isinstance(entry, Attempt) else "occurrence", **_fields(entry)}
    yield from ({"kind": "pod", **_fields(pod)} for pod in log.pods)
    yield from ({"kind": "compared", **_fields(one)} for one in compared)


def _fields(part: Part) -> dict[str, object]:
    return {name: getattr(part, name) for name in part.__struct_fields__ if getattr(part, name) not in ("", None, [])}


def _differences(compared: list[Compared]) -> Iterator[str]:
    outcomes = [one.outcome for one in compared]
    yield f"Compared with the snapshot: {outcomes.count('equal'):,} of {count(len(compared), 'pod')} equal."
    for one in compared:
        if one.outcome.endswith("differs"):
            yield f"  {one.pod}: {one.outcome}"
            yield f"    log: {one.log}"
            yield (
                f"    snapshot: {one.snapshot}" if one.snapshot else f"    simulated: {one.simulated or 'finds a node'}"
            )
    for outcome in ("bound later", "gone"):
        if pods := [one.pod for one in compared if one.outcome == outcome]:
            yield f"  {outcome}: {some(pods, 5)}"
