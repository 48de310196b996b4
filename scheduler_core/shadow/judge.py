"""Checks the decisions of a real scheduler: decides each one again on the state before it, and compares.

    ordered items -> Judge.feed -> look-ahead -> ClusterMirror -> Evaluator of each candidate -> Judgement

A decision is checked once the changes shortly after it are known, because pods that were bound then may count already.
docs/live.md describes the outcomes and their bounds.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from scheduler_core.api.devices import ResourceClaim
from scheduler_core.api.objects import Condition, Node, Object, PersistentVolumeClaim, Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration, UnknownPlugins
from scheduler_core.config.loader import load
from scheduler_core.framework.batching import left_over
from scheduler_core.framework.interface import Plugin
from scheduler_core.framework.plugin_kinds import load_readers
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.ordering import UNORDERED
from scheduler_core.live.published_configurations import GKE_PACKING
from scheduler_core.live.watch_events import DELETED, NEVER, Bookmark, Gap, Item, Listed, WatchEvent
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.contrib.trimaran import load_of
from scheduler_core.releases import Release
from scheduler_core.shadow.candidates import candidates as candidates_for
from scheduler_core.shadow.candidates import reductions
from scheduler_core.shadow.displaced_pods import DisplacedPods
from scheduler_core.shadow.earlier_image_counts import EarlierImageCounts
from scheduler_core.shadow.evaluator import Evaluation, Evaluator, ReducedEvaluator
from scheduler_core.shadow.explanations import Bounds, States, volumes_of
from scheduler_core.shadow.inference import Likelihoods
from scheduler_core.shadow.judgement import (
    BATCHED,
    DIFFERS,
    EARLIER,
    EQUAL,
    GAP,
    MAX_OURS,
    MESSAGE_OUTCOMES,
    NOT_SCHEDULED,
    OTHER_CONFIGURATION,
    OUTCOMES,
    SAME,
    SAMPLED,
    TIE,
    UNEXPLAINED,
    UNKNOWN_PLUGIN,
    Judgement,
)
from scheduler_core.shadow.start_index import ListedNodes, Sampled, StartIndex

DECISION_BOUNDS = Bounds(seconds=0.5, changes=3, bindings=2)
MESSAGE_BOUNDS = Bounds(seconds=2.0, changes=12, bindings=6, burst=100)
GROUP_STATES = 40  # with which the message of a pod in a group is compared
UNDOABLE = 512
BATCH_SECONDS = 0.5  # age limit of the nodes that batching keeps
SETTLED_SAMPLES = 20  # decisions after which the start index of a decision is certain enough
ON_OTHER_STATE = 0.05  # chance of a decision that a candidate explains by another state than the last one
MAX_WAITING_SECONDS = 120.0
MAX_WAITING = 2000  # judgements that wait for the configuration or the start index
SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(slots=True)
class _Verdict:
    """The outcome of a decision by one candidate. `sampled`: its start index decides."""

    outcome: str
    ours: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    sampled: Sampled | None = None


@dataclass(slots=True)
class _Waiting:
    """A judgement that waits for the configuration or a start index. `verdicts`: candidate -> verdict; `possible`: the
    candidates by which the node is among the best on the state before the decision."""

    judgement: Judgement
    verdicts: dict[str, _Verdict] = field(default_factory=dict)
    possible: set[str] = field(default_factory=set)
    informative: int = 0


class _Candidate:
    """A candidate configuration, with what its decisions say about the start index and batching."""

    def __init__(self, name: str, evaluator: Evaluator) -> None:
        self.name = name
        self.evaluator = evaluator
        self.start_index = StartIndex()
        # scheduler name -> (signature, time, chosen node, remaining nodes with the best last)
        self.batch: dict[str, tuple[bytes, float, str, list[str]]] = {}


class Judge:
    """Checks the decisions in a stream of ordered items.

    `configuration`: that of the cluster, as a source of `config.loader.load` or loaded; None if it is not known.
    `candidates`: name -> configuration to compare with the behaviour, first that of the cluster; None for the scoring
    strategies and the published configurations. Raises InputError for a configuration that cannot be read.
    """

    def __init__(
        self,
        release: Release,
        configuration: Configuration | Mapping[str, Any] | str | bytes | None = None,
        candidates: Mapping[str, Configuration] | None = None,
        *,
        registry: Mapping[str, type[Plugin]] = PLUGINS,
    ) -> None:
        self.release = release
        self.mirror = ClusterMirror(release, undoable=UNDOABLE)
        self.unknown_plugins: list[str] = []
        given = configuration is not None
        if not isinstance(configuration, Configuration):
            configuration = self._load(configuration, registry)
        if candidates is None:
            candidates = candidates_for(configuration, release, given)
        self.given = next(iter(candidates))
        extra = () if given else (GKE_PACKING,)
        self._candidates = {
            name: _Candidate(
                name,
                Evaluator(
                    self.mirror.cluster, one, registry=registry, extra_schedulers=extra, pods=self.mirror.pods.values
                ),
            )
            for name, one in candidates.items()
        }
        reduced = reductions(candidates)
        for name, (base, plugin) in reduced.items():
            self._candidates[name] = _Candidate(name, ReducedEvaluator(self._candidates[base].evaluator, plugin))
        self.likelihoods = Likelihoods(list(self._candidates), self.given, given, reduced)
        self._ahead: deque[Item] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._assumed: dict[str, tuple[str, _Waiting]] = {}  # pod -> its node, known from other objects, and the check
        self._added: dict[str, int] = {}  # pod -> resourceVersion of its creation
        self._displaced = DisplacedPods(self.mirror)
        self._image_counts = EarlierImageCounts(self.mirror)
        self._complete = 0  # resourceVersion from which on all kinds are known
        self._state = 0  # grows with each change that matters to the scheduler
        self._known = 0  # resourceVersion up to which all changes of pods are processed
        self._lost: dict[str, int] = {}  # kind -> resourceVersion up to which changes may be missing
        self.counts: Counter[str] = Counter()
        self.message_counts: Counter[str] = Counter()

    def _load(self, source: Any, registry: Mapping[str, type[Plugin]]) -> Configuration:
        try:
            return load(source, self.release, registry)
        except UnknownPlugins as problem:
            self.unknown_plugins = sorted(plugin.name for plugin in problem.plugins)
            return load(source, self.release, registry, "leave_out")

    @property
    def configuration(self) -> str:
        """The name of the candidate by which decisions are checked now."""
        return self.likelihoods.leader

    @property
    def settled_version(self) -> int:
        """The resourceVersion up to which the judgements of all decisions have been yielded."""
        first = self._waiting[0].judgement.resource_version - 1 if self._waiting else self._known
        return min(first, self._known)

    @property
    def waits_since(self) -> float | None:
        """The time of the first item or decision that is not judged yet; None if there is none."""
        first = self._waiting[0].judgement if self._waiting else self._ahead[0] if self._ahead else None
        return first.time if first is not None else None

    # ---- items

    def feed(self, item: Item) -> Iterator[Judgement]:
        """Take the next item; yield the judgements that are certain now, in the order of the decisions."""
        if item.kind in UNORDERED:
            return
        if item.kind == "Pod":
            self._clamp_times(item.time)
        if item.kind == "Pod" or not isinstance(item, Bookmark):
            self._ahead.append(item)
        while self._ahead and self._is_due(self._ahead[0], item):
            self._process(self._ahead.popleft())
        yield from self._certain(at_end=False)

    @staticmethod
    def _is_due(first: Item, last: Item) -> bool:
        """Whether the items shortly after the first one are known. `last`: the latest item."""
        beyond = last.kind == "Pod" and last.time - first.time > DECISION_BOUNDS.seconds
        return beyond or isinstance(first, Listed | Bookmark)

    def _clamp_times(self, time: float) -> None:
        """Let no change since the last item of a pod be later than the next one.

        The watches of other kinds may lag behind: a change can arrive long after bindings that follow it.
        """
        for place in range(len(self._ahead) - 1, -1, -1):
            item = self._ahead[place]
            if item.kind == "Pod":
                return
            if item.time > time:
                self._ahead[place] = item._replace(time=time)

    def finish(self) -> Iterator[Judgement]:
        """Yield the judgements that are left, because nothing follows."""
        while self._ahead:
            self._process(self._ahead.popleft())
        yield from self._certain(at_end=True)

    def summary(self) -> dict[str, Any]:
        """Return the counts of outcomes so far, and the likelihood of each candidate configuration."""
        decisions, messages = self.counts.total(), self.message_counts.total()
        changes = self.likelihoods.changes
        known = {"unknown_plugins": self.unknown_plugins} if self.unknown_plugins else {}
        return {
            "decisions": decisions,
            "explained": decisions - self.counts[UNEXPLAINED],
            "classes": {outcome: self.counts[outcome] for outcome in OUTCOMES if self.counts[outcome]},
            "messages": messages,
            "equal": self.message_counts[EQUAL],
            "message_classes": {one: self.message_counts[one] for one in MESSAGE_OUTCOMES if self.message_counts[one]},
            "configuration": self.likelihoods.shares(),
            **({"same_choices": same} if (same := self.likelihoods.same_choices()) else {}),
            **({"configuration_changes": [change._asdict() for change in changes]} if changes else {}),
            "judged_by": self.configuration,
            "given": self.given,
            "release": self.release.name,
            **known,
        }

    def _process(self, item: Item) -> None:
        if item.kind == "Pod" and not isinstance(item, Gap):
            self._known = item.resource_version
        if isinstance(item, Listed):
            self._take_back_all()
            self._state += 1
            if item.resource_version < self.mirror.store.resource_versions.get(item.kind, 0):  # of another store
                self._complete, self._lost = 0, {}
            self.mirror.apply(item)
            self._complete = max(self._complete, item.resource_version)
            if self._lost.get(item.kind) == NEVER:
                del self._lost[item.kind]
            if item.kind == "Node":
                self._begin_orders(item)
            if item.kind in ("Node", "Pod"):
                self._image_counts.begin()
            self._place_all()
            return
        if isinstance(item, Gap):
            self._lost[item.kind] = max(self._lost.get(item.kind, 0), item.until)
        if not isinstance(item, WatchEvent):
            self.mirror.apply(item)
            return
        new, old = item.object, self.mirror.store.get(item.kind, item.key)
        if isinstance(new, Pod):
            self._process_pod(item, old if isinstance(old, Pod) else None, new)
            return
        if item.type != DELETED:
            self._look_for_nodes(item, old, new)
        self._apply(item)
        self._place_all()
        if isinstance(new, Node):
            self._image_counts.forget(new.name)
            for candidate in self._candidates.values():
                candidate.start_index.put(new.name, None if item.type == DELETED else new)

    def _apply(self, item: WatchEvent) -> None:
        change = self.mirror.apply(item)
        self._state += change is None or change.matters

    def _begin_orders(self, listed: Listed) -> None:
        """The scheduler knows the nodes in the order of a list, or of their creation if it began before them."""
        nodes = [obj for obj in listed.objects if isinstance(obj, Node)]
        created = sorted(nodes, key=lambda node: (node.metadata.creation_timestamp, _version(node)))
        for candidate in self._candidates.values():
            orders = [ListedNodes(one, self.release.stable_zone_labels) for one in (nodes, created)]
            different = orders[0].names() != orders[1].names()
            candidate.start_index.begin(orders if different else orders[:1])

    # ---- pods

    def _process_pod(self, item: WatchEvent, old: Pod | None, new: Pod) -> None:
        self.mirror.take_back(item.key)
        if old is None and item.type != DELETED:
            self._added[item.key] = item.resource_version
        if item.type == DELETED:
            self._assumed.pop(item.key, None)
            self._added.pop(item.key, None)
        elif new.spec.node_name and (old is None or not old.spec.node_name):
            self._check_binding(item, old, new)
            self._assumed.pop(item.key, None)
        elif not new.spec.node_name:
            before = _unscheduled(old) if old is not None else None
            now = _unscheduled(new)
            if now is not None and now != before:
                self._check_message(item, old, new, now)
                self._assumed.pop(item.key, None)  # a placement that failed
            elif self._expects(old, new):
                self._assume(item, item.key, new.status.nominated_node_name)
        self._apply(item)
        for one in (old, new):
            if one is not None and (item.type == DELETED or old is None or old.spec.node_name != new.spec.node_name):
                self._image_counts.forget(one.spec.node_name)
        self._place(item.key)
        self._displaced.update(item.key, "" if item.type == DELETED else new.spec.node_name)
        self._displaced.move()

    def _states(self, pod: PodInfo, time: float, bounds: Bounds) -> States:
        return States(self.mirror, pod, time, self._ahead, bounds, self._added, self._displaced.places())

    def _expects(self, old: Pod | None, new: Pod) -> bool:
        """Whether the scheduler announces the node before it binds the pod (NominatedNodeNameForExpectation).

        A nomination by preemption is to a node that the pod does not fit yet.
        """
        node, pod = new.status.nominated_node_name, self.mirror.pending.get(new.key)
        if old is None or pod is None or not node or node == old.status.nominated_node_name:
            return False
        evaluator = self._leader.evaluator
        return evaluator.responsible(pod) and evaluator.evaluate(pod).fits(self.mirror.cluster.nodes.rows.get(node, -1))

    def _look_for_nodes(self, item: WatchEvent, old: Object | None, new: Object) -> None:
        """Find the nodes of pods that are not bound yet in what the scheduler writes to other objects before."""
        if isinstance(new, PersistentVolumeClaim):
            node = new.metadata.annotations.get(SELECTED_NODE, "")
            if node and (old is None or old.metadata.annotations.get(SELECTED_NODE) != node):
                for pod in self._users(new.key):
                    self._assume(item, pod, node)
        elif isinstance(new, ResourceClaim):
            before = {ref.uid for ref in old.status.reserved_for} if isinstance(old, ResourceClaim) else set()
            for ref in new.status.reserved_for:
                if ref.uid not in before and (node := _node_of(new)):
                    key = f"{new.namespace}/{ref.name}"
                    if key in self.mirror.pending:
                        self._assume(item, key, node)

    def _users(self, claim: str) -> list[str]:
        """Return the pods without a node that use a claim."""
        namespace, _, name = claim.partition("/")
        found = []
        for key, pod in self.mirror.pending.items():
            for volume in pod.volumes:
                used = volume.persistent_volume_claim
                ephemeral = volume.ephemeral is not None and f"{pod.name}-{volume.name}" == name
                if pod.namespace == namespace and (ephemeral or (used is not None and used.claim_name == name)):
                    found.append(key)
        return found

    def _assume(self, item: WatchEvent, key: str, node: str) -> None:
        """Check the decision for a node that is visible before the binding, and count the pod there from now on."""
        if key in self._assumed or key not in self.mirror.pending or node not in self.mirror.cluster.nodes.rows:
            return
        pod = self.mirror.pending[key]
        if not self._leader.evaluator.responsible(pod):
            return
        judgement = Judgement("decision", key, item.resource_version, item.time, "", node)
        self._assumed[key] = node, self._decide(judgement, pod)
        self._state += 1
        for volume in volumes_of([pod], self._ahead):
            self.mirror.cluster.apply(volume)  # the scheduler reserves a volume when it decides

    def _place(self, key: str) -> None:
        """Count an assumed pod on its node."""
        if key in self._assumed and key in self.mirror.pending:
            self.mirror.assume(key, self._assumed[key][0])

    def _take_back_all(self) -> None:
        for key in list(self.mirror.assumed):
            self.mirror.take_back(key)

    def _place_all(self) -> None:
        for key in self._assumed.keys() - self.mirror.assumed.keys():
            self._place(key)

    # ---- decisions

    @property
    def _leader(self) -> _Candidate:
        return self._candidates[self.likelihoods.leader]

    def _is_lost(self, version: int) -> bool:
        return version <= self._complete or any(version <= until for until in self._lost.values())

    def _check_binding(self, item: WatchEvent, old: Pod | None, new: Pod) -> None:
        node = new.spec.node_name
        judgement = Judgement("decision", item.key, item.resource_version, item.time, "", node)
        pod = self.mirror.pending.get(item.key)
        known = self._assumed.get(item.key)
        if self._is_lost(item.resource_version):
            self._settle(judgement, GAP)
        elif old is None or new.placed_by or pod is None:
            self._settle(judgement, NOT_SCHEDULED, reason="the pod had its node when it was created")
        elif not self._leader.evaluator.responsible(pod):
            self._settle(judgement, NOT_SCHEDULED, reason=f"the scheduler is {new.spec.scheduler_name}")
        elif known is not None and known[0] == node:
            waiting = known[1]
            waiting.judgement.details["decided"] = waiting.judgement.resource_version
            waiting.judgement.resource_version, waiting.judgement.time = item.resource_version, item.time
            self._waiting.append(waiting)
        else:
            self._waiting.append(self._decide(judgement, pod))

    def _settle(self, judgement: Judgement, outcome: str, **details: Any) -> None:
        judgement.outcome, judgement.details = outcome, details
        self._waiting.append(_Waiting(judgement))

    def _decide(self, judgement: Judgement, pod: PodInfo) -> _Waiting:
        """Check a decision by the candidates that are plausible, on the present state."""
        waiting = _Waiting(judgement)
        leader = self.likelihoods.leader
        judged, compared = self.likelihoods.plausible(), self.likelihoods.compared(len(self.mirror.cluster.nodes))
        for name in sorted(judged):
            candidate = self._candidates[name]
            waiting.verdicts[name] = self._verdict(candidate, judgement, pod, candidate.evaluator.evaluate(pod))
        likely = waiting.verdicts[self.likelihoods.most_likely()]
        if likely.outcome == UNEXPLAINED:
            self._displaced.add(pod.key, judgement.node, likely.ours)
        if compared or waiting.verdicts[leader].outcome in (UNEXPLAINED, SAMPLED):
            before = self.likelihoods.most_likely()
            self._compare(waiting, pod)
            if self.likelihoods.most_likely() != before:
                self._displaced.clear()
        waiting.informative = self.likelihoods.informative
        return waiting

    def _compare(self, waiting: _Waiting, pod: PodInfo) -> None:
        """Compare a decision by all candidates, on the present state alone."""
        chances: dict[str, float] = {}
        choices: dict[str, bytes] = {}
        self.mirror.cluster.nodes.refresh()  # other states may have had other nodes
        row, nodes = self.mirror.cluster.nodes.rows.get(waiting.judgement.node, -1), 1
        evaluations: dict[Evaluator, Evaluation] = {}
        for name, candidate in self._candidates.items():
            evaluator = candidate.evaluator
            base = evaluator.base if isinstance(evaluator, ReducedEvaluator) else evaluator
            if base not in evaluations:
                evaluations[base] = base.evaluate(pod)
            evaluation = evaluations[base]
            if isinstance(evaluator, ReducedEvaluator):
                evaluation = evaluation.without(evaluator.plugin)
            best = evaluation.best()
            possible = bool((best == row).any())
            chances[name] = self._chance(evaluation, row, len(best) if possible else 0, waiting.verdicts.get(name))
            choices[name] = best.tobytes()
            nodes = max(len(evaluation.rows), nodes)
            if possible:
                waiting.possible.add(name)
        judgement = waiting.judgement
        self.likelihoods.add(chances, nodes, choices, judgement.resource_version, judgement.time)

    @staticmethod
    def _chance(evaluation: Evaluation, row: int, best: int, verdict: _Verdict | None) -> float:
        """Return the chance that a candidate chooses the node. `best`: the number of its best nodes, 0 if the node is
        not one of them."""
        if best:
            return 1 / best
        if verdict is not None and verdict.outcome not in (UNEXPLAINED, UNKNOWN_PLUGIN):
            total = evaluation.total(evaluation.rows) if evaluation.wanted else None
            if total is None:
                return ON_OTHER_STATE
            # The best node of a part of the nodes has equals in it as often as it has among all nodes.
            return 1 / max(int((total == total[evaluation.rows == row]).sum()), 1)
        if verdict is None and evaluation.wanted:  # its part of the nodes is not known
            return 0.5 / len(evaluation.rows)
        return 0.0

    def _verdict(self, candidate: _Candidate, judgement: Judgement, pod: PodInfo, evaluation: Evaluation) -> _Verdict:
        """Return the first outcome that agrees with the decision; advance the start index."""
        row = self.mirror.cluster.nodes.rows.get(judgement.node, -1)
        ours = evaluation.names(evaluation.best()[:MAX_OURS])
        verdict = self._agreement(candidate, evaluation, row)
        used = evaluation
        if verdict is None and (after := self._batched(candidate, judgement, pod, evaluation)):
            return _Verdict(BATCHED, ours, {"after": after})
        if verdict is None:
            states = self._states(pod, judgement.time, DECISION_BOUNDS)
            for state in chain(states, self._image_counts.states(judgement.node)):
                with state.enter() as changed:
                    other = candidate.evaluator.evaluate(changed or pod)
                    row_there = self.mirror.cluster.nodes.rows.get(judgement.node, -1)
                    found = self._agreement(candidate, other, row_there)
                    if found is not None:
                        names = other.names(other.best()[:MAX_OURS])
                        verdict = _Verdict(state.outcome, names, state.details, found.sampled)
                        self._remember(candidate, judgement, pod, other)
                if verdict is not None:
                    if candidate.name == self.likelihoods.most_likely():
                        self._displaced.settle(state.details)
                    return verdict
            self.mirror.cluster.nodes.refresh()  # the other states may have had other nodes
        if verdict is None:
            verdict = self._disagreement(candidate, evaluation, row)
        verdict.ours = ours
        self._remember(candidate, judgement, pod, used)
        return verdict

    def _agreement(self, candidate: _Candidate, evaluation: Evaluation, row: int) -> _Verdict | None:
        """Return the outcome if an evaluation agrees with a decision, and advance the start index; None if not."""
        if not evaluation.fits(row):
            return None
        best = evaluation.best()
        among = bool((best == row).any())
        outcome = (SAME if len(best) == 1 else TIE) if among else SAMPLED
        if not evaluation.wanted:
            if among:
                candidate.start_index.skip(evaluation)
            return _Verdict(outcome) if among else None
        if not candidate.start_index.agrees(evaluation, row):
            return None
        return _Verdict(outcome, sampled=candidate.start_index.decide(evaluation, row))

    def _disagreement(self, candidate: _Candidate, evaluation: Evaluation, row: int) -> _Verdict:
        """Return that a decision is not explained, unless the start index later turns out to be another one."""
        outcome = UNKNOWN_PLUGIN if self._unknown else UNEXPLAINED
        verdict = _Verdict(outcome, details=self._difference(evaluation, row))
        if self._unknown:
            verdict.details["plugins"] = self._unknown
        if not evaluation.wanted:
            candidate.start_index.skip(evaluation)
        elif evaluation.fits(row):
            verdict.sampled = candidate.start_index.decide(evaluation, row)
        return verdict

    @property
    def _unknown(self) -> list[str]:
        """What the configuration has that is not known here, or reads a load that is not, and may decide otherwise."""
        configuration = self._leader.evaluator.configuration
        extenders = [f"extender {one.url_prefix}" for one in configuration.extenders]
        unmeasured = [] if load_of(self.mirror.cluster).data.nodes else load_readers(configuration.profiles)
        return [*self.unknown_plugins, *unmeasured, *extenders]

    def _difference(self, evaluation: Evaluation, row: int) -> dict[str, Any]:
        """Return why the node is not the best one."""
        if row < 0:
            return {"node": "is not known"}
        if not evaluation.fits(row):
            status = evaluation.trace.prefilter or evaluation.trace.status_at(row)
            reasons = list(status.reasons) if status is not None else [evaluation.trace.error or "not evaluated"]
            return {"rejected_by": status.plugin if status is not None else "", "reasons": reasons}
        total = evaluation.total(evaluation.rows)
        if total is None:
            return {}
        place = int((evaluation.rows == row).argmax())
        return {"score": int(total[place]), "best_score": int(total.max()), "feasible": len(evaluation.rows)}

    # ---- batching

    def _batched(self, candidate: _Candidate, judgement: Judgement, pod: PodInfo, evaluation: Evaluation) -> str:
        """Return the node that the pod before got, if the decision takes the next best node of its list; else ""."""
        known = candidate.batch.get(pod.pod.spec.scheduler_name)
        if known is None or not self.release.opportunistic_batching:
            return ""
        signature, time, chosen, left = known
        rows = self.mirror.cluster.nodes.rows
        if (
            not left
            or judgement.time - time > BATCH_SECONDS
            or judgement.node != left[-1]
            or signature != evaluation.framework.batching.sign(pod)
            or evaluation.fits(rows.get(chosen, -1))
            or not evaluation.fits(rows.get(judgement.node, -1))
        ):
            return ""
        candidate.batch[pod.pod.spec.scheduler_name] = signature, time, judgement.node, left[:-1]
        return chosen

    def _remember(self, candidate: _Candidate, judgement: Judgement, pod: PodInfo, evaluation: Evaluation) -> None:
        """Keep the other feasible nodes for the next pod."""
        if not self.release.opportunistic_batching:
            return
        name, nodes = pod.pod.spec.scheduler_name, self.mirror.cluster.nodes
        known = candidate.batch.get(name)
        if known is not None and known[3] and known[3][-1] == judgement.node:
            signature = evaluation.framework.batching.sign(pod)
            if signature == known[0] and not evaluation.fits(nodes.rows.get(known[2], -1)):
                candidate.batch[name] = *known[:2], judgement.node, known[3][:-1]
                return
        candidate.batch.pop(name, None)
        row, total = nodes.rows.get(judgement.node, -1), evaluation.total(evaluation.rows)
        signed = evaluation.framework.batching.sign(pod) if total is not None else None
        if signed is not None and total is not None and evaluation.fits(row):
            candidate.batch[name] = (
                signed,
                judgement.time,
                judgement.node,
                left_over(evaluation.rows, total, row, nodes.name_rank(), nodes.names),
            )

    # ---- messages

    def _check_message(self, item: WatchEvent, old: Pod | None, new: Pod, condition: Condition) -> None:
        judgement = Judgement("message", item.key, item.resource_version, item.time, "", message=condition.message)
        pod = self.mirror.pending.get(item.key)
        if old is None or pod is None or condition.reason == "SchedulingGated":
            return  # the API server writes these
        candidate = self._leader
        if not candidate.evaluator.responsible(pod):
            return
        if self._is_lost(item.resource_version):
            self._settle(judgement, GAP)
            return
        trace = candidate.evaluator.message(pod, condition.message, self._state)
        judgement.outcome, ours = EQUAL, trace.message
        for one in self._candidates.values():
            one.start_index.advance(trace)
        if trace.message != condition.message:
            judgement.outcome = DIFFERS
            states = self._states(pod, item.time, MESSAGE_BOUNDS)
            # a cycle of a group is as long as those of its members together
            for state in islice(states, GROUP_STATES if pod.group else None):
                with state.enter() as changed:
                    if candidate.evaluator.message(changed or pod, condition.message).message == condition.message:
                        judgement.outcome, ours = EARLIER, condition.message
                        judgement.details = {"state": state.outcome, **state.details}
                if judgement.outcome == EARLIER:
                    self._displaced.settle(state.details)
                    break
            if judgement.outcome == DIFFERS and states.beyond:
                judgement.outcome, judgement.details = GAP, {"reason": "too many changes at once to try all states"}
        judgement.ours = [ours]
        nominated = new.status.nominated_node_name
        if nominated and nominated != old.status.nominated_node_name:
            judgement.details["nominated"] = nominated
        self._waiting.append(_Waiting(judgement))

    # ---- certain judgements

    def _certain(self, at_end: bool) -> Iterator[Judgement]:
        while self._waiting and (at_end or len(self._waiting) > MAX_WAITING or self._is_certain(self._waiting[0])):
            waiting = self._waiting.popleft()
            if not waiting.judgement.outcome:
                self._finish(waiting)
            judgement = waiting.judgement
            (self.counts if judgement.kind == "decision" else self.message_counts)[judgement.outcome] += 1
            yield judgement

    def _is_certain(self, waiting: _Waiting) -> bool:
        if waiting.judgement.outcome:
            return True
        if self.mirror.time - waiting.judgement.time > MAX_WAITING_SECONDS:
            return True
        if not self.likelihoods.clear:
            return False
        leader = self.likelihoods.leader
        verdict = waiting.verdicts.get(leader)
        if verdict is not None and verdict.sampled is not None:
            passed = self._candidates[leader].start_index.number - verdict.sampled.number
            return passed >= SETTLED_SAMPLES
        if verdict is not None and verdict.outcome == UNEXPLAINED and waiting.possible - {leader}:
            return self.likelihoods.informative - waiting.informative >= SETTLED_SAMPLES
        return True

    def _finish(self, waiting: _Waiting) -> None:
        """Set the outcome by the configuration that is most likely now, or was before it changed."""
        judgement, latest = waiting.judgement, self.likelihoods.leader
        leader = self.likelihoods.at(judgement.resource_version)
        verdict = waiting.verdicts.get(leader)
        unexplained = verdict is None or (verdict.outcome == UNEXPLAINED and verdict.sampled is None)
        if unexplained and latest in waiting.possible and latest not in waiting.verdicts:
            leader, verdict = latest, None
        judgement.configuration = leader
        if verdict is None:  # it was not plausible when the decision was checked
            judgement.outcome = OTHER_CONFIGURATION if leader in waiting.possible else UNEXPLAINED
            return
        judgement.outcome, judgement.ours = verdict.outcome, verdict.ours
        judgement.details = {**verdict.details, **judgement.details}
        if verdict.sampled is not None:
            start_index = self._candidates[leader].start_index
            explained = start_index.explains(verdict.sampled)
            if not explained:
                judgement.outcome = UNKNOWN_PLUGIN if self._unknown else UNEXPLAINED
            elif verdict.outcome in (UNEXPLAINED, UNKNOWN_PLUGIN):
                judgement.outcome = SAMPLED
            if verdict.sampled.lost:
                judgement.details["start_index"] = "not followed"


def _unscheduled(pod: Pod) -> Condition | None:
    """Return the condition that says why the pod has no node."""
    return next((c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"), None)


def _version(node: Node) -> int:
    text = node.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _node_of(claim: ResourceClaim) -> str:
    """Return the only node that can use the allocated devices of a claim; "" if there are more."""
    allocation = claim.status.allocation
    selector = allocation.node_selector if allocation is not None else None
    return selector.named_node if selector is not None else ""
