"""A backup is restored: first read to its end and checked, then stored in one transaction, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from kubesched_ui.backup import tables
from kubesched_ui.backup.file import NotReadable, Reader
from kubesched_ui.models import ClusterObject, Scenario


class NotEmpty(Exception):
    """What is in the installation already, a sentence."""


def check(file: IO[bytes]) -> None:
    """Reads the file to its end. Raises NotReadable for one that is damaged, foreign or of another version."""
    reader = Reader(file)
    header, here, there = reader.header, tables.known(), set(reader.header.migrations)
    if unknown := sorted(apps(there) - apps(here)):
        raise NotReadable(
            f"This backup holds what this installation has switched off ({', '.join(unknown)}); restore it where "
            "people sign in as they did there (ACCOUNTS=1)."
        )
    if missing := sorted(there - here):
        raise NotReadable(
            f"This backup is of a newer version of KubeSched ({header.program}, with {missing[-1]}); restore it there."
        )
    # What was switched off there stays empty here.
    if more := sorted(name for name in here - there if apps({name}) <= apps(there)):
        raise NotReadable(
            f"This backup is of an older version of KubeSched ({header.program}, without {more[0]}); restore it with "
            "that version into an empty installation, then start this version, which brings it up to date."
        )
    known = {label: [field.attname for field in tables.columns(model)] for label, model in tables.kept().items()}
    if header.tables != {label: names for label, names in known.items() if apps({label}) <= apps(there)}:
        raise NotReadable("This backup holds other tables than this version of KubeSched has.")
    for batch in reader.batches():
        width = len(known.get(batch.table, ()))
        if not width or any(len(row) != width for row in batch.rows):
            raise NotReadable("This backup is damaged: rows in it are not as wide as their table.")


def apps(names: set[str]) -> set[str]:
    """The first part of the names of migrations, or of tables."""
    return {name.partition(".")[0] for name in names}


def restore(file: IO[bytes], replace: bool = False, using: str = "default") -> dict[str, int]:
    """Stores what a checked file holds in an up-to-date database; how many rows of each table.

    Raises NotReadable for values that are none, NotEmpty for an installation with something in it, unless all of that
    is to be replaced, and what the database raises; then nothing was changed.
    """
    connection, kept = connections[using], tables.kept()
    if not replace and (found := content(using)):
        raise NotEmpty(f"This installation is not empty, it holds {found}; --replace deletes all of it first.")
    into = {label: insertion(model, connection) for label, model in kept.items()}
    done = dict.fromkeys(kept, 0)
    with transaction.atomic(using=using, durable=True), connection.cursor() as cursor:
        empty(connection)
        for batch in Reader(file).batches():
            statement, writers = into[batch.table]
            try:
                rows = [[write(value) for write, value in zip(writers, row, strict=True)] for row in batch.rows]
            except (ValidationError, ValueError, TypeError):
                raise NotReadable(f"This backup is damaged: values of {batch.table} cannot be read.") from None
            cursor.executemany(statement, rows)
            done[batch.table] += len(rows)
        for statement in connection.ops.sequence_reset_sql(no_style(), list(kept.values())):
            cursor.execute(statement)
    return done


def content(using: str = "default") -> str:
    """What an installation holds that is not there after the first start; "" if nothing."""
    found = []
    for label, model in tables.kept().items():
        rows = model._base_manager.using(using)
        if model is Scenario:
            rows = rows.exclude(origin=Scenario.Origin.SAMPLE)
        elif label in tables.FILLED or model is ClusterObject:
            continue
        if number := rows.count():
            found.append(f"{number} {model._meta.verbose_name_plural if number > 1 else model._meta.verbose_name}")
    return ", ".join(found[:5])


def empty(connection: BaseDatabaseWrapper) -> None:
    """Deletes every row of every table."""
    quote = connection.ops.quote_name
    names = [quote(model._meta.db_table) for model in tables.every().values()]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Takes the tables from everybody until the transaction ends.
            cursor.execute(f"TRUNCATE {', '.join(names)} CASCADE")
            return
        for name in names:
            cursor.execute(f"DELETE FROM {name}")


def insertion(model: type[models.Model], connection: BaseDatabaseWrapper) -> tuple[str, list[Callable[[Any], Any]]]:
    """The statement that stores a row, and what makes its parameters."""
    quote = connection.ops.quote_name
    fields = tables.columns(model)
    names = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({places})"
    return statement, tables.writers(model, connection)
