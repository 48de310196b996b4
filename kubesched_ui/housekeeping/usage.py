"""Usage of a user: scenarios, runs, and their bytes in the database."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce, Length

from kubesched_ui.models import ClusterObject, Run, Scenario, Upgrade

ROW = 200  # bytes per row in addition to the measured columns, including its share of the indexes


def scenarios_of(owner: int | None) -> models.QuerySet[Scenario]:
    """Return the scenarios that count for the quota: all but samples."""
    return Scenario._base_manager.filter(owner_id=owner).exclude(origin=Scenario.Origin.SAMPLE)


def runs_of(owner: int | None) -> models.QuerySet[Run]:
    return Run._base_manager.filter(owner_id=owner)


def active_count(owner: int | None) -> int:
    """Return the number of queued and running runs. All runs of an upgrade preview count as one."""
    previews = Upgrade._base_manager.filter(owner_id=owner, state__in=Upgrade.ACTIVE)
    return runs_of(owner).filter(state__in=Run.ACTIVE, upgrades=None).count() + previews.count()


def size_of(owner: int | None) -> int:
    """Return the stored bytes, after measuring runs and scenarios without a size. A finished run does not change, nor
    does a scenario."""
    for run in runs_of(owner).filter(stored_bytes=None).exclude(state__in=Run.ACTIVE).only("pk"):
        runs_of(owner).filter(pk=run.pk).update(stored_bytes=measure(run))
    for scenario in scenarios_of(owner).filter(stored_bytes=None, storing_at=None).only("pk"):
        scenarios_of(owner).filter(pk=scenario.pk).update(stored_bytes=measure(scenario))
    rows: tuple[models.QuerySet[Any], ...] = (runs_of(owner), scenarios_of(owner))
    return sum(found.aggregate(size=Coalesce(Sum("stored_bytes"), 0))["size"] for found in rows)


def parts(kind: type[Run] | type[Scenario]) -> dict[type[models.Model], str]:
    """Return the tables whose rows belong to a run or scenario -> the column that references it."""
    if kind is Scenario:
        return {ClusterObject: "scenario"}
    return {
        relation.related_model: relation.field.name
        for relation in Run._meta.related_objects
        if relation.one_to_many and relation.related_model is not Run and columns(relation.related_model)
    }


def columns(model: type[models.Model]) -> list[str]:
    """Return the columns that may be long."""
    return [f.name for f in model._meta.concrete_fields if isinstance(f, models.BinaryField | models.TextField)]


def measure(thing: Run | Scenario) -> int:
    """Return the bytes of the rows of a run or scenario. Databases return the length of a value without reading it."""
    size = 0
    for model, name in parts(type(thing)).items():
        sums = {f"of_{column}": Coalesce(Sum(Length(column)), 0) for column in columns(model)}
        found = model._base_manager.filter(**{name: thing.pk}).aggregate(rows=Count("pk"), **sums)
        size += found.pop("rows") * ROW + sum(found.values())
    return size
