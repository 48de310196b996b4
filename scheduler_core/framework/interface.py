"""The plugin interfaces of the scheduling framework, in the order of a cycle.

Upstream calls a plugin once per node. Here a plugin is called once per pod, for all nodes:

* `filter` returns a `Verdict`: a small-integer column over the nodes that indexes a short list of statuses.
* `score` returns an int64 column over the feasible nodes; `normalize` maps it to 0..100.
* `filter_node` evaluates a single node under a `Change` (pods hypothetically added or removed). Preemption and
  nominated pods need it. A plugin whose verdict does not depend on the pods of a node need not define it.

Source: k8s.io/kube-scheduler/framework (interface.go).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.api.plugin_args import PluginArgs
from scheduler_core.api.profile import Profile
from scheduler_core.cluster import formatting
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.events import EVERYTHING, EventHint
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.framework.tie_break import Picker
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import by_highest
from scheduler_core.provenance.tree import Tree

_T = TypeVar("_T")

Int64 = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer[Any]]
Bool = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint16]
Rows = slice | npt.NDArray[np.intp]  # the feasible rows: slice(None) if all nodes are feasible

MAX_NODE_SCORE = 100
EXTENDER = "Extender"  # the plugin name that upstream reports if extenders refused nodes

# Status codes, spelled as upstream prints them.
SUCCESS = "Success"
ERROR = "Error"
UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"
WAIT = "Wait"
SKIP = "Skip"
PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Status:
    """The result of a plugin: a code and human-readable reasons. The runtime sets `plugin`."""

    code: str
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def rejected(self) -> bool:
        return self.code in (UNSCHEDULABLE, UNRESOLVABLE, PENDING)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """Return the same status with this plugin name."""
        return Status(self.code, self.reasons, plugin)


def unschedulable(*reasons: str) -> Status:
    """Return a status: the node does not fit now, but removing pods may help."""
    return Status(UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Return a status: the node does not fit, and removing pods from it does not help."""
    return Status(UNRESOLVABLE, reasons)


def error(*reasons: str) -> Status:
    """Return a status for an error, which is not a scheduling decision."""
    return Status(ERROR, reasons)


# What the results of a plugin for a pod depend on, besides the pod (see `Plugin.varies_with`).
ANYTHING = "anything"
USAGE = "usage"
OBJECTS = "objects"

SKIPPED = Status(SKIP)
WAITING = Status(WAIT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a Filter plugin for every node.

    `codes` is a uint16 column over all nodes: 0 passes, k > 0 is `statuses[k - 1]`. None means that every node passes.
    `refused`: the rows that do not pass, ascending, if they are known. `packed`: the encoded codes, set by the encoder.
    """

    codes: Codes | None = None
    statuses: tuple[Status, ...] = ()
    refused: npt.NDArray[np.intp] | None = field(default=None, compare=False)
    packed: tuple[int, int, int, bytes] | None = field(default=None, init=False, compare=False, repr=False)

    @staticmethod
    def reject(mask: Bool, status: Status) -> Verdict:
        """Refuse the nodes where `mask` (bool over nodes) is true, all for the same reason."""
        return Verdict(mask.astype(np.uint16), (status,)) if mask.any() else PASSES

    @staticmethod
    def choose(*choices: tuple[Bool, Status]) -> Verdict:
        """Refuse each node by the first (mask, status) pair whose mask is true."""
        codes: Codes | None = None
        statuses: list[Status] = []
        for mask, status in choices:
            if not np.count_nonzero(mask):  # faster than `any`
                continue
            statuses.append(status)
            if codes is None:
                codes = mask.astype(np.uint16)
            else:
                codes[mask & (codes == 0)] = len(statuses)
        return Verdict(codes, tuple(statuses)) if codes is not None else PASSES

    @staticmethod
    def of_rows(size: int, *choices: tuple[Set[int], Status]) -> Verdict:
        """Refuse few of `size` nodes: each row by the status of the first set that has it. No set is empty."""
        if not choices:
            return PASSES
        first, *others = [rows for rows, _ in choices]
        refused = np.array(sorted(set().union(first, *others) if others else first), np.intp)
        codes = np.zeros(size, np.uint16)
        codes[refused] = len(choices)
        for code in range(len(others), 0, -1):
            codes[list(choices[code - 1][0])] = code
        return Verdict(codes, tuple([status for _, status in choices]), refused)

    @staticmethod
    def of_statuses(statuses: Sequence[Status | None]) -> Verdict:
        """Build a verdict from one status (or None) per node."""
        index: dict[Status, int] = {}
        codes = np.zeros(len(statuses), np.uint16)
        for row, status in enumerate(statuses):
            if status is not None:
                codes[row] = index.setdefault(status, len(index) + 1)
        return Verdict(codes, tuple(index)) if index else PASSES

    def at(self, row: int) -> Status | None:
        """Return the status of one node; None if it passes."""
        if self.codes is None:
            return None
        code = int(self.codes[row])
        return self.statuses[code - 1] if code else None


PASSES = Verdict()


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """The only nodes that a PreFilter plugin leaves; None means all."""

    node_names: frozenset[str] | None = None


@dataclass(slots=True)
class NodePodsChange:
    """A hypothetical change of the pods on the node `row`: pods added and pods removed.

    `history` lists the removals (-1) and additions (+1) of pods in order. Only host ports need it. `freed`: the sum of
    what the removed pods held, if the caller knows it.
    """

    row: int
    added: list[PodInfo] = field(default_factory=list)
    removed: list[PodInfo] = field(default_factory=list)
    history: list[tuple[PodInfo, int]] = field(default_factory=list)
    freed: Mapping[str, int] | None = None

    def with_pods(self, pods: list[PodInfo]) -> NodePodsChange:
        """Return the same change with more pods added."""
        return NodePodsChange(
            self.row, [*self.added, *pods], self.removed, [*self.history, *((pod, 1) for pod in pods)], self.freed
        )


class CycleState(dict[str, Any]):
    """Data that plugins pass between the extension points of one cycle, keyed by plugin name."""

    __slots__ = (
        *("deciding", "equivalent", "last_pre_filter", "ranking", "ranking_offset", "rebuilt", "shares", "signature"),
        *("skip_filter", "skip_score", "to_activate"),
    )

    def __init__(self) -> None:
        self.deciding: list[tuple[FilterPlugin, FilterNode | None]] | None = None
        self.equivalent: Any = None  # the EquivalenceClass of the pod, None without one
        self.last_pre_filter = ""  # the plugin that ended PreFilter before the others ran
        # int64 over the feasible nodes, smaller than their total scores by `ranking_offset`; None if not known
        self.ranking: Int64 | None = None
        self.ranking_offset = 0
        # rows, and the shares of resources of these rows that one of two plugins left for the other
        self.shares: tuple[Rows, int, npt.NDArray[np.float64]] | None = None
        self.rebuilt = False  # a filter extender returned the nodes; the rebuilt nodes have no pods
        # the signature that batching compares; None for a pod that cannot be signed
        self.signature: bytes | None = None
        self.skip_filter: frozenset[str] = frozenset()
        self.skip_score: frozenset[str] = frozenset()
        self.to_activate: list[str] = []  # pods to activate at once if the cycle finds a node (upstream PodsToActivate)

    def skipped_filter(self) -> list[str]:
        """Return the Filter plugins that do not run, in alphabetical order. Do not change the list."""
        equal = self.equivalent
        if equal is not None and equal.plugins.skip_filter is self.skip_filter:
            return equal.plugins.skipped_filter  # type: ignore[no-any-return]
        return sorted(self.skip_filter)

    def skipped_score(self) -> list[str]:
        """Return the Score plugins that do not run, as `skipped_filter`."""
        equal = self.equivalent
        if equal is not None and equal.plugins.skip_score is self.skip_score:
            return equal.plugins.skipped_score  # type: ignore[no-any-return]
        return sorted(self.skip_score)

    def of_class(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return `make()`, cached for equal pods until an object other than a pod changes."""
        equal = self.equivalent
        if equal is None:
            return make()
        found = equal.cached.get(key)
        return equal.cache(key, make()) if found is None else found  # type: ignore[no-any-return]


@dataclass(slots=True)
class PostFilterResult:
    """The result of PostFilter: the node to nominate, the pods to evict for it, and the details of the decision.

    `nominated_node`: "" clears a nomination, None leaves it unchanged. `candidates`: node -> (victims, most important
    first; budget violations). `rejected`: why evicting does not help on the other nodes tried, intp rows.
    `nominated_any_of`: the equally good nodes. `rule`: the criterion that decided among candidates. `preemptors`: how
    many plugins tried to evict pods; the details are those of the last one. `plugin`: that one; "" if none tried.
    """

    nominated_node: str | None = None
    victims: list[PodInfo] = field(default_factory=list)
    candidates: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    rejected: list[tuple[Status, npt.NDArray[np.intp]]] = field(default_factory=list)
    nominated_any_of: list[str] = field(default_factory=list)
    rule: str = ""
    preemptors: int = 1
    plugin: str = ""


class Filtered(Protocol):
    """The results of the Filter plugins for PostFilter (upstream NodeToStatusReader)."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Filter plugin -> its verdict; empty if PreFilter refused the pod."""

    @property
    def prefilter(self) -> Status | None:
        """The status with which PreFilter rejected the pod; None if it did not."""

    def status_at(self, row: int) -> Status | None:
        """Return the status that decided about a node; None if there is none."""

    def potential_rows(self, absent_unresolvable: bool) -> npt.NDArray[np.intp]:
        """Return the rows of nodes where evicting pods might help."""


class PastCycle(NamedTuple):
    """A cycle of a recording. `undone`: Reserve, Permit, PreBind or Bind took the place back. `held_by`: the Permit
    plugins that held the pod."""

    pod: str
    placed: bool
    prefilter: Status | None
    postfilter: Status | None
    undone: bool
    held_by: Set[str]


# ------------------------------------------------------------------------------------- services available to plugins


class WaitingPod(Protocol):
    """A pod that Permit plugins hold (upstream WaitingPod)."""

    @property
    def pod(self) -> PodInfo: ...

    def allow(self, plugin: str) -> None:
        """Remove the hold of one plugin."""

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod: it is not bound."""


class PreemptExtenders(Protocol):
    """The part of the extenders that preemption uses."""

    def preempt(self, pod: PodInfo, candidates: list[Any]) -> tuple[list[Any], Status | None]:
        """Return the remaining candidates, or an error."""


class Handle(Protocol):
    """The services of the framework that runs a plugin (upstream Handle)."""

    @property
    def profile(self) -> Profile: ...
    @property
    def picker(self) -> Picker: ...
    @property
    def extenders(self) -> PreemptExtenders | None: ...
    @property
    def pre_filter(self) -> Sequence[Plugin]: ...
    @property
    def waiting_pods(self) -> Iterable[WaitingPod]: ...
    @property
    def list_pods(self) -> Callable[[], Iterable[PodInfo]]:
        """All existing pods, with or without a node."""

    def run_filter(self, state: CycleState, pod: PodInfo) -> dict[str, Verdict]:
        """Return each Filter plugin's verdict on all nodes."""

    def check_node_with_nominated(
        self, state: CycleState, pod: PodInfo, verdicts: Mapping[str, Verdict], change: NodePodsChange
    ) -> Status | None:
        """Return the first status that refuses one node under a change; None if the pod fits."""

    @property
    def merges(self) -> int:
        """Whether the refusals of all plugins decide (not 0), not only the first."""

    def deciding(
        self, state: CycleState, pod: PodInfo, verdicts: Mapping[str, Verdict]
    ) -> list[tuple[FilterPlugin, FilterNode | None]]:
        """Return the plugins that may refuse some node, with their `filter_node` if a Change matters to it."""

    def explain_filter(self, plugin: str, state: CycleState, view: View) -> Tree | None:
        """Explain a Filter plugin's verdict."""


# ------------------------------------------------------------------------------------------------ plugins


def without_skipped(method: _T) -> _T:
    """Mark Reserve or PreBind of a plugin that does nothing for a pod if the plugin's PreFilter returns SKIPPED."""
    method.without_skipped = True  # type: ignore[attr-defined]
    return method


class Plugin:
    """Base class of plugins. It is instantiated once per profile with its arguments and keeps no state but `memory`."""

    name: ClassVar[str] = ""
    # The class of its arguments; None if it has none.
    args_class: ClassVar[type[PluginArgs] | None] = None
    # It is part of kube-scheduler.
    in_tree: ClassVar[bool] = True
    # No release enables the plugin by default: a configuration has to enable it.
    opt_in: ClassVar[bool] = False
    # Reason -> a phrase about nodes that begins with a plural verb.
    phrases: ClassVar[Mapping[str, str]] = {}
    # Its reasons name the resources that a node lacks, such as `Insufficient cpu`.
    reasons_name_resources: ClassVar[bool] = False
    # Fields of a pod that it reads, as YAML keys.
    pod_fields: ClassVar[tuple[str, ...]] = ()
    # What its rejections mean in an answer: the kind of the cause, and how much a change takes (`Obstacle.effort`).
    cause: ClassVar[str] = causes.PLUGIN
    effort: ClassVar[float] = 2.0
    # Attributes that keep what the plugin has seen from one cycle to the next: dicts, sets or immutable values. A trial
    # restores them, because it must not change what the run decides afterwards.
    memory: ClassVar[tuple[str, ...]] = ()
    # `memory` follows from the results of cycles as well, so a fork calls `recall_cycle` for each cycle before it.
    recalls_cycles: ClassVar[bool] = False
    # The kubelet makes the same check when it admits a pod.
    kubelet_admits: ClassVar[bool] = False
    # Its PreFilter can restrict the nodes to those that its Filter accepts.
    narrows_nodes: ClassVar[bool] = False
    # The attribute of PodInfo from which `varies_with` and the results that stay follow, such as `tolerations`; "" if
    # they may depend on all of the pod. Define it in the class that defines `varies_with`.
    reads: ClassVar[str] = ""
    # Without queueing hints: whether the plugin registers only the node updates that can help. "once": only in releases
    # without `queueing_hint_any_node_update`.
    precise_node_updates: ClassVar[Literal["never", "once", "always"]] = "never"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        self.args = args
        self.cluster = cluster
        self.handle: Handle  # set by the framework that runs the plugin

    def recall_pods(self, placed: Iterable[PodInfo], evicted: Iterable[tuple[PodInfo, bool]]) -> None:
        """Restore `memory` in a cluster that was restored from a recording.

        `placed`: pods on nodes that cycles of the run placed. `evicted`: pods that were bound and are gone, and whether
        a cycle of the run had placed them.
        """

    def recall_cycle(self, pod: PodInfo, cycle: PastCycle) -> None:
        """Restore in `memory` what a cycle of the recording left there. Cycles come in their order."""

    def events_to_register(self) -> list[EventHint]:
        """Return the events that may make a pod rejected by this plugin schedulable (upstream EnqueueExtensions).

        The queue requeues such a pod if one of them happens and its hint, if any, returns true. The default is any
        event.
        """
        return [EventHint(EVERYTHING)]

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: Status) -> Obstacle:
        """Return why the plugin rejects the whole pod. `context`: None if the cluster is not known."""
        reasons = "; ".join(status.reasons) or status.code
        return Obstacle(cls.cause, cls.effort, f"{status.plugin or cls.name} rejects the pod: {reasons}.")

    def varies_with(self, pod: PodInfo) -> str:
        """Return what may change the results of PreFilter, Filter, PreScore, Score and NormalizeScore for a pod.

        Two pods are equal if they have the same namespace, labels, spec, requests and owners. ANYTHING: the plugin runs
        for each pod. OBJECTS: for equal pods the results stay the same until an object other than a pod changes, and
        PreScore does not depend on the feasible nodes. USAGE: moreover the results for a node depend on its allocatable
        and requested amounts and on the requests of the pod; a score has no NormalizeScore, and the class of a
        filter is UsageFilter. See also `reads`.
        """
        return ANYTHING

    def always_skips(self, pod: PodInfo) -> tuple[bool, bool]:
        """Return whether PreFilter, and PreScore, return SKIPPED for equal pods until an object other than a pod
        changes, although `varies_with` is ANYTHING. Define it in the class that defines `varies_with`."""
        return False, False

    # Plugins that can compare pods replace this by a method (upstream SignPlugin). It returns the values to compare, or
    # None for a pod that cannot be compared. None here means that the plugin never signs.
    sign: Callable[[PodInfo], dict[str, Any] | None] | None = None


class PreEnqueuePlugin(Plugin):
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return None to let the pod into activeQ, or a status that gates it."""
        raise NotImplementedError

    def explain_pre_enqueue(self, view: View) -> Tree | None:
        """Explain whether the plugin gates the pod.

        Returns: a boolean tree, true if the plugin gates it; None if the plugin has no explanation.
        """
        return None


class QueueSortPlugin(Plugin):
    # Whether the timestamp is that of the first attempt, not that of the last change.
    by_first_attempt: ClassVar[bool] = False

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[Any, ...]:
        """Return the sort key. Pods leave activeQ in ascending order of it. `timestamp`: seconds since
        `Cluster.epoch`."""
        raise NotImplementedError


class PreFilterPlugin(Plugin):
    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Prepare the cycle. May reject the pod, restrict the nodes, or return SKIPPED so that `filter` is skipped."""
        raise NotImplementedError

    def explain_pre_filter(self, state: CycleState, view: View) -> Tree | None:
        """Explain whether the plugin rejects the pod: a boolean tree; None if the plugin has no explanation."""
        return None


FilterNode = Callable[[CycleState, PodInfo, NodePodsChange], Status | None]


class FilterPlugin(Plugin):
    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        """Return the verdict on every node."""
        raise NotImplementedError

    def explain_filter(self, state: CycleState, view: View) -> Tree | None:
        """Explain the verdict on one node. Called for a recording, never in a cycle.

        `state` is the state after `filter`. Returns: a boolean tree, true if the plugin refuses the node; None if the
        plugin has no explanation.
        """
        return None

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: Status) -> Obstacle:
        """Return what a status means for all nodes that have it. `context`: None if the cluster is not known."""
        known = [phrase for reason in status.reasons if (phrase := cls.phrases.get(reason))]
        reasons = "; ".join(status.reasons) or status.code
        phrase = formatting.listing(known) or f"are refused by {status.plugin or cls.name} ({reasons})"
        return Obstacle(cls.cause, cls.effort, phrase)

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: Status
    ) -> list[tuple[Obstacle, ...]]:
        """Return the obstacles at each of these nodes, which all have the status.

        `rows`: the cluster's rows; -1 for a node that is not known. Plugins whose obstacles differ between nodes
        with the same status replace this.
        """
        return [(cls.obstacle(context, status),)] * len(rows)

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: Status) -> str:
        """Return the exact cause of a rejection; "" if the cluster's state does not show it, or no longer does."""
        return ""

    # Plugins that depend on the pods of a node replace this by a method. None means that a Change cannot matter.
    filter_node: FilterNode | None = None

    def indifferent(self, state: CycleState, pod: PodInfo) -> bool:
        """Whether no Change matters to this pod, so that `filter_node` need not be called.

        Newer releases skip the plugin by SKIPPED in this case; older releases could not.
        """
        return False

    def affected_nodes(self, state: CycleState, pod: PodInfo) -> Bool | None:
        """Return the nodes where the removal of some of their pods may change the result: bool over nodes.

        On the others, `filter_node` returns what `filter` did, whichever pods are removed. None: it may be any node.
        """
        return None


class UsageFilter(FilterPlugin):
    """A Filter plugin whose verdict on a node depends only on the node, the requests on it and those of the pod."""

    def usage_codes(self, state: CycleState, pod: PodInfo, rows: Rows, freed: Int64 | None = None) -> Integers:
        """Return a number of the verdict on each of the rows as a new array; 0 if the node passes.

        `freed`: what pods that were removed from the rows used, as `NodeTable.used` has it; int64.
        """
        raise NotImplementedError

    def additive_needs(self, pod: PodInfo) -> Sequence[tuple[str, int]] | None:
        """Return the (resource, amount) pairs that, with a place for the pod, are all that a node must have free.

        None if the verdict depends on something else, or `usage_codes` does not support `freed`.
        """
        return None

    def verdict(self, pod: PodInfo, codes: Integers) -> Verdict:
        """Return the verdict for the numbers of all nodes."""
        raise NotImplementedError

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return self.verdict(pod, self.usage_codes(state, pod, slice(None)))


class PostFilterPlugin(Plugin):
    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[PostFilterResult | None, Status]:
        """Try to make the pod schedulable, usually by preemption. Called if no node is feasible."""
        raise NotImplementedError

    def explain_post_filter(
        self, state: CycleState, view: View, filtered: Filtered, found: PostFilterResult
    ) -> Tree | None:
        """Explain the choice of a node by preemption.

        `found`: the result of PostFilter. `state` is the state after Filter. Returns: a boolean tree, true if pods are
        evicted from this node; None if the plugin has no explanation.
        """
        return None


class PreScorePlugin(Plugin):
    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        """Prepare scoring over the feasible rows. SKIPPED means that `score` is not called."""
        raise NotImplementedError


class ScoreError(Exception):
    """Scoring fails, and with it the cycle. The text is the error of the cycle."""


class ScorePlugin(Plugin):
    # The highest normalized score: 100, in 1.16 10.
    max_score: ClassVar[int] = MAX_NODE_SCORE
    # The node with the highest score: `the emptiest`, or with a complement, `the one with most of the pod's images`;
    # "" if the plugin has no words for it.
    best: ClassVar[str] = ""

    @classmethod
    def describe_best(cls, args: Any) -> str:
        """Return `best`, as it is with these arguments of the plugin."""
        return cls.best

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Integers:
        """Return the scores of the feasible rows, in their order, as integers of any size, or an object with a method
        `read` that does this when a trace needs them. Raises ScoreError if the plugin fails."""
        raise NotImplementedError

    def explain_score(self, state: CycleState, view: View) -> Tree | None:
        """Explain one node's score; None if the plugin has no explanation. `state` is the state after PreScore."""
        return None

    def explain_normalize(self, state: CycleState, view: View, raw: Tree, scores: Int64) -> Tree | None:
        """Explain a normalized score; None if the plugin has no explanation. Called for plugins with `normalize`.

        `raw`: the tree of the node's own score. `scores`: the raw scores of all rows.
        """
        return None

    # Plugins with a NormalizeScore replace this by a method; None means that raw scores are final.
    normalize: Callable[[CycleState, PodInfo, Int64, Rows], Int64] | None = None


class HighestNormalized(ScorePlugin):
    """A plugin whose scores are scaled by the highest one. `reverse`: a lower raw score is better."""

    reverse: ClassVar[bool] = False

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        return default_normalize(scores, self.reverse, self.max_score)

    def explain_normalize(self, state: CycleState, view: View, raw: Tree, scores: Int64) -> Tree:
        return by_highest(view, raw, scores, self.reverse, self.max_score)


class ReservePlugin(Plugin):
    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        raise NotImplementedError

    def explain_reserve(self, state: CycleState, view: View) -> Tree | None:
        """Explain whether the plugin refuses the chosen node: a boolean tree, true if it does.

        `state` is the state after Filter, and the pod is not assumed yet. The same applies to the later extension
        points.
        """
        return None


class PermitPlugin(Plugin):
    def permit(self, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, float]:
        """Return None to approve, or WAITING with the longest wait in seconds."""
        raise NotImplementedError

    def explain_permit(self, state: CycleState, view: View) -> Tree | None:
        """See `explain_reserve`. If the plugin makes the pod wait: the tree of the longest wait in seconds."""
        return None


class PreBindPlugin(Plugin):
    def pre_bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        raise NotImplementedError

    def explain_pre_bind(self, state: CycleState, view: View) -> Tree | None:
        """See `explain_reserve`."""
        return None


class BindPlugin(Plugin):
    def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Bind the pod, or return SKIPPED to leave it to the next Bind plugin."""
        raise NotImplementedError

    def explain_bind(self, state: CycleState, view: View) -> Tree | None:
        """See `explain_reserve`."""
        return None


class PostBindPlugin(Plugin):
    def post_bind(self, state: CycleState, pod: PodInfo, node: str) -> None:
        raise NotImplementedError


def default_normalize(scores: Int64, reverse: bool, max_score: int = MAX_NODE_SCORE) -> Int64:
    """Scale scores to 0..max_score by the highest one; `reverse` inverts the order (upstream DefaultNormalizeScore)."""
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full_like(scores, max_score) if reverse else scores
    scaled = for_each_value(scores, int(scores.min()), highest, lambda values: max_score * values // highest)
    return max_score - scaled if reverse else scaled


def for_each_value(scores: Int64, lowest: int, highest: int, formula: Callable[[Int64], Int64]) -> Int64:
    """Return `formula(scores)`, computed once for each value if these are few. `lowest`, `highest`: of the scores."""
    if lowest >= 0 and 0 < highest < len(scores):
        return formula(np.arange(highest + 1)).take(scores)
    return formula(scores)


# The class that a plugin must implement for each extension point of a profile's configuration.
POINTS: dict[str, type[Plugin]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
