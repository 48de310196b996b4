"""Database models of experiments.

Scenario 1-n Experiment 1-n ExperimentCell. The database is the truth about what is computed: a message of the broker
only wakes a worker, which claims the next cell here (queue.py).
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.accounts.access import VISIBLE, shared_with_scenario
from kubesched_ui.accounts.permissions import MODELS
from kubesched_ui.models import MAX_NAME, Run, Scenario, VisibleManager, owned
from kubesched_ui.models.base import with_words
from kubesched_ui.models.fields import PackedJSONField
from kubesched_ui.work.models import Work, WorkQuerySet, silent

MAX_ADDRESS = 64  # hexadecimal characters


class ExperimentQuerySet(WorkQuerySet["Experiment"]):
    """The list of experiments."""

    def matching(self, text: str = "", question: str = "", state: str = "") -> ExperimentQuerySet:
        """Return the experiments with these values and with each word of `text` in name, scenario or question (any
        case) or as their number."""
        wanted = {name: value for name, value in {"question": question, "state": state}.items() if value}
        lookups = ("name__icontains", "scenario__name__icontains", "question__istartswith")
        return with_words(self.filter(**wanted), text, *lookups, numbers=True)

    def listed(self) -> ExperimentQuerySet:
        """Load what a list of experiments shows, without large columns."""
        large = ("document", "scenario__config", "scenario__time", "scenario__warnings")
        return self.select_related("scenario", "owner").defer(*large)

    def claimable(self) -> ExperimentQuerySet:
        """Return the experiments that a worker may plan or summarise: not while another does, or while their cells are
        computed."""
        return self.ready().filter(Q(worker="") | silent())

    def ready(self) -> ExperimentQuerySet:
        """Return the experiments whose next step is to plan a round or to summarise."""
        over = Q(planned=True, cells_total=F("cells_done") + F("cells_failed"))
        return self.filter(Q(planned=False) | over, state__in=Work.ACTIVE)


class Experiment(Work):
    """A question about scenarios, and its answer from many cells.

    Its worker and starts are those of planning and summarising. While its cells are computed, the sweeps of the
    workers are its heartbeat.
    """

    scenario = models.ForeignKey(
        Scenario, on_delete=models.CASCADE, related_name="experiments", help_text="The first one of the document."
    )
    scenarios_total = models.PositiveSmallIntegerField(default=1, editable=False)
    scenario_ids = models.JSONField(
        default=dict, editable=False, help_text="Name in the document -> ID, of all its scenarios."
    )
    owner = owned("experiments")
    name = models.CharField(max_length=MAX_NAME, blank=True)
    question = models.CharField(max_length=40)
    document = models.TextField(help_text="The Experiment document, as YAML or JSON.")
    # Progress
    round = models.PositiveIntegerField(default=0, help_text="Number of planned rounds.")
    planned = models.BooleanField(default=False, help_text="Whether all cells of the round are stored.")
    cells_total = models.PositiveIntegerField(default=0)
    cells_done = models.PositiveIntegerField(default=0)
    cells_failed = models.PositiveIntegerField(default=0)
    cells_reused = models.PositiveIntegerField(
        default=0, help_text="Done cells whose result was copied from an earlier computation."
    )
    seconds = models.FloatField(default=0, help_text="Seconds of computation of all cells.")
    result_bytes = models.PositiveBigIntegerField(default=0, help_text="Bytes of the results as JSON.")
    claimed_at = models.DateTimeField(null=True, editable=False, help_text="When a worker last claimed a cell.")
    answer = PackedJSONField(null=True, editable=False, help_text="The summary of the question; null: not yet.")

    objects = VisibleManager.from_queryset(ExperimentQuerySet)()
    everything = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["-created_at"]), models.Index(fields=["state", "heartbeat_at"])]

    def __str__(self) -> str:
        return f"Experiment {self.pk}"

    @property
    def title(self) -> str:
        """Return the name, or the number of an experiment without a name."""
        return self.name or f"Experiment {self.pk}"

    @property
    def sentence(self) -> str:
        """Return the answer's sentence; "" if there is none yet."""
        return str((self.answer or {}).get("answer", ""))

    @property
    def cells_over(self) -> int:
        """Return the number of cells that are done or failed."""
        return self.cells_done + self.cells_failed

    @property
    def eta_s(self) -> float | None:
        """Return the estimated seconds until the planned cells are computed, at the rate so far; None if unknown."""
        computed = self.cells_over - self.cells_reused
        if not self.active or self.started_at is None or not computed:
            return None
        so_far = (timezone.now() - self.started_at).total_seconds()
        return round(so_far * max(self.cells_total - self.cells_over, 0) / computed, 1)

    @property
    def url(self) -> str:
        """Return the URL of the experiment in the API."""
        return reverse("api:experiment", args=[self.pk])


VISIBLE[Experiment] = lambda who: who.owned() | (Q(scenarios_total=1) & shared_with_scenario(who))
MODELS["experiment_id"] = Experiment


def stored_bytes(owner: int | None) -> int:
    """Return the bytes of the results of a user's experiments."""
    rows = Experiment.everything.filter(owner_id=owner)
    return int(rows.aggregate(size=Coalesce(models.Sum("result_bytes"), 0))["size"])


class ExperimentCellQuerySet(WorkQuerySet["ExperimentCell"]):
    """Cells."""

    def listed(self) -> ExperimentCellQuerySet:
        """Load what a table of cells shows, without large columns."""
        return self.defer("cell", "result").order_by("number")

    def claimable(self) -> ExperimentCellQuerySet:
        """Return the cells that a worker may claim, in the order of the plan."""
        return super().claimable().order_by("number")


class ExperimentCell(Work):
    """One computation of an experiment; `starts` counts its attempts. Equal addresses have equal results."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="cells")
    number = models.PositiveIntegerField(help_text="1, 2, ... within the experiment, in the order of the plan.")
    round = models.PositiveIntegerField(default=1)
    address = models.CharField(max_length=MAX_ADDRESS, help_text="Hash of all that the result depends on.")
    cell = PackedJSONField(help_text="In the format of scheduler_core/experiments/cell.py.")
    labels = PackedJSONField(default=dict, help_text="What distinguishes it, such as configuration and seed.")
    result = PackedJSONField(null=True, editable=False)
    metrics = PackedJSONField(default=dict, editable=False, help_text="Name -> number, of the result.")
    seconds = models.FloatField(default=0, help_text="Seconds of its computation.")
    run = models.ForeignKey(
        Run,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The run that it was opened as.",
    )
    reused = models.BooleanField(default=False, help_text="Whether the result is a copy of an equal cell's.")

    objects = ExperimentCellQuerySet.as_manager()

    class Meta:
        ordering = ["experiment", "number"]
        constraints = [models.UniqueConstraint(fields=["experiment", "number"], name="experiment_cell_once")]
        indexes = [
            models.Index(fields=["experiment", "state", "number"]),
            models.Index(fields=["address", "state"]),
            models.Index(fields=["state", "heartbeat_at"]),
        ]

    def __str__(self) -> str:
        return f"Cell {self.number} of experiment {self.experiment_id}"
