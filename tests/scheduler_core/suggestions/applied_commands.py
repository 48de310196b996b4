"""Runs commands of suggested fixes with a real kubectl, and schedules the objects that result.

Independent of `scheduler_core.suggestions`: the API server of the tests applies the patches.
"""

from __future__ import annotations

import asyncio
import copy
import os
import subprocess
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.simulation import Simulation
from tests.api_server.resources import RESOURCES
from tests.api_server.server import ApiServer
from tests.api_server.storage import Storage, object_key

Raw = dict[str, Any]
_RESOURCE = {resource.kind: resource for resource in RESOURCES}


@contextmanager
def served(objects: list[Raw]) -> Iterator[tuple[Storage, str]]:
    """Serve objects from a thread; yield their storage and the address."""
    storage = Storage()
    for obj in objects:
        if obj["kind"] in _RESOURCE:
            kind = _RESOURCE[obj["kind"]]
            storage.create(kind.name, copy.deepcopy(obj))
    loop = asyncio.new_event_loop()
    server = ApiServer(storage, "v1.34.1")
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(20)
        yield storage, server.url
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


def applied(command: str, objects: list[Raw], kubectl: Path, folder: Path) -> list[Raw]:
    """Return the objects after the command, in their order. Raises AssertionError if kubectl refuses it."""
    with served(objects) as (storage, url):
        config = folder / "config"
        context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
        cluster = {"name": "c", "cluster": {"server": url}}
        users = [{"name": "c", "user": {"token": "any"}}]
        document = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": users}
        config.write_text(yaml.safe_dump(document | {"current-context": "c"}))
        environment = {"PATH": f"{kubectl.parent}:{os.environ['PATH']}", "KUBECONFIG": str(config), "HOME": str(folder)}
        shell = ["bash", "-e", "-o", "pipefail", "-c", command]
        done = subprocess.run(shell, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        found, known = [], set()
        for obj in objects:
            kind = _RESOURCE.get(obj["kind"])
            now = storage.get(kind.name, object_key(obj)) if kind else obj
            known.add((obj["kind"], object_key(obj)))
            if now is not None:
                found.append({name: obj[name] for name in ("apiVersion", "kind") if name in obj} | now)
        for kind in RESOURCES:
            for key in storage.keys(kind.name):
                if (kind.kind, key) not in known:
                    identity = {"apiVersion": kind.api_version(kind.versions[0]), "kind": kind.kind}
                    found.append(identity | (storage.get(kind.name, key) or {}))
    return found


def placed(objects: list[Raw], pods: Collection[str], release: str = "1.34") -> int:
    """Return how many of the pods a new run places."""
    simulation = Simulation(objects, release=release, preemption=False)
    for _ in simulation.run():
        pass
    return sum(key in simulation.cluster.pods for key in pods)


def placed_with(objects: list[Raw], changes: list[Raw], pods: Collection[str], release: str = "1.34") -> int:
    """Return how many of the pods a new run places after the changes of a fork."""
    simulation = Simulation(objects, release=release, preemption=False)
    Edit(simulation).apply(read_changes(copy.deepcopy(changes)))
    for _ in simulation.run():
        pass
    return sum(key in simulation.cluster.pods for key in pods)
