"""The tables of a backup, and the encoding of their rows, which both databases can read back.

All tables are included except those with a reason in LEFT_OUT, so a new table is included automatically.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import ExpressionWrapper, F

Row = tuple[Any, ...]
Models = dict[str, type[models.Model]]
LEFT_OUT = {
    "sessions.Session": "users sign in again after a restore",
    "accounts.SignedIn": "belongs to the sessions",
    "clusters.ChangeBlock": "belongs to the live cluster, whose history begins anew",
    "clusters.Checkpoint": "belongs to the history",
    "clusters.CheckpointPart": "belongs to the history",
    "clusters.HistoryGap": "belongs to the history",
    "clusters.PendingPod": "the state of the live cluster, which is read again",
}
# Filled by migrations, not by users. Other rows reference these by ID, so they are stored unchanged.
FILLED = {"contenttypes.ContentType", "auth.Permission", "sites.Site"}


def every() -> Models:
    """Return all tables, including those of many-to-many relations: label -> model."""
    found = apps.get_models(include_auto_created=True)
    return {model._meta.label: model for model in found if model._meta.managed and not model._meta.proxy}


def kept() -> Models:
    """Return the tables in a backup: label -> model."""
    return {label: model for label, model in every().items() if label not in LEFT_OUT}


def columns(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    """Return the fields that are stored in the table and not computed by the database."""
    return [field for field in model._meta.concrete_fields if not getattr(field, "generated", False)]


def rows(model: type[models.Model], chunk: int) -> Iterator[Row]:
    """Yield the rows in the order of their IDs, `chunk` at a time in memory. Blobs and JSON are not decoded."""
    fields = columns(model)
    raw = {f"raw{number}": stored for number, field in enumerate(fields) if (stored := as_stored(field))}
    names = [f"raw{number}" if f"raw{number}" in raw else field.attname for number, field in enumerate(fields)]
    query = model._base_manager.annotate(**raw).order_by("pk").values_list(*names)
    for row in query.iterator(chunk_size=chunk):
        yield tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)


def as_stored(field: models.Field[Any, Any]) -> ExpressionWrapper | None:
    """Return an expression for the raw column, without the conversion of its field; None if the conversion is cheap."""
    if isinstance(field, models.BinaryField):
        return ExpressionWrapper(F(field.name), output_field=models.BinaryField())
    if isinstance(field, models.JSONField):
        return ExpressionWrapper(F(field.name), output_field=models.TextField())
    return None


def writer(field: models.Field[Any, Any]) -> Callable[[Any], Any]:
    if isinstance(field, models.BinaryField):
        stored = models.BinaryField()  # without the conversion of the field
        return lambda value: stored.get_db_prep_value(value, connection)
    if isinstance(field, models.JSONField):
        return lambda value: None if value is None else field.get_db_prep_save(json.loads(value), connection)
    if isinstance(field, models.ForeignKey):
        return writer(field.target_field)
    return lambda value: field.get_db_prep_save(field.to_python(value), connection)


def applied() -> set[str]:
    """Return the migrations applied to the database. Databases with the same migrations have the same tables."""
    return {f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations()}


def known() -> set[str]:
    """Return the migrations of this version of the program."""
    return {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
