"""Recordings of released versions, each a whole database. `stored/README.md` describes them."""

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.core.management import call_command
from django.db import connections
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.http_api import exported

STORED = Path(__file__).with_name("stored")
NAMES = sorted(path.name.removesuffix(".sqlite3.gz") for path in STORED.glob("*.sqlite3.gz"))


def load(name: str) -> dict[str, Any]:
    """Return what that version answered: {shape, runs: number -> `answers`}."""
    found: dict[str, Any] = json.loads(gzip.decompress((STORED / f"{name}.json.gz").read_bytes()))
    return found


@contextmanager
def opened(name: str, folder: Path) -> Iterator[None]:
    """Use the database of that version, migrated by the present code."""
    path = folder / "stored.sqlite3"
    path.write_bytes(gzip.decompress((STORED / f"{name}.sqlite3.gz").read_bytes()))
    before = connections["default"]
    connection = type(before)(before.settings_dict | {"NAME": str(path)}, "default")
    connections["default"] = connection
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        connection.close()
        connections["default"] = before


def answers(client: Client, run: Run) -> dict[str, Any]:
    """Return what the API answers about a run: {cycles: ns/name -> its cycles, addresses: address -> [status, answer]},
    and its run `file`, which a fork has none of."""
    cycles = {}
    for result in run.pod_results.all():
        pod = f"{result.namespace}/{result.name}"
        cycles[pod] = client.get(f"{run.url}/pods/{pod}").json()["cycles"]
    addresses = {}
    for address in compared(run):
        answer = client.get(address)
        addresses[address] = [answer.status_code, answer.json()]
    found = {"last_seq": run.last_seq, "cycles": cycles, "addresses": addresses}
    return found if run.is_fork else found | {"file": exported(client, run).decode()}


def compared(run: Run) -> Iterator[str]:
    """Return the addresses whose responses are stored: cluster states, searches and provenance."""
    rows = list(run.cycles.order_by("number"))
    yield from (f"{run.url}/state", f"{run.url}/map", f"{run.url}/find?where=true", f"{run.url}/events?limit=5000")
    yield f"{run.url}/find?where=cycle%20%3E%201"
    if run.in_time:
        yield from (f"{run.url}/lanes", f"{run.url}/lanes/overview?bins=10", f"{run.url}/moment?t=5")
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        pod = f"{run.url}/pods/{row.namespace}/{row.name}"
        query = urlencode({"cycle": row.number, "point": "filter", "plugin": "NodeResourcesFit", "node": row.nodes[0]})
        yield from (f"{run.url}/state?cycle={row.number}", f"{run.url}/map?cycle={row.number}")
        yield from (f"{pod}/history", f"{pod}/provenance?{query}")


SENTENCES = {"text", "label"}


def includes(now: Any, then: Any) -> bool:
    """Tell whether a response has all of an earlier one. Objects may have more keys, and sentences other words."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(
            key in now and (includes(now[key], each) or (key in SENTENCES and bool(now[key]) == bool(each)))
            for key, each in then.items()
        )
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(includes, now, then))
    return bool(now == then)


def pages(run: Run) -> Iterator[str]:
    """Return the addresses of all pages of a run."""
    yield f"/scenarios/{run.scenario_id}/"
    base = f"/runs/{run.pk}/"
    yield from (base, base + "export/", base + "together/", f"/compare/{run.pk}/{run.pk}/")
    if not run.in_time:
        yield base + "charts/gaps/"
    cycles = run.cycles.values_list("result", "number", "namespace", "name", "attempt")
    for _, number, namespace, name, attempt in {row[0]: row for row in cycles}.values():  # one of each result
        pod = f"{base}pods/{quote(namespace)}/{quote(name)}/"
        yield from (f"{pod}?attempt={attempt}", f"{pod}why/?attempt={attempt}", f"{base}cycles/{number}/")
        yield from (f"{pod}trials/?cycle={number}", f"{pod}claims/?cycle={number}")
    for name in (run.node_names or [])[:1]:
        yield f"{base}nodes/{quote(name)}/"
    for group in run.group_cycles.all():
        yield f"{base}groups/{group.namespace}/{group.name}/"


@cache
def readings() -> dict[str, list[str]]:
    """Return the read operations of the API for runs -> their required query."""
    paths = Client(headers={"host": "localhost"}).get("/api/openapi.json").json()["paths"]
    return {
        path: [p["name"] for p in methods["get"].get("parameters", []) if p["in"] == "query" and p.get("required")]
        for path, methods in paths.items()
        if "get" in methods and ("{run_id}" in path or "/compare" in path)
    }


def operations(run: Run) -> Iterator[str]:
    """Yield every read operation of the API on a run, with a pod, a node and a timepoint of it."""
    row, nodes = run.cycles.order_by("number").last(), run.node_names or [""]
    result = run.pod_results.first()
    if row is None or result is None:
        return
    known = {
        "run_id": run.pk, "a": run.pk, "b": run.pk, "number": 1, "namespace": row.namespace, "name": row.name,
        "pod": f"{row.namespace}/{row.name}", "point": "filter", "plugin": "NodeResourcesFit", "node": nodes[0],
        "where": "true", "kind": "Node", "key": nodes[0], "scenario_id": run.scenario_id, "cycle": 1, "at": 1,
    }  # fmt: skip
    for path, required in readings().items():
        query = urlencode({name: known.get(name, 1) for name in required})
        address = re.sub(r"{(\w+)}", lambda found: quote(str(known[found[1]])), path)
        yield f"{address}?{query}" if query else address
