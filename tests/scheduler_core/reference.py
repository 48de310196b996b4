"""The default plugins once more, as upstream describes them: node by node, pod by pod, over plain dictionaries.

Slow and short on purpose; nothing of the core is used. Amounts are integers (cpu in millicores), as `world` makes them.
A Filter function gives None or (code, reasons); a Score function an integer.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Raw = dict[str, Any]
Told = tuple[str, tuple[str, ...]] | None

NO, NEVER = "Unschedulable", "UnschedulableAndUnresolvable"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MB = 1024 * 1024


@dataclass
class World:
    """`nodes` in order of arrival; `pods` bound ones; `release`: 1.34 or 1.27; `args`: what a profile may set."""

    nodes: list[Raw]
    pods: list[Raw]
    services: list[Raw] = field(default_factory=list)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    release: str = "1.34"
    args: dict[str, Raw] = field(default_factory=dict)

    @property
    def new(self) -> bool:
        return self.release == "1.34"

    def on(self, node: Raw) -> list[Raw]:
        return [pod for pod in self.pods if pod["spec"]["nodeName"] == node["metadata"]["name"]]


def labels(obj: Raw) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("labels", {})
    return found


def namespace(obj: Raw) -> str:
    return str(obj["metadata"]["namespace"])


# ---------------------------------------------------------------- what a pod asks for


def add(*amounts: Raw) -> Raw:
    return {name: sum(a.get(name, 0) for a in amounts) for name in {n for a in amounts for n in a}}


def most(*amounts: Raw) -> Raw:
    return {name: max(a.get(name, 0) for a in amounts) for name in {n for a in amounts for n in a}}


def asked(world: World, pod: Raw, nonzero: bool = False) -> Raw:
    """Containers side by side, init containers one after the other beside the sidecars started before them."""
    spec = pod["spec"]

    def own(container: Raw) -> Raw:
        missing = {"cpu": 100, "memory": 200 * MB} if nonzero else {}
        return {**missing, **container.get("resources", {}).get("requests", {})}

    running: Raw = {}
    peaks = []
    for container in spec.get("initContainers", []):
        if world.new and container.get("restartPolicy") == "Always":
            running = add(running, own(container))
            peaks.append(running)
        else:
            peaks.append(add(running, own(container)))
    total = most(add(running, *map(own, spec["containers"])), *peaks)
    if world.new:
        level = spec.get("resources", {}).get("requests", {})
        total.update({name: amount for name, amount in level.items() if name in ("cpu", "memory")})
    return add(total, spec.get("overhead", {}))


def used(world: World, node: Raw, name: str, nonzero: bool = False) -> int:
    return sum(asked(world, pod, nonzero).get(name, 0) for pod in world.on(node))


# ---------------------------------------------------------------- NodeResourcesFit and its scores


def fit(world: World, pod: Raw, node: Raw) -> Told:
    allocatable = node["status"]["allocatable"]
    ignored = world.args.get("NodeResourcesFit", {}).get("ignoredResources", [])
    reasons, hopeless = [], False
    if len(world.on(node)) + 1 > allocatable["pods"]:
        reasons.append("Too many pods")
    request = asked(world, pod)
    if any(request.values()) or any("/" in name for name in request):
        for name in sorted({"cpu", "memory", "ephemeral-storage", *request}):
            amount = request.get(name, 0)
            if name in ignored or (amount == 0 and (world.new or "/" in name)):
                continue
            if amount > allocatable.get(name, 0) - used(world, node, name):
                reasons.append(f"Insufficient {name}")
                hopeless = hopeless or amount > allocatable.get(name, 0)
    if not reasons:
        return None
    return (NEVER if hopeless and world.new else NO), tuple(reasons)


def broken_line(shape: list[Raw], utilization: int) -> int:
    points = [(p["utilization"], p["score"] * 10) for p in shape]
    if utilization <= points[0][0]:
        return int(points[0][1])
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if utilization <= x1:
            return int(y0 + int((y1 - y0) * (utilization - x0) / (x1 - x0)))
    return int(points[-1][1])


def fit_score(world: World, pod: Raw, node: Raw) -> int:
    strategy = world.args.get("NodeResourcesFit", {}).get("scoringStrategy", {"type": "LeastAllocated"})
    wanted = strategy.get("resources", [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}])
    total = weights = 0
    for name, weight in ((r["name"], r["weight"]) for r in wanted):
        capacity = node["status"]["allocatable"].get(name, 0)
        nonzero = name in ("cpu", "memory")
        request = asked(world, pod, nonzero).get(name, 0)
        if capacity == 0 or ("/" in name and request == 0):
            continue
        taken = used(world, node, name, nonzero) + request
        if strategy["type"] == "LeastAllocated":
            score = 0 if taken > capacity else (capacity - taken) * 100 // capacity
        elif strategy["type"] == "MostAllocated":
            score = min(taken, capacity) * 100 // capacity
        else:
            share = 100 if taken > capacity else taken * 100 // capacity
            score = broken_line(strategy["requestedToCapacityRatio"]["shape"], share)
            if score <= 0:
                continue
        total += score * weight
        weights += weight
    if not weights:
        return 0
    return math.floor(total / weights + 0.5) if strategy["type"] == "RequestedToCapacityRatio" else total // weights


def balanced_score(world: World, pod: Raw, node: Raw) -> int:
    wanted = world.args.get("NodeResourcesBalancedAllocation", {}).get(
        "resources", [{"name": "cpu"}, {"name": "memory"}]
    )
    shares = []
    for name in (r["name"] for r in wanted):
        capacity, request = node["status"]["allocatable"].get(name, 0), asked(world, pod).get(name, 0)
        if capacity and not ("/" in name and request == 0):
            shares.append(min((used(world, node, name) + request) / capacity, 1.0))
    if len(shares) < 2:
        deviation = 0.0
    elif len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    else:
        mean = sum(shares) / len(shares)
        deviation = math.sqrt(sum((s - mean) * (s - mean) for s in shares) / len(shares))
    return int((1 - deviation) * 100.0)


# ---------------------------------------------------------------- labels, taints, ports, images


def meets(requirement: Raw, have: dict[str, str]) -> bool:
    value, values = have.get(requirement["key"]), requirement.get("values", [])
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            if value is None or not value.isdigit():
                return False
            return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def selects(selector: Raw | None, have: dict[str, str]) -> bool:
    if selector is None:
        return False
    same = all(have.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return same and all(meets(r, have) for r in selector.get("matchExpressions", []))


def term_meets(term: Raw, node: Raw) -> bool:
    return bool(term["matchExpressions"]) and all(meets(r, labels(node)) for r in term["matchExpressions"])


def allowed(pod: Raw, node: Raw) -> bool:
    """nodeSelector and required node affinity."""
    if not pod["spec"].get("nodeSelector", {}).items() <= labels(node).items():
        return False
    terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms")
    return terms is None or any(term_meets(term, node) for term in terms)


def node_affinity(world: World, pod: Raw, node: Raw) -> Told:
    added = world.args.get("NodeAffinity", {}).get("addedAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms")
    if added is not None and not any(term_meets(term, node) for term in added):
        return NEVER, ("node(s) didn't match scheduler-enforced node affinity",)
    return None if allowed(pod, node) else (NEVER, ("node(s) didn't match Pod's node affinity/selector",))


def node_affinity_score(world: World, pod: Raw, node: Raw) -> int:
    added = world.args.get("NodeAffinity", {}).get("addedAffinity", {}).get(PREFERRED, [])
    own = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED, [])
    return sum(p["weight"] for p in [*added, *own] if term_meets(p["preference"], node))


def tolerated(taint: Raw, tolerations: Iterable[Raw]) -> bool:
    return any(
        t.get("effect", "") in ("", taint["effect"])
        and t.get("key", "") in ("", taint["key"])
        and (t.get("operator") == "Exists" or t.get("value", "") == taint["value"])
        for t in tolerations
    )


def untolerated(pod: Raw, node: Raw) -> list[Raw]:
    return [t for t in node["spec"].get("taints", []) if not tolerated(t, pod["spec"].get("tolerations", []))]


def taints(world: World, pod: Raw, node: Raw) -> Told:
    hard = [t for t in untolerated(pod, node) if t["effect"] != "PreferNoSchedule"]
    return (NEVER, (f"node(s) had untolerated taint {{{hard[0]['key']}: {hard[0]['value']}}}",)) if hard else None


def taints_score(world: World, pod: Raw, node: Raw) -> int:
    return sum(t["effect"] == "PreferNoSchedule" for t in untolerated(pod, node))


def unschedulable(world: World, pod: Raw, node: Raw) -> Told:
    taint = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
    if not node["spec"].get("unschedulable") or tolerated(taint, pod["spec"].get("tolerations", [])):
        return None
    return NEVER, ("node(s) were unschedulable",)


def wanted_ports(world: World, pod: Raw) -> list[tuple[str, str, int]]:
    containers = list(pod["spec"]["containers"])
    if world.new:
        containers += [c for c in pod["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"]
    ports = [port for container in containers for port in container.get("ports", []) if port.get("hostPort")]
    return [(p.get("hostIP") or "0.0.0.0", p.get("protocol", "TCP"), p["hostPort"]) for p in ports]


def ports(world: World, pod: Raw, node: Raw) -> Told:
    taken = [port for other in world.on(node) for port in wanted_ports(world, other)]
    for ip, protocol, number in wanted_ports(world, pod):
        for ip2, protocol2, number2 in taken:
            if (protocol, number) == (protocol2, number2) and (ip == ip2 or "0.0.0.0" in (ip, ip2)):
                return NO, ("node(s) didn't have free ports for the requested pod ports",)
    return None


def image_score(world: World, pod: Raw, node: Raw) -> int:
    def held(at: Raw) -> dict[str, int]:
        return {name: image["sizeBytes"] for image in at["status"]["images"] for name in image["names"]}

    containers = [*(pod["spec"].get("initContainers", []) if world.new else []), *pod["spec"]["containers"]]
    # Before 1.28 a node remembered how many nodes had the image when it came.
    seen = world.nodes if world.new else world.nodes[: world.nodes.index(node) + 1]
    total = 0
    for name in (container.get("image", "") for container in containers):
        tagged = name if ":" in name.split("/")[-1] else f"{name}:latest"
        if tagged in held(node):
            spread = sum(tagged in held(at) for at in seen) / len(world.nodes)
            total += int(float(held(node)[tagged]) * spread)
    low, high = 23 * MB, 1000 * MB * len(containers)
    return 100 * (min(max(total, low), high) - low) // (high - low)


# ---------------------------------------------------------------- PodTopologySpread


SYSTEM_DEFAULTS = [
    {"maxSkew": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
]


def constraints(world: World, pod: Raw, action: str) -> list[Raw]:
    """The pod's own with their full selector, or the defaults with what its services select."""
    own = pod["spec"].get("topologySpreadConstraints", [])
    if own:
        made = []
        for each in own:
            keys = {key: labels(pod)[key] for key in each.get("matchLabelKeys", []) if key in labels(pod)}
            selector = each.get("labelSelector")
            if keys:
                selector = {**(selector or {}), "matchLabels": {**((selector or {}).get("matchLabels", {})), **keys}}
            made.append({**each, "labelSelector": selector})
        return [each for each in made if each["whenUnsatisfiable"] == action]
    args = world.args.get("PodTopologySpread", {})
    defaults = SYSTEM_DEFAULTS if args.get("defaultingType", "System") == "System" else args["defaultConstraints"]
    merged: dict[str, str] = {}
    for service in world.services:
        wanted = service["spec"]["selector"]
        if namespace(service) == namespace(pod) and wanted and wanted.items() <= labels(pod).items():
            merged.update(wanted)
    if not merged:
        return []
    return [
        {**each, "labelSelector": {"matchLabels": merged}} for each in defaults if each["whenUnsatisfiable"] == action
    ]


def empty(selector: Raw | None) -> bool:
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def matching(world: World, node: Raw, selector: Raw | None, in_namespace: str) -> int:
    """Pods that a constraint counts; an empty selector counts nobody."""
    if empty(selector):
        return 0
    return sum(
        selects(selector, labels(other))
        for other in world.on(node)
        if namespace(other) == in_namespace and "deletionTimestamp" not in other["metadata"]
    )


def included(each: Raw, pod: Raw, node: Raw) -> bool:
    if each.get("nodeAffinityPolicy", "Honor") == "Honor" and not allowed(pod, node):
        return False
    hard = [t for t in untolerated(pod, node) if t["effect"] != "PreferNoSchedule"]
    return not (each.get("nodeTaintsPolicy", "Ignore") == "Honor" and hard)


def has_keys(wanted: list[Raw], node: Raw) -> bool:
    return all(each["topologyKey"] in labels(node) for each in wanted)


def spread(world: World, pod: Raw, node: Raw) -> Told:
    wanted = constraints(world, pod, "DoNotSchedule")
    for each in wanted:
        key = each["topologyKey"]
        if key not in labels(node):
            return NEVER, ("node(s) didn't match pod topology spread constraints (missing required label)",)
        counts: dict[str, int] = {}
        for other in world.nodes:
            if has_keys(wanted, other) and included(each, pod, other):
                value = labels(other)[key]
                counts[value] = counts.get(value, 0) + matching(world, other, each["labelSelector"], namespace(pod))
        least = min(counts.values()) if len(counts) >= each.get("minDomains", 1) else 0
        own = int(selects(each["labelSelector"], labels(pod)))
        if counts.get(labels(node)[key], 0) + own - least > each["maxSkew"]:
            return NO, ("node(s) didn't match pod topology spread constraints",)
    return None


def spread_scores(world: World, pod: Raw, feasible: list[Raw]) -> tuple[list[int], list[int]]:
    """(raw, normalised) of the feasible nodes."""
    wanted = constraints(world, pod, "ScheduleAnyway")
    system = world.args.get("PodTopologySpread", {}).get("defaultingType", "System") == "System"
    strict = bool(pod["spec"].get("topologySpreadConstraints")) or not system
    scored = [node for node in feasible if not strict or has_keys(wanted, node)]
    totals: dict[str, float] = {node["metadata"]["name"]: 0.0 for node in scored}
    for each in wanted:
        key, selector = each["topologyKey"], each["labelSelector"]
        values = {labels(node).get(key, "") for node in scored}
        size = len(scored) if key == HOSTNAME else len(values)
        counts: dict[str, int] = {}
        for node in world.nodes:
            if (not strict or has_keys(wanted, node)) and included(each, pod, node):
                value = labels(node).get(key, "")
                counts[value] = counts.get(value, 0) + matching(world, node, selector, namespace(pod))
        for node in scored:
            if key in labels(node):
                here = (
                    matching(world, node, selector, namespace(pod))
                    if key == HOSTNAME
                    else counts.get(labels(node)[key], 0)
                )
                totals[node["metadata"]["name"]] += here * math.log(size + 2) + float(each["maxSkew"] - 1)
    rounded = {name: math.floor(total + 0.5) for name, total in totals.items()}
    low, high = min(rounded.values(), default=0), max(rounded.values(), default=0)
    raw, normal = [], []
    for node in feasible:
        score = rounded.get(node["metadata"]["name"])
        raw.append(score or 0)
        if score is None:
            normal.append(0)
        else:
            normal.append(100 if high == 0 else 100 * (high + low - score) // high)
    return raw, normal


# ---------------------------------------------------------------- InterPodAffinity


def pod_terms(pod: Raw, kind: str, strength: str) -> list[tuple[Raw, int]]:
    """(term, weight) of a pod."""
    found = pod["spec"].get("affinity", {}).get(kind, {}).get(strength, [])
    return [(t["podAffinityTerm"], t["weight"]) if strength == PREFERRED else (t, 0) for t in found]


def attracts(world: World, owner: Raw, term: Raw, other: Raw) -> bool:
    """Whether `other` is one of the pods that the owner's term speaks of."""
    listed, chosen = term.get("namespaces", []), term.get("namespaceSelector")
    if not listed and chosen is None:
        listed = [namespace(owner)]
    if namespace(other) not in listed and not selects(chosen, world.namespaces.get(namespace(other), {})):
        return False
    return selects(term.get("labelSelector"), labels(other))


def near(world: World, node: Raw, key: str) -> list[Raw]:
    """The pods in the node's domain."""
    if key not in labels(node):
        return []
    return [pod for at in world.nodes if labels(at).get(key) == labels(node)[key] for pod in world.on(at)]


def pod_affinity(world: World, pod: Raw, node: Raw) -> Told:
    terms = [term for term, _ in pod_terms(pod, "podAffinity", REQUIRED)]

    def all_of(other: Raw) -> bool:
        return all(attracts(world, pod, term, other) for term in terms)

    if terms:
        labelled = all(term["topologyKey"] in labels(node) for term in terms)
        together = all(any(map(all_of, near(world, node, term["topologyKey"]))) for term in terms)
        counted = any(
            all_of(other)
            for at in world.nodes
            for other in world.on(at)
            if any(t["topologyKey"] in labels(at) for t in terms)
        )
        first = not counted and all_of(pod)
        if not labelled or not (together or first):
            return NEVER, ("node(s) didn't match pod affinity rules",)
    for term, _ in pod_terms(pod, "podAntiAffinity", REQUIRED):
        if any(attracts(world, pod, term, other) for other in near(world, node, term["topologyKey"])):
            return NO, ("node(s) didn't match pod anti-affinity rules",)
    for at in world.nodes:
        for other in world.on(at):
            for term, _ in pod_terms(other, "podAntiAffinity", REQUIRED):
                value = labels(at).get(term["topologyKey"])
                same = value is not None and labels(node).get(term["topologyKey"]) == value
                if same and attracts(world, other, term, pod):
                    return NO, ("node(s) didn't satisfy existing pods anti-affinity rules",)
    return None


def pod_affinity_scores(world: World, pod: Raw, feasible: list[Raw]) -> tuple[list[int], list[int]] | None:
    """(raw, normalised) of the feasible nodes; None where there is nothing to score."""
    args = world.args.get("InterPodAffinity", {})
    hard = args.get("hardPodAffinityWeight", 1)
    own = [(t, w) for t, w in pod_terms(pod, "podAffinity", PREFERRED)]
    own += [(t, -w) for t, w in pod_terms(pod, "podAntiAffinity", PREFERRED)]
    domains: dict[tuple[str, str], int] = {}
    for at in world.nodes:
        for other in world.on(at):
            pairs = [(t, w) for t, w in own if attracts(world, pod, t, other)]
            if own or not args.get("ignorePreferredTermsOfExistingPods"):
                theirs = [(t, hard) for t, _ in pod_terms(other, "podAffinity", REQUIRED)]
                theirs += [(t, w) for t, w in pod_terms(other, "podAffinity", PREFERRED)]
                theirs += [(t, -w) for t, w in pod_terms(other, "podAntiAffinity", PREFERRED)]
                pairs += [(t, w) for t, w in theirs if w and attracts(world, other, t, pod)]
            for term, weight in pairs:
                key = term["topologyKey"]
                if key in labels(at):
                    domains[key, labels(at)[key]] = domains.get((key, labels(at)[key]), 0) + weight
    raw = [sum(domains.get(pair, 0) for pair in labels(node).items()) for node in feasible]
    if not domains:
        return None
    low, high = min(raw), max(raw)
    return raw, [int(100.0 * ((s - low) / float(high - low))) if high > low else 0 for s in raw]


def default_normalized(scores: list[int], reverse: bool) -> list[int]:
    highest = max(scores, default=0)
    if highest == 0:
        return [100 if reverse else score for score in scores]
    return [100 - 100 * s // highest if reverse else 100 * s // highest for s in scores]
