"""Database models of live clusters: the current state, its stored history and the checked decisions.

The follower of a cluster and its analysis process (`manage.py follow`) write these rows. Pages and the API read them
through queries.py. No row contains a credential, an address or a path: connections.py finds the connection of a cluster
by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.accounts.access import VISIBLE, Viewer
from kubesched_ui.accounts.models import Group
from kubesched_ui.accounts.permissions import MODELS
from kubesched_ui.models import MAX_NAME, MAX_RELEASE, VisibleManager
from kubesched_ui.models.base import with_words
from kubesched_ui.models.fields import PackedJSONField
from scheduler_core.api.text_checks import escaped
from scheduler_core.errors import InputError
from scheduler_core.releases import chosen_release
from scheduler_core.shadow import judgement

MAX_KEY = 507  # characters of namespace/name
MAX_NODE = 253


class ClusterQuerySet(models.QuerySet["Cluster"]):
    """Live clusters."""

    def wanted(self) -> ClusterQuerySet:
        """Return the clusters that a follower must follow now: always, or while a page of it is open."""
        return self.filter(Q(always=True) | Q(watched_until__gt=Now()), configured=True)


class Cluster(models.Model):
    """A live cluster that the operator has named, and its state as the follower last stored it."""

    class State(models.TextChoices):
        STOPPED = "stopped"
        CONNECTING = "connecting"
        LISTING = "listing"
        FOLLOWING = "following"
        FAILED = "failed"

    name = models.CharField(max_length=MAX_NAME, unique=True)
    connection = models.CharField(
        max_length=MAX_NAME, blank=True, help_text="How it is reached, in words: in the cluster, context prod."
    )
    configured = models.BooleanField(default=True, help_text="Whether the settings of the server still name it.")
    from_context = models.BooleanField(default=False, help_text="A user chose it among the contexts of the kubeconfig.")
    always = models.BooleanField(default=False, help_text="Follow it even without an open page.")
    everyone = models.BooleanField(default=False, help_text="All signed-in users may see it.")
    users = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="clusters", help_text="Users who may see it."
    )
    groups = models.ManyToManyField(
        Group, blank=True, related_name="clusters", help_text="Groups whose members may see it."
    )
    # Release and configuration
    git_version = models.CharField(max_length=40, blank=True, help_text="Version of the API server.")
    release = models.CharField(max_length=MAX_RELEASE, blank=True, help_text="Release of its scheduler, as found.")
    release_source = models.TextField(blank=True, help_text="Where the release was found.")
    config = models.TextField(blank=True, help_text="KubeSchedulerConfiguration, as found; empty: the default.")
    config_source = models.TextField(blank=True, help_text="Where the configuration was found.")
    notes = models.JSONField(default=list, help_text="Sentences about what was found.")
    chosen_release = models.CharField(max_length=MAX_RELEASE, blank=True, help_text="Replaces the found release.")
    chosen_config = models.TextField(blank=True, help_text="Replaces the found configuration.")
    # Follower
    watched_until = models.DateTimeField(null=True, blank=True, help_text="Open pages extend it.")
    follower = models.CharField(max_length=100, blank=True, editable=False, help_text="Lease token of the follower.")
    heartbeat_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Last sign of the follower.")
    state = models.CharField(max_length=10, choices=State, default=State.STOPPED)
    message = models.TextField(blank=True, help_text="A sentence about the state, such as why it failed.")
    state_at = models.DateTimeField(null=True, blank=True, help_text="When the state began.")
    resource_version = models.PositiveBigIntegerField(default=0, help_text="Newest stored change.")
    changed_at = models.DateTimeField(null=True, blank=True, help_text="When the newest stored change arrived.")
    lag_seconds = models.FloatField(
        null=True, blank=True, help_text="Seconds from the arrival of a change to its storage, recent maximum."
    )
    analysis_lag_seconds = models.FloatField(
        null=True, blank=True, help_text="Seconds from the arrival of a change to its analysis, recent maximum."
    )
    changes = models.PositiveBigIntegerField(default=0, help_text="Changes stored since the cluster was named.")
    versions = models.JSONField(
        default=dict, editable=False, help_text="kind -> resourceVersion up to which all changes are stored."
    )
    health = models.JSONField(
        default=dict, help_text="kind -> {state, resource_version, event_at, message, consequence}"
    )
    # Analysis
    analysed_version = models.PositiveBigIntegerField(default=0, help_text="resourceVersion of view, counts, answers.")
    analysis_message = models.TextField(blank=True, help_text="A sentence if the analysis fails.")
    version = models.PositiveBigIntegerField(default=0, help_text="Grows whenever a page has something new to show.")
    view = PackedJSONField(
        null=True, editable=False, help_text="The cluster in the format of /api/scenarios/{id}/map; null: none yet."
    )
    counts = models.JSONField(
        default=dict, help_text="{nodes, pods, bound, pending, never, not now, not asked, kinds: {kind: number}}"
    )
    report = models.JSONField(default=dict, help_text="Summary of the judge since the follower started to judge.")
    created_at = models.DateTimeField(default=timezone.now)

    objects = VisibleManager.from_queryset(ClusterQuerySet)()
    everything = ClusterQuerySet.as_manager()

    owner_id = None  # administrators alone act as owners (accounts/access.py)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def used_release(self) -> str:
        """The release for answers: the chosen one with the feature gates of the cluster, or else the found one."""
        if not self.chosen_release:
            return self.release
        with suppress(InputError):
            return chosen_release(self.chosen_release, self.release)[0].name
        return self.chosen_release

    @property
    def used_config(self) -> str:
        """The configuration for answers: the chosen one, or else the found one."""
        return self.chosen_config or self.config


def _visible(who: Viewer) -> Q:
    """Return a condition for the clusters that a user may see. Links never show a cluster."""
    if who.user_id is None:
        return Q(pk__in=[])
    named = Cluster.users.through.objects.filter(user=who.user_id).values("cluster")
    grouped = Cluster.groups.through.objects.filter(group__members=who.user_id).values("cluster")
    return Q(configured=True) & (Q(everyone=True) | Q(pk__in=named) | Q(pk__in=grouped))


VISIBLE[Cluster] = _visible
MODELS["cluster_id"] = Cluster


class ChangeBlock(models.Model):
    """A batch of changes in the order of their arrival. `data`: the format of history.py."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="change_blocks")
    number = models.PositiveBigIntegerField(help_text="1, 2, ... within the cluster.")
    first_version = models.PositiveBigIntegerField(help_text="Lowest resourceVersion.")
    last_version = models.PositiveBigIntegerField(help_text="Highest resourceVersion.")
    first_at = models.DateTimeField(help_text="When its first change arrived.")
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="Bytes of data.")
    data = models.BinaryField()

    class Meta:
        ordering = ["cluster", "number"]
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="change_block_once")]
        indexes = [models.Index(fields=["cluster", "last_version"]), models.Index(fields=["cluster", "last_at"])]


class Checkpoint(models.Model):
    """All objects of a cluster at one position of its history, from which `state_at` starts."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="checkpoints")
    block = models.PositiveBigIntegerField(help_text="Number of the last block that it includes.")
    resource_version = models.PositiveBigIntegerField(help_text="Highest resourceVersion that it includes.")
    versions = models.JSONField(help_text="kind -> resourceVersion up to which it includes the changes of the kind.")
    at = models.DateTimeField(help_text="When its newest change arrived.")
    complete = models.BooleanField(default=False, help_text="Whether all parts are stored.")
    objects_count = models.PositiveIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0, help_text="Bytes of all parts.")

    class Meta:
        ordering = ["cluster", "block", "pk"]
        indexes = [models.Index(fields=["cluster", "complete", "resource_version"])]


class CheckpointPart(models.Model):
    """Some of the objects of a checkpoint, all of one kind."""

    checkpoint = models.ForeignKey(Checkpoint, on_delete=models.CASCADE, related_name="parts")
    kind = models.CharField(max_length=100)
    data = models.BinaryField()


class HistoryGap(models.Model):
    """A part of the history in which changes may be missing."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="gaps")
    kind = models.CharField(max_length=100, blank=True, help_text="Empty: all kinds.")
    after = models.PositiveBigIntegerField(help_text="resourceVersion before the gap; 0 if unknown.")
    until = models.PositiveBigIntegerField(
        null=True, help_text="resourceVersion at which the kind was known again; null: it still is not."
    )
    began_at = models.DateTimeField(help_text="When the last change before the gap arrived.")
    ended_at = models.DateTimeField(null=True)
    reason = models.TextField()

    class Meta:
        ordering = ["cluster", "until", "pk"]
        indexes = [models.Index(fields=["cluster", "until"])]


class PendingPodQuerySet(models.QuerySet["PendingPod"]):
    """Pending pods."""

    def matching(self, text: str = "", category: str = "", cause: str = "", namespace: str = "") -> PendingPodQuerySet:
        """Return the pods with these values and with `text` in namespace/name or sentence (any case)."""
        wanted = {"category": category, "cause": cause, "namespace": namespace}
        rows = self.filter(**{name: value for name, value in wanted.items() if value})
        return with_words(rows, text, "key__icontains", "sentence__icontains")


class PendingPod(models.Model):
    """A pod without a node, one that waits for its kubelet, or a workload that lacks pods, and why."""

    class Category(models.TextChoices):
        NEVER = "never"
        NOT_NOW = "not now"
        NOT_TRIED = "not asked"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="pending_pods")
    key = models.CharField(
        max_length=MAX_KEY + 64, help_text="namespace/name of a pod, namespace/kind/name of a workload that lacks pods."
    )
    subject = models.CharField(max_length=63, default="Pod", help_text="Pod, or the kind of the workload.")
    namespace = models.CharField(max_length=253)
    since = models.DateTimeField(help_text="When it was created.")
    category = models.CharField(max_length=10, choices=Category, blank=True, help_text="Empty: no answer yet.")
    cause = models.CharField(max_length=60, blank=True)
    sentence = models.TextField(blank=True)
    details = models.JSONField(default=dict)
    ladder = models.BinaryField(default=b"", help_text="All nodes, as of packed_ladder of the core; empty: not known.")
    answered_version = models.PositiveBigIntegerField(
        default=0, help_text="resourceVersion of the cluster for which the answer holds; 0: no answer yet."
    )
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = PendingPodQuerySet.as_manager()

    class Meta:
        ordering = ["cluster", "since", "key"]
        constraints = [models.UniqueConstraint(fields=["cluster", "key"], name="pending_pod_once")]
        indexes = [
            models.Index(fields=["cluster", "category", "since"]),
            models.Index(fields=["cluster", "cause"]),
        ]


def titled(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return the choices of a field."""
    return [(value, value.replace("-", " ").title()) for value in values]


class DecisionQuerySet(models.QuerySet["Decision"]):
    """Checked decisions and messages."""

    def matching(self, text: str = "", outcome: str = "", message_outcome: str = "") -> DecisionQuerySet:
        """Return the rows with these values and with `text` in pod, node or message (any case)."""
        rows = self.filter(outcome=outcome) if outcome else self
        rows = rows.filter(message_outcome=message_outcome) if message_outcome else rows
        return with_words(rows, text, "pod__icontains", "node__icontains", "message__icontains")


class Decision(models.Model):
    """A decision of the real scheduler, checked: a binding (`node`, `outcome`), or a message about a pod without a
    feasible node (`message`, `message_outcome`)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="decisions")
    pod = models.CharField(max_length=MAX_KEY, help_text="namespace/name")
    node = models.CharField(max_length=MAX_NODE, blank=True, help_text="The node of the binding; empty for a message.")
    resource_version = models.PositiveBigIntegerField(help_text="Of the pod's update; the decision was before it.")
    at = models.DateTimeField(help_text="When the update arrived.")
    outcome = models.CharField(
        max_length=20, choices=titled(judgement.OUTCOMES), blank=True, help_text="Empty for a message."
    )
    message = models.TextField(blank=True, help_text="The message of the real scheduler.")
    message_outcome = models.CharField(max_length=10, choices=titled(judgement.MESSAGE_OUTCOMES), blank=True)
    ours = models.JSONField(default=list, help_text="Our best nodes; for a message: [our message].")
    details = models.JSONField(default=dict)

    objects = DecisionQuerySet.as_manager()

    class Meta:
        ordering = ["cluster", "-resource_version", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "pod", "resource_version", "node"], name="decision_once")
        ]
        indexes = [
            models.Index(fields=["cluster", "outcome", "resource_version"]),
            models.Index(fields=["cluster", "message_outcome", "resource_version"]),
            models.Index(fields=["cluster", "at"]),
        ]

    @property
    def explained(self) -> bool:
        """Whether our scheduler explains the binding or the message."""
        return self.outcome != judgement.UNEXPLAINED and self.message_outcome != judgement.DIFFERS


def state_fields(state: str, message: str = "") -> dict[str, Any]:
    """Return the columns of a new state of a cluster."""
    return {"state": state, "message": escaped(message), "state_at": timezone.now()}
