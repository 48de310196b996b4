"""Data of an explanation: plain structs, ready for JSON (`msgspec.to_builtins`, `msgspec.json.encode`)."""

from typing import Any, Literal

import msgspec


class Part(msgspec.Struct, omit_defaults=True):
    """Base class of all parts of an answer."""


class Shortfall(Part):
    """A resource that a node lacks. Amounts are in the scheduler's units (millicores of cpu, otherwise whole units).

    `resource` is `pods` if the node is full. `text` is `short` in readable form, such as `0.25` or `1.5Gi`.
    """

    resource: str
    request: int
    free: int
    allocatable: int
    short: int
    text: str


class Objection(Part):
    """Why one plugin rejects one node. `detail`: the exact cause, "" if it cannot be found in the cluster's state.
    `words`: what the node lacks, a verb first, if the question is about this node."""

    plugin: str
    code: str
    reasons: list[str]
    detail: str = ""
    shortfalls: list[Shortfall] = []
    words: str = ""


class NodeObjections(Part):
    """A node that rejects the pod: the decisive objection first, then further ones."""

    node: str
    objections: list[Objection]


class RejectedNodes(Part):
    """Nodes that the same plugin rejected for the same reasons. The plugin is "" for nodes that PreFilter left out.

    `words`: a phrase that begins with a plural verb, such as `lack cpu`. `closest`: the node that lacks least, such as
    `n4, short by 0.25 cpu`.
    """

    plugin: str
    reasons: list[str]
    words: str
    count: int
    nodes: list[str]
    closest: str = ""


class Points(Part):
    """The score of one Score plugin for one node. `weighted` is `normalized` x `weight`."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int


class Ranked(Part):
    """A feasible node with its total score."""

    node: str
    total: int
    points: list[Points]


class ScoreDifference(Part):
    """The weighted scores of the winner and of another node from one plugin. `difference` > 0 favours the winner."""

    plugin: str
    winner: int
    other: int
    difference: int


class Duel(Part):
    """The winner compared with another node; plugins with the largest difference come first."""

    winner: str
    other: str
    margin: int
    differences: list[ScoreDifference]

    @property
    def totals(self) -> tuple[int, int]:
        """The total scores of the winner and of the other node."""
        return sum(one.winner for one in self.differences), sum(one.other for one in self.differences)


class Decision(Part):
    """What singled out the chosen node among several feasible ones.

    `best`: what it is, such as `the emptiest`; "" if other nodes have a higher total, or all have the same. `plugins`:
    the Score plugins whose highest score it has; empty if only the total singles it out. `by`: how ties are decided, ""
    if that is not known.
    """

    best: str = ""
    plugins: list[str] = []
    by: str = ""


class NodeAnswer(Part):
    """Why a pod did not go to one node, or why it did.

    `kind`: `chosen`, `refused`, `excluded` (by PreFilter), `not_evaluated` (the search ended before it), `outscored`,
    `tied`, `feasible` (without scores) or `pod` (the pod was rejected before any node). `point`, `plugin`: what
    decided, in the names of the pages. `objections`: of all Filter plugins, the decisive one first. `duel`: the scores
    of the chosen node and of this one.
    """

    node: str
    kind: str
    sentence: str
    point: str = ""
    plugin: str = ""
    objections: list[Objection] = []
    duel: Duel | None = None


class PreemptionCandidate(Part):
    """A node where the pod would fit after evicting the victims (most important first)."""

    node: str
    victims: list[str]
    pdb_violations: int = 0


class Preemption(Part):
    """Result of PostFilter. `rule`: the rule that decided among the candidates. `refused`: reason -> number
    of nodes."""

    words: str
    nominated_node: str = ""
    victims: list[str] = []
    rule: str = ""
    candidates: list[PreemptionCandidate] = []
    refused: dict[str, int] = {}
    equals: list[str] = []


class Target(msgspec.Struct, frozen=True):
    """The object that a person edits. `namespace` is "" for nodes, volumes and storage classes."""

    kind: str
    namespace: str
    name: str


class PendingWorkload(Part):
    """The controller of pods that are alike, or the pod itself if it has none. `pending`: its pods without a node."""

    kind: str
    namespace: str
    name: str
    pending: int = 1


class Cause(Part):
    """Why a pod has no node. `kind`: one of `framework.causes`. `plugin`: the plugin that says so, "" for none.

    `nodes`: the nodes that one change opens, the nearest rung of the ladder; empty if no node is near. `objects`: what
    is named: taints as `key=value:Effect`, labels as `key=value`, resources, domains, claims, gates, ports.
    """

    kind: str
    plugin: str = ""
    nodes: list[str] = []
    objects: list[str] = []


class Rung(msgspec.Struct, omit_defaults=True):
    """Nodes that need equally many changes for the pod to run there: 0 now, None never.

    `count`: the number of nodes. `nodes`: up to five of them, the nearest first. `text`: a clause about them, such as
    `16 nodes have no nvidia.com/gpu`. A whole ladder has all `nodes`, and `each`: the same about one node, a verb
    first, such as `has no nvidia.com/gpu`. `when`: `after admission` or `then`, for nodes that could take the pod once
    what keeps it from all nodes is gone.
    """

    changes: int | None
    count: int
    nodes: list[str]
    text: str
    each: str = ""
    when: str = ""


class Fix(msgspec.Struct):
    """A change for a workload, simulated for all its pending pods.

    `kind`: toleration, node-selector, uncordon, requests, capacity, ... (docs/answers.md). `target`: the object to
    edit, None if it is not one object. `text`: what to do, an imperative. `command`: for kubectl, "" if there is none.
    `patch`: what the command sends, None if it changes nothing or creates an object. `places` of `of` pending pods get
    a node with it. `node`: the node of the first of them. `changes`: the same as changes of a fork. `remark`: what is
    lost or comes back, such as what a deletion evicts, "" if nothing.
    """

    kind: str
    target: Target | None
    text: str
    command: str
    patch: Any
    places: int
    of: int
    node: str
    changes: list[dict[str, Any]] = []
    remark: str = ""


def no_fixes(why: str) -> str:
    """Return the sentence of `Answer.no_fixes`. `why`: a clause."""
    return f"No change was simulated, because {why}."


class Stop(Part):
    """A station on a pod's way to run.

    `name`: `created`, `admission`, `group`, `claims`, `scheduler`, `node` or `starting`. `state`: `ahead` if the pod
    has not come there.
    """

    name: str
    state: Literal["done", "waiting", "not-needed", "ahead"]


class NodePoolAnswer(Part):
    """Whether a new node of a NodePool would take a pod. `answer`: `yes`, `no`, or `unknown`, such as if its sizes are
    not known. `text`: why, as a clause. `basis`: what the size of the node was taken from, "" if no size mattered."""

    pool: str
    answer: Literal["yes", "no", "unknown"]
    text: str
    basis: str = ""


class NewNode(Part):
    """What Karpenter would do for a pod. `pools`: in the order in which it tries them. `note`: its own last answer in
    comparison, or why it leaves the pod out; "" for neither."""

    pools: list[NodePoolAnswer]
    note: str = ""


class Answer(Part):
    """Why a pod was placed on its node, or is pending.

    `sentence`: the answer in one sentence. `groups`: decisive reasons, most nodes first. `closest`: the first nodes of
    the ladder, each with all objections. `top`: the best nodes with their scores; `duel`: the winner compared with the
    runner-up; `decision`: what singled it out. `message`: of the FailedScheduling event. `cause`, `ladder`: of a pod
    without a node. `fixes`: for its `workload`; the caller sets both. `no_fixes`: why no fixes are searched, as a
    sentence, "" if they are. `station`: where a pod waits that has not started (docs/stations.md), `says`: what is
    known there, `stations`: its way, `new_node`: whether one of a NodePool takes it; set by `stations`.
    """

    pod: str
    result: str
    sentence: str
    profile: str = ""
    node: str = ""
    nodes: int = 0
    looked: int = 0
    feasible: int = 0
    groups: list[RejectedNodes] = []
    closest: list[NodeObjections] = []
    top: list[Ranked] = []
    ties: list[str] = []
    duel: Duel | None = None
    decision: Decision | None = None
    preemption: Preemption | None = None
    message: str = ""
    workload: PendingWorkload | None = None
    cause: Cause | None = None
    ladder: list[Rung] = []
    fixes: list[Fix] = []
    no_fixes: str = ""
    station: str = ""
    says: list[str] = []
    stations: list[Stop] = []
    new_node: NewNode | None = None
