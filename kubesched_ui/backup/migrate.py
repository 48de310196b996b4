"""A backup of an older version is restored as that version had its tables, beside, and brought up to date there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.core.management import call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.loader import MigrationLoader
from django.db.utils import load_backend

from kubesched_ui.backup import tables
from kubesched_ui.backup.create import make
from kubesched_ui.backup.format import Header, Reader
from kubesched_ui.backup.restore import apps_of, check_header, check_rows, restore

OLDER = "older"  # the database's name among the connections
Node = tuple[str, str]


@contextmanager
def up_to_date(file: IO[bytes], folder: Path) -> Iterator[IO[bytes]]:
    """The backup as this version makes it: the file itself, or one that is made of it in `folder`, on the disk.

    Raises NotReadable for one that is damaged, foreign or of a newer version, and what SQLite and the disk raise.
    """
    header = Reader(file).header
    check_header(header)
    if not missing(header):
        yield file
        return
    graph = MigrationLoader(None).graph
    state = last(graph, set(header.migrations))
    models = tables.every(graph.make_state(nodes=state).apps)
    check_rows(file, models)
    with tempfile.TemporaryDirectory(dir=folder) as name, database(Path(name, "older.sqlite3")):
        MigrationExecutor(connections[OLDER]).migrate(state)
        restore(file, replace=True, using=OLDER, models=models)
        call_command("migrate", database=OLDER, verbosity=0)
        with tempfile.TemporaryFile(dir=name) as newer:
            make(newer, OLDER)
            yield newer


def missing(header: Header) -> list[str]:
    """The migrations that it has not been through, of what was switched on there."""
    there = set(header.migrations)
    return sorted(name for name in tables.known() - there if apps_of({name}) <= apps_of(there))


def last(graph: MigrationGraph, names: set[str]) -> list[Node]:
    """Those of these migrations that no other of the same application follows."""
    known = graph.node_map
    nodes = {node for app, _, name in (each.partition(".") for each in names) if (node := (app, name)) in known}
    followed = {parent.key for node in nodes for parent in known[node].parents if parent.key[0] == node[0]}
    return sorted(nodes - followed)


@contextmanager
def database(path: Path) -> Iterator[None]:
    """A SQLite file as the database OLDER."""
    given = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    options = connections.configure_settings({"default": {}, OLDER: given})[OLDER]
    connections[OLDER] = load_backend(options["ENGINE"]).DatabaseWrapper(options, OLDER)
    try:
        yield
    finally:
        connections[OLDER].close()
        del connections[OLDER]
