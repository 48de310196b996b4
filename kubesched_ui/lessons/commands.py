"""Applies a kubectl command to the scenario of a lesson, as the API server would: it refuses what cannot be changed.

kubectl uncordon n1
kubectl taint node n1 team=data:NoSchedule-
kubectl label pod old app=other --overwrite
kubectl delete pod old
kubectl scale deployment web --replicas=2
kubectl patch pod web --type=merge -p '{"spec": {"schedulingGates": []}}'
"""

import copy
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from kubesched_ui.lessons.errors import Unknown
from scheduler_core.api.patches import merge_patch

MAX_COMMAND = 300  # characters
CORDON = "node.kubernetes.io/unschedulable"
KINDS = {
    "Deployment": ("deployment", "deployments", "deploy"),
    "Job": ("job", "jobs"),
    "Node": ("node", "nodes", "no"),
    "PersistentVolume": ("persistentvolume", "persistentvolumes", "pv"),
    "PersistentVolumeClaim": ("persistentvolumeclaim", "persistentvolumeclaims", "pvc"),
    "Pod": ("pod", "pods", "po"),
    "PodGroup": ("podgroup", "podgroups"),
}
_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
_FLAGS = {"-n": "namespace", "--namespace": "namespace", "-p": "patch", "--patch": "patch", "--type": "type"}
_VALUED = _FLAGS | {"--replicas": "replicas"}


def apply_command(spec: dict[str, Any], command: str) -> dict[str, Any] | None:
    """Change the `spec` of a Scenario document, and return the changed object; None if it was deleted. Raises Unknown
    with the reason."""
    if len(command) > MAX_COMMAND:
        raise Unknown(f"The command has more than {MAX_COMMAND} characters.")
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise Unknown(f"The command is not complete: {problem}.") from None
    if words[:1] != ["kubectl"] or len(words) < 3 or words[1] not in _VERBS:
        raise Unknown(f"Enter a command that begins with kubectl and one of {', '.join(_VERBS)}.")
    given, options = _options(words[2:])
    return _VERBS[words[1]](spec, given, options)


def _options(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the options of a command."""
    given, options, rest = list[str](), dict[str, str](), iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if flag in _VALUED:
            options[_VALUED[flag]] = value if equals else next(rest, "")
        elif word == "--overwrite":
            options["overwrite"] = "true"
        elif word.startswith("-"):
            raise Unknown(f"The option {word[:40]} is not known here.")
        else:
            given.append(word)
    return given, options


def _objects(spec: dict[str, Any]) -> Iterator[tuple[list[Any], int, dict[str, Any]]]:
    """Yield the place of each object of the scenario, and the object."""
    objects = spec.get("objects") or []
    yield from ((objects, at, obj) for at, obj in enumerate(objects))
    timeline = spec.get("timeline") or []
    yield from ((timeline, at, entry["create"]) for at, entry in enumerate(timeline) if "create" in entry)


def _find(
    spec: dict[str, Any], given: list[str], options: dict[str, str]
) -> tuple[list[Any], int, dict[str, Any], list[str]]:
    """Return the place of the named object, the object, and the other arguments."""
    kind, slash, name = given[0].partition("/") if given else ("", "", "")
    rest = given[1:]
    if not slash:
        name, rest = (rest[0], rest[1:]) if rest else ("", rest)
    wanted = _KIND_OF.get(kind.lower().partition(".")[0])
    if wanted is None or not name:
        raise Unknown(f"Name a kind and an object. The kinds are {', '.join(sorted(KINDS))}.")
    namespace = options.get("namespace", "default")
    for place, at, obj in _objects(spec):
        metadata = obj.get("metadata") or {}
        here = wanted in ("Node", "PersistentVolume") or metadata.get("namespace", "default") == namespace
        if here and obj.get("kind") == wanted and metadata.get("name") == name:
            return place, at, obj, rest
    raise Unknown(f'Error from server (NotFound): {wanted} "{name[:63]}" not found')


def _cordon(spec: dict[str, Any], given: list[str], options: dict[str, str], on: bool) -> dict[str, Any]:
    *_, node, rest = _find(spec, ["node", *[word.removeprefix("node/") for word in given]], options)
    if rest:
        raise Unknown("Name one node.")
    inner = node.setdefault("spec", {})
    inner["unschedulable"] = on
    inner["taints"] = [one for one in inner.get("taints") or () if one["key"] != CORDON]
    if on:
        inner["taints"].append({"key": CORDON, "effect": "NoSchedule"})
    return node


def _label(spec: dict[str, Any], given: list[str], options: dict[str, str]) -> dict[str, Any]:
    *_, obj, pairs = _find(spec, given, options)
    if not pairs:
        raise Unknown("Name a label, as in key=value or key-.")
    labels = obj.setdefault("metadata", {}).setdefault("labels", {})
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals and key.endswith("-"):
            labels.pop(key[:-1], None)
        elif not equals:
            raise Unknown(f"{pair[:60]!r} is neither key=value nor key-.")
        elif labels.get(key, value) != value and "overwrite" not in options:
            raise Unknown(f"error: '{key}' already has a value ({labels[key]}), and --overwrite is false")
        else:
            labels[key] = value
    return obj


def _taint(spec: dict[str, Any], given: list[str], options: dict[str, str]) -> dict[str, Any]:
    *_, node, taints = _find(spec, given, options)
    if node["kind"] != "Node" or not taints:
        raise Unknown("Name a node and a taint, as in key=value:Effect or key:Effect-.")
    inner = node.setdefault("spec", {})
    for text in taints:
        pair, _, effect = text.removesuffix("-").partition(":")
        key, _, value = pair.partition("=")
        same = [one for one in inner.get("taints") or () if one["key"] == key and effect in ("", one["effect"])]
        if text.endswith("-"):
            if not same:
                raise Unknown(f'error: taint "{pair}" not found')
        elif not effect:
            raise Unknown(f"{text[:60]!r} has no effect.")
        elif same and "overwrite" not in options:
            raise Unknown(f"error: node {node['metadata']['name']} already has {key} taint(s) with same effect(s)")
        inner["taints"] = [one for one in inner.get("taints") or () if one not in same]
        if not text.endswith("-"):
            inner["taints"].append({"key": key, "effect": effect} | ({"value": value} if value else {}))
    return node


def _delete(spec: dict[str, Any], given: list[str], options: dict[str, str]) -> None:
    place, at, _, rest = _find(spec, given, options)
    if rest:
        raise Unknown("Delete one object.")
    del place[at]


def _scale(spec: dict[str, Any], given: list[str], options: dict[str, str]) -> dict[str, Any]:
    *_, obj, _ = _find(spec, given, options)
    replicas = options.get("replicas", "")
    if obj["kind"] != "Deployment" or not replicas.isascii() or not replicas.isdigit() or int(replicas) > 100:
        raise Unknown("Scale a Deployment to --replicas=N.")
    obj.setdefault("spec", {})["replicas"] = int(replicas)
    return obj


def _patch(spec: dict[str, Any], given: list[str], options: dict[str, str]) -> dict[str, Any]:
    place, at, obj, _ = _find(spec, given, options)
    try:
        patch = msgspec.json.decode(options.get("patch", "").encode(), type=dict[str, Any])
    except msgspec.DecodeError as problem:
        raise Unknown(f"The patch is not valid JSON: {problem}.") from None
    changed = merge_patch(copy.deepcopy(obj), patch)
    if obj["kind"] == "Pod" and _fixed(changed) != _fixed(obj):
        raise Unknown("The API server refuses to change this field of a pod. Change its labels, tolerations or gates.")
    if (changed.get("kind"), (changed.get("metadata") or {}).get("name")) != (obj["kind"], obj["metadata"]["name"]):
        raise Unknown("A patch cannot change the kind or the name.")
    if changed.get("status") != obj.get("status"):
        raise Unknown("The API server ignores the status in such a patch: kubelets and controllers report it.")
    if "create" in place[at]:
        place[at]["create"] = changed
    else:
        place[at] = changed
    return changed


def _fixed(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a pod's spec that the API server does not let anyone change."""
    return {
        key: value for key, value in (pod.get("spec") or {}).items() if key not in ("tolerations", "schedulingGates")
    }


_VERBS: dict[str, Callable[[dict[str, Any], list[str], dict[str, str]], dict[str, Any] | None]] = {
    "cordon": lambda spec, given, options: _cordon(spec, given, options, True),
    "delete": _delete,
    "label": _label,
    "patch": _patch,
    "scale": _scale,
    "taint": _taint,
    "uncordon": lambda spec, given, options: _cordon(spec, given, options, False),
}
