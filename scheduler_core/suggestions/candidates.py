"""What a fix needs before its simulation: the situation of a workload, and candidates that edit it or add nodes."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from scheduler_core.api.objects import Node
from scheduler_core.api.patches import difference, merge_patch
from scheduler_core.cluster import formatting
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import amounts
from scheduler_core.cluster.system_taints import NEVER
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer, Cause, Target
from scheduler_core.forks import add_node
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.template_patch import MERGE_KEYS, Raw, TemplateEdit, of_template, patch_of
from scheduler_core.metrics.groups import POOLS
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions import commands
from scheduler_core.suggestions.node_context import NodeContext, of_nodes
from scheduler_core.suggestions.owner import PATCHED, ROLLS_OUT, owner_of
from scheduler_core.suggestions.placing import Placing, fewest
from scheduler_core.suggestions.what_if import WhatIf

CYCLES_TIMES_NODES = 600_000
AS_NODES = 250  # fixed cost of a cycle, in nodes
LEAST_CYCLES = 120
PARTS = 6  # share of the cycles for one simulation of all pods
NEAR = 6  # nodes at which steps are looked for
SHAPES = 3  # kinds of nodes that are tried
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
MUTABLE = {"tolerations", "schedulingGates"}
"""Fields of a pod's spec that edits can change in place: tolerations are added, gates removed.

Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate).
"""
_OF_CRON_JOB = re.compile(r"(.+)-\d{8,}")


@dataclass
class FixCandidate:
    """A fix before its simulation. `always`: offered although it places no pod, because it says what is missing.

    `shows`: the command changes nothing; `changes` are what has to happen. `placed`: nodes, if they are known already.
    """

    kind: str
    target: Target | None
    text: str
    command: str
    changes: list[Change]
    patch: Any = None
    remark: str = ""
    always: bool = False
    shows: bool = False
    placed: list[str] | None = None


Candidates = Iterator[FixCandidate | None]


def shown(
    kind: str, target: Target, text: str, note: str = "", changes: Sequence[Change] = (), command: str = ""
) -> FixCandidate:
    """Return the candidate that says what is missing; its command only shows the object, by default the target."""
    command = command or commands.describe(target)
    return FixCandidate(kind, target, text, command, [*changes], None, note, always=True, shows=True)


class Situation:
    """A workload with pending pods that are alike, in a cluster at rest, and the cause of its answer."""

    def __init__(self, simulation: Simulation, answer: Answer, pods: Sequence[PodInfo], attempt: int = 1) -> None:
        self.simulation = simulation
        self.cluster: Cluster = simulation.cluster
        self.cause = answer.cause or Cause("")
        self.ladder = answer.ladder
        nodes = len(self.cluster.nodes) + AS_NODES
        self.placing = Placing(simulation, max(CYCLES_TIMES_NODES // nodes, LEAST_CYCLES))
        self.pods = list(pods)
        self.tried = self.pods[: max(self.placing.cycles // PARTS, 1)]
        self.pod, self.names = self.pods[0], sorted(pod.name for pod in self.pods)
        self.what_if = WhatIf(simulation, self.pod.key, attempt)
        self.document: Raw = self.what_if.document
        self.owner = owner_of(self.cluster, self.pod)

    @cached_property
    def trace(self) -> CycleTrace:
        """A dry cycle of the first pod."""
        return self.what_if.run(())

    @cached_property
    def near(self) -> list[NodeContext]:
        """The nodes of the cause, or else those of the ladder, the nearest first."""
        names = self.cause.nodes or [name for rung in self.ladder for name in rung.nodes]
        rows = self.cluster.nodes.rows
        return [self.at(rows[name]) for name in names if name in rows][:NEAR]

    def at(self, row: int) -> NodeContext:
        return NodeContext(self.what_if, self.trace, row)

    @cached_property
    def running(self) -> list[PodInfo]:
        """The pods of the workload that have a node."""
        name, namespace = self.owner.name, self.pod.namespace
        mine = (pod for pod in self.cluster.pods.values() if pod.namespace == namespace)
        named = (pod for pod in mine if any(o.name.startswith(name) for o in pod.pod.metadata.owner_references))
        return [pod for pod in named if owner_of(self.cluster, pod) == self.owner]

    def placed(self, changes: Sequence[Change]) -> list[str]:
        """Return the nodes of the pods that are placed with the changes; [] if they cannot be applied."""
        try:
            return self.placing.place(changes, self.tried)
        except InputError:
            return []

    def would(self, changes: Sequence[Change]) -> str:
        """Return how many pods the changes would place, as the end of a sentence."""
        return f"{len(self.placed(changes)):,} of {formatting.count(len(self.pods), 'pod')} would run there"

    # ---- an edit of the workload

    def edited(self, edit: TemplateEdit | None, note: str = "") -> FixCandidate | None:
        """Return the candidate that edits the pods' template; None if the edit changes nothing or cannot be sent."""
        if edit is None:
            return None
        new = copy.deepcopy(self.document)
        try:
            edit.edit(new)
        except (LookupError, TypeError):
            return None
        keys, how = MERGE_KEYS, "strategic"
        try:
            patch = difference(self.document, new, keys)
        except LookupError:
            keys, how = {}, "merge"
            patch = difference(self.document, new)
            if set(patch) != {"spec"} or set(patch["spec"]) != {"topologySpreadConstraints"}:
                return None
        if not patch:
            return None
        changes, spec = [], patch.get("spec") or {}
        away = self.running if "podAntiAffinity" in (spec.get("affinity") or {}) else []
        smaller = bool({"containers", "initContainers", "resources"} & spec.keys())
        replaced = self.running if smaller and self._restarts else []
        for pod in (*self.pods, *(away or replaced)):
            document = msgspec.to_builtins(pod.pod)
            changed = difference(document, merge_patch(document, patch, keys))
            if changed:
                changes.append(patch_of("Pod", pod.namespace, pod.name, changed))
        command, sent, remarks = self._command(patch, how, changes)
        remarks = [*([note] if note else []), *remarks]
        if away:
            remarks.append("its running pods keep pending ones away until they are replaced as well")
        return FixCandidate(edit.kind, self.owner, edit.text, command, changes, sent, "; ".join(remarks))

    def _command(self, patch: Raw, how: str, changes: list[Change]) -> tuple[str, Raw, list[str]]:
        """Return (command, the patch that it sends, remarks) for a patch of the pods."""
        owner, pods = self.owner, self.names
        template = {"spec": {"template": of_template(self.pod, patch, owner.kind == "DaemonSet")}}
        if owner.kind in PATCHED:
            return commands.patch(owner, template, how), template, self._rollout()
        if owner.kind == "Job":
            lost = "the Job is deleted and starts again, because its template cannot change"
            if self.running:
                lost += f"; the work of its {formatting.count(len(self.running), 'running pod')} is lost"
            cron = _OF_CRON_JOB.fullmatch(owner.name)
            after = [f"change CronJob {cron[1]} as well, for its next Jobs"] if cron else []
            return commands.replaced(owner, template, how), template, [lost, *after]
        pod = Target("Pod", self.pod.namespace, self.pod.name)
        first = changes[0].patch
        if first is not None and (first.patch.get("spec") or {}).keys() <= MUTABLE:
            return commands.patch(pod, patch, how, pods), patch, []
        if owner.kind == "Pod":
            what = "the pod is" if len(pods) == 1 else "the pods are"
            lost = f"{what} deleted and created again, because these fields of a pod cannot change"
            return commands.replaced(pod, patch, how, pods), patch, [lost]
        return "", patch, [f"edit the pod template in {owner.kind} {owner.name}"]

    @property
    def _restarts(self) -> bool:
        """Whether running pods are replaced after a change of the template."""
        return self.owner.kind not in ("ReplicaSet", "ReplicationController")

    def _rollout(self) -> list[str]:
        owner, found = self.owner, []
        if owner.kind not in ROLLS_OUT:
            command = commands.delete_pods(self.pod.namespace, self.names)
            found.append(f"the {owner.kind} does not replace its pending pods; delete them afterwards: {command}")
        if self.running and self._restarts:
            running = formatting.count(len(self.running), "running pod")
            found.append(f"{running} of the {owner.kind} restart with the change")
        return found

    # ---- nodes

    def added(self, kind: str, likes: Iterable[Node], text: str = "add {nodes}", note: str = "") -> FixCandidate | None:
        """Return the candidate that adds the fewest nodes like one of the given that place the most pods.

        `text`: with `{nodes}`, such as `2 nodes with pool=big in eu-1c`. None if no such node helps.
        """
        entries = self.cluster.nodes.entries

        def changes(like: Node, number: int) -> list[Change]:
            return [Change(create=add_node.another(entries, like, i)) for i in range(1, number + 1)]

        shapes: set[object] = set()
        for like in likes:
            shape = add_node.shape(like)
            if shape in shapes:
                continue
            if len(shapes) == SHAPES:
                break
            shapes.add(shape)

            def place(number: int, like: Node = like) -> list[str]:
                return self.placed(changes(like, number))

            number, placed = fewest(place, len(self.tried))
            if number:
                nodes = f"{formatting.count(number)} {self.described(like)}"
                made = changes(like, number)
                return FixCandidate(kind, None, text.format(nodes=nodes), "", made, None, note, placed=placed)
        return None

    def likes(self) -> Iterator[Node]:
        """Yield nodes to add another of: those of the cause first, then each kind of ready node that is large
        enough, the smallest first."""
        if self.cause.nodes:
            yield from (context.node for context in self.near if context.node.ready)
        table, wanted = self.cluster.nodes, self.pod.requests
        known = of_nodes(self.cluster, "kinds", add_node.kinds)
        kinds = [like for like in known if not any(taint.key in NEVER for taint in like.spec.taints)]
        rows = [table.rows[like.name] for like in kinds]
        columns = {name: table.allocatable[name][rows] for name in wanted if name in table.allocatable}
        sizes = []
        for i, like in enumerate(kinds):
            if all(name in columns and columns[name][i] >= amount for name, amount in wanted.items() if amount):
                size = int(table.allocatable["cpu"][rows[i]]) if "cpu" in table.allocatable else 0
                sizes.append((len(like.spec.taints), size, like.name, like))
        yield from (like for *_, like in sorted(sizes, key=lambda entry: entry[:3]))

    def described(self, node: Node) -> str:
        """Return a node group by its labels: `with pool=big in eu-1c (32 cpu, 128Gi memory)`."""
        labels = node.metadata.labels
        pool = next((f"with {key}={labels[key]}" for key in POOLS if key in labels), "")
        mine = [f"{k}={labels[k]}" for k in self.pod.pod.spec.node_selector or {} if k in labels]
        pool = pool if not mine or any(part in pool for part in mine) else f"with {formatting.listing(mine)}"
        zone = next((f"in {labels[key]}" for key in ZONES if key in labels), "")
        has, sizes = amounts(node.status.allocatable), []
        for name in dict.fromkeys(("cpu", "memory", *self.pod.requests)):
            if has.get(name) and name not in ("pods", "ephemeral-storage"):
                sizes.append(f"{formatting.amount(name, has[name])} {name}")
        return " ".join(part for part in (pool, zone, f"({', '.join(sizes)})" if sizes else "") if part)
