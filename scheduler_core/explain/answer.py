"""What an explanation consists of: plain structs, ready for JSON (`msgspec.to_builtins`, `msgspec.json.encode`)."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, omit_defaults=True):
    """What all parts of an answer share."""


class Shortfall(Part):
    """A resource that a node lacks. Amounts in the scheduler's units (millicores of cpu, else whole units).

    `resource` is `pods` where the node is full. `text` is `short` for a person, such as `250m` or `1.5Gi`.
    """

    resource: str
    request: int
    free: int
    allocatable: int
    short: int
    text: str


class Objection(Part):
    """Why one plugin refuses one node. `detail`: what exactly is in the way, "" where the cluster's state does not
    tell."""

    plugin: str
    code: str
    reasons: list[str]
    detail: str = ""
    shortfalls: list[Shortfall] = []


class NodeObjections(Part):
    """A node that refuses the pod: the objection that decided first, then those that would come next."""

    node: str
    objections: list[Objection]


class Group(Part):
    """Nodes that the same plugin refused for the same reasons; plugin "" stands for nodes that PreFilter left out.

    `words`: a plural verb first, `lack cpu`. `closest`: the node that lacks least, `n4, short by 250m cpu`.
    """

    plugin: str
    reasons: list[str]
    words: str
    count: int
    nodes: list[str]
    closest: str = ""


class Blocker(Part):
    """How much one Filter plugin stands in the way: on how many nodes it objects, and where it is the only one."""

    plugin: str
    objects: int
    alone: int
    alone_nodes: list[str] = []


class Points(Part):
    """What one Score plugin gave one node. `weighted` is `normalized` x `weight`."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int


class Ranked(Part):
    """A feasible node with its total."""

    node: str
    total: int
    points: list[Points]


class Difference(Part):
    """The weighted points of the winner and of another node, by plugin. `difference` > 0 speaks for the winner."""

    plugin: str
    winner: int
    other: int
    difference: int


class Duel(Part):
    """The winner against another node, the plugins that made the difference first."""

    winner: str
    other: str
    margin: int
    differences: list[Difference]


class Candidate(Part):
    """A node where evicting the victims (most important first) would make room."""

    node: str
    victims: list[str]
    pdb_violations: int = 0


class Preemption(Part):
    """What PostFilter found. `rule`: what decided among the candidates; `refused`: reason -> number of nodes."""

    words: str
    nominated_node: str = ""
    victims: list[str] = []
    rule: str = ""
    candidates: list[Candidate] = []
    refused: dict[str, int] = {}
    equals: list[str] = []


class Answer(Part):
    """Why a pod landed where it did, or nowhere.

    `sentence`: the answer in one sentence. `groups`: decisive reasons, most nodes first. `closest`: the nodes that miss
    least, each with all that speaks against it. `top`: the best nodes with their points; `duel`: the winner against the
    runner-up. `changes`: what would let the pod in, the least first: each was
    tried (debugger/remedies), by whoever asked for it. `message`: of the FailedScheduling event.
    """

    pod: str
    result: str
    sentence: str
    profile: str = ""
    node: str = ""
    nodes: int = 0
    looked: int = 0
    feasible: int = 0
    groups: list[Group] = []
    closest: list[NodeObjections] = []
    blockers: list[Blocker] = []
    top: list[Ranked] = []
    ties: list[str] = []
    duel: Duel | None = None
    preemption: Preemption | None = None
    changes: list[str] = []
    message: str = ""
