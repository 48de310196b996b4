"""What a person has: scenarios, runs, and the bytes that they take in the database."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce, Length

from kubesched_ui.models import ClusterObject, Run, Scenario, Upgrade

ROW = 200  # bytes of a row beside what is measured, with its part of the indexes


def scenarios_of(owner: int | None) -> models.QuerySet[Scenario]:
    """Those that count: samples are nobody's."""
    return Scenario._base_manager.filter(owner_id=owner).exclude(origin=Scenario.Origin.SAMPLE)


def runs_of(owner: int | None) -> models.QuerySet[Run]:
    return Run._base_manager.filter(owner_id=owner)


def under_way(owner: int | None) -> int:
    """Runs that wait or are played; those of an upgrade preview are one together."""
    previews = Upgrade._base_manager.filter(owner_id=owner, state__in=Upgrade.ACTIVE)
    return runs_of(owner).filter(state__in=Run.ACTIVE, upgrades=None).count() + previews.count()


def size_of(owner: int | None) -> int:
    """Bytes. What is not measured yet, is now: once it is over a run does not change, nor does a scenario."""
    for run in runs_of(owner).filter(stored_bytes=None).exclude(state__in=Run.ACTIVE).only("pk"):
        runs_of(owner).filter(pk=run.pk).update(stored_bytes=measure(run))
    for scenario in scenarios_of(owner).filter(stored_bytes=None, storing_at=None).only("pk"):
        scenarios_of(owner).filter(pk=scenario.pk).update(stored_bytes=measure(scenario))
    rows: tuple[models.QuerySet[Any], ...] = (runs_of(owner), scenarios_of(owner))
    return sum(found.aggregate(size=Coalesce(Sum("stored_bytes"), 0))["size"] for found in rows)


def parts(kind: type[Run] | type[Scenario]) -> dict[type[models.Model], str]:
    """The tables whose rows are parts of such a thing -> their column that names it."""
    if kind is Scenario:
        return {ClusterObject: "scenario"}
    return {
        relation.related_model: relation.field.name
        for relation in Run._meta.related_objects
        if relation.one_to_many and relation.related_model is not Run and columns(relation.related_model)
    }


def columns(model: type[models.Model]) -> list[str]:
    """Those that may be long."""
    return [f.name for f in model._meta.concrete_fields if isinstance(f, models.BinaryField | models.TextField)]


def measure(thing: Run | Scenario) -> int:
    """Bytes of a thing's rows. Databases know the length of a value without reading it."""
    size = 0
    for model, name in parts(type(thing)).items():
        sums = {f"of_{column}": Coalesce(Sum(Length(column)), 0) for column in columns(model)}
        found = model._base_manager.filter(**{name: thing.pk}).aggregate(rows=Count("pk"), **sums)
        size += found.pop("rows") * ROW + sum(found.values())
    return size
