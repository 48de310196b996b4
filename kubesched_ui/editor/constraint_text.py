"""Explains each scheduling constraint of a pod in one plain sentence."""

from collections.abc import Iterator
from typing import Any

from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.values import Path, as_map, maps_in, pod_spec

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
SAME = {
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "kubernetes.io/hostname": "node",
}
Sentence = tuple[Path, str]


def sentences(obj: dict[str, Any]) -> Iterator[Sentence]:
    """Yield (path in the object, sentence) for each constraint. Values of a wrong shape are ignored."""
    path, spec = pod_spec(obj)
    for at, text in of_spec(spec):
        yield (*path, *at), text


def of_spec(spec: dict[str, Any]) -> Iterator[Sentence]:
    """Yield the sentences of a pod spec."""
    if name := spec.get("nodeName"):
        yield ("nodeName",), f"The pod is already on node {shown(name)}; it is not scheduled."
    if labels := as_map(spec.get("nodeSelector")):
        yield ("nodeSelector",), f"It runs only on nodes with {_and(_labels(labels))}."
    affinity = as_map(spec.get("affinity"))
    yield from _node_affinity(as_map(affinity.get("nodeAffinity")), ("affinity", "nodeAffinity"))
    for field, near in (("podAffinity", True), ("podAntiAffinity", False)):
        yield from _pod_affinity(as_map(affinity.get(field)), ("affinity", field), near)
    for index, one in maps_in(spec.get("topologySpreadConstraints")):
        yield ("topologySpreadConstraints", index), spread(one)
    for index, one in maps_in(spec.get("tolerations")):
        yield ("tolerations", index), toleration(one)
    if name := spec.get("priorityClassName"):
        text = f"The PriorityClass {shown(name)} sets its priority."
        yield ("priorityClassName",), f"{text} Pods with higher priority are scheduled first."
    if gates := [shown(one.get("name", "")) for _, one in maps_in(spec.get("schedulingGates"))]:
        are = "are" if len(gates) > 1 else "is"
        yield ("schedulingGates",), f"It does not enter the queue until {_and(gates)} {are} removed."
    for index, one in maps_in(spec.get("volumes")):
        if claim := as_map(one.get("persistentVolumeClaim")).get("claimName"):
            yield ("volumes", index), f"It runs only where the volume of the claim {shown(claim)} is accessible."


def _node_affinity(affinity: dict[str, Any], path: Path) -> Iterator[Sentence]:
    required = as_map(affinity.get(REQUIRED))
    terms = [_term(term) for _, term in maps_in(required.get("nodeSelectorTerms"))]
    if terms:
        yield (*path, REQUIRED), f"It runs only on nodes {', or '.join(terms)}."
    for index, one in maps_in(affinity.get(PREFERRED)):
        term = _term(as_map(one.get("preference")))
        yield (*path, PREFERRED, index), f"Nodes {term} get {_number(one.get('weight'))} more points before weighting."


def _pod_affinity(affinity: dict[str, Any], path: Path, near: bool) -> Iterator[Sentence]:
    for index, one in maps_in(affinity.get(REQUIRED)):
        where = f"in the same {_domain(one)} as" if near else f"in no {_domain(one)} with"
        yield (*path, REQUIRED, index), f"It runs only {where} a pod {_selected(one)}."
    for index, one in maps_in(affinity.get(PREFERRED)):
        term = as_map(one.get("podAffinityTerm"))
        weight = _number(one.get("weight"))
        more = "more" if near else "fewer"
        text = f"A {_domain(term)} gets {weight} points {more} for each pod {_selected(term)} in it, before weighting."
        yield (*path, PREFERRED, index), text


def spread(one: dict[str, Any]) -> str:
    """Explain a topology spread constraint."""
    domain, skew = _domain(one), one.get("maxSkew", 1)
    selected = _selected(one)
    if one.get("labelSelector") is None:
        return "It has no labelSelector, so it counts no pods and has no effect."
    many = f"{_number(skew)} more {'pod' if skew == 1 else 'pods'} {selected}"
    if one.get("whenUnsatisfiable") == "ScheduleAnyway":
        return f"It prefers a {domain} with fewer pods {selected}; this is not required."
    least = one.get("minDomains")
    fewer = f" If there are fewer than {_number(least)} of them, the minimum counts as 0." if least else ""
    return f"A {domain} may have at most {many} than the {domain} with the fewest, else the pod waits.{fewer}"


def toleration(one: dict[str, Any]) -> str:
    """Explain a toleration."""
    key, value, effect = one.get("key"), one.get("value"), one.get("effect")
    if not key:
        what = "any taint"
    elif one.get("operator") == "Exists":
        what = f"the taint {shown(key)} with any value"
    else:
        what = f"the taint {shown(key)}={shown(value or '')}"
    if effect:
        what += f" with effect {shown(effect)}"
    stay = one.get("tolerationSeconds")
    if effect == "NoExecute" and isinstance(stay, int):
        return f"It stays {stay} s on a node that gets {what}, and is then evicted."
    return f"It may run on nodes with {what}, but does not prefer them."


def _term(term: dict[str, Any]) -> str:
    parts = [_requirement(one) for _, one in maps_in(term.get("matchExpressions"))]
    parts += [_requirement(one).replace("metadata.name", "the name", 1) for _, one in maps_in(term.get("matchFields"))]
    return f"with {' and '.join(parts)}" if parts else "that match nothing, because the term is empty"


def _requirement(one: dict[str, Any]) -> str:
    key, operator = shown(one.get("key", "?")), one.get("operator")
    values = [shown(value) for value in one.get("values") or () if isinstance(value, str)]
    first = values[0] if values else "?"
    return {
        "In": f"{key}={first}" if len(values) == 1 else f"{key} being {_or(values)}",
        "NotIn": f"{key} not being {_or(values)}",
        "Exists": f"the label {key}",
        "DoesNotExist": f"no label {key}",
        "Gt": f"{key} more than {first}",
        "Lt": f"{key} less than {first}",
    }.get(str(operator), key)


def _selected(term: dict[str, Any]) -> str:
    """Describe the selected pods with words that follow "pod": `with app=web in namespace a`."""
    selector = term.get("labelSelector")
    if not isinstance(selector, dict):
        return "that nothing selects (labelSelector is missing)"
    parts = _labels(selector.get("matchLabels"))
    parts += [_requirement(one) for _, one in maps_in(selector.get("matchExpressions"))]
    text = f"with {_and(parts)}" if parts else "of any kind"
    names = [shown(name) for name in term.get("namespaces") or () if isinstance(name, str)]
    return f"{text} in {'namespace' if len(names) == 1 else 'namespaces'} {_and(names)}" if names else text


def _domain(term: dict[str, Any]) -> str:
    key = term.get("topologyKey")
    return SAME.get(str(key)) or (f"group of nodes of one {shown(key)}" if key else "(topologyKey is missing)")


def _labels(labels: Any) -> list[str]:
    return [f"{shown(key)}={shown(value)}" for key, value in as_map(labels).items()]


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else "?"


def _and(parts: list[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _or(parts: list[str]) -> str:
    return _and(parts, "or") or "nothing"
