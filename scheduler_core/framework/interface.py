"""The contracts of the scheduling framework, in the order of a cycle.

Upstream calls a plugin once per node; here it is called once per pod, for all nodes:

* `filter` returns a `Verdict`: a small-integer column over the nodes that indexes a short list of statuses.
* `score` returns an int64 column over the feasible nodes; `normalize` maps it to 0..100.
* `filter_node` judges a single node under a `Change` (pods hypothetically added or removed): preemption and nominated
  pods ask for it. A plugin whose verdict does not depend on the pods of a node need not define it.

Source: k8s.io/kube-scheduler/framework (interface.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.events import EVERYTHING, EventHint
from scheduler_core.framework.tie_break import Picker
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint16]
Rows = slice | npt.NDArray[np.intp]  # the feasible rows: slice(None) when all are

MAX_NODE_SCORE = 100
EXTENDER = "Extender"  # what upstream blames where extenders refused nodes

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
    """What a plugin says: a code, and reasons for a person. `plugin` is filled in by the runtime."""

    code: str
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def rejected(self) -> bool:
        return self.code in (UNSCHEDULABLE, UNRESOLVABLE, PENDING)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def of(self, plugin: str) -> Status:
        """The same status, said by `plugin`."""
        return Status(self.code, self.reasons, plugin)


def unschedulable(*reasons: str) -> Status:
    """The node does not fit now; removing pods may help."""
    return Status(UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """The node does not fit and removing pods from it would not help."""
    return Status(UNRESOLVABLE, reasons)


def error(*reasons: str) -> Status:
    """Not a decision: something went wrong."""
    return Status(ERROR, reasons)


SKIPPED = Status(SKIP)
WAITING = Status(WAIT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a Filter plugin says of every node.

    `codes` is a uint16 column over all nodes: 0 passes, k > 0 is `statuses[k - 1]`. None means that every node passes.
    """

    codes: Codes | None = None
    statuses: tuple[Status, ...] = ()

    @staticmethod
    def reject(mask: Bool, status: Status) -> Verdict:
        """Refuses the nodes where `mask` (bool over nodes) holds, all for the same reason."""
        return Verdict(mask.astype(np.uint16), (status,)) if mask.any() else PASSES

    @staticmethod
    def choose(*choices: tuple[Bool, Status]) -> Verdict:
        """Refuses nodes by the first of the (mask, status) pairs that holds."""
        codes: Codes | None = None
        statuses: list[Status] = []
        for mask, status in choices:
            if not mask.any():
                continue
            statuses.append(status)
            if codes is None:
                codes = mask.astype(np.uint16)
            else:
                codes[mask & (codes == 0)] = len(statuses)
        return Verdict(codes, tuple(statuses)) if codes is not None else PASSES

    @staticmethod
    def of_statuses(statuses: Sequence[Status | None]) -> Verdict:
        """From a status (or None) per node."""
        index: dict[Status, int] = {}
        codes = np.zeros(len(statuses), np.uint16)
        for row, status in enumerate(statuses):
            if status is not None:
                codes[row] = index.setdefault(status, len(index) + 1)
        return Verdict(codes, tuple(index)) if index else PASSES

    def at(self, row: int) -> Status | None:
        """The status of one node; None if it passes."""
        if self.codes is None:
            return None
        code = int(self.codes[row])
        return self.statuses[code - 1] if code else None


PASSES = Verdict()


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """The only nodes a PreFilter plugin leaves to be looked at; None means all."""

    node_names: frozenset[str] | None = None


@dataclass(slots=True)
class Change:
    """What if these pods ran on the node of `row`, and those did not?

    `history` is how it came to that: pods taken off (-1) and put (back) on (+1), in order. Only host ports need it.
    """

    row: int
    added: list[PodInfo] = field(default_factory=list)
    removed: list[PodInfo] = field(default_factory=list)
    history: list[tuple[PodInfo, int]] = field(default_factory=list)

    def with_pods(self, pods: list[PodInfo]) -> Change:
        """The same with more pods added."""
        return Change(self.row, [*self.added, *pods], self.removed, [*self.history, *((pod, 1) for pod in pods)])


class CycleState(dict[str, Any]):
    """What plugins remember between the points of one cycle, keyed by plugin name. Lives for one cycle."""

    __slots__ = ("deciding", "rebuilt", "signature", "skip_filter", "skip_score", "to_activate")

    def __init__(self) -> None:
        super().__init__()
        # those whose judgement of some node may be a refusal, and their `filter_node` if a Change matters to it
        self.deciding: list[tuple[FilterPlugin, FilterNode | None]] | None = None
        self.rebuilt = False  # a filter extender sent the nodes back; as it knows them, they have no pods
        self.signature: bytes | None = None  # by what batching compares the pod; None for one that it cannot
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.to_activate: list[str] = []  # pods to be tried at once if the cycle finds a node (upstream PodsToActivate)


@dataclass(slots=True)
class PostFilterResult:
    """What PostFilter proposes: the node to nominate ("" clears a nomination, None says nothing of it) and the pods to
    evict for it; and how it came to that.

    `candidates`: node -> (victims, most important first; budget violations). `rejected`: why evicting does not help on
    the other nodes tried, intp rows. `nominated_any_of`: the equally good nodes. `rule`: what decided among candidates.
    """

    nominated_node: str | None = None
    victims: list[PodInfo] = field(default_factory=list)
    candidates: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    rejected: list[tuple[Status, npt.NDArray[np.intp]]] = field(default_factory=list)
    nominated_any_of: list[str] = field(default_factory=list)
    rule: str = ""


class Filtered(Protocol):
    """What the Filter plugins said, as PostFilter may read it (upstream NodeToStatusReader)."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Filter plugin -> its verdict; empty when PreFilter refused the pod."""

    def status_at(self, row: int) -> Status | None:
        """The status that decided about a node, None if there is none."""

    def potential_rows(self, absent_unresolvable: bool) -> npt.NDArray[np.intp]:
        """Nodes where evicting pods might help."""


# ------------------------------------------------------------------------------------------------ what plugins may ask


class WaitingPod(Protocol):
    """A pod that Permit plugins hold back (upstream WaitingPod)."""

    @property
    def pod(self) -> PodInfo: ...

    def allow(self, plugin: str) -> None:
        """One plugin no longer holds the pod."""

    def reject(self, plugin: str, message: str) -> None:
        """The pod is not to be bound."""


class PreemptExtenders(Protocol):
    """Extenders, as far as preemption asks them."""

    def preempt(self, pod: PodInfo, candidates: list[Any]) -> tuple[list[Any], Status | None]:
        """The candidates that are left; or an error."""


class Handle(Protocol):
    """What the framework that runs a plugin does for it (upstream Handle)."""

    @property
    def picker(self) -> Picker: ...
    @property
    def extenders(self) -> PreemptExtenders | None: ...
    @property
    def waiting_pods(self) -> Iterable[WaitingPod]: ...
    @property
    def list_pods(self) -> Callable[[], Iterable[PodInfo]]:
        """All pods that exist, with a node or without."""

    def run_filter(self, state: CycleState, pod: PodInfo) -> dict[str, Verdict]:
        """What each Filter plugin says of all nodes."""

    def check_node_with_nominated(
        self, state: CycleState, pod: PodInfo, verdicts: Mapping[str, Verdict], change: Change
    ) -> Status | None:
        """The first status that refuses one node under a change; None if the pod fits."""

    def explain_filter(self, plugin: str, state: CycleState, view: View) -> Tree | None:
        """Where a Filter plugin's verdict comes from."""


# ------------------------------------------------------------------------------------------------ plugins


class Plugin:
    """A plugin is made once per profile with its arguments; it keeps no state of a cycle in itself."""

    name: ClassVar[str] = ""
    # No release has the plugin among its defaults: a configuration has to enable it.
    opt_in: ClassVar[bool] = False
    # The kubelet checks the same when it admits a pod.
    kubelet_admits: ClassVar[bool] = False
    # Its PreFilter can narrow the nodes down to those that its Filter accepts.
    narrows_nodes: ClassVar[bool] = False
    # Without queueing hints: whether the plugin registers only the node updates that can help. "once": it does so in
    # releases without `queueing_hint_any_node_update`.
    precise_node_updates: ClassVar[Literal["never", "once", "always"]] = "never"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        self.args = args
        self.cluster = cluster
        self.handle: Handle  # set by the framework that runs the plugin

    def events_to_register(self) -> list[EventHint]:
        """The cluster events that may make a pod schedulable which this plugin rejected (upstream EnqueueExtensions).

        The queue wakes such a pod when one of them happens and its hint, if it has one, says so. The default is any.
        """
        return [EventHint(EVERYTHING)]

    # Plugins that can tell pods that are alike to them replace this by a method (upstream SignPlugin): what they go by,
    # or None for a pod that cannot be compared. None here says that the plugin never can.
    sign: Callable[[PodInfo], dict[str, Any] | None] | None = None


class PreEnqueuePlugin(Plugin):
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """None lets the pod into activeQ; a status gates it."""
        raise NotImplementedError

    def explain_pre_enqueue(self, view: View) -> Tree | None:
        """Why the plugin holds the pod back or does not: a tree of a boolean, true if it does; None if it does not
        say."""
        return None


class QueueSortPlugin(Plugin):
    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[Any, ...]:
        """Pods leave activeQ in ascending order of this key."""
        raise NotImplementedError


class PreFilterPlugin(Plugin):
    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Prepares the cycle; may reject the pod, narrow the nodes, or return SKIPPED to have `filter` left out."""
        raise NotImplementedError

    def explain_pre_filter(self, state: CycleState, view: View) -> Tree | None:
        """Why the plugin rejects the pod here or does not: a tree of a boolean; None if it does not say."""
        return None


FilterNode = Callable[[CycleState, PodInfo, Change], Status | None]


class FilterPlugin(Plugin):
    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        """Judges every node."""
        raise NotImplementedError

    def explain_filter(self, state: CycleState, view: View) -> Tree | None:
        """Where the verdict on one node comes from: a tree of a boolean, true if the plugin refuses; None if it does
        not say. `state` is as `filter` left it. Asked of a recording, never in a cycle."""
        return None

    # Plugins that look at the pods of a node replace this by a method; None says that a Change cannot matter.
    filter_node: FilterNode | None = None

    def indifferent(self, state: CycleState, pod: PodInfo) -> bool:
        """Whether no Change matters to this pod, so that `filter_node` need not be asked. Newer releases leave the
        plugin out by SKIPPED then; older ones could not."""
        return False


class PostFilterPlugin(Plugin):
    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[PostFilterResult | None, Status]:
        """Runs when no node is feasible."""
        raise NotImplementedError

    def explain_post_filter(
        self, state: CycleState, view: View, filtered: Filtered, found: PostFilterResult
    ) -> Tree | None:
        """Where the choice of a node comes from: a tree of a boolean, true if room is made on this one; None if the
        plugin does not say. `found`: what came of it. `state` is as Filter left it."""
        return None


class PreScorePlugin(Plugin):
    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        """Prepares scoring over the feasible rows; SKIPPED has `score` left out."""
        raise NotImplementedError


class ScorePlugin(Plugin):
    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """int64 scores of the feasible rows, in their order."""
        raise NotImplementedError

    def explain_score(self, state: CycleState, view: View) -> Tree | None:
        """Where one node's score comes from; None if it does not say. `state` is as PreScore left it."""
        return None

    def explain_normalize(self, state: CycleState, view: View, raw: Tree, scores: Int64) -> Tree | None:
        """Where a normalised score comes from: `raw` is the tree of the node's own score, `scores` those of all rows.
        Asked of plugins with `normalize`; None if it does not say."""
        return None

    # Plugins with a NormalizeScore replace this by a method; None says that raw scores are final.
    normalize: Callable[[CycleState, PodInfo, Int64, Rows], Int64] | None = None


class ReservePlugin(Plugin):
    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        raise NotImplementedError

    def explain_reserve(self, state: CycleState, view: View) -> Tree | None:
        """Why the plugin refuses the chosen node or does not: a tree of a boolean, true if it does. `state` is as
        Filter left it, the pod does not count yet. So are those of the points that follow."""
        return None


class PermitPlugin(Plugin):
    def permit(self, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, float]:
        """None approves; WAITING holds the pod for at most the returned number of seconds."""
        raise NotImplementedError

    def explain_permit(self, state: CycleState, view: View) -> Tree | None:
        """As `explain_reserve`; of a plugin that has the pod wait the tree of the seconds that it waits at most."""
        return None


class PreBindPlugin(Plugin):
    def pre_bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        raise NotImplementedError

    def explain_pre_bind(self, state: CycleState, view: View) -> Tree | None:
        """As `explain_reserve`."""
        return None


class BindPlugin(Plugin):
    def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        """Binds the pod, or returns SKIPPED to leave it to the next Bind plugin."""
        raise NotImplementedError

    def explain_bind(self, state: CycleState, view: View) -> Tree | None:
        """As `explain_reserve`."""
        return None


class PostBindPlugin(Plugin):
    def post_bind(self, state: CycleState, pod: PodInfo, node: str) -> None:
        raise NotImplementedError


def default_normalize(scores: Int64, reverse: bool) -> Int64:
    """Scales to 0..100 by the highest score, `reverse` turns the order round (upstream DefaultNormalizeScore)."""
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled: Int64 = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled


# Which class makes a plugin take part in which point of a profile's configuration.
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
