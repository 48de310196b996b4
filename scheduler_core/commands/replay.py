"""python -m scheduler_core replay: runs conformance cases and writes their decisions, one JSON line for each case."""

import argparse
import gzip
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import msgspec

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands.extender_server import serve_extenders
from scheduler_core.config.loader import load
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.dra.claims import claims_used
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import WAIT, Status
from scheduler_core.legacy.golden import golden as legacy_golden
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.contrib.trimaran import set_load
from scheduler_core.pod_groups.trace import GroupTrace
from scheduler_core.queue.heap_order import heap_order
from scheduler_core.releases import Release, get_release, with_gates
from scheduler_core.releases.feature_gates import with_known_gates
from scheduler_core.simulation import Simulation


def read_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, of a .gz file, or of standard input for `-`. Raises InputError."""
    try:
        if path == "-":
            yield from sys.stdin.buffer
            return
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as stream:
            yield from stream
    except (OSError, EOFError) as problem:
        raise InputError(path, "", f"cannot be read: {problem}") from None


def release_of(case: dict[str, Any]) -> Release:
    """Return the release of a case with its feature gates. Raises InputError.

    The cases were recorded with synchronous preemption, see tests/golden/README.md.
    """
    release = with_known_gates(get_release(case["kubernetes"]), {"SchedulerAsyncPreemption": False})
    return with_gates(release, case.get("feature_gates") or {})


def simulation_of(case: dict[str, Any], **changes: Any) -> Simulation:
    """Return the simulation of a case, with some of its settings changed. Raises InputError."""
    settings: dict[str, Any] = {
        "release": release_of(case),
        "config": case.get("config"),
        "tie_break": "name",
        "preemption": bool(case.get("preempt")),
        "percentage": case.get("percentage"),
        "pods": case["pods"],
    }
    return Simulation(case["objects"], **settings | changes)


def replay_case(case: dict[str, Any]) -> dict[str, Any]:
    """Return the decisions of a case in the golden format. This process answers for its extenders. Raises
    InputError."""
    try:
        configuration = load(case.get("config"), release_of(case), PLUGINS, case.get("unknown_plugins", "error"))
    except InputError as problem:
        return {"name": case["name"], "kubernetes": case["kubernetes"], "refused": str(problem), "cycles": []}
    simulation = simulation_of(case, config=configuration, retry_groups=True)
    if "NodeMetricsMap" in case.get("watcher", {}).get("data", {}):
        set_load(simulation.cluster, case["watcher"])
    answer = {"name": case["name"], "kubernetes": case["kubernetes"], "node_order": list(simulation.nodes)}
    if (order := _queue_order(simulation)) is not None:
        answer["queue_order"] = order
    with _extenders(simulation, case.get("extenders")):
        answer["cycles"], end = _cycles(simulation)
    return answer | end


def _queue_order(simulation: Simulation) -> list[str] | None:
    """Return the order in which the pods leave activeQ, if the profile sorts by an out-of-tree plugin; else None."""
    sort = None if simulation.release.predicates else next(iter(simulation.scheduler.profiles.values())).queue_sort
    if sort is None or sort.in_tree:
        return None
    keys = [sort.sort_key(pod, float(index)) for index, pod in enumerate(simulation.to_try)]
    return [simulation.to_try[index].key for index in heap_order(keys)]


def _cycles(simulation: Simulation) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run the simulation. Return the cycles in the order of the pods, and {end: ...} if a pod waited in Permit."""
    cycles: list[tuple[int, dict[str, Any]]] = []
    released: dict[int, list[str]] = {}  # number of a cycle -> pods
    rejected: dict[int, dict[str, Any]] = {}
    waited: dict[str, str] = {}  # pods that waited after the last cycle
    timed_out: dict[str, Any] = {}
    ever_waited = False
    for trace in simulation.attempts():
        number = now = simulation.scheduler.cycles
        golden = _golden(trace, simulation) | _claims(simulation, trace.pod)
        if isinstance(trace, CycleTrace):
            number = trace.number
            golden |= _permit(trace)
            if trace.permit_waits:
                ever_waited = True
                golden |= {"activates": sorted(simulation.activated.get(trace.pod, ()))}
                if simulation.timing_out:
                    waited[trace.pod], timed_out[trace.pod] = trace.node, _status(trace.permit)
                elif trace.result == "scheduled":
                    released.setdefault(now, []).append(trace.pod)
                elif trace.permit is not None:
                    rejected.setdefault(now, {})[trace.pod] = _status(trace.permit)
        cycles.append((number, golden))
    cycles.sort(key=lambda one: one[0])
    for number, golden in cycles:
        if number in released:
            golden["released"] = released[number]
        if number in rejected:
            golden["waiting_rejected"] = rejected[number]
    if not ever_waited:
        return [golden for _, golden in cycles], {}
    bound = {key: simulation.cluster.pods[key].node for key in simulation.pods if key in simulation.cluster.pods}
    return [golden for _, golden in cycles], {"end": {"bound": bound, "waiting": waited, "timed_out": timed_out}}


def _permit(trace: CycleTrace) -> dict[str, Any]:
    """Return {permit: the status that Permit plugins returned}; {} if all of them approved."""
    if trace.permit_waits:
        reason = f'one or more plugins asked to wait and no plugin rejected pod "{trace.pod.rpartition("/")[2]}"'
        return {"permit": {"code": WAIT, "reasons": [reason], "wait_seconds": trace.permit_waits}}
    return {"permit": _status(trace.permit)} if trace.permit is not None else {}


def _status(status: Status | None) -> dict[str, Any]:
    return {} if status is None else {"plugin": status.plugin, "code": status.code, "reasons": list(status.reasons)}


def _golden(trace: CycleTrace | GroupTrace, simulation: Simulation) -> dict[str, Any]:
    if simulation.release.predicates and isinstance(trace, CycleTrace):
        return legacy_golden(trace, simulation.nodes, _pod(simulation, trace.pod))
    return trace.golden(simulation.nodes)


@contextmanager
def _extenders(simulation: Simulation, answers: dict[str, Any] | None) -> Iterator[None]:
    """Let the simulation call the extenders of its configuration; a local server answers for all of them."""
    configs = simulation.configuration.extenders
    if answers is None or not configs:
        yield
        return
    hosts = {urllib.parse.urlsplit(config.url_prefix).netloc for config in configs}
    with serve_extenders(answers) as address:
        simulation.scheduler.use_extenders(Extenders(configs, simulation.cluster, hosts, proxy=address))
        yield


def _pod(simulation: Simulation, key: str) -> PodInfo:
    return next(pod for pod in simulation.to_try if pod.key == key)


def _claims(simulation: Simulation, key: str) -> dict[str, Any]:
    """Return {claims: {name: status}} of the resource claims that a pod uses, in their current state; {} without
    claims.

    Values that upstream generates randomly are removed.
    """
    pod = _pod(simulation, key)
    claims: dict[str, Any] = {}
    for claim in claims_used(pod, simulation.cluster.device_claims):
        claims[claim.key] = status = msgspec.to_builtins(claim.status)
        for result in status.get("allocation", {}).get("devices", {}).get("results", ()):
            result.pop("shareID", None)
    return {"claims": claims} if claims else {}


def run(args: argparse.Namespace, out: IO[str], one: Callable[[dict[str, Any]], dict[str, Any]] = replay_case) -> int:
    """Replay every case of a file with `one`. Returns the exit code: 0, or 1 if a case failed to run."""
    failed = 0
    for number, line in enumerate(read_lines(args.cases), 1):
        if not line.strip():
            continue
        try:
            case = {"unknown_plugins": args.unknown_plugins, **msgspec.json.decode(line)}
            answer = one(case)
        except (InputError, msgspec.DecodeError, KeyError, TypeError) as problem:
            print(f"{args.cases}, line {number}: {problem}", file=sys.stderr)
            failed = 1
            continue
        print(msgspec.json.encode(answer).decode(), file=out)
    return failed
