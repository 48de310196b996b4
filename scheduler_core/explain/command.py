"""python -m scheduler_core explain: why the pending pods of a snapshot are pending, or where they would go."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import IO, Any

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
        answers = list(_answers(simulation, pods))
    except InputError:
        raise
    except Exception as problem:
        if not plugins:
            raise
        raise InputError("out-of-tree plugin", "", f"failed: {_last_line(problem)}") from problem
    _write(answers, out, as_json)
    return int(any(answer.result != "scheduled" for answer in answers))


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


def _answers(simulation: Simulation, pods: dict[str, Pod]) -> Iterator[Answer]:
    cluster = simulation.cluster
    cycles = simulation.run()
    while True:
        before = dict(cluster.pods)
        trace = next(cycles, None)
        if trace is None:
            return
        victims = [before[key] for key in trace.victims if key in before]
        yield explain(trace, simulation, PodInfo(pods[trace.pod], cluster.release), victims=victims)


def _write(answers: Sequence[Answer], out: IO[str], as_json: bool) -> None:
    if as_json:
        for answer in answers:
            print(msgspec.json.encode(answer).decode(), file=out)
        return
    if not answers:
        print("No pod is pending.", file=out)
    elif len(answers) == 1:
        print(render(answers[0]), file=out)
    else:
        _write_groups(answers, out)


def _write_groups(answers: Sequence[Answer], out: IO[str]) -> None:
    """Pods that are pending for the same reasons together, then a line for every pod that is placed."""
    groups: dict[tuple[Any, ...], list[Answer]] = {}
    for answer in answers:
        if answer.result != "scheduled":
            nominated = answer.preemption.nominated_node if answer.preemption else ""
            key = (answer.result, answer.message or answer.sentence, nominated)
            groups.setdefault(key, []).append(answer)
    pending = sum(map(len, groups.values()))
    print(f"{pending:,} of {count(len(answers), 'pod')} {'stays' if pending == 1 else 'stay'} pending.", file=out)
    for alike in sorted(groups.values(), key=len, reverse=True):
        print(f"\n{render(alike[0])}", file=out)
        if len(alike) > 1:
            others = [answer.pod for answer in alike[1:]]
            print(f"  The same for {count(len(others), 'other pod')}: {some(others, 10)}", file=out)
    for number, answer in enumerate(a for a in answers if a.result == "scheduled"):
        print(f"{'' if number else chr(10)}{answer.pod}: {answer.sentence}", file=out)
