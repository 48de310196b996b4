"""python -m scheduler_core bench: measures pods per second of a workload, with every decision recorded and encoded."""

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from scheduler_core.api.objects import Object, Pod, PodStatus, decode
from scheduler_core.commands.mixed_workload import HOSTNAME, MIXES, ZONE, mixed, mixed_preemption
from scheduler_core.errors import InputError
from scheduler_core.openb.scenario import scenario
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.files import objects_in, read_bytes

OPENB = Path("tests/data/openb")  # default folder, relative to the root of a checkout


def _node(i: int) -> dict[str, Any]:
    resources = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    name = f"node-{i:05d}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: f"zone-{i % 3}"}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def _pod(name: str, app: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": "500Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
        "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {"requests": requests}}], **spec},
    }


def _spread(app: str) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **_selector(app)}
    return {"topologySpreadConstraints": [constraint]}


def _antiaffinity(app: str) -> dict[str, Any]:
    terms = [{"topologyKey": HOSTNAME, **_selector(app)}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _prefaffinity(app: str) -> dict[str, Any]:
    terms = [{"weight": 10, "podAffinityTerm": {"topologyKey": ZONE, **_selector(app)}}]
    return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def _selector(app: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def _victims(nodes: int) -> Iterator[dict[str, Any]]:
    """Yield ten pods with 3 cpu for each node, which fill its 32 cpu as far as possible."""
    for i in range(nodes * 10):
        pod = _pod(f"low-{i:06d}", f"a{i % 10}", cpu="3", priority=0, nodeName=f"node-{i // 10:05d}")
        pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:{i % 60:02d}:00Z"}
        yield pod


# Workload -> the number of apps, and the arguments of `_pod` for a pod of an app.
PODS: dict[str, tuple[int, Callable[[str], dict[str, Any]]]] = {
    "basic": (10, lambda app: {}),
    "spread": (10, _spread),
    "antiaffinity": (500, _antiaffinity),
    "prefaffinity": (10, _prefaffinity),
    "preemption": (10, lambda app: {"cpu": "4", "priority": 1000}),
}
SNAPSHOTS = "snapshots"
MIXED_PREEMPTION = "mixed-preemption"
WORKLOADS = (*MIXES, MIXED_PREEMPTION, SNAPSHOTS, *PODS, "openb")


def workload(name: str, nodes: int, pods: int, trace: Path = OPENB) -> list[dict[str, Any]]:
    """Return the objects of a workload. Raises InputError, also if the folder `trace` does not contain the
    openb trace."""
    if name in MIXES:
        return list(mixed(MIXES[name], nodes, pods))
    if name == MIXED_PREEMPTION:
        return list(mixed_preemption(nodes, pods))
    if name == "openb":
        found = [sorted(trace.glob(pattern)) for pattern in ("openb_node_list*.csv*", "openb_pod_list*.csv*")]
        if not all(found):
            raise InputError(str(trace), "", "the openb trace is missing; name its folder with --folder")
        objects = scenario(found[0][0], found[1][0], pods or None)["spec"]["objects"]
        return [o for o in objects if o["kind"] != "Node"] + [o for o in objects if o["kind"] == "Node"][
            : nodes or None
        ]
    if name not in PODS:
        raise InputError("workload", "", f"{name!r} is not one of {', '.join(WORKLOADS)}")
    objects = [_node(i) for i in range(nodes)]
    if name == "preemption":
        objects.extend(_victims(nodes))
    apps, arguments = PODS[name]
    for i in range(pods):
        app = f"a{i % apps}"
        objects.append(_pod(f"pod-{i:06d}", app, **arguments(app)))
    return objects


def snapshots(folder: Path) -> Iterator[list[Object]]:
    """Yield the objects of each snapshot of a cluster in a folder (`*.json`, `*.yaml`, also `.gz`), in order of their
    names. The pods that a scheduler placed are pending again. Raises InputError, also if there is none."""
    paths = [path for path in sorted(folder.iterdir()) if {".json", ".yaml"} & set(path.suffixes)]
    if not paths:
        raise InputError(str(folder), "", "contains no snapshot (*.json or *.yaml, may be gzipped)")
    for path in paths:
        objects: list[Object] = []
        for raw in objects_in(read_bytes(str(path)), str(path)):
            with suppress(InputError):  # an object that the scheduler refuses
                if (obj := decode(raw)) is not None:
                    objects.append(obj)
        for obj in objects:
            if isinstance(obj, Pod) and obj.spec.node_name and not obj.terminated and not obj.placed_by:
                obj.spec.node_name, obj.status = "", PodStatus()
        yield objects


def command(args: argparse.Namespace, out: IO[str]) -> int:
    """Write the figures of a workload as JSON. Returns 0. Raises InputError."""
    options = args.percentage, args.release, args.folder, not args.no_trace
    print(json.dumps(run(args.workload, args.nodes, args.pods, *options)), file=out)
    return 0


def run(
    name: str,
    nodes: int,
    pods: int,
    percentage: int,
    release: str,
    folder: Path | None = None,
    encodes: bool = True,
) -> dict[str, Any]:
    """Run a workload once and return the figures of one JSON line.

    The time is processor time, without building the objects. `folder`: of the openb trace, or of the snapshots, which
    run one after another. `encodes`: whether every cycle is encoded; otherwise nothing reads its columns.
    """
    if name == SNAPSHOTS:
        if folder is None or not folder.is_dir():
            raise InputError("--folder", "", f"the workload {SNAPSHOTS} needs the folder of the snapshots")
        clusters = snapshots(folder)
    else:
        raws = workload(name, nodes, pods, folder or OPENB)
        clusters = iter([[obj for raw in raws if (obj := decode(raw)) is not None]])
    config = MIXES[name].config if name in MIXES else None
    rows = count = scheduled = size = 0
    seconds = 0.0
    for objects in clusters:
        retry = name in ("preemption", MIXED_PREEMPTION)
        simulation = Simulation(
            objects, release=release, config=config, percentage=percentage, pods=None, retry_preemptors=retry
        )
        rows, count = rows + len(simulation.nodes), count + len(simulation.pods)
        start = time.process_time()
        for cycle in simulation.run():
            size += len(cycle.encode()) if encodes else 0
            scheduled += cycle.result == "scheduled"
        seconds += time.process_time() - start
    return {
        "workload": name,
        "nodes": rows,
        "pods": count,
        "percentage": percentage,
        "scheduled": scheduled,
        "seconds": round(seconds, 3),
        "pods_per_s": round(count / seconds, 1) if seconds else 0.0,
        "trace_bytes_per_pod": round(size / max(count, 1)),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
