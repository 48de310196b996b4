"""Data of an answer why a pod of a live cluster is pending: plain structs, ready for JSON."""

from typing import Literal

import msgspec

from scheduler_core.explain.answer import Answer, Part, Stop
from scheduler_core.stations import creation, kueue, other_schedulers, starting
from scheduler_core.stations.resource_quotas import ResourceQuotaUse
from scheduler_core.stations.waits import ClaimWait

NEVER: Literal["never"] = "never"
NOT_NOW: Literal["not now"] = "not now"
UNDECIDED: Literal["not asked"] = "not asked"
Category = Literal["never", "not now", "not asked"]

# Identifiers of causes besides those of `framework.causes`. Pages and clients may rely on them.
WAITS_FOR_VICTIMS = "waits-for-victims"  # pods that are being deleted
NODES_UNKNOWN = "nodes-unknown"
OTHER_SCHEDULER = other_schedulers.OTHER_SCHEDULER
NO_SCHEDULER = other_schedulers.NO_SCHEDULER
REFUSED = creation.REFUSED
SUSPENDED = creation.SUSPENDED
WAITS_FOR_POD = creation.WAITS_FOR_POD
NOT_CREATED = creation.UNEXPLAINED
BOUND = starting.BOUND
KUEUE = kueue.KUEUE_CAUSE  # a Workload of Kueue is not admitted
JUST_CREATED = "just-created"
NOT_TRIED = "not-tried"
PROVISIONING = "provisioning"  # of a volume, for the node that the pod has been given
SCHEDULER_ERROR = "scheduler-error"
DELETED = "deleted"
NOT_PENDING = "not-pending"
UNEXPLAINED = "unexplained"  # an error of KubeSched


class LeavingPod(Part):
    """A pod that is being deleted, without which a pending pod fits. `until`: Unix seconds at which its grace period
    ends."""

    pod: str
    node: str
    priority: int = 0
    until: float = 0.0


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

    `answer`: why no node takes the pod now, with the ladder and the suggested fixes; None if no node was looked at.
    `note`: a further sentence, about time or messages. `since`: Unix seconds of the pod's creation. `fits_on`: a node
    where the pod fits now. `node`: the node of `leaving`, or where the pod is bound. `leaving`: the pods without which
    the pod fits on that node. `until`: Unix seconds at which the last of them should be gone. `limits`: what the answer
    lacks, because a kind cannot be read. `missing`: number of pods of a workload that do not exist. `reports`: the last
    event of each other component, such as an autoscaler. `scheduler`, `priority`: of the pod's spec. `station`: where
    the pod waits (docs/stations.md), `says`: what is known there, `stations`: its way. `quotas`: the
    ResourceQuotas that refuse the pods of a workload.
    """

    answer: Answer | None = None
    note: str = ""
    since: float = 0.0
    scheduler: str = ""
    priority: int = 0
    nodes: int = 0
    fits_on: str = ""
    node: str = ""
    leaving: list[LeavingPod] = []
    until: float = 0.0
    claims: list[ClaimWait] = []
    finalizers: list[str] = []
    group: str = ""
    scheduler_message: SchedulerMessage | None = None
    limits: list[str] = []
    missing: int = 0
    reports: list[Report] = []
    station: str = ""
    says: list[str] = []
    stations: list[Stop] = []
    quotas: list[ResourceQuotaUse] = []


class PendingAnswer(Part):
    """Why a pod is pending, or why a workload lacks pods.

    `key`: namespace/name of a pod; for a workload that lacks pods with its kind, such as `team/ReplicaSet web`.
    `subject`: Pod, or the kind of the workload. `category`: `never` (no node takes it until the pod, a node or a claim
    changes), `not now` (other pods hold what it needs) or `not asked` (no node was asked, or one takes it by now).
    `cause`: a kind of `framework.causes`, or one of the identifiers above. `sentence`: the answer in one sentence.
    `ladder`: all nodes by the changes that the pod needs, as of `explain.packed_ladder`; b"" if no node was looked at.
    """

    key: str
    category: Category
    cause: str
    sentence: str
    subject: str = "Pod"
    details: PendingDetails = msgspec.field(default_factory=PendingDetails)
    ladder: bytes = b""
