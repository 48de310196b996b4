"""Carries the recordings that tests keep of every version forward on PostgreSQL, as on an instance that is upgraded.

    python scripts/try_kept_migrations.py [NAME ...]

Each database of tests/kubesched_ui/recording/kept/ is filled into a PostgreSQL of its own as the migrations of its time
leave it, is migrated by today's code, and must answer what it answered then. Starts the server itself; prints a line
per database; exit code 1 if one differs.
"""

from __future__ import annotations

import gzip
import logging
import os
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.kubesched_ui.instance import postgres_server  # noqa: E402

APP = "kubesched_ui"


def rows_of(source: sqlite3.Connection, connection: Any) -> int:
    """Copies our tables as they are; gives how many rows."""
    copied = 0
    tables = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ?", (f"{APP}_%",))
    with connection.cursor() as cursor, connection.constraint_checks_disabled():
        cursor.execute("SET session_replication_role = replica")  # rows come in any order
        for (table,) in tables.fetchall():
            found = source.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in found.description]
            cursor.execute(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s", [table]
            )
            types, quoted = dict(cursor.fetchall()), ", ".join(f'"{name}"' for name in names)
            for row in found.fetchall():
                values = [bool(v) if types[n] == "boolean" else v for n, v in zip(names, row, strict=True)]
                marks = ", ".join("%s::jsonb" if types[n] == "jsonb" else "%s" for n in names)
                cursor.execute(f"INSERT INTO {table} ({quoted}) VALUES ({marks})", values)
                copied += 1
            if "id" in names:
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) + 1 FROM {table}))"
                )
        cursor.execute("SET session_replication_role = DEFAULT")
    return copied


def carried(name: str) -> bool:
    """Whether a database of that version answers as it did."""
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from tests.kubesched_ui.event_log.stored_runs import KEPT, told

    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kept.sqlite3"
        file.write_bytes(gzip.decompress((KEPT / f"{name}.sqlite3.gz").read_bytes()))
        source = sqlite3.connect(file)
        (at,) = source.execute("SELECT max(name) FROM django_migrations WHERE app = ?", (APP,)).fetchone()
        call_command("migrate", APP, at, verbosity=0)
        rows = rows_of(source, connection)
        source.close()
    call_command("migrate", verbosity=0)
    client = Client(headers={"host": "localhost"})
    differ = 0
    for number, then in told(name)["runs"].items():
        for pod, cycles in then["cycles"].items():
            now = client.get(f"/api/runs/{number}/pods/{pod}").json()["cycles"]
            differ += [{key: cycle[key] for key in was} for was, cycle in zip(cycles, now, strict=True)] != cycles
        differ += client.get(f"/runs/{number}/").status_code != 200
    print(f"{name}: {rows} rows from {at}: {'as it was' if not differ else f'{differ} answers differ'}", flush=True)
    return not differ


def main(names: list[str]) -> int:
    with postgres_server() as server:
        var = tempfile.mkdtemp(prefix="kubesched-kept-")
        os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "VAR_DIR": var, "DATABASE_URL": server.url}
        import django

        django.setup()
        logging.disable(logging.CRITICAL)
        from tests.kubesched_ui.event_log.stored_runs import NAMES

        return 1 if [name for name in names or NAMES if not carried(name)] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
