"""Scenarios (uploaded clusters) and what users write about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from kubesched_ui.models import current_viewer
from kubesched_ui.models.base import MAX_NAME, VisibleManager, owned, with_words
from kubesched_ui.models.fields import PackedJSONField, unpack
from scheduler_core.api.objects import Object, decode_valid
from scheduler_core.errors import InputError
from scheduler_core.stations.extra_kinds import EXTRA, NOT_SIMULATED

PackedObject = tuple[str, bytes]
"""The kind of an object, and its JSON as PackedJSONField stores it."""


class ScenarioQuerySet(models.QuerySet["Scenario"]):
    """The list of scenarios."""

    def matching(self, text: str = "", origin: str = "") -> ScenarioQuerySet:
        """Return the scenarios of this origin with each word of `text` in name, description or version (any case) or as
        their number."""
        rows = self.filter(origin=origin) if origin else self
        return with_words(
            rows, text, "name__icontains", "description__icontains", "kubernetes__icontains", numbers=True
        )


class CompleteManager(VisibleManager.from_queryset(ScenarioQuerySet)):  # type: ignore[misc]
    """Manager of complete scenarios. A scenario is hidden from every user until all its parts are stored."""

    def get_queryset(self) -> ScenarioQuerySet:
        return super().get_queryset().filter(storing_at=None)


class Scenario(models.Model):
    """A cluster: uploaded, shipped as a sample, or edited from another scenario."""

    class Origin(models.TextChoices):
        UPLOAD = "upload"
        SAMPLE = "sample"
        EDIT = "edit"
        API = "api"
        COMPOSED = "composed"
        LIVE = "live"

    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(blank=True, help_text="What the scenario demonstrates.")
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.UPLOAD)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="edits")
    owner = owned("scenarios")
    kubernetes = models.CharField(max_length=40, blank=True, help_text="Version of the cluster, if known.")
    config = models.TextField(blank=True, help_text="The KubeSchedulerConfiguration of the upload, if any.")
    counts = models.JSONField(default=dict, help_text="kind -> number of objects")
    pending = models.PositiveIntegerField(
        null=True, editable=False, help_text="Pods without a node; null: not counted."
    )
    warnings = models.JSONField(default=list)
    time = PackedJSONField(
        default=dict, help_text="Fields of a Scenario document other than objects; {} for a snapshot."
    )
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    storing_at = models.DateTimeField(
        null=True, editable=False, help_text="Last heartbeat while it is being stored; null once it is complete."
    )
    pinned = models.BooleanField(default=False, help_text="Exempt from automatic deletion.")
    stored_bytes = models.BigIntegerField(null=True, blank=True, editable=False, help_text="null: not measured yet.")

    objects = CompleteManager()
    everything = ScenarioQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.name

    @property
    def shows_parent(self) -> bool:
        """Return whether the viewer may see the scenario from which this one was edited."""
        return current_viewer.can_view(Scenario, self.parent_id)

    def objects_of(self, kinds: Iterable[str] | None = None) -> Iterator[Any]:
        """Yield the Kubernetes objects as dicts in their original order; only those of `kinds` if given."""
        rows = ClusterObject.objects.filter(scenario=self).order_by("position")
        if kinds is not None:
            rows = rows.filter(kind__in=list(kinds))
        return rows.values_list("data", flat=True).iterator(chunk_size=2000)

    def packed_objects(self) -> list[bytes]:
        """Return the Kubernetes objects that runs read in their original order, as PackedJSONField stores them."""
        rows = ClusterObject.objects.filter(scenario=self).exclude(kind__in=NOT_SIMULATED).order_by("position")
        return list(rows.values_list(PACKED, flat=True).iterator(chunk_size=2000))

    def packed_waits(self) -> list[PackedObject]:
        """Return the kinds and the objects that runs do not read, but answers about waits do."""
        rows = ClusterObject.objects.filter(scenario=self, kind__in=EXTRA).order_by("position")
        return list(rows.values_list("kind", PACKED).iterator(chunk_size=2000))

    def decoded(self, kinds: Iterable[str]) -> Iterator[Object]:
        """Yield the objects of `kinds`, which the core uses, as its structs in their original order. Skip invalid ones,
        which only earlier versions stored; a run reports these."""
        rows = ClusterObject.objects.filter(scenario=self, kind__in=list(kinds)).order_by("position")
        for kind, data in rows.values_list("kind", PACKED).iterator(chunk_size=2000):
            try:
                obj = decode_valid(unpack(data), kind)
            except InputError:
                continue
            if obj is not None:
                yield obj


PACKED = models.ExpressionWrapper(F("data"), models.BinaryField())


class ClusterObject(models.Model):
    """One Kubernetes object of a scenario."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="cluster_objects")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=100)
    api_version = models.CharField(max_length=200, blank=True)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    data = PackedJSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scenario", "kind", "namespace", "name"], name="object_once_per_scenario")
        ]
        indexes = [models.Index(fields=["scenario", "position"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ClusterTable(models.Model):
    """The nodes and pods of a large scenario in the form of its pages (scenarios/stored_table.py)."""

    scenario = models.OneToOneField(Scenario, on_delete=models.CASCADE, primary_key=True, related_name="table")
    data = models.BinaryField()


class WrittenLessonQuerySet(models.QuerySet["WrittenLesson"]):
    """The list of written lessons."""

    def matching(self, text: str) -> WrittenLessonQuerySet:
        """Return the lessons with each word of `text` in their title or the name of their scenario, without texts."""
        rows = self.select_related("scenario", "owner").defer("text", "scenario__time")
        for word in text.replace("\0", "").split():
            rows = rows.filter(Q(name__icontains=word) | Q(scenario__name__icontains=word))
        return rows


class WrittenLesson(models.Model):
    """A lesson that a user writes about a scenario. Quotas, shares and retention are those of the scenario."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="lessons")
    owner = owned("lessons")
    name = models.CharField(max_length=MAX_NAME, help_text="The title of the lesson.")
    text = models.TextField(help_text="A lesson file without its scenario.")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = VisibleManager.from_queryset(WrittenLessonQuerySet)()

    class Meta:
        ordering = ["-updated_at", "-id"]
        verbose_name = "lesson"

    def __str__(self) -> str:
        return self.name
