"""Recordings that earlier versions wrote, each a database as it was left then; `kept/README.md` says what each is."""

from __future__ import annotations

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

KEPT = Path(__file__).with_name("kept")
NAMES = sorted(path.name.removesuffix(".sqlite3.gz") for path in KEPT.glob("*.sqlite3.gz"))


def told(name: str) -> dict[str, Any]:
    """What the API of that version said: {shape, runs: number -> {scenario, last_seq, cycles: ns/name -> its cycles}},
    and of versions that made run files the `file` of a run."""
    found: dict[str, Any] = json.loads(gzip.decompress((KEPT / f"{name}.json.gz").read_bytes()))
    return found


@contextmanager
def opened(name: str, folder: Path) -> Iterator[None]:
    """The database of that version is the database, migrated by today's code."""
    path = folder / "kept.sqlite3"
    path.write_bytes(gzip.decompress((KEPT / f"{name}.sqlite3.gz").read_bytes()))
    before = connections["default"]
    connection = type(before)(before.settings_dict | {"NAME": str(path)}, "default")
    connections["default"] = connection
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        connection.close()
        connections["default"] = before


def pages(run: Run) -> Iterator[str]:
    """The addresses of all that is shown of a run."""
    yield f"/scenarios/{run.scenario_id}/"
    base = f"/runs/{run.pk}/"
    yield from (base, base + "export/", base + "together/", f"/compare/{run.pk}/{run.pk}/")
    if not run.in_time:
        yield base + "heat/"
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
    """Addresses of the API that read of runs -> what they must be asked with."""
    paths = Client(headers={"host": "localhost"}).get("/api/openapi.json").json()["paths"]
    return {
        path: [p["name"] for p in methods["get"].get("parameters", []) if p["in"] == "query" and p.get("required")]
        for path, methods in paths.items()
        if "get" in methods and ("{run_id}" in path or "/compare" in path)
    }


def operations(run: Run) -> Iterator[str]:
    """Every address of the API that reads something of a run, with a pod, a node and a moment of it."""
    row, nodes = run.cycles.order_by("number").last(), run.node_names or [""]
    result = run.pod_results.first()
    if row is None or result is None:
        return
    known = {
        "run_id": run.pk, "a": run.pk, "b": run.pk, "number": 1, "namespace": row.namespace, "name": row.name,
        "pod": f"{row.namespace}/{row.name}", "point": "filter", "plugin": "NodeResourcesFit", "node": nodes[0],
        "where": "true", "kind": "Node", "key": nodes[0], "scenario_id": run.scenario_id, "cycle": 1, "at": 1,
    }  # fmt: skip
    for path, asked in readings().items():
        query = urlencode({name: known.get(name, 1) for name in asked})
        address = re.sub(r"{(\w+)}", lambda found: quote(str(known[found[1]])), path)
        yield f"{address}?{query}" if query else address
