"""A backup is restored: first read to its end and checked, then stored in one transaction, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Model

from kubesched_ui.accounts.models import Invitation
from kubesched_ui.backup import tables
from kubesched_ui.backup.format import Header, NotReadable, Reader
from kubesched_ui.models import ClusterObject, Scenario


class NotEmpty(Exception):
    """What is in the installation already, a sentence."""


def check_header(header: Header) -> None:
    """Raises NotReadable for what this installation has no place for."""
    here, there = tables.known(), set(header.migrations)
    if unknown := sorted(apps_of(there) - apps_of(here)):
        raise NotReadable(
            f"This backup holds what this installation has switched off ({', '.join(unknown)}); restore it where "
            "people sign in as they did there (ACCOUNTS=1)."
        )
    if later := sorted(there - here):
        raise NotReadable(
            f"This backup is of a newer version of KubeSched ({header.program}, with {later[-1]}); restore it there."
        )


def check(file: IO[bytes]) -> None:
    """Read the file to its end. Raises NotReadable for one that is damaged, or whose tables differ from ours.

    What was switched off there stays empty here; what is left out now may be in it.
    """
    reader, models = Reader(file), tables.every()
    check_header(reader.header)
    there = apps_of(set(reader.header.migrations))
    known = {label: {field.attname for field in tables.columns(model)} for label, model in models.items()}
    names = {label: set(each) for label, each in reader.header.tables.items()}
    wanted = {label for label in tables.kept() if apps_of({label}) <= there}
    if not wanted <= names.keys() or any(names[label] != known.get(label) for label in names):
        raise NotReadable(
            f"This backup was made by KubeSched {reader.header.program}, whose tables differ from ours; "
            "restore it with that version, then upgrade."
        )
    for batch in reader.batches():
        width = len(reader.header.tables.get(batch.table, ()))
        if not width or any(len(row) != width for row in batch.rows):
            raise NotReadable("This backup is damaged: rows in it are not as wide as their table.")


def apps_of(names: set[str]) -> set[str]:
    """The first part of the names of migrations, or of tables."""
    return {name.partition(".")[0] for name in names}


def restore(file: IO[bytes], replace: bool = False) -> dict[str, int]:
    """Store what a checked file holds and return the number of rows of each table.

    Raises NotReadable for values that are none, NotEmpty for an installation with something in it, unless all of that
    is to be replaced, and what the database raises; then nothing was changed.
    """
    reader, kept = Reader(file), tables.kept()
    if not replace and (found := content()):
        raise NotEmpty(f"This installation is not empty, it holds {found}; --replace deletes all of it first.")
    names = {label: each for label, each in reader.header.tables.items() if label in kept}
    into = {label: insertion(kept[label], each) for label, each in names.items()}
    done = dict.fromkeys(kept, 0)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        empty()
        for batch in reader.batches():
            if batch.table not in into:
                continue
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


def content() -> str:
    """What an installation holds that is not there after the first start; "" if nothing."""
    found = []
    for label, model in tables.kept().items():
        rows = model._base_manager.all()
        if model is Scenario:
            rows = rows.exclude(origin=Scenario.Origin.SAMPLE)
        elif model is Invitation:
            rows = rows.exclude(kind=Invitation.Kind.FIRST)  # each start makes one until there is an administrator
        elif label in tables.FILLED or model is ClusterObject:
            continue
        if number := rows.count():
            found.append(f"{number} {model._meta.verbose_name_plural if number > 1 else model._meta.verbose_name}")
    return ", ".join(found[:5])


def empty() -> None:
    """Delete every row of every table."""
    quote = connection.ops.quote_name
    names = [quote(model._meta.db_table) for model in tables.every().values()]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Takes the tables from everybody until the transaction ends.
            cursor.execute(f"TRUNCATE {', '.join(names)} CASCADE")
            return
        for name in names:
            cursor.execute(f"DELETE FROM {name}")


def insertion(model: type[Model], names: Sequence[str]) -> tuple[str, list[Callable[[Any], Any]]]:
    """The statement that stores a row with these columns, and what makes its parameters."""
    quote, known = connection.ops.quote_name, {field.attname: field for field in tables.columns(model)}
    fields = [known[name] for name in names]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})"
    return statement, [tables.writer(field) for field in fields]
