"""Restores a backup: reads and checks it completely, then stores it in one transaction."""

from collections.abc import Callable, Sequence
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Model

from kubesched_ui.accounts.models import Invitation
from kubesched_ui.backup import tables
from kubesched_ui.backup.format import Header, NotReadable, Reader
from kubesched_ui.models import ClusterObject, ClusterTable, Scenario


class NotEmpty(Exception):
    """A sentence that states what the installation already contains."""


def check_header(header: Header) -> None:
    """Raise NotReadable if this installation has no tables for the data."""
    here, there = tables.known(), set(header.migrations)
    if unknown := sorted(apps_of(there) - apps_of(here)):
        raise NotReadable(
            f"This backup contains data of features that are disabled here ({', '.join(unknown)}); restore it with "
            "the same setting of KUBESCHED_ACCOUNTS."
        )
    if later := sorted(there - here):
        raise NotReadable(
            f"This backup was created by a newer version of KubeSched ({header.program}, with {later[-1]}). "
            "Upgrade first."
        )


def check(file: IO[bytes]) -> None:
    """Read the file to its end. Raises NotReadable if it is damaged or its tables differ from those of this version.

    Tables of apps that were not installed there remain empty here, and so do tables that later migrations created.
    Columns that later migrations added get their defaults. The file may contain tables that are now left out.
    """
    reader, models = Reader(file), tables.every()
    check_header(reader.header)
    there = apps_of(set(reader.header.migrations))
    changed = apps_of(tables.known() - set(reader.header.migrations))
    names = {label: set(each) for label, each in reader.header.tables.items()}
    wanted = {label for label in tables.kept() if apps_of({label}) <= there - changed}
    if not wanted <= names.keys() or not all(
        label in models and fits(models[label], each, apps_of({label}) <= changed) for label, each in names.items()
    ):
        raise NotReadable(
            f"This backup was created by KubeSched {reader.header.program}, whose tables differ from this version. "
            "Restore it with that version, then upgrade."
        )
    for batch in reader.batches():
        width = len(reader.header.tables.get(batch.table, ()))
        if not width or any(len(row) != width for row in batch.rows):
            raise NotReadable("This backup is damaged: some rows have a wrong number of columns.")


def fits(model: type[Model], names: set[str], changed: bool) -> bool:
    """Return whether rows with these columns can be stored. `changed`: later migrations may have added columns."""
    known = {field.attname: field for field in tables.columns(model)}
    added = known.keys() - names
    return names <= known.keys() and (
        not added or (changed and all(known[n].has_default() or known[n].null for n in added))
    )


def apps_of(names: set[str]) -> set[str]:
    """Return the app labels in names of migrations or tables."""
    return {name.partition(".")[0] for name in names}


def restore(file: IO[bytes], replace: bool = False) -> dict[str, int]:
    """Store the contents of a checked file and return the number of rows of each table.

    Raises NotReadable for invalid values, NotEmpty if the installation contains data and `replace` is not set, and the
    exceptions of the database. An exception leaves the data unchanged.
    """
    reader, kept = Reader(file), tables.kept()
    if not replace and (found := content()):
        raise NotEmpty(f"This installation is not empty: it contains {found}. --replace deletes everything first.")
    names = {label: each for label, each in reader.header.tables.items() if label in kept}
    into = {label: insertion(kept[label], each) for label, each in names.items()}
    done = dict.fromkeys(kept, 0)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        empty()
        for batch in reader.batches():
            if batch.table not in into:
                continue
            statement, writers, added = into[batch.table]
            try:
                rows = [
                    [*(write(value) for write, value in zip(writers, row, strict=True)), *added] for row in batch.rows
                ]
            except (ValidationError, ValueError, TypeError):
                raise NotReadable(f"This backup is damaged: values of {batch.table} cannot be read.") from None
            cursor.executemany(statement, rows)
            done[batch.table] += len(rows)
        for statement in connection.ops.sequence_reset_sql(no_style(), list(kept.values())):
            cursor.execute(statement)
    return done


def content() -> str:
    """Return a description of the data added since the first start; "" if there is none."""
    found = []
    for label, model in tables.kept().items():
        rows = model._base_manager.all()
        if model is Scenario:
            rows = rows.exclude(origin=Scenario.Origin.SAMPLE)
        elif model is Invitation:
            rows = rows.exclude(kind=Invitation.Kind.FIRST)  # each start creates one until there is an administrator
        elif label in tables.FILLED or model in (ClusterObject, ClusterTable):
            continue
        if number := rows.count():
            found.append(f"{number} {model._meta.verbose_name_plural if number > 1 else model._meta.verbose_name}")
    return ", ".join(found[:5])


def empty() -> None:
    """Delete all rows of all tables."""
    quote = connection.ops.quote_name
    names = [quote(model._meta.db_table) for model in tables.every().values()]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Locks the tables until the transaction ends.
            cursor.execute(f"TRUNCATE {', '.join(names)} CASCADE")
            return
        for name in names:
            cursor.execute(f"DELETE FROM {name}")


def insertion(model: type[Model], names: Sequence[str]) -> tuple[str, list[Callable[[Any], Any]], list[Any]]:
    """Return the statement that inserts a row with these columns, the converters of its parameters, and the values of
    the columns that later migrations added."""
    quote, known = connection.ops.quote_name, {field.attname: field for field in tables.columns(model)}
    fields = [known[name] for name in names]
    added = [field for name, field in known.items() if name not in names]
    columns = ", ".join(quote(str(field.column)) for field in (*fields, *added))
    places = ", ".join(["%s"] * len(fields + added))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})"
    defaults = [field.get_db_prep_save(field.get_default(), connection) for field in added]
    return statement, [tables.writer(field) for field in fields], defaults
