"""Actions: what a user does to a node or a pod of a run, as the changes of a fork and a title for it.

Each action reads the fields of a form and the objects as they are at the timepoint of the fork. All errors are
InputError and name the object and the field.
"""

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import LabelSelector, Node, NodeSelectorTerm, Pod, convert
from scheduler_core.api.patches import difference
from scheduler_core.api.selector_text import requirement, selector_text
from scheduler_core.api.selectors import compile_selector
from scheduler_core.api.syntax import label_value_problem, qualified_name_problem
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.cluster.resources import amounts, is_extended
from scheduler_core.errors import InputError
from scheduler_core.forks.add_node import another
from scheduler_core.forks.template_patch import Raw, containers_of, patch_of

MAX_NODES = 100  # added at once
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SOFT = "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHT = 100  # of a preference that replaces a requirement: the highest that the API server accepts

Values = Mapping[str, str]
T = TypeVar("T")


class Action(NamedTuple):
    """`title`: what changed, as in `maxSkew 2 on web-1`."""

    title: str
    changes: list[Raw]


# ---- nodes


class NodeTarget(NamedTuple):
    """A node. `pods`: the pods on it, of which a drain creates those of controllers again; `names`: the names of all
    nodes."""

    node: Raw
    pods: Sequence[Raw] = ()
    names: Collection[str] = ()

    @property
    def name(self) -> str:
        return str(self.node["metadata"]["name"])

    @property
    def where(self) -> str:
        return f"Node {self.name}"

    @property
    def taints(self) -> list[str]:
        return [taint_text(taint) for taint in self.node.get("spec", {}).get("taints", [])]


def taint_text(taint: Raw) -> str:
    """Return a taint as kubectl writes it: `key=value:Effect`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def on_node(action: str, values: Values, target: NodeTarget) -> Action:
    """Return an action on a node. Raises InputError."""
    return _named(action, NODE_ACTIONS)(values, target)


def _cordon(values: Values, target: NodeTarget) -> Action:
    if target.node.get("spec", {}).get("unschedulable"):
        raise InputError(target.where, "spec.unschedulable", "is true already")
    return Action(f"cordon {target.name}", [{"cordon": target.name}])


def _uncordon(values: Values, target: NodeTarget) -> Action:
    if not target.node.get("spec", {}).get("unschedulable"):
        raise InputError(target.where, "spec.unschedulable", "is false already")
    return Action(f"uncordon {target.name}", [{"uncordon": target.name}])


def _drain(values: Values, target: NodeTarget) -> Action:
    """Drain the node. The pods of controllers are created again, without a node."""
    again = [_pending(pod) for pod in target.pods if convert(pod, Pod, target.where).created_again]
    return Action(f"drain {target.name}", [{"drain": target.name}, *({"create": pod} for pod in again)])


def _resize(values: Values, target: NodeTarget) -> Action:
    now = target.node.get("status", {}).get("allocatable", {})
    new = {name: values[f"allocatable.{name}"].strip() for name in now if values.get(f"allocatable.{name}", "").strip()}
    for name, text in new.items():
        _check_quantity(target.where, f"status.allocatable.{name}", text)
    was = amounts(now)
    new = {name: text for name, text in new.items() if amounts({name: text}) != {name: was.get(name)}}
    if not new:
        raise InputError(target.where, "status.allocatable", "is unchanged; enter another quantity")
    patch = {"status": {"allocatable": new, "capacity": new}}
    title = f"{listing([f'{text} {name}' for name, text in new.items()])} on {target.name}"
    return Action(title, [msgspec.to_builtins(patch_of("Node", "", target.name, patch))])


def _taint(values: Values, target: NodeTarget) -> Action:
    key, value, effect = (values.get(field, "").strip() for field in ("key", "value", "effect"))
    for field, problem in (("key", qualified_name_problem(key)), ("value", label_value_problem(value))):
        if problem:
            raise InputError(target.where, f"spec.taints.{field}", problem)
    if effect not in EFFECTS:
        raise InputError(target.where, "spec.taints.effect", f"must be one of {', '.join(EFFECTS)}")
    taint = {"key": key, "value": value, "effect": effect}
    text = taint_text(taint)
    if text in target.taints:
        raise InputError(target.where, "spec.taints", f"has {text} already")
    return Action(f"taint {text} on {target.name}", [{"taint": {"node": target.name, **taint}}])


def _untaint(values: Values, target: NodeTarget) -> Action:
    wanted = values.get("taint", "")
    found = next((t for t in target.node.get("spec", {}).get("taints", []) if taint_text(t) == wanted), None)
    if found is None:
        raise InputError(target.where, "spec.taints", f"has no taint {wanted[:320]!r}")
    untaint = {"node": target.name, "key": found.get("key", ""), "effect": found.get("effect", "")}
    return Action(f"no taint {wanted} on {target.name}", [{"untaint": untaint}])


def _add(values: Values, target: NodeTarget) -> Action:
    text = values.get("count", "").strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
    if not 1 <= number <= MAX_NODES:
        raise InputError("What if", "count", f"must be a whole number in 1..{MAX_NODES}, got {text[:40]!r}")
    like = convert(target.node, Node, target.where)
    made = [{"create": another(target.names, like, i)} for i in range(1, number + 1)]
    return Action(f"{count(number, 'node')} like {target.name}", made)


NODE_ACTIONS: dict[str, Callable[[Values, NodeTarget], Action]] = {
    "cordon": _cordon,
    "uncordon": _uncordon,
    "drain": _drain,
    "resize": _resize,
    "taint": _taint,
    "untaint": _untaint,
    "add": _add,
}


# ---- pods


class PodTarget(NamedTuple):
    """The selected pod first; `pods` also contains those of the same controller if the user selected all of them.

    `owner`: the controller, `ReplicaSet web`. `rescheduled`: whether pods on a node that a scheduler placed are deleted
    and created again without a node, as a rollout does. Otherwise they stay there.
    """

    pods: Sequence[Raw]
    owner: str = ""
    rescheduled: bool = True

    @property
    def where(self) -> str:
        return f"Pod {_key(self.pods[0])}"

    def moves(self, pod: Raw) -> bool:
        """Return whether a changed pod is scheduled again."""
        return self.rescheduled and "nodeName" in pod["spec"] and not convert(pod, Pod, self.where).placed_by

    def named(self, pods: int) -> str:
        """Return the pods as text, for a title."""
        return self.pods[0]["metadata"]["name"] if pods == 1 else f"{count(pods, 'pod')} of {self.owner}"

    def edited(self, title: str, edit: Callable[[Raw], bool]) -> Action:
        """Return the action that edits each pod to which `edit` applies: it returns whether the pod changed."""
        changes: list[Raw] = []
        number = 0
        for pod in self.pods:
            new = copy.deepcopy(pod)
            if not edit(new):
                continue
            number += 1
            namespace, name = pod["metadata"].get("namespace", "default"), pod["metadata"]["name"]
            if self.moves(pod):
                changes += [
                    {"delete": {"kind": "Pod", "namespace": namespace, "name": name}},
                    {"create": _pending(new)},
                ]
            else:
                patch = patch_of("Pod", namespace, name, difference(pod, new))
                changes.append(msgspec.to_builtins(patch))
        return Action(f"{title} {self.named(number)}", changes)


def on_pod(action: str, values: Values, target: PodTarget) -> Action:
    """Return an action on a pod. Raises InputError."""
    return _named(action, POD_ACTIONS)(values, target)


def _delete(values: Values, target: PodTarget) -> Action:
    changes = []
    for pod in target.pods:
        namespace = pod["metadata"].get("namespace", "default")
        changes.append({"delete": {"kind": "Pod", "namespace": namespace, "name": pod["metadata"]["name"]}})
    return Action(f"delete {target.named(len(changes))}", changes)


def _request(values: Values, target: PodTarget) -> Action:
    """Set the requests of containers, as entered in fields `CONTAINER.RESOURCE`."""
    wanted: dict[tuple[str, str], str] = {}
    for container, requests in requests_of(target.pods[0]).items():
        for name, now in requests.items():
            text = values.get(f"{container}.{name}", "").strip()
            if text:
                _check_quantity(target.where, f"spec.containers.{container}.requests.{name}", text)
                if amounts({name: text}) != amounts({name: now}):
                    wanted[container, name] = text
    if not wanted:
        raise InputError(target.where, "spec.containers", "has these requests already; enter another quantity")

    def edit(pod: Raw) -> bool:
        found = False
        for container in containers_of(pod):
            resources = container.get("resources", {})
            for (holder, name), text in wanted.items():
                if holder == container.get("name") and name in {**resources.get("limits", {}), **_requests(resources)}:
                    _set_request(resources, name, text)
                    found = True
        return found

    several = len({container for container, _ in wanted}) > 1
    parts = [f"{text} {name}{f' in {holder}' if several else ''}" for (holder, name), text in wanted.items()]
    return target.edited(f"{listing(parts)} for", edit)


def requests_of(pod: Raw) -> dict[str, dict[str, str | int | float]]:
    """Return container -> resource -> requested quantity, of resources that the scheduler counts."""
    found = {}
    for container in containers_of(pod):
        resources = container.get("resources", {})
        listed = {**resources.get("limits", {}), **_requests(resources)}
        if counted := {name: text for name, text in listed.items() if name in amounts({name: text})}:
            found[str(container.get("name", ""))] = counted
    return found


def _requests(resources: Raw) -> dict[str, Any]:
    return dict(resources.get("requests", {}))


def _set_request(resources: Raw, name: str, text: str) -> None:
    """Set a request. A limit that is lower, or that must be equal, becomes the same."""
    resources.setdefault("requests", {})[name] = text
    limits = resources.get("limits", {})
    if name in limits and (is_extended(name) or amounts({name: limits[name]})[name] < amounts({name: text})[name]):
        limits[name] = text


# ---- constraints of a pod


class Relaxation(NamedTuple):
    """A way to relax a constraint. `key`: names it in a form; `constraint`: what the pod requires now; `label`: what to
    do, for a button; `title`: as in Action, without the pod. `edit` returns whether the pod has the constraint."""

    key: str
    constraint: str
    label: str
    title: str
    edit: Callable[[Raw], bool]


def _relax(values: Values, target: PodTarget) -> Action:
    key = values.get("constraint", "")
    found = next((one for one in relaxations(target.pods[0]) if one.key == key), None)
    if found is None:
        raise InputError(target.where, "spec", f"has no constraint {key[:80]!r} that can be relaxed")

    def edit(pod: Raw) -> bool:
        same = next((one for one in relaxations(pod) if one.key == key), None)
        return same is not None and same.edit(pod)

    return target.edited(f"{found.title} on", edit)


def relaxations(pod: Raw) -> list[Relaxation]:
    """Return what can be relaxed: every requirement of the pod on nodes and on other pods."""
    return [*_of_nodes(pod), *_of_pods(pod), *_of_spread(pod)]


def _of_nodes(pod: Raw) -> Iterator[Relaxation]:
    if selector := pod["spec"].get("nodeSelector"):
        text = ", ".join(f"{key}={value}" for key, value in selector.items())
        yield Relaxation("nodeSelector", f"nodeSelector {text}", "Prefer", "preferred nodeSelector", _prefer_selector)
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    if required:
        text = " or ".join(_term_text(term) for term in required.get("nodeSelectorTerms", []))
        title = "preferred node affinity"
        yield Relaxation("nodeAffinity", f"required node affinity: {text}", "Prefer", title, _prefer_nodes)


def _term_text(raw: Raw) -> str:
    term = convert(raw, NodeSelectorTerm, "nodeSelectorTerms")
    return ", ".join(requirement(one) for one in (*term.match_expressions, *term.match_fields)) or "no node"


def _prefer_selector(pod: Raw) -> bool:
    selector = pod["spec"].pop("nodeSelector")
    found = [{"key": key, "operator": "In", "values": [value]} for key, value in selector.items()]
    _preferences(pod, "nodeAffinity").append({"weight": WEIGHT, "preference": {"matchExpressions": found}})
    return True


def _prefer_nodes(pod: Raw) -> bool:
    terms = pod["spec"]["affinity"]["nodeAffinity"].pop(REQUIRED).get("nodeSelectorTerms", [])
    _preferences(pod, "nodeAffinity").extend({"weight": WEIGHT, "preference": term} for term in terms)
    return True


def _preferences(pod: Raw, side: str) -> list[Raw]:
    found: list[Raw] = pod["spec"].setdefault("affinity", {}).setdefault(side, {}).setdefault(PREFERRED, [])
    return found


def _of_pods(pod: Raw) -> Iterator[Relaxation]:
    for side, words in (("podAffinity", "pod affinity"), ("podAntiAffinity", "pod anti-affinity")):
        for i, term in enumerate(pod["spec"].get("affinity", {}).get(side, {}).get(REQUIRED, [])):

            def edit(pod: Raw, side: str = side, i: int = i) -> bool:
                where = pod["spec"]["affinity"][side]
                _preferences(pod, side).append({"weight": WEIGHT, "podAffinityTerm": where[REQUIRED].pop(i)})
                if not where[REQUIRED]:
                    del where[REQUIRED]
                return True

            text = f"required {words}: {_selector(term)} in the same {term.get('topologyKey', '')}"
            yield Relaxation(f"{side}/{i}", text, "Prefer", f"preferred {words}", edit)


def _selector(term: Raw) -> str:
    raw = term.get("labelSelector")
    return selector_text(compile_selector(None if raw is None else convert(raw, LabelSelector, "labelSelector")))


def _of_spread(pod: Raw) -> Iterator[Relaxation]:
    for i, one in enumerate(pod["spec"].get("topologySpreadConstraints", [])):
        if one.get("whenUnsatisfiable", "DoNotSchedule") == SOFT:
            continue
        skew = one.get("maxSkew", 1) + 1

        def more(pod: Raw, i: int = i, skew: int = skew) -> bool:
            pod["spec"]["topologySpreadConstraints"][i]["maxSkew"] = skew
            return True

        def soft(pod: Raw, i: int = i) -> bool:
            pod["spec"]["topologySpreadConstraints"][i]["whenUnsatisfiable"] = SOFT
            return True

        text = f"spread {_selector(one)} over {one.get('topologyKey', '')}, maxSkew {skew - 1}, DoNotSchedule"
        yield Relaxation(f"spread/{i}/maxSkew", text, f"maxSkew {skew}", f"maxSkew {skew}", more)
        yield Relaxation(f"spread/{i}/{SOFT}", text, SOFT, SOFT, soft)


POD_ACTIONS: dict[str, Callable[[Values, PodTarget], Action]] = {
    "request": _request,
    "relax": _relax,
    "delete": _delete,
}


# ---- titles of other changes


def title_of(changes: Sequence[Raw]) -> str:
    """Return a title for changes that were not made by an action: `cordon n1 and create Pod web`."""
    parts = [_title(name, what) for change in changes for name, what in change.items() if what is not None]
    return listing(parts[:2]) if len(parts) < 3 else f"{parts[0]} and {count(len(parts) - 1, 'other change')}"


def _title(name: str, what: Any) -> str:
    if isinstance(what, str):
        return f"{name} {what}"
    if name == "create":
        return f"{what.get('kind', 'object')} {what.get('metadata', {}).get('name', '')}"
    if name == "delete":
        return f"delete {what['name']}"
    if name == "patch":
        fields = listing(list(_fields(what["patch"]))[:3])
        return f"{fields} of {what['name']}" if fields else str(what["name"])
    if name == "taint":
        return f"taint {taint_text(what)} on {what['node']}"
    if name == "untaint":
        return f"no taint {what['key']} on {what['node']}"
    if name == "place":
        return f"{what['pod']} on {what['node']}"
    if name == "skip":
        return f"no {what['plugin']}" + (f" for {what['pod']}" if what.get("pod") else "")
    return f"{what['plugin']} × {what['weight']}"


def _fields(patch: Any) -> Iterator[str]:
    """Yield the fields that a merge patch changes: two levels, and below affinity its kinds."""
    for top, fields in patch.items():
        for name, value in fields.items() if isinstance(fields, dict) and fields else ((top, None),):
            yield from value if name == "affinity" and isinstance(value, dict) and value else (name,)


# ----


def _named(action: str, actions: Mapping[str, T]) -> T:
    if action not in actions:
        raise InputError("What if", "action", f"must be one of {', '.join(actions)}, got {action[:40]!r}")
    return actions[action]


def _check_quantity(where: str, field: str, text: str) -> None:
    try:
        wrong = quantity.nano_value(text) < 0
    except quantity.QuantityError as problem:
        raise InputError(where, field, str(problem)) from None
    if wrong:
        raise InputError(where, field, f"must not be negative, got {text[:40]!r}")


def _key(pod: Raw) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def _pending(pod: Raw) -> Raw:
    """Return the pod as its controller creates it: without a node and a status."""
    new = copy.deepcopy({**pod, "status": {}})
    new["spec"].pop("nodeName", None)
    new["metadata"].pop("deletionTimestamp", None)
    return new
