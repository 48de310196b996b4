"""python -m scheduler_core explain: explains why pods of a snapshot are pending, or where they would be placed."""

import argparse
import traceback
from collections.abc import Collection, Sequence
from functools import partial
from typing import IO

from msgspec.structs import replace

from scheduler_core.api.objects import Object, Pod, PodStatus
from scheduler_core.cluster.formatting import count, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands.console import (
    choices_of,
    configuration_of,
    prepared,
    print_json,
    print_notes,
    release_of,
    snapshot_of,
)
from scheduler_core.commands.event_report import write_events
from scheduler_core.commands.progress import shown
from scheduler_core.config.loader import load
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.evidence import events
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.explain import explain
from scheduler_core.explain.render import render
from scheduler_core.framework.out_of_tree import enabling, with_plugins
from scheduler_core.plugins import PLUGINS
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.described import described, is_described_pod
from scheduler_core.snapshot.files import read_bytes
from scheduler_core.stations.node_pools import NodePools
from scheduler_core.stations.snapshots import alike_waits, missing, others, read_extra, surroundings_of, with_waits
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.suggestions.answers import AlikePods, answers_of

PODS_LISTED = 10


def run(args: argparse.Namespace, out: IO[str]) -> int:
    """Explain the pending pods of a snapshot, or one pod, to `out`; return 1 if one stays pending, otherwise 0.

    Pods are tried in queue order, each after the earlier pods are placed; so the given pod has the same answer as among
    all. If it is bound, it is first removed from its node, unless no scheduler placed it there. Raises InputError.

    Of a file with events alone, or with pods of `kubectl describe` without nodes, the messages are explained.
    """
    data = read_bytes(args.snapshot)
    try:
        return _explain(args, data, out)
    except InputError:
        if is_described_pod(data):
            raws, _ = described(data)
            report = events.report_of(raws)
        else:
            report = events.read(data, args.snapshot)
        if report is None:
            raise
        return write_events(args, report, out)


def _explain(args: argparse.Namespace, data: bytes, out: IO[str]) -> int:
    registry = with_plugins(args.plugins, PLUGINS)
    snapshot = snapshot_of(args, data, args.snapshot)
    raws, release = snapshot.objects, release_of(args, snapshot)
    read = partial(load, release=release, registry=registry, unknown=args.unknown_plugins)
    enabled = None if args.config else enabling(name for name in registry if name not in PLUGINS)
    configuration = read(enabled or configuration_of(args, raws, read))
    found = prepared(args.snapshot, raws, release, configuration, choices_of(args))
    objects = found.objects
    only = None if args.pod is None else _unbound(objects, args.pod, configuration.schedulers)
    if only is not None and only.spec.node_name:
        _write([AlikePods(_stays(only))], out, args.json, False)
        return 0
    simulation = Simulation(objects, release=release, config=configuration, tie_break="name", registry=registry)
    print_notes(found.warnings, simulation.warnings)
    pods = {o.key: o for o in objects if isinstance(o, Pod)}
    try:
        answers = _explained(simulation, pods, every=args.json, only=only.key if only is not None else "")
        extra, notes = read_extra(raws)
        around = surroundings_of(objects, extra, simulation.cluster, configuration.schedulers)
        infos = {info.key: info for info in simulation.pending}
        answers = list(with_waits(answers, pods, infos, around, NodePools(simulation, around)))
    except InputError:
        raise
    except Exception as problem:
        if not args.plugins:
            raise
        raise InputError("out-of-tree plugin", "", f"failed: {_last_line(problem)}") from problem
    print_notes(notes)
    _write(answers, out, args.json, bool(found.others))
    if only is None:
        _write_others(around, out, args.json)
    return int(any(alike.answer.result != "scheduled" for alike in answers))


def _unbound(objects: list[Object], key: str, schedulers: Collection[str]) -> Pod:
    """Make the pod pending if a scheduler placed it, and return it. A name without a namespace is in `default`."""
    key = key if "/" in key else f"default/{key}"
    for i, obj in enumerate(objects):
        if isinstance(obj, Pod) and obj.key == key:
            if obj.terminated:
                raise InputError(f"Pod {key}", "status.phase", f"the pod has ended ({obj.status.phase})")
            if obj.spec.node_name and obj.placed_by:
                return obj
            if obj.spec.scheduler_name not in schedulers:
                problem = f"no profile is named {obj.spec.scheduler_name!r}; there are {', '.join(schedulers)}"
                raise InputError(f"Pod {key}", "spec.schedulerName", problem)
            if obj.spec.node_name:
                metadata, spec = replace(obj.metadata, deletion_timestamp=""), replace(obj.spec, node_name="")
                objects[i] = obj = replace(obj, metadata=metadata, spec=spec, status=PodStatus())
            elif obj.metadata.deletion_timestamp:
                problem = "is set; the scheduler skips pods that are being deleted"
                raise InputError(f"Pod {key}", "metadata.deletionTimestamp", problem)
            return obj
    raise InputError(f"Pod {key}", "", "is not in the snapshot")


def _stays(pod: Pod) -> Answer:
    """Return the answer for a pod that no scheduler placed."""
    node = pod.spec.node_name
    sentence = f"Stays on {node}, because the {pod.placed_by} placed it and not a scheduler."
    return Answer(pod.key, "bound", sentence, node=node)


def _last_line(problem: Exception) -> str:
    """Return the error and its location, for the author of the plugin."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({frame.filename}, line {frame.lineno})"


def _explained(simulation: Simulation, pods: dict[str, Pod], every: bool, only: str = "") -> list[AlikePods]:
    """Return the answers in the order of the cycles, with the other pods that have them; with `only`, that of this pod.

    A pod that is placed is explained after its cycle; one that stays pending, after all cycles. Unless `every` is true,
    only the first of the pods that are pending for the same reasons is explained.
    """
    found: dict[tuple[str, ...], AlikePods] = {}
    last: dict[str, CycleTrace] = {}
    for trace in shown(simulation.run(), "pods", len(simulation.to_try)):
        last[trace.pod] = trace
        if only and trace.pod != only:
            continue
        if trace.result == "scheduled":
            info = PodInfo(pods[trace.pod], simulation.release)
            found[trace.pod,] = AlikePods(explain(trace, simulation, info))
            continue
        gate = trace.preenqueue.message if trace.preenqueue is not None else ""
        alone = trace.pod if every else ""
        key = (alone, trace.result, trace.message, trace.error, gate, trace.nominated_node)
        if key in found:
            found[key].pods.append(trace.pod)
        else:
            found[key] = AlikePods(Answer(trace.pod, trace.result, ""))
    pending = [alike.answer.pod for alike in found.values() if alike.answer.result != "scheduled"]
    answers = {pod: group for group in answers_of(simulation, only=pending, last=last) for pod in group.pods}
    for alike in found.values():
        group = answers.get(alike.answer.pod)
        if group is not None:
            of_pod = alike.answer
            tried = last.get(of_pod.pod)  # equal pods may have other messages
            message = group.answer.message if tried is None else tried.message
            alike.answer = replace(group.answer, pod=of_pod.pod, result=of_pod.result, message=message)
    return list(found.values())


def _write_others(around: Surroundings, out: IO[str], as_json: bool) -> None:
    """Write where the pods wait that the scheduler does not decide about, and which pods were never created."""
    if as_json:
        for _, _, answer in others(around):
            print_json(answer, out)
    else:
        for group in alike_waits(around):
            print(render(replace(group.first, pod=group.title, sentence=group.sentence)), file=out)
            if len(group.answers) > 1:
                print(f"  pods: {some([answer.pod for answer in group.answers], PODS_LISTED)}", file=out)
    for absent in missing(around):
        if as_json:
            print_json(absent, out)
        else:
            owner = absent.workload
            print(f"{owner.kind} {owner.namespace}/{owner.name}: {absent.sentence}", file=out)
            for text in absent.says:
                print(f"  {text}", file=out)


def _write(found: Sequence[AlikePods], out: IO[str], as_json: bool, others: bool) -> None:
    if as_json:
        for alike in found:
            print_json(alike.answer, out)
    elif not found:
        print("No pod waits for this scheduler." if others else "No pod is pending.", file=out)
    elif len(found) == 1 and not found[0].pods:
        print(render(found[0].answer), file=out)
    else:
        _write_groups(found, out)


def _nominated(answer: Answer) -> bool:
    return answer.preemption is not None and bool(answer.preemption.nominated_node)


def _write_groups(found: Sequence[AlikePods], out: IO[str]) -> None:
    """Write the pods that are pending for the same reasons together, then a line for every placed pod."""
    groups = [alike for alike in found if alike.answer.result != "scheduled"]
    placed = [alike.answer for alike in found if alike.answer.result == "scheduled"]
    pending = sum(1 + len(alike.pods) for alike in groups)
    total = count(pending + len(placed), "pod")
    nominated = sum(1 + len(alike.pods) for alike in groups if _nominated(alike.answer))
    ending = f", {nominated:,} of them nominated to a node" if nominated else ""
    print(f"{pending:,} of {total} {'stays' if pending == 1 else 'stay'} pending{ending}.", file=out)
    for alike in sorted(groups, key=lambda alike: -len(alike.pods)):
        print(f"\n{render(alike.answer)}", file=out)
        if alike.pods:
            what = "event" if alike.answer.result == "unschedulable" else "reason"
            names = some(alike.pods, PODS_LISTED)
            print(f"  The same {what} for {count(len(alike.pods), 'other pod')}: {names}", file=out)
    for number, answer in enumerate(placed):
        print(f"{'' if number else chr(10)}{answer.pod}: {answer.sentence}", file=out)
