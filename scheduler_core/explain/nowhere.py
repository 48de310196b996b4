"""Explains in two sentences why a pod has no node: the nearest nodes first, then the others by number."""

from collections import Counter
from collections.abc import Sequence

from scheduler_core.api.objects import Node, Requirement
from scheduler_core.api.selector_text import NODE_NAME, meets, requirement
from scheduler_core.cluster import formatting, resources
from scheduler_core.cluster.formatting import agree, count, listing, some
from scheduler_core.cluster.node_labels import GIVEN_LABELS, TOPOLOGY_LABELS
from scheduler_core.cluster.spelling import alike
from scheduler_core.cluster.system_taints import NOT_READY
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Cause
from scheduler_core.explain.failure_details import objection, short_by, shortfall
from scheduler_core.explain.ladder import AMOUNTS, NodeClass
from scheduler_core.framework import causes
from scheduler_core.framework.causes import NEVER, TYPING_ERROR, Obstacle
from scheduler_core.framework.interface import Plugin
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.inter_pod_affinity import ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, InterPodAffinity
from scheduler_core.plugins.node_affinity import lacked
from scheduler_core.plugins.node_resources_fit import PODS

NAMED = 3  # nodes named in a sentence
REASONS = 3  # of the other nodes
HOSTNAME = "kubernetes.io/hostname"
_PINS = {
    causes.VOLUME_ZONE: "where its volume {} is",
    causes.NODE_SELECTOR: "because of its node selector",
    causes.TOPOLOGY_SPREAD: "because of its topology spread",
    causes.POD_AFFINITY: "because of its pod affinity",
    causes.POD_ANTI_AFFINITY: "because of its anti-affinity",
}
DETAILED = (
    *(causes.VOLUME_ZONE, causes.TOPOLOGY_SPREAD, causes.POD_AFFINITY, causes.POD_ANTI_AFFINITY, causes.HOST_PORT),
    *(causes.VOLUME_LIMIT, causes.DRIVER_MISSING, causes.VOLUME_CONFLICT),
)


class Nowhere:
    """Why a pod has no node. `classes`: of the ladder, the nearest first. `context`: None if the cluster is unknown;
    `promised`: the same, with nominated pods counted."""

    def __init__(
        self,
        trace: CycleTrace,
        classes: Sequence[NodeClass],
        context: RejectionContext | None,
        promised: RejectionContext | None,
    ) -> None:
        self.trace = trace
        self.classes = classes
        self.context = context
        self.promised = promised
        first = classes[0] if classes and not classes[0].is_never else None
        self.near = [one for one in classes if first is not None and one.key == first.key and not one.is_never]
        self.names = [name for one in self.near for name in one.names]

    # ---- cause

    def cause(self) -> Cause:
        """Return what keeps the pod from the nearest nodes."""
        whole = self.of_pod()
        if whole is not None:
            return Cause(whole.kind, whole.plugin, [], list(whole.objects))
        if self.trace.error and self.trace.nodes:
            return Cause(causes.ERROR)
        if not self.classes:
            return Cause(causes.NO_NODES)
        pinned = self.domain()
        if pinned is not None:
            return Cause(causes.DOMAIN_FULL, pinned.plugin, self.names, self._values(pinned.domain))
        found = self.obstacle()
        return Cause(found.kind, found.plugin, self.names, list(found.objects)) if found else Cause(causes.WAITS)

    def of_pod(self) -> Obstacle | None:
        """Return why a plugin rejects the whole pod; None if none does."""
        status = self.trace.preenqueue or self.trace.prefilter
        if status is None:
            return None
        cls = PLUGINS.get(successor(status.plugin), Plugin)
        found = cls.pod_obstacle(self.context, status)
        return Obstacle(found.kind, found.effort, found.phrase, found.objects, "", status.plugin)

    def obstacle(self) -> Obstacle | None:
        """Return the obstacle of the nearest nodes that takes the most effort; without near nodes, the one that most
        nodes will never overcome."""
        if self.near:
            return self.near[0].main
        fewest = min((_never(one) for one in self.classes), default=0)
        counts: Counter[str] = Counter()
        first: dict[str, Obstacle] = {}
        for one in self.classes:
            for obstacle in one.obstacles if _never(one) == fewest else ():
                if obstacle.effort == NEVER:
                    counts[obstacle.kind] += len(one.names)
                    first.setdefault(obstacle.kind, obstacle)
        order = {causes.REQUEST_EXCEEDS_NODES: -1, causes.UNTOLERATED_TAINT: 1}
        kind = min(counts, key=lambda kind: (order.get(kind, 0), -counts[kind]), default=None)
        return first[kind] if kind is not None else None

    def domain(self) -> Obstacle | None:
        """Return the constraint or volume that limits the pod to full domains; None if none does."""
        if self.context is None or not self.near or any(o.kind not in AMOUNTS for o in self.near[0].obstacles):
            return None
        for one in self.classes:
            pins = [o for o in one.obstacles if o.kind in _PINS and o.domain]
            alone = pins and len(pins) == len(one.obstacles)
            if alone and (pins[0].domain != HOSTNAME or pins[0].kind == causes.VOLUME_ZONE):
                return pins[0] if self._values(pins[0].domain) else None
        return None

    def _values(self, label: str) -> list[str]:
        """Return the values of a label on the nearest nodes."""
        labels = (node.metadata.labels.get(label) for node in self._nodes(self.names))
        return sorted({value for value in labels if value is not None})

    def _nodes(self, names: Sequence[str]) -> list[Node]:
        if self.context is None:
            return []
        rows = (self.context.row(name) for name in names)
        return [self.context.nodes.nodes[row] for row in rows if row is not None]

    # ---- sentences

    def sentence(self, others: bool = True) -> str:
        """Return the answer: what the nearest nodes lack, then the `others` by number."""
        whole = self.of_pod()
        if whole is not None:
            return whole.phrase
        if not self.classes:
            return "There are no nodes."
        found = self.obstacle()
        if found is None:
            return "A node takes the pod now."
        return f"{self._first(found)} {self._others(found) if others else ''}".rstrip()

    def _first(self, found: Obstacle) -> str:
        pinned = self.domain()
        if pinned is not None:
            return self._domain_full(pinned)
        if not self.near:
            return f"{self._never(found)} {self._besides(found)}".rstrip()
        others = [one for one in self.near[0].obstacles if one is not found]
        if found.effort == TYPING_ERROR and others:
            also = listing([agree(len(self.names), one.phrase) for one in others])
            they = "it" if len(self.names) == 1 else "they"
            return f"{self._not_selected(found).removesuffix('.')}, but {they} {also}."
        if others and any(one.kind != found.kind for one in others):
            return self._several()
        match found.kind:
            case causes.UNTOLERATED_TAINT:
                return self._tainted()
            case causes.NODE_SELECTOR:
                return self._not_selected(found)
            case causes.INSUFFICIENT_RESOURCE:
                return self._short(found)
            case causes.PODS_LIMIT:
                return self._no_slots()
            case causes.POD_ANTI_AFFINITY if text := self._one_per_domain(found):
                return text
            case causes.POD_AFFINITY if text := self._no_match(found):
                return text
        return f"{self._subject()} could take the pod, but {agree(len(self.names), found.phrase)}{self._detail(found)}."

    def _subject(self, names: Sequence[str] = ()) -> str:
        """Return these or the nearest nodes as the beginning of a sentence."""
        text = self._named(names or self.names)
        return f"The{text[3:]}" if text.startswith("the ") else text

    def _named(self, names: Sequence[str]) -> str:
        """Return `gpu-0 and gpu-1`, `the 4 nodes with pool=big`, `7 nodes (n1, n2, n3 and 4 more)`."""
        if len(names) < NAMED:
            return listing(names)
        selected = self._selected(names)
        if selected:
            return f"the {len(names):,} nodes with {selected}"
        return listing(names) if len(names) <= NAMED else f"{count(len(names))} ({some(names, NAMED)})"

    def _selected(self, names: Sequence[str]) -> str:
        """Return the labels by which the pod selects exactly these nodes, such as `pool=big`; "" if there are none."""
        if self.context is None:
            return ""
        wanted = self.context.pod.pod.spec.node_selector or {}
        pairs = {key: value for key, value in wanted.items() if key not in GIVEN_LABELS}
        if not pairs or not all(_has(node, pairs) for node in self._nodes(names)):
            return ""
        every = sum(_has(node, pairs) for node in self.context.nodes.nodes)
        return listing([f"{key}={value}" for key, value in pairs.items()]) if every == len(names) else ""

    def _detail(self, found: Obstacle) -> str:
        """Return the exact cause at the nearest node, in brackets."""
        if found.kind == causes.NODE_NOT_READY:
            return self._since()
        unlabelled = found.kind == causes.TOPOLOGY_SPREAD and not found.domain  # the phrase has the label
        if self.context is None or found.kind not in DETAILED or unlabelled:
            return ""
        verdict = self.trace.verdicts.get(found.plugin)
        status = verdict.at(list(self.context.names).index(self.names[0])) if verdict is not None else None
        if status is None:
            return ""
        detail = objection(self.context, self.names[0], status.by(found.plugin)).detail
        return f" ({f'{self.names[0]}: ' if len(self.names) > 1 else ''}{detail})" if detail else ""

    def _since(self) -> str:
        """Return when the nearest node's condition began, by its taint."""
        taints = (taint for node in self._nodes(self.names[:1]) for taint in node.spec.taints)
        times = [taint.time_added for taint in taints if taint.key in NOT_READY and taint.time_added]
        return f" since {times[0]}" if times else ""

    def _tainted(self) -> str:
        taints = list(dict.fromkeys(name for o in self.near[0].obstacles for name in o.objects))
        their = "its" if len(self.names) == 1 else "their"
        what = f"the pod does not tolerate {their} taint{'s' if len(taints) > 1 else ''} {listing(taints)}"
        if self.context is not None:
            keys = {taint.partition(":")[0].partition("=")[0] for taint in taints}
            others = [t for t in self.context.pod.pod.spec.tolerations if t.key in keys and t.value]
            if others:
                what += f" (it tolerates {listing([f'{t.key}={t.value}' for t in others])})"
        free = self._free_devices()
        if free:
            return f"{free} on {self._named(self.names)}, but {what}."
        what = what.replace("the pod", "it", 1)
        return f"{self._subject()} could take the pod, but {what}."

    def _free_devices(self) -> str:
        """Return `16 nvidia.com/gpu are free` for the extended resource that the pod requests."""
        if self.context is None:
            return ""
        for name, request in self.context.pod.requests.items():
            column = self.context.nodes.allocatable.get(name)
            if request and resources.is_extended(name) and column is not None:
                rows = [row for name in self.names if (row := self.context.row(name)) is not None]
                free = int((column - self.context.nodes.requested[name])[rows].sum())
                return f"{formatting.amount(name, free)} {name} {'is' if free == 1 else 'are'} free" if free > 0 else ""
        return ""

    def _not_selected(self, found: Obstacle) -> str:
        otherwise = f"{self._subject()} could take the pod"
        nodes = self._nodes(self.names)
        lacks = lacked(self.context.pod, nodes[0]) if self.context is not None and nodes else []
        if self.context is None or len(lacks) != 1:
            return f"{otherwise}, but {agree(len(self.names), found.phrase)}."
        (wanted,) = lacks
        if wanted.key in (NODE_NAME, HOSTNAME) and not any(name in self.context.nodes.rows for name in wanted.values):
            return f"There is no node {listing(wanted.values, 'or')}. {otherwise} if it did not require that."
        text, every = requirement(wanted), self.context.nodes.nodes if wanted.key != NODE_NAME else []
        having = [node.name for node in every if meets(wanted, node.metadata.labels)]
        if having:
            lacking = f"{count(len(self.names))} could take the pod without that ({some(self.names, NAMED)})"
            return f"The pod requires {text}: {self._why_not(having)}; {lacking}."
        instead = self._instead(wanted, nodes) or f", which the pod requires. {otherwise} otherwise"
        return f"No node has {text}{instead}."

    def _instead(self, wanted: Requirement, nodes: Sequence[Node]) -> str:
        """Return what the nearest nodes have that resembles a requirement that no node meets; "" for nothing."""
        assert self.context is not None
        values = Counter(node.metadata.labels[wanted.key] for node in nodes if wanted.key in node.metadata.labels)
        if wanted.key in TOPOLOGY_LABELS and values:
            there = {node.metadata.labels.get(wanted.key, "") for node in self.context.nodes.nodes} - {""}
            key = wanted.key.rpartition("/")[2]
            are = f"the {key}s are" if len(there) > 1 else f"the only {key} is"
            return f"; {are} {some(sorted(there), 5)}"
        if wanted.operator != "In":
            return ""
        for value, number in values.most_common():
            if any(alike(value, other) for other in wanted.values):
                return f"; {count(number)} {agree(number, 'have')} {wanted.key}={value}"
        for key, value in nodes[0].metadata.labels.items():
            if value in wanted.values and alike(key, wanted.key):
                number = sum(node.metadata.labels.get(key) == value for node in nodes)
                return f"; {count(number)} {agree(number, 'have')} {key}={value}"
        return ""

    def _why_not(self, having: Sequence[str]) -> str:
        """Return why the nodes that a selector wants do not take the pod: `the 2 nodes with it are cordoned`."""
        there = set(having)
        phrases = [(one.phrase, sum(name in there for name in one.names)) for one in self.classes]
        phrase = max(phrases, key=lambda pair: pair[1])[0]
        who = "the node" if len(having) == 1 else f"the {len(having):,} nodes"
        return f"{who} with it {agree(len(having), phrase)}"

    def _short(self, found: Obstacle) -> str:
        if self.context is None:
            return f"{self._subject()} {agree(len(self.names), found.phrase)}."
        every = dict.fromkeys(name for one in self.near for o in one.obstacles for name in o.objects)
        requests = self.context.pod.requests
        lacking = [f"{formatting.amount(n, requests.get(n, 0))} {n}" if n != PODS else "a pod slot" for n in every]
        selected = self._selected(self.names) if len(self.names) > 1 else ""
        short = (*AMOUNTS, causes.REQUEST_EXCEEDS_NODES, causes.RESOURCE_ABSENT)  # an amount, now or ever
        every_short = all(any(o.kind in short for o in one.obstacles) for one in self.classes)
        who = "No node" if every_short else "No node that suits it"
        who = f"None of the {len(self.names):,} nodes with {selected}" if selected else who
        missing = self._shortfall()
        if missing and not selected and len(self.names) == 1 and len(self.classes) > 1:
            return f"{self.names[0]} is the only node that suits the pod, but it is short by {missing}."
        closest = f": the closest, {self.names[0]}, is short by {missing}" if missing else ""
        return f"{who} has {listing(lacking)} free{closest}."

    def _shortfall(self, balanced: bool = True) -> str:
        assert self.promised is not None
        row = self.promised.row(self.names[0])
        names = self.near[0].main.objects if self.near[0].main else ()
        found = [s for name in names if row is not None and (s := shortfall(self.promised, row, name)) is not None]
        if not found:
            return ""  # what the cycle counted is gone
        measured = [s for s in found if s.resource != PODS]
        balances = [formatting.balance(s.resource, s.request, s.free, s.allocatable) for s in measured]
        if len(balances) > 1:
            balances = [f"{s.resource}: {text}" for s, text in zip(measured, balances, strict=True)]
        return short_by(found) + (f" ({'; '.join(balances)})" if balances and balanced else "")

    def _no_slots(self) -> str:
        text = f"all {'its' if len(self.names) == 1 else 'their'} pod slots are taken"
        if self.context is not None and (row := self.context.row(self.names[0])) is not None:
            most = int(self.context.nodes.allowed_pods[row])
            text += f" ({most:,} on {self.names[0]})" if len(self.names) > 1 else f" ({most:,})"
        return f"{self._subject()} could take the pod, but {text}."

    def _one_per_domain(self, found: Obstacle) -> str:
        """Return how many domains there are for pods that exclude each other; "" for another anti-affinity."""
        if self.context is None:
            return ""
        pod = self.context.pod
        for term in pod.required_anti_affinity:
            if term.topology_key == found.domain and term.matches(pod.namespace, {}, pod.labels):
                values = self._values(term.topology_key)
                key = term.topology_key.rpartition("/")[2]
                where = "on each node" if key == "hostname" else f"in each {key}"
                each = {1: "the only one has", 2: "both have"}.get(len(values), f"all {len(values):,} have")
                return (
                    f"At most one of these pods may run {where} (anti-affinity to {found.objects[0]}), "
                    f"and {each} one: {some(values, 5)}."
                )
        return ""

    def _no_match(self, found: Obstacle) -> str:
        if self.context is None:
            return ""
        pod, terms = self.context.pod, self.context.pod.required_affinity
        spaces = self.context.cluster.namespaces
        for other in self.context.cluster.pods.values():
            if all(t.matches(other.namespace, spaces.get(other.namespace, {}), other.labels) for t in terms):
                return ""
        wanted = " and ".join(found.objects)
        where = listing(sorted({n for t in terms for n in (t.namespaces or ())} or {pod.namespace}))
        text = f"No running pod matches its required affinity ({wanted}, in namespace {where})"
        row = self.context.row(self.names[0])
        for status in (ANTI_AFFINITY, EXISTING_ANTI_AFFINITY):  # the plugin states only its first reason
            detail = InterPodAffinity.rejection_detail(self.context, row, status) if row is not None else ""
            if detail:
                phrase = InterPodAffinity.phrases[status.message]
                return f"{text}. Besides, {self._named(self.names)} {agree(len(self.names), phrase)} ({detail})."
        return f"{text}; {self._named(self.names)} could take the pod otherwise."

    def _several(self) -> str:
        number = len(self.near[0].obstacles)
        verb = "needs" if len(self.names) == 1 else "need"
        phrases = listing([agree(len(self.names), o.phrase) for o in self.near[0].obstacles])
        text = f"No single change is enough: {self._named(self.names)} {verb} {number}, because "
        return f"{text}{'it' if len(self.names) == 1 else 'they'} {phrases}."

    def _domain_full(self, pinned: Obstacle) -> str:
        values = self._values(pinned.domain)
        key = pinned.domain.rpartition("/")[2]
        place = f"on node {listing(values)}" if key == "hostname" else f"in {key} {listing(values, 'or')}"
        why = _PINS[pinned.kind].format(pinned.objects[0] if pinned.objects else "")
        number = len(self.names)
        full = "the only node there is full" if number == 1 else f"all {number:,} nodes there that suit it are full"
        missing = self._shortfall(False)
        closest = f" ({'' if number == 1 else f'closest: {self.names[0]}, '}short by {missing})" if missing else ""
        return f"The pod must run {place}, {why}, and {full}{closest}."

    def _never(self, found: Obstacle) -> str:
        names = [name for one in self.classes if found in one.obstacles for name in one.names]
        if self.context is not None and found.kind == causes.REQUEST_EXCEEDS_NODES:
            return self._too_large(found)
        if found.kind == causes.RESOURCE_ABSENT:
            return self._absent(found)
        if found.kind == causes.VOLUME_ZONE and self.context is not None and len(found.objects) > 1:
            volume, *places = found.objects
            key = found.domain.rpartition("/")[2]
            there = any(node.metadata.labels.get(found.domain) in places for node in self.context.nodes.nodes)
            there = there or (key == "hostname" and any(place in self.context.nodes.rows for place in places))
            no = "no node can take the pod" if there else "there is no node"
            if key == "hostname" and not there:
                return f"Its volume {volume} is on node {listing(places, 'or')}, which does not exist."
            place = f"on node {listing(places, 'or')}" if key == "hostname" else f"in {key} {listing(places, 'or')}"
            return f"Its volume {volume} is {place}, where {no}."
        if found.kind == causes.NODE_SELECTOR:
            return f"No node has {listing(found.objects)}, which the pod requires."
        every = len(names) == self.trace.there
        all_of_them = {1: "The only node", 2: "Both nodes"}.get(len(names), f"All {count(len(names))}")
        who = all_of_them if every else self._subject(names)
        if every and found.phrase.startswith("have no device "):
            return f"{'Neither' if len(names) == 2 else 'No'} node has a {found.phrase.removeprefix('have no ')}."
        return f"{who} {agree(len(names), found.phrase)}."

    def _besides(self, found: Obstacle) -> str:
        """Return what else keeps the pod from all nodes that an obstacle excludes for ever; "" if nothing does."""
        fewest = min(map(_never, self.classes))
        mine = [
            one for one in self.classes if _never(one) == fewest and any(o.kind == found.kind for o in one.obstacles)
        ]
        phrases = [
            [o.phrase for o in one.obstacles if (o.kind, o.objects) != (found.kind, found.objects)] for one in mine
        ]
        lacking = self._lacked_by_all([name for one in mine for name in one.names], found)
        if lacking and not any("lack" in phrase for phrase in phrases[0]):
            phrases = [[*one, f"lack {listing(lacking)}"] for one in phrases]
        if not all(phrases):
            return ""
        names = mine[0].names
        return f"Besides, {self._named(names)} {listing([agree(len(names), phrase) for phrase in phrases[0]])}."

    def _lacked_by_all(self, names: Sequence[str], found: Obstacle) -> list[str]:
        """Return the resources besides those of an obstacle of which none of the nodes has enough free."""
        if self.context is None or found.kind not in (causes.REQUEST_EXCEEDS_NODES, causes.RESOURCE_ABSENT):
            return []
        nodes = self.context.nodes
        rows = [row for name in names if (row := self.context.row(name)) is not None]
        lacking = []
        for name, request in self.context.pod.requests.items():
            sizes = nodes.allocatable.get(name)
            short = sizes is None or bool(((sizes - nodes.requested[name])[rows] < request).all())
            if short and request and name not in found.objects:
                lacking.append(name)
        full = bool((nodes.pod_count[rows] >= nodes.allowed_pods[rows]).all()) and PODS not in found.objects
        return [*lacking, *(["a free pod slot"] if full else [])]

    def _too_large(self, found: Obstacle) -> str:
        assert self.context is not None
        name = found.objects[0]
        if name == PODS:
            return "No node takes pods."
        sizes = self.context.nodes.allocatable.get(name)
        there = [n for one in self.classes if any(o.kind == found.kind for o in one.obstacles) for n in one.names]
        rows = [row for one in there if (row := self.context.row(one)) is not None]
        most = max((int(sizes[row]) for row in rows), default=0) if sizes is not None else 0
        request = self.context.pod.requests.get(name, 0)
        which = "the only node" if len(rows) == 1 else "the largest node"
        which += " that suits it" if len(rows) < self.trace.there else ""
        has = formatting.free_amount(name, most, request)
        return f"The pod requests {formatting.amount(name, request)} {name}; {which} has {has}."

    def _absent(self, found: Obstacle) -> str:
        name = found.objects[0] if found.objects else "the resource"
        if self.context is None:
            return f"No node has {name}."
        sizes = self.context.nodes.allocatable
        similar = [n for n, column in sizes.items() if n != name and "/" in n and alike(n, name) and (column > 0).any()]
        number = int((sizes[similar[0]] > 0).sum()) if similar else 0
        more = f"; {count(number)} {agree(number, 'have')} {similar[0]}" if similar else ""
        request = formatting.amount(name, self.context.pod.requests.get(name, 0))
        return f"No node has {name}, of which the pod requests {request}{more}."

    # ---- the others

    def _others(self, found: Obstacle) -> str:
        """Return a sentence about the nodes that the first one does not mention; "" if there are none."""
        counts: Counter[str] = Counter()
        pinned = self.domain()
        for one in self.classes:
            if one in self.near or (not self.near and found in one.obstacles):
                continue
            others = [o for o in one.obstacles if (o.kind, o.objects) != (found.kind, found.objects)]
            main = next((o for o in others if o.effort == NEVER), max(others, key=lambda o: o.effort, default=None))
            if main is None or (main.kind == causes.NODE_SELECTOR and main.effort == NEVER):
                continue  # a controller made the pod for another node
            if pinned is not None and main.kind == pinned.kind and main.domain == pinned.domain:
                key = main.domain.rpartition("/")[2]
                elsewhere = "cannot reach its volume" if key == "hostname" else f"are in another {key}"
                counts[elsewhere] += len(one.names)
            else:
                counts[main.phrase] += len(one.names)
        if not counts:
            return ""
        first, *rest = _counted(counts)
        number, _, phrase = first.partition(" ")
        who = f"{number} other {'node' if number == '1' else 'nodes'}"
        return f"{listing([f'{who} {phrase}', *rest])}."


def _counted(counts: Counter[str]) -> list[str]:
    """Return `5 lack cpu`, the most frequent first; the last entry sums up what is rare."""
    most = counts.most_common()
    shown = most if len(most) <= REASONS + 1 else most[:REASONS]
    parts = [f"{number:,} {agree(number, phrase)}" for phrase, number in shown]
    rest = sum(number for _, number in most[len(shown) :])
    return [*parts, f"{rest:,} {'does' if rest == 1 else 'do'} not fit for other reasons"] if rest else parts


def others_of(classes: Sequence[NodeClass]) -> str:
    """Return why nodes do not take a pod that fits elsewhere: `5 lack cpu and 2 are cordoned`; "" if there are none."""
    counts: Counter[str] = Counter()
    for one in classes:
        main = next((o for o in one.obstacles if o.effort == NEVER), one.main)
        if main is not None:
            counts[main.phrase] += len(one.names)
    return listing(_counted(counts))


def _never(one: NodeClass) -> int:
    return sum(obstacle.effort == NEVER for obstacle in one.obstacles)


def _has(node: Node, pairs: dict[str, str]) -> bool:
    return all(node.metadata.labels.get(key) == value for key, value in pairs.items())
