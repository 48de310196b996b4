"""Stored data: scenarios (uploaded clusters), runs (simulations of a scenario) and everything that a run records.

Scenario 1-n ClusterObject; Scenario 1-n Run; Run 1-n EventBlock, Cycle, CycleBatch, GroupCycle, PodResult,
WorkloadAnswer; with virtual time also NodeList, Moves, Marks.
Scenario 1-n Upgrade n-n Run: a preview of releases.
Scenario 1-n WrittenLesson: a lesson that a user writes about the scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Count, F, Q
from django.urls import reverse
from django.utils import timezone

from kubesched_ui import current_viewer
from kubesched_ui.fields import PackedJSONField, unpack
from kubesched_ui.work.models import Work, WorkQuerySet
from scheduler_core.api.objects import Object, decode_valid
from scheduler_core.errors import InputError
from scheduler_core.releases import feature_gates

MAX_RELEASE = 1000  # characters; enough for all feature gates
MAX_NAME = 200


def owned(related_name: str) -> models.ForeignKey:
    """Return a foreign key to the owner: the user who creates the row. Rows of a deleted user stay, for
    administrators."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        default=current_viewer.owner_id,
        on_delete=models.SET_NULL,
        editable=False,
        related_name=related_name,
        help_text="Creator; null for samples and without accounts.",
    )


_M = TypeVar("_M", bound=models.Model, covariant=True)


class VisibleManager(models.Manager[_M]):
    """Manager that returns the rows that the current viewer may see: lists, counts, searches and related rows use it. A
    foreign key (`run.parent`) does not use it: call `shows_parent`."""

    def get_queryset(self) -> models.QuerySet[_M]:
        return current_viewer.visible(super().get_queryset())


class ScenarioQuerySet(models.QuerySet["Scenario"]):
    """The list of scenarios."""

    def matching(self, text: str = "", origin: str = "") -> ScenarioQuerySet:
        """Return the scenarios of this origin with each word of `text` in name, description or version (any case) or as
        their number."""
        rows = self.filter(origin=origin) if origin else self
        for word in text.replace("\0", "").split():
            found = Q(name__icontains=word) | Q(description__icontains=word) | Q(kubernetes__icontains=word)
            rows = rows.filter(found | Q(pk=int(word)) if is_number(word) else found)
        return rows


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
        """Return the Kubernetes objects in their original order, as PackedJSONField stores them."""
        rows = ClusterObject.objects.filter(scenario=self).order_by("position")
        return list(rows.values_list(_PACKED, flat=True).iterator(chunk_size=2000))

    def decoded(self, kinds: Iterable[str]) -> Iterator[Object]:
        """Yield the objects of `kinds`, which the core uses, as its structs in their original order. Skip invalid ones,
        which only earlier versions stored; a run reports these."""
        rows = ClusterObject.objects.filter(scenario=self, kind__in=list(kinds)).order_by("position")
        for kind, data in rows.values_list("kind", _PACKED).iterator(chunk_size=2000):
            try:
                obj = decode_valid(unpack(data), kind)
            except InputError:
                continue
            if obj is not None:
                yield obj


_PACKED = models.ExpressionWrapper(F("data"), models.BinaryField())


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


def is_number(word: str) -> bool:
    """Return whether a search term may be the number of a row."""
    return word.isascii() and word.isdecimal() and len(word) < 19


class RunQuerySet(WorkQuerySet["Run"]):
    """The list of runs."""

    def matching(self, text: str = "", state: str = "", in_time: bool | None = None) -> RunQuerySet:
        """Return the runs in this state and mode with each word of `text` in name, scenario, release or settings (any
        case) or as their number."""
        rows = self.filter(state=state) if state else self
        rows = rows if in_time is None else rows.filter(in_time=in_time)
        for word in text.replace("\0", "").split():
            found = Q(name__icontains=word) | Q(scenario__name__icontains=word)
            found |= Q(release__startswith=word) | Q(summary__icontains=word)
            rows = rows.filter(found | Q(pk=int(word)) if is_number(word) else found)
        return rows

    def listed(self) -> RunQuerySet:
        """Load what a list of runs shows, without large columns."""
        return self.select_related("scenario", "owner").defer(
            "node_names",
            "pods",
            "unbind",
            "template",
            "stages",
            "origin",
            "remaining",
            "changes",
            "imported",
            "fixes",
            "scenario__config",
            "scenario__time",
            "scenario__warnings",
        )


class Run(Work):
    """One simulation of a scenario: its settings, its progress and its outcome."""

    class TieBreak(models.TextChoices):
        SEED = "seed"
        NAME = "name"

    class OtherSchedulers(models.TextChoices):
        LEAVE = "leave"
        TAKE = "take"

    class AbsentClaims(models.TextChoices):
        ERROR = "error"
        BOUND = "bound"

    class Lane(models.TextChoices):
        SHORT = "short"
        LONG = "long"

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="runs")
    owner = owned("runs")
    name = models.CharField(max_length=MAX_NAME, blank=True, help_text="Name given by the user.")
    summary = models.TextField(blank=True, help_text="Differences from the default settings, one per line.")
    # Settings
    release = models.CharField(
        max_length=MAX_RELEASE, default="1.34", help_text="A release, optionally followed by feature gates."
    )
    config = models.TextField(blank=True, help_text="A KubeSchedulerConfiguration as YAML or JSON.")
    unknown_plugins = models.CharField(max_length=9, default="error", help_text="error or leave_out")
    seed = models.BigIntegerField(default=0)
    tie_break = models.CharField(max_length=4, choices=TieBreak, default=TieBreak.SEED)
    preemption = models.BooleanField(default=True)
    percentage = models.PositiveSmallIntegerField(null=True, blank=True, help_text="percentageOfNodesToScore")
    pods = models.JSONField(null=True, blank=True, help_text='["ns/name", ...]; null: all pending pods')
    unbind = models.JSONField(default=list, blank=True, help_text="Bound pods to schedule again.")
    template = models.TextField(
        blank=True, help_text="A Pod as YAML, of which `copies` are added; or a workload, whose pods are added."
    )
    copies = models.PositiveIntegerField(default=0)
    in_time = models.BooleanField(default=False, help_text="Pods wait, back off and retry on a virtual clock.")
    until = models.FloatField(null=True, blank=True, help_text="End of a run in virtual time, in virtual seconds.")
    other_schedulers = models.CharField(
        max_length=5,
        choices=OtherSchedulers,
        default=OtherSchedulers.LEAVE,
        help_text="Treatment of pods of schedulers that are not configured.",
    )
    absent_claims = models.CharField(
        max_length=5,
        choices=AbsentClaims,
        default=AbsentClaims.ERROR,
        help_text="Treatment of claims that are not in the snapshot.",
    )
    notes = models.JSONField(default=list, blank=True, help_text="Warnings about the settings.")
    # Queue (runs/queue.py)
    lane = models.CharField(
        max_length=5, blank=True, editable=False, help_text="short or long; empty until it is queued."
    )
    low = models.BooleanField(default=False, help_text="Low priority: other waiting runs go first.")
    estimate_s = models.FloatField(null=True, editable=False, help_text="Estimated duration in seconds.")
    # Fork. The settings above apply from the fork on.
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="forks")
    fork_at = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of the first cycle that is not copied from the parent."
    )
    fork_t = models.FloatField(null=True, blank=True, help_text="Virtual second of the fork, if it was forked by time.")
    changes = PackedJSONField(
        default=list, help_text="Changes at the fork, in the format of scheduler_core/forks/mutations.py."
    )
    stages = PackedJSONField(
        default=list, editable=False, help_text="[{at, t, changes, settings}] of all ancestors and the fork itself."
    )
    origin = PackedJSONField(default=dict, editable=False, help_text="Settings of the first ancestor.")
    remaining = PackedJSONField(
        default=list,
        editable=False,
        help_text="In a single pass that is not done: the pods to try from its beginning or its fork on, in order.",
    )
    imported = PackedJSONField(
        default=dict,
        editable=False,
        help_text="Of an imported run: {state, cycles, decisions}; once compared, the difference replaces decisions.",
    )
    # Progress
    cycles_done = models.PositiveIntegerField(default=0)
    cycles_total = models.PositiveIntegerField(default=0)
    placed = models.PositiveIntegerField(default=0)
    unschedulable = models.PositiveIntegerField(
        default=0, help_text="Pods without a feasible node, including nominated ones."
    )
    nominated = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Pending pods with a nominated node, on which preemption frees resources."
    )
    evicted = models.PositiveIntegerField(
        null=True, editable=False, help_text="Number of evictions; null: not counted, as before version 1.1."
    )
    gated = models.PositiveIntegerField(default=0)
    fixes = PackedJSONField(
        null=True, editable=False, help_text="The best fixes over all pods without a node; null: not searched."
    )
    errors = models.PositiveIntegerField(default=0)
    pods_per_s = models.FloatField(default=0)
    clock = models.FloatField(default=0, help_text="Current virtual second of a run in virtual time.")
    last_seq = models.PositiveBigIntegerField(default=0)
    node_names = PackedJSONField(null=True, blank=True, editable=False)
    pinned = models.BooleanField(default=False, help_text="Exempt from automatic deletion.")
    stored_bytes = models.BigIntegerField(null=True, blank=True, editable=False, help_text="null: not measured yet.")

    objects = VisibleManager.from_queryset(RunQuerySet)()
    everything = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["-created_at"]), models.Index(fields=["state", "heartbeat_at"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(percentage=None) | Q(percentage__lte=100), name="percentage_is_a_percentage"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed", "cancelled"]), name="state_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk} of {self.scenario_id}"

    @property
    def release_number(self) -> str:
        """Return the release without feature gates, such as `1.36`."""
        return self.release.partition(" ")[0]

    @property
    def feature_gates(self) -> dict[str, bool]:
        """Return the feature gates that differ from the defaults of the release."""
        return feature_gates.parse(self.release.partition(" ")[2])

    @property
    def no_node(self) -> int:
        """Return the number of pods without a feasible node, except nominated ones."""
        return max(0, self.unschedulable - self.nominated)

    @property
    def title(self) -> str:
        """Return the name, or the number of the run if it has no name."""
        return self.name or f"Run {self.pk}"

    @property
    def differs(self) -> list[str]:
        """Return the differences from a run with default settings."""
        return self.summary.splitlines()

    @property
    def is_fork(self) -> bool:
        """Return whether this run is a fork. Its parent may be deleted."""
        return self.fork_at is not None

    @property
    def shows_parent(self) -> bool:
        """Return whether the viewer may see the run from which this one was forked."""
        return current_viewer.can_view(Run, self.parent_id)

    @property
    def adopts(self) -> bool:
        """Return whether the run copies its beginning from its parent. Otherwise it is simulated from its own
        inputs."""
        return self.is_fork and not self.imported

    @property
    def eta_s(self) -> float | None:
        """Return the estimated seconds until the run is done at the current rate; None if no rate is known."""
        if self.state != self.State.RUNNING or not self.pods_per_s:
            return None
        if self.in_time:
            if not self.clock or not self.until or not self.started_at:
                return None
            so_far = (timezone.now() - self.started_at).total_seconds()
            return round(so_far * max(self.until - self.clock, 0) / self.clock, 1)
        return round((self.cycles_total - self.cycles_done) / self.pods_per_s, 1)

    def nodes_at(self, version: int) -> list[str]:
        """Return the node names in the row order of cycles with this `nodes_version`."""
        if not version:
            return self.node_names or []
        return self.node_lists.get(version=version).names

    @property
    def url(self) -> str:
        """Return the URL of the run in the API."""
        return reverse("api:run", args=[self.pk])

    @property
    def ws_url(self) -> str:
        """Return the URL of the websocket of the run."""
        return f"/ws/runs/{self.pk}"


class UpgradeQuerySet(WorkQuerySet["Upgrade"]):
    """The list of upgrade previews."""


class Upgrade(Work):
    """An upgrade preview: what other releases would do with a scenario, and which of their changes cause the
    differences.

    `steps`: one per pair of consecutive releases, as returned by compare/upgrade.py of the core.
    """

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="upgrades")
    owner = owned("upgrades")
    releases = models.JSONField(help_text='["1.33", "1.34", ...], in the order of the upgrade')
    runs = models.ManyToManyField(
        Run, related_name="upgrades", help_text="One run per release, with equal settings otherwise."
    )
    every = models.BooleanField(default=False, help_text="Whether bound pods are scheduled again.")
    done = models.PositiveIntegerField(default=0, help_text="Number of runs replayed to find the causes.")
    planned = models.PositiveIntegerField(default=0, help_text="Number of planned steps, as far as known.")
    steps = PackedJSONField(default=list, editable=False)

    objects = VisibleManager.from_queryset(UpgradeQuerySet)()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{' → '.join(self.releases)} of {self.scenario_id}"

    @property
    def stalled(self) -> bool:
        """Return whether the preview has waited for a worker too long. It does not count as stalled while its runs are
        active."""
        return super().stalled and not self.runs.active().exists()

    def run_of(self) -> dict[str, Run]:
        """Return release -> run, without deleted runs."""
        found = {run.release_number: run for run in self.runs.listed()}
        return {release: found[release] for release in self.releases if release in found}


class EventBlock(models.Model):
    """The events of one cycle (or of the run's start or end) as the compressed text of a JSON list."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="event_blocks", db_index=False)
    first_seq = models.PositiveBigIntegerField()
    last_seq = models.PositiveBigIntegerField()
    pod = models.CharField(max_length=507, blank=True, help_text="ns/name; empty for events of the run itself")
    data = models.BinaryField()

    class Meta:
        ordering = ["run", "first_seq"]
        constraints = [
            models.UniqueConstraint(fields=["run", "first_seq"], name="event_block_once"),
            models.CheckConstraint(condition=Q(last_seq__gte=F("first_seq")), name="event_block_not_empty"),
        ]
        indexes = [models.Index(fields=["run", "last_seq"]), models.Index(fields=["run", "pod", "first_seq"])]


class Cycle(models.Model):
    """One recorded scheduling cycle: the verdict and score of every plugin on every node, in the encoding of the
    core. `trace` is empty if a CycleBatch contains the cycle."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="cycles", db_index=False)
    number = models.PositiveIntegerField(help_text="1, 2, ... within the run")
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    attempt = models.PositiveIntegerField(default=1)
    result = models.CharField(max_length=15)
    nodes_version = models.PositiveIntegerField(default=0, help_text="Version of the node list that its rows index.")
    trace = models.BinaryField()

    class Meta:
        ordering = ["run", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="cycle_once")]
        indexes = [models.Index(fields=["run", "namespace", "name", "number"])]

    @property
    def nodes(self) -> list[str]:
        """Return the node names in row order."""
        return self.run.nodes_at(self.nodes_version)


class CycleBatch(models.Model):
    """The traces of the cycles `first` to `last`, encoded together. Their events follow from them
    (event_log/cycle_batches.py)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="cycle_batches", db_index=False)
    first = models.PositiveIntegerField(help_text="Number of the first cycle.")
    last = models.PositiveIntegerField()
    first_seq = models.PositiveBigIntegerField()
    last_seq = models.PositiveBigIntegerField()
    nodes_version = models.PositiveIntegerField(default=0, help_text="Version of the node list that the rows index.")
    data = models.BinaryField()

    class Meta:
        ordering = ["run", "first"]
        constraints = [models.UniqueConstraint(fields=["run", "first"], name="cycle_batch_once")]
        indexes = [models.Index(fields=["run", "last_seq"])]


class GroupCycle(models.Model):
    """The cycle of a pod group and its outcome. The cycles of its members have the numbers `first` to `last`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="group_cycles")
    first = models.PositiveIntegerField(help_text="Number of the first member's cycle.")
    last = models.PositiveIntegerField()
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    result = models.CharField(max_length=15, help_text="scheduled, waiting or unschedulable")
    members = models.PositiveIntegerField()
    bound = models.PositiveIntegerField()
    told = PackedJSONField(help_text="In the format of scheduler_core/pod_groups/serialize.py.")

    class Meta:
        ordering = ["run", "first"]
        constraints = [models.UniqueConstraint(fields=["run", "first"], name="group_cycle_once")]
        indexes = [models.Index(fields=["run", "namespace", "name", "first"])]

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


class RecordingBlock(models.Model):
    """A batch of debugger data in the encoding of the core (scheduler_core.recording.recording)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="recording_blocks")
    part = models.CharField(max_length=7, help_text="moves, facts or objects")
    first = models.PositiveBigIntegerField()
    last = models.PositiveBigIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["run", "part", "first"]
        constraints = [models.UniqueConstraint(fields=["run", "part", "first"], name="recording_block_once")]


class Breakpoint(models.Model):
    """A breakpoint: a named expression over a cycle (docs/debugger.md, Find). Playback stops where it matches."""

    MOST = 50  # per run

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="breakpoints")
    name = models.CharField(max_length=MAX_NAME)
    where = models.TextField(help_text="A CEL expression over a cycle.")

    class Meta:
        ordering = ["run", "pk"]
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="breakpoint_name_once")]


class NodeList(models.Model):
    """The nodes of a run with virtual time after a change, in row order. Version 0 is `node_names` of the run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="node_lists")
    version = models.PositiveIntegerField()
    names = PackedJSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "version"], name="node_list_once")]


class Moves(models.Model):
    """A batch of pod moves between queues, with their times, of a run with virtual time, in columns
    (event_log/queue_sizes.py)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="moves")
    first_seq = models.PositiveBigIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["run", "first_seq"]
        constraints = [models.UniqueConstraint(fields=["run", "first_seq"], name="moves_once")]


class Marks(models.Model):
    """A batch of events of a run with virtual time for the timeline: node changes, evictions, steps and more."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="marks")
    first_seq = models.PositiveBigIntegerField()
    data = PackedJSONField(
        help_text="[[t, kind, pod, node, seq, text], ...], in the format of event_log/timeline_markers.py"
    )

    class Meta:
        ordering = ["run", "first_seq"]
        constraints = [models.UniqueConstraint(fields=["run", "first_seq"], name="marks_once")]


NOMINATED, NO_NODE = "nominated", "no-node"


class PodResultQuerySet(models.QuerySet["PodResult"]):
    """The table of a run's pods."""

    def matching(
        self, text: str = "", result: str | None = None, node: str | None = None, namespace: str | None = None
    ) -> PodResultQuerySet:
        """Return the rows with these values and with `text` in namespace/name, node or message (any case).

        Besides a `result` of PodResult, NOMINATED and NO_NODE select the unschedulable pods with and without a
        nominated node.
        """
        wanted = {"result": result, "node": node, "namespace": namespace}
        if result in (NOMINATED, NO_NODE):
            wanted["result"] = PodResult.Result.UNSCHEDULABLE
        rows = self.filter(**{name: value for name, value in wanted.items() if value})
        rows = rows.exclude(nominated_node="") if result == NOMINATED else rows
        rows = rows.filter(nominated_node="") if result == NO_NODE else rows
        if text:
            namespace_part, slash, name_part = text.partition("/")
            whole = Q(namespace__iendswith=namespace_part, name__istartswith=name_part)
            whole = whole if slash else Q(namespace__icontains=text)
            rows = rows.filter(Q(name__icontains=text) | Q(node__icontains=text) | Q(message__icontains=text) | whole)
        return rows

    def without_node(self) -> PodResultQuerySet:
        """Return the pods that have no node."""
        return self.exclude(result__in=(PodResult.Result.SCHEDULED, PodResult.Result.WAITING))

    def pod_keys(self) -> list[str]:
        """Return namespace/name of the pods, in the order of the run."""
        rows = self.order_by("position").values_list("namespace", "name")
        return [f"{namespace}/{name}" for namespace, name in rows]

    def outcomes(self) -> dict[str, int]:
        """Return result -> number of pods, with NOMINATED and NO_NODE for the unschedulable ones."""
        counts = dict(self.order_by().values_list("result").annotate(Count("pk")))  # reads an index, and no rows
        unschedulable = counts.pop(PodResult.Result.UNSCHEDULABLE, 0)
        if not unschedulable:
            return counts
        pending = self.filter(result=PodResult.Result.UNSCHEDULABLE)
        nominated = pending.exclude(nominated_node="").order_by().count()
        split = {NOMINATED: nominated, NO_NODE: unschedulable - nominated}
        return counts | {outcome: number for outcome, number in split.items() if number}


class PodResult(models.Model):
    """The outcome for one pod. The table of a run shows, sorts and filters these rows."""

    class Result(models.TextChoices):
        SCHEDULED = "scheduled"
        UNSCHEDULABLE = "unschedulable"
        GATED = "gated"
        ERROR = "error"
        WAITING = "waiting"  # reserved on its node, held by Permit

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="pod_results", db_index=False)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    position = models.PositiveIntegerField()
    result = models.CharField(max_length=15, choices=Result)
    node = models.CharField(max_length=253, blank=True)
    nominated_node = models.CharField(max_length=253, blank=True)
    score = models.BigIntegerField(null=True, blank=True)
    runner_up = models.CharField(max_length=253, blank=True)
    margin = models.BigIntegerField(null=True, blank=True, help_text="Score minus that of the second-best node.")
    feasible = models.PositiveIntegerField(default=0, help_text="Number of feasible nodes in the last cycle.")
    attempts = models.PositiveIntegerField(default=1)
    message = models.TextField(blank=True)
    reasons = models.JSONField(
        default=list, help_text='[{"plugin", "reason", "nodes"}], decisive rejections, most nodes first'
    )
    recorded_message = models.TextField(blank=True, help_text="Message of the real cluster about the pod.")
    evicted_by = models.CharField(max_length=507, blank=True, help_text="ns/name of the pod that preempted it later")
    duration = models.FloatField(default=0, help_text="Duration of its last cycle in seconds.")

    objects = PodResultQuerySet.as_manager()

    class Meta:
        ordering = ["run", "position"]
        constraints = [models.UniqueConstraint(fields=["run", "namespace", "name"], name="pod_result_once")]
        indexes = [
            models.Index(fields=["run", "position"]),
            models.Index(fields=["run", "result", "position"]),
            models.Index(fields=["run", "node"]),
            models.Index(fields=["run", "score"]),
            models.Index(fields=["run", "margin"]),
            models.Index(fields=["run", "attempts"]),
            models.Index(fields=["run", "duration"]),
        ]


class WorkloadAnswer(models.Model):
    """Why pods of a workload have no node at the end of a run: one row for pods that are alike."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="workload_answers", db_index=False)
    kind = models.CharField(max_length=100, help_text="Of the workload; Pod for a pod without a controller.")
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    pod = models.CharField(max_length=507, help_text="ns/name of the pod that was explained.")
    number = models.PositiveIntegerField(help_text="Number of pods that are like it, itself included.")
    pods = PackedJSONField(help_text='["ns/name", ...] of these pods.')
    cause = models.CharField(max_length=40, help_text="A kind of docs/answers.md; empty if unknown.")
    sentence = models.TextField()
    answer = PackedJSONField(help_text="scheduler_core.explain.Answer of the explained pod.")
    fixed = models.BooleanField(default=False, help_text="Whether the fixes of the answer were searched.")

    class Meta:
        ordering = ["run", "-number", "pod"]
        constraints = [models.UniqueConstraint(fields=["run", "pod"], name="workload_answer_once")]
        indexes = [models.Index(fields=["run", "-number"]), models.Index(fields=["run", "namespace"])]


class Quota(models.Model):
    """Limits of one user that replace those of the settings (housekeeping/quota.py). Null: as in the settings;
    0: no limit."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quota")
    size = models.PositiveBigIntegerField(
        "bytes", null=True, blank=True, help_text="Stored bytes of scenarios and runs."
    )
    scenarios = models.PositiveIntegerField(null=True, blank=True)
    runs = models.PositiveIntegerField(null=True, blank=True)
    pods = models.PositiveIntegerField(null=True, blank=True, help_text="Maximum number of pods in one run.")
    running = models.PositiveIntegerField(null=True, blank=True, help_text="Maximum number of active runs.")
    days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Days until scenarios and runs are deleted unless pinned."
    )

    def __str__(self) -> str:
        return f"Limits of {self.user}"


class Retention(models.Model):
    """Start of a retention period. Pages show the deletion date of an object for some time before it is deleted."""

    owner = models.PositiveBigIntegerField(
        unique=True, help_text="ID of the user; 0: all users without their own limit."
    )
    days = models.PositiveIntegerField()
    since = models.DateTimeField(default=timezone.now)
