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
from scheduler_core.config.policy import is_policy
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.dra.claims import claims_used
from scheduler_core.errors import InputError
from scheduler_core.legacy.golden import golden as legacy_golden
from scheduler_core.pod_groups.trace import GroupTrace
from scheduler_core.releases import Release, get_release, with_gates
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
    """Return the release of a case with its feature gates. Raises InputError."""
    return with_gates(get_release(case["kubernetes"]), case.get("feature_gates") or {})


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
        simulation = simulation_of(case, retry_groups=True)
    except InputError as problem:
        if not is_policy(case.get("config") or {}):
            raise
        return {"name": case["name"], "kubernetes": case["kubernetes"], "refused": str(problem), "cycles": []}
    with _extenders(simulation, case.get("extenders")):
        cycles = [_golden(trace, simulation) | _claims(simulation, trace.pod) for trace in simulation.attempts()]
    return {
        "name": case["name"],
        "kubernetes": case["kubernetes"],
        "node_order": list(simulation.nodes),
        "cycles": cycles,
    }


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
            case = msgspec.json.decode(line)
            answer = one(case)
        except (InputError, msgspec.DecodeError, KeyError, TypeError) as problem:
            print(f"{args.cases}, line {number}: {problem}", file=sys.stderr)
            failed = 1
            continue
        print(msgspec.json.encode(answer).decode(), file=out)
    return failed
