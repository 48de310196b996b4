"""Data of an answer why a pod of a live cluster is pending: plain structs, ready for JSON."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from scheduler_core.explain.answer import NodeObjections, Part, RejectedNodes

NEVER: Literal["never"] = "never"
NOT_NOW: Literal["not now"] = "not now"
UNDECIDED: Literal["not asked"] = "not asked"
Category = Literal["never", "not now", "not asked"]

# Identifiers of causes. Pages and clients may rely on them.
NO_NODES = "no-nodes"
NO_NODE_FITS = "no-node-fits"  # never: every node rejects the pod, even without its pods
PODS_IN_THE_WAY = "pods-in-the-way"
WAITS_FOR_VICTIMS = "waits-for-victims"
NODES_UNKNOWN = "nodes-unknown"
GATED = "gated"
OTHER_SCHEDULER = "other-scheduler"
NO_SCHEDULER = "no-scheduler"
REFUSED = "creation-refused"  # of a workload's pod: quota, limit range, admission
SUSPENDED = "suspended"
WAITS_FOR_POD = "waits-for-pod"  # a StatefulSet that creates its pods in order
NOT_CREATED = "not-created"
JUST_CREATED = "just-created"
NOT_TRIED = "not-tried"
FITS_NOW = "fits-now"
CLAIM = "claim"
DEVICE_CLAIM = "device-claim"
GROUP = "group"
SCHEDULER_ERROR = "scheduler-error"
BOUND = "bound"
DELETED = "deleted"
NOT_PENDING = "not-pending"
UNEXPLAINED = "unexplained"  # an error of KubeSched


class InTheWay(Part):
    """A pod in the way. `until`: Unix seconds at which its grace period ends; 0 if it is not being deleted.

    `returns`: whether it comes back at once when it is deleted (a DaemonSet's or static pod). `nominated`: whether it
    is not on the node yet, but nominated to it.
    """

    pod: str
    node: str
    priority: int = 0
    until: float = 0.0
    returns: bool = False
    nominated: bool = False


class ClaimWait(Part):
    """A claim that a pod waits for.

    `cause`: `missing`, `lost`, `deleted`, `no-class`, `class-missing`, `no-provisioner`, `immediate` (its provisioner
    has not created the volume), `provisioning` (the same, for the pod's node), `waits-for-volume` (that it names) or
    `waits-for-consumer` (it is bound with the pod).
    """

    claim: str
    cause: str
    sentence: str
    storage_class: str = ""


class Fix(Part):
    """A suggested fix (`debugger/suggestions`). `changes`: in the format of forks. `node`: where the pod then goes."""

    text: str
    kind: str
    changes: list[dict[str, Any]] = []
    node: str = ""


class SchedulerMessage(Part):
    """What the real scheduler reported in the condition PodScheduled=False.

    `time`: Unix seconds of the condition's last transition; 0 if unknown. `agrees`: whether the current state gives the
    same reasons; None if there is nothing to compare. `ours`: our message. `difference`: the difference as a sentence.
    """

    reason: str
    message: str
    time: float = 0.0
    agrees: bool | None = None
    ours: str = ""
    difference: str = ""


class Report(Part):
    """An event about a pod that another component than its scheduler wrote. `time`: Unix seconds; 0 if unknown."""

    writer: str
    reason: str
    message: str
    time: float = 0.0


class PendingDetails(Part):
    """Details of an answer; which fields are set depends on the cause.

    `since`: Unix seconds of the pod's creation. `fits_on`: a node where the pod fits now. `node`: the node of
    `in_the_way`, or where the pod is bound or nominated. `in_the_way`: the pods without which the pod fits on that
    node. `until`: Unix seconds at which the last of them should be gone. `groups`: reasons of the nodes, most nodes
    first. `closest`: nodes that lack least. `even_empty`: reasons that remain if all nodes are empty (for never).
    `limits`: what the answer lacks, because a kind cannot be read. `missing`: number of pods of a workload that do not
    exist. `reports`: the last event of each other component, such as an autoscaler.
    """

    since: float = 0.0
    scheduler: str = ""
    gates: list[str] = []
    nodes: int = 0
    fits_on: str = ""
    node: str = ""
    in_the_way: list[InTheWay] = []
    until: float = 0.0
    claims: list[ClaimWait] = []
    finalizers: list[str] = []
    group: str = ""
    groups: list[RejectedNodes] = []
    closest: list[NodeObjections] = []
    even_empty: list[RejectedNodes] = []
    scheduler_message: SchedulerMessage | None = None
    fix: Fix | None = None
    limits: list[str] = []
    missing: int = 0
    reports: list[Report] = []


class PendingAnswer(Part):
    """Why a pod is pending, or why a workload lacks pods.

    `key`: namespace/name of a pod; for a workload that lacks pods with its kind, such as `team/ReplicaSet web`.
    `subject`: Pod, or the kind of the workload. `category`: `never` (no node, even empty, could take it), `not now`
    (pods stand in the way) or `not asked` (no node was asked, or the last answer is outdated). `cause`: one of the
    identifiers above. `sentence`: the answer in one sentence, category first.
    """

    key: str
    category: Category
    cause: str
    sentence: str
    subject: str = "Pod"
    details: PendingDetails = msgspec.field(default_factory=PendingDetails)
