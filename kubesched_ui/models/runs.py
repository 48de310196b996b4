"""Runs (simulations of a scenario) and previews of upgrades, which are runs of several releases."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.models import current_viewer
from kubesched_ui.models.base import MAX_NAME, VisibleManager, owned, with_words
from kubesched_ui.models.fields import PackedJSONField
from kubesched_ui.models.scenarios import Scenario
from kubesched_ui.work.models import Work, WorkQuerySet
from scheduler_core.releases import feature_gates

MAX_RELEASE = 1000  # characters; enough for all feature gates


class RunQuerySet(WorkQuerySet["Run"]):
    """The list of runs."""

    def matching(self, text: str = "", state: str = "", in_time: bool | None = None) -> RunQuerySet:
        """Return the runs in this state and mode with each word of `text` in name, scenario, release or settings (any
        case) or as their number."""
        rows = self.filter(state=state) if state else self
        rows = rows if in_time is None else rows.filter(in_time=in_time)
        lookups = ("name__icontains", "scenario__name__icontains", "release__startswith", "summary__icontains")
        return with_words(rows, text, *lookups, numbers=True)

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
