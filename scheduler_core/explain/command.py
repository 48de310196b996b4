"""python -m scheduler_core explain: why the pending pods of a snapshot are pending, or where they would go."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

import msgspec
from msgspec.structs import replace

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.explain import explain
from scheduler_core.explain.render import render
from scheduler_core.explain.words import count, some
from scheduler_core.framework.out_of_tree import enabling, with_plugins
from scheduler_core.objects import Node, Object, Pod, PodStatus, decode_all
from scheduler_core.plugins import REGISTRY
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import read_snapshot


@dataclass(slots=True)
class _Alike:
    """An answer, and the other pods that it holds for as well."""

    answer: Answer
    others: list[str] = field(default_factory=list)


def run(
    path: str,
    out: IO[str],
    *,
    release: str = "1.34",
    config: str | None = None,
    pod: str | None = None,
    plugins: Sequence[str] = (),
    skip_unknown: bool = False,
    as_json: bool = False,
) -> int:
    """Explains the pending pods of a snapshot, or one pod, to `out`; returns 1 if one stays pending, else 0.

    Pods are tried in the queue's order, each finds those before it placed. A bound pod that is asked for is taken off
    its node first. Raises InputError.
    """
    objects = _decoded(path)
    wanted = None if pod is None else _unbound(objects, pod)
    registry = with_plugins(plugins)
    simulation = Simulation(
        objects,
        release=release,
        config=_read_config(config) if config else enabling(name for name in registry if name not in REGISTRY),
        tie_break="name",
        pods=wanted,
        registry=registry,
        unknown_plugins="warn" if skip_unknown else "error",
    )
    for warning in simulation.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    others = _left_to_others(objects, simulation)
    if others:
        print(f"left to other schedulers: {some(others)}", file=sys.stderr)
    pods = {o.key: o for o in objects if isinstance(o, Pod)}
    try:
        found = _explained(simulation, pods, every=as_json)
    except InputError:
        raise
    except Exception as problem:
        if not plugins:
            raise
        raise InputError("out-of-tree plugin", "", f"failed: {_last_line(problem)}") from problem
    _write(found, out, as_json)
    return int(any(alike.answer.result != "scheduled" for alike in found))


def _decoded(path: str) -> list[Object]:
    raws = read_snapshot(path)
    try:
        objects = decode_all(raws)
    except InputError as problem:
        raise InputError(path, "", str(problem)) from None
    if not any(isinstance(obj, Node | Pod) for obj in objects):
        raise InputError(path, "", "holds neither nodes nor pods")
    return objects


def _unbound(objects: list[Object], key: str) -> list[str]:
    """Makes the pod pending if it runs; a name without a namespace is one in `default`."""
    key = key if "/" in key else f"default/{key}"
    for i, obj in enumerate(objects):
        if isinstance(obj, Pod) and obj.key == key:
            if obj.terminated:
                raise InputError(f"Pod {key}", "status.phase", f"the pod has ended ({obj.status.phase})")
            if obj.spec.node_name:
                objects[i] = replace(obj, spec=replace(obj.spec, node_name=""), status=PodStatus())
            return [key]
    raise InputError(f"Pod {key}", "", "is not in the snapshot")


def _read_config(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as problem:
        raise InputError(path, "", f"cannot be read: {problem.strerror}") from None


def _last_line(problem: Exception) -> str:
    """What went wrong and where, for the author of the plugin."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({frame.filename}, line {frame.lineno})"


def _left_to_others(objects: Sequence[Object], simulation: Simulation) -> list[str]:
    ours = simulation.scheduler.profiles
    return [
        o.key
        for o in objects
        if isinstance(o, Pod) and not o.spec.node_name and not o.terminated and o.spec.scheduler_name not in ours
    ]


def _explained(simulation: Simulation, pods: dict[str, Pod], every: bool) -> list[_Alike]:
    """The answers in the order of the cycles. Unless `every`, of pods pending for the same reasons only the first is
    explained."""
    found: dict[tuple[str, ...], _Alike] = {}
    cluster, cycles = simulation.cluster, simulation.run()
    while True:
        before = dict(cluster.pods)
        trace = next(cycles, None)
        if trace is None:
            return list(found.values())
        gate = trace.preenqueue.message if trace.preenqueue is not None else ""
        alone = trace.pod if every or trace.result == "scheduled" else ""
        key = (alone, trace.result, trace.message, trace.error, gate, trace.nominated_node)
        if key in found:
            found[key].others.append(trace.pod)
            continue
        victims = [before[victim] for victim in trace.victims if victim in before]
        info = PodInfo(pods[trace.pod], cluster.release)
        found[key] = _Alike(explain(trace, simulation, info, victims=victims))


def _write(found: Sequence[_Alike], out: IO[str], as_json: bool) -> None:
    if as_json:
        for alike in found:
            print(msgspec.json.encode(alike.answer).decode(), file=out)
    elif not found:
        print("No pod is pending.", file=out)
    elif len(found) == 1 and not found[0].others:
        print(render(found[0].answer), file=out)
    else:
        _write_groups(found, out)


def _write_groups(found: Sequence[_Alike], out: IO[str]) -> None:
    """Pods that are pending for the same reasons together, then a line for every pod that is placed."""
    groups = [alike for alike in found if alike.answer.result != "scheduled"]
    placed = [alike.answer for alike in found if alike.answer.result == "scheduled"]
    pending = sum(1 + len(alike.others) for alike in groups)
    total = count(pending + len(placed), "pod")
    print(f"{pending:,} of {total} {'stays' if pending == 1 else 'stay'} pending.", file=out)
    for alike in sorted(groups, key=lambda alike: -len(alike.others)):
        print(f"\n{render(alike.answer)}", file=out)
        if alike.others:
            print(f"  The same for {count(len(alike.others), 'other pod')}: {some(alike.others, 10)}", file=out)
    for number, answer in enumerate(placed):
        print(f"{'' if number else chr(10)}{answer.pod}: {answer.sentence}", file=out)
