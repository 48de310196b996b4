"""Waits for Karpenter: how far the node is that it launches for a pod, or why it launches none.

Source: sigs.k8s.io/karpenter, pkg/controllers/provisioning/scheduling, pkg/controllers/nodeclaim/lifecycle.
"""

import re

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Pod
from scheduler_core.cluster.formatting import listing, some
from scheduler_core.errors import InputError
from scheduler_core.live.neighbours import NodeClaim, NodePool
from scheduler_core.live.objects import Event
from scheduler_core.stations.autoscaler_answer import AutoscalerAnswer
from scheduler_core.stations.surroundings import Surroundings, condition_in
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import AUTOSCALER_REFUSED, MOST_READ, NODE_COMING, Wait, quoted

WRITER = "karpenter"
PROMISE, REFUSAL = "Nominated", "FailedScheduling"
POOL = "karpenter.sh/nodepool"
STEPS = ("Launched", "Registered", "Initialized")

_CLAIM = re.compile(r"nodeclaim/([^\s,]+)")
_NODE = re.compile(r"node/([^\s,]+)")
_PREFIX = "Failed to schedule pod, "
_LIMITS = re.compile(
    r'(?:exceed limits for|node limits have been exhausted for) nodepool(?::? ?\(NodePool=([^)\s]+)\)|: "([^"]+)")'
)
_TAINT = re.compile(r"did not tolerate (?:taint \(taint=([^)]+)\)|(\S+))")
_UNKNOWN_LABEL = re.compile(r'label "([^"]+)" does not have known values')
_KEY = re.compile(r"incompatible requirements, key ([^,\s]+), ")
_OLD_POOL = re.compile(r'incompatible with nodepool "([^"]+)"')


def answer_about(pod: Pod, around: Surroundings) -> AutoscalerAnswer | None:
    """Return the last answer of Karpenter about a pod; None without one, or if the node that it promised is there."""
    event = around.events.last("Pod", pod, (PROMISE, REFUSAL), WRITER)
    if event is None:
        return None
    wait = _promised(event, around) if event.reason == PROMISE else _refused(pod, event, around)
    return AutoscalerAnswer(event.reason == PROMISE, wait) if wait is not None else None


def _promised(event: Event, around: Surroundings) -> Wait | None:
    named, on = _CLAIM.search(event.message), _NODE.search(event.message)
    name, node = named[1] if named else "", on[1] if on else ""
    claim, since = around.store.get("NodeClaim", name), seconds(event.time)
    says = [f"{event.reason}: {quoted(event.message)}"]
    if not isinstance(claim, NodeClaim):
        known = around.store.get("Node", node) if node else None
        if around.store.objects("NodeClaim") or (isinstance(known, Node) and known.ready):
            return None  # the claim was given up, or its node is ready
        text = f"Karpenter chose NodeClaim {name}{f', node {node},' if node else ''} for it at {clock(since)}"
        return Wait(NODE_COMING, f"{text}; how far it is, is not known here.", says, WRITER, since, NODE_COMING)
    conditions = [(step, condition_in(claim.status.conditions, step)) for step in STEPS]
    step, condition = next(((step, one) for step, one in conditions if one is None or one.status != "True"), ("", None))
    if not step:
        return None
    node = claim.status.node_name or node
    done = [one.lower() for one in STEPS[: STEPS.index(step)]]
    pool = claim.metadata.labels.get(POOL, "")
    text = f"Karpenter launches a node for it: NodeClaim {name}{f' of NodePool {pool}' if pool else ''}"
    text += f" is {listing(done)} but not {step.lower()}" if done else f" is not {step.lower()}"
    text += f" (node {node})" if node else ""
    if condition is not None:
        says.insert(
            0, f"{step} is {condition.status}: {': '.join(filter(None, (condition.reason, quoted(condition.message))))}"
        )
        text += f": {quoted(condition.message)}" if condition.message else ""
        since = seconds(condition.last_transition_time or "") or since
    error = around.events.last("NodeClaim", claim, ("InsufficientCapacityError",), WRITER)
    says += [quoted(error.message)] if error is not None else []
    return Wait(NODE_COMING, f"{text}.", says, WRITER, since, NODE_COMING)


def _refused(pod: Pod, event: Event, around: Surroundings) -> Wait:
    message = event.message[:MOST_READ].removeprefix(_PREFIX)
    pools = sorted((one for one in around.store.objects("NodePool") if isinstance(one, NodePool)), key=lambda p: p.name)
    errors = message.split("; ")
    parts = [_of_error(error, pod, pools) for error in errors]
    rest = [error for error in errors if not _TAINT.search(error)]  # the sentence has the whole of those about taints
    says = [quoted(_PREFIX + "; ".join(rest))] if rest else []
    for pool in pools:
        broken = next((c for c in pool.status.conditions if c.type == "NodeClassReady" and c.status == "False"), None)
        if broken is not None:
            says.append(f"NodePool {pool.name} is left out: NodeClassReady is False: {quoted(broken.message)}")
    text = f"Karpenter launches no node for it: {'; '.join(dict.fromkeys(parts))}."
    return Wait(AUTOSCALER_REFUSED, text, says, WRITER, seconds(event.time), AUTOSCALER_REFUSED, leads=True)


def _of_error(error: str, pod: Pod, pools: list[NodePool]) -> str:
    """Return an error of Karpenter about one pool as a clause."""
    old = _OLD_POOL.search(error)
    ours = [pool for pool in pools if pool.name == old[1]] if old else pools
    if found := _LIMITS.search(error):
        name = found[1] or found[2]
        reached, limits = next((_limits(pool) for pool in pools if pool.name == name), (True, []))
        used = f": {listing(limits)}" if limits else ""
        return f"NodePool {name} {'has reached' if reached else 'would exceed'} its limits{used}"
    if found := _TAINT.search(error):
        taint = (found[1] or found[2]).rstrip(",").replace("=:", ":")
        names = [pool.name for pool in ours if any(_taint_text(one) == taint for one in _taints(pool))]
        who = f"NodePool {some(names, 3)} has" if len(names) == 1 else f"NodePools {some(names, 3)} have"
        return f"{who if names else 'a NodePool has'} taint {taint}, which the pod does not accept"
    unknown, key = _UNKNOWN_LABEL.search(error), _KEY.search(error)
    if label := unknown[1] if unknown else key[1] if key else "":
        wanted = _wanted(pod, label)
        if unknown:
            ours = [pool for pool in ours if not _defines(pool, label)]
        elif len(ours) > 1:
            ours = [pool for pool in ours if _offers(pool, label, error)] or ours
        names = [pool.name for pool in ours]
        who = f"NodePool{'s' * (len(names) > 1)} {some(names, 3)}" if names else "a NodePool"
        verb = "do" if len(names) > 1 else "does"
        asks = f"the pod requires {label}{f'={wanted}' if wanted else ''}"
        if unknown:
            return f"{asks}, and {who} {verb} not define this label"
        return f"{asks}, and {who} {verb} not offer that: {quoted(error)}"
    return quoted(error)


def _limits(pool: NodePool) -> tuple[bool, list[str]]:
    """Return whether a limit of a pool is reached, and those that are, as `cpu 64 of 64`; all of them if none is."""
    used = pool.status.resources
    texts = {name: f"{name} {used.get(name, 0)} of {limit}" for name, limit in pool.spec.limits.items()}
    reached = [texts[name] for name, limit in pool.spec.limits.items() if _at_least(used.get(name, 0), limit)]
    return bool(reached), reached or list(texts.values())


def _at_least(used: str | float, limit: str | float) -> bool:
    try:
        return quantity.nano_value(used) >= quantity.nano_value(limit)
    except (InputError, ValueError):
        return False


def _taints(pool: NodePool) -> list[tuple[str, str, str]]:
    spec = pool.spec.template.spec
    return [(taint.key, taint.value, taint.effect) for taint in (*spec.taints, *spec.startup_taints)]


def _taint_text(taint: tuple[str, str, str]) -> str:
    key, value, effect = taint
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _defines(pool: NodePool, label: str) -> bool:
    return any(one.key == label for one in pool.spec.template.spec.requirements)


def _offers(pool: NodePool, label: str, error: str) -> bool:
    """Whether an error `K In [a] not in K In [b c]` is about this pool: its values of the label are b and c."""
    offered = error.rpartition(" not in ")[2]
    return any(
        one.key == label and sorted(one.values) == sorted(offered.partition("[")[2].partition("]")[0].split())
        for one in pool.spec.template.spec.requirements
    )


def _wanted(pod: Pod, label: str) -> str:
    """Return the values of a label that the pod requires."""
    if value := (pod.spec.node_selector or {}).get(label):
        return value
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    for term in affinity.required.node_selector_terms if affinity is not None and affinity.required else ():
        for one in term.match_expressions:
            if one.key == label and one.operator == "In":
                return " or ".join(one.values[:3])
    return ""
