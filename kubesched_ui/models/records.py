"""What a run records: events, cycles, outcomes, answers and, with virtual time, nodes, moves and marks."""

from __future__ import annotations

from django.db import models
from django.db.models import Count, F, Q

from kubesched_ui.models.base import MAX_NAME
from kubesched_ui.models.fields import PackedJSONField
from kubesched_ui.models.runs import Run


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
