"""Suggested fixes on random clusters: none harms others, and each does what it says.

The checks are independent of `scheduler_core.suggestions`.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_core.api.quantity import milli_value
from scheduler_core.cluster import system_taints
from scheduler_core.cluster.resources import amounts
from scheduler_core.explain.answer import Fix
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import defaults
from scheduler_core.suggestions.answers import answers_of, first_of, workloads_of
from tests import kubernetes_tools
from tests.api_server.patches import merge_patch
from tests.random_clusters import Chance, random_cluster
from tests.scheduler_core.explain.planted.causes import CAUSES, planted
from tests.scheduler_core.explain.planted.commands import applied, settled
from tests.scheduler_core.explain.planted.kubectl_on_file import documents
from tests.scheduler_core.suggestions import shell

Raw = dict[str, Any]
RELEASE = "1.34"
_REQUEST = re.compile(r"(?:request(?: at most)?|and|,) ([\d.,]+(?:[KMGTP]i)?) ([a-z][\w./-]*)")
OWNERS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
SHOWS = ("kubectl describe ", "kubectl get nodes ")
SYSTEM = {system_taints.UNSCHEDULABLE, *system_taints.NOT_READY, *system_taints.NEVER}


@dataclass
class Suggestion:
    """A fix for pods (keys) of a cluster: `objects`, at rest. `where`: the cluster, for messages."""

    where: str
    objects: list[Raw]
    pods: list[str]
    fix: Fix


def suggestions(seed: int) -> Iterator[Suggestion]:
    """Yield all fixes for the pending pods of a random cluster, some of which have controllers and equal siblings."""
    chance = Chance(seed)
    case = random_cluster(seed)
    objects = copy.deepcopy(case["objects"])
    pending = [obj for obj in objects if obj["kind"] == "Pod" and _key(obj) in case["pods"]]
    for pod in pending:
        pod["metadata"].pop("ownerReferences", None)
        pod.pop("status", None)  # a pod without a node has no containers
        if chance.happens(0.6):
            objects += _owned(chance, pod)
        for i in range(chance.randint(1, 3) if chance.happens(0.4) else 0):
            name = f"{pod['metadata']['name']}-{i}"
            identity = {"name": name, "uid": f"uid-{name}"}
            objects.append({**copy.deepcopy(pod), "metadata": {**copy.deepcopy(pod["metadata"]), **identity}})
    for obj in objects:
        obj.setdefault("apiVersion", "v1")  # kubectl patches only kinds that it knows
    for node in [obj for obj in objects if obj["kind"] == "Node"]:
        if chance.happens(0.15):
            node["spec"]["unschedulable"] = True
    return _suggested(f"seed {seed}", objects)


def planted_suggestions(seed: int) -> Iterator[Suggestion]:
    """Yield all fixes for planted causes, which are of every kind."""
    for name in CAUSES:
        yield from _suggested(f"{name} {seed}", planted(name, seed).objects)


def _suggested(where: str, objects: list[Raw]) -> Iterator[Suggestion]:
    rest = _at_rest(objects)
    simulation = _simulation(rest, [])
    for group in answers_of(simulation, fixes=True):
        workload = group.answer.workload
        assert workload is not None
        pods = next(pods for owner, pods in workloads_of(simulation).items() if owner.name == workload.name)
        for fix in group.answer.fixes:
            yield Suggestion(where, rest, [pod.key for pod in first_of(pods, group.pods[0])], fix)


def _simulation(objects: list[Raw], pods: list[str] | None) -> Simulation:
    return Simulation(copy.deepcopy(objects), release=RELEASE, preemption=False, pods=pods)


def _owned(chance: Chance, pod: Raw) -> list[Raw]:
    """Give a pod a controller with its spec as template; return it, and what it owns."""
    kind = chance.choice(list(OWNERS))
    name, namespace = f"of-{pod['metadata']['name']}", pod["metadata"]["namespace"]
    reference = {"apiVersion": OWNERS[kind], "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    pod["metadata"]["ownerReferences"] = [reference]
    template = {"metadata": {"labels": pod["metadata"].get("labels", {})}, "spec": copy.deepcopy(pod["spec"])}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    selector = {"matchLabels": pod["metadata"].get("labels", {})}
    spec = {"selector": selector, "template": template}
    made: list[Raw] = [{"apiVersion": OWNERS[kind], "kind": kind, "metadata": metadata, "spec": spec}]
    if kind == "Deployment":
        between = {**metadata, "name": f"{name}-1", "uid": f"uid-{name}-1", "ownerReferences": [dict(reference)]}
        replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": between, "spec": copy.deepcopy(spec)}
        made.append(replicas)
        reference |= {"kind": "ReplicaSet", "name": f"{name}-1", "uid": f"uid-{name}-1"}
    return made


def _at_rest(objects: list[Raw]) -> list[Raw]:
    """Return the objects with the pods of a run on their nodes."""
    simulation = _simulation(objects, None)
    for _ in simulation.run():
        pass
    rest = copy.deepcopy(objects)
    for obj in rest:
        if obj["kind"] == "Pod" and _key(obj) in simulation.cluster.pods:
            obj["spec"]["nodeName"] = simulation.cluster.pods[_key(obj)].node
    return rest


def _key(obj: Raw) -> str:
    return f"{obj['metadata'].get('namespace') or 'default'}/{obj['metadata']['name']}"


def placed(simulation: Simulation, pods: list[str]) -> int:
    """Return how many of the pods a run places."""
    for _ in simulation.run():
        pass
    return sum(key in simulation.cluster.pods for key in pods)


def contents(simulation: Simulation) -> dict[tuple[str, str], Any]:
    """Return what is scheduled and on what, with defaults, and what counts of running pods."""
    found: dict[tuple[str, str], Any] = {}
    cluster = simulation.cluster
    for pod in cluster.pods.values():
        away = pod.pod.spec.affinity.pod_anti_affinity if pod.pod.spec.affinity else None
        found["Pod", pod.key] = pod.node, pod.labels, pod.requests, pod.host_ports, away
    for obj in (*(pod.pod for pod in simulation.pending if not pod.node), *cluster.nodes.nodes, *cluster.others()):
        kind = type(obj).__name__
        document = {"kind": kind, **msgspec.to_builtins(obj)}
        document["metadata"].pop("uid", None)
        if kind in ("Pod", "PersistentVolumeClaim"):
            document.pop("status", None)
        defaults.fill(document, cluster.release)
        for one in document["spec"].get("topologySpreadConstraints", []) if kind == "Pod" else ():
            one.setdefault("whenUnsatisfiable", "DoNotSchedule")
        found[kind, obj.key] = document
    return found


def harm(one: Suggestion) -> list[str]:
    """Return what a fix does that none may do."""
    objects = {(obj["kind"], _key(obj)): obj for obj in one.objects}
    found = []
    for change in one.fix.changes:
        ((operation, what),) = ((name, value) for name, value in change.items() if value is not None)
        shows = one.fix.command.startswith(SHOWS)
        if operation == "create" and what["kind"] in ("Node", "PersistentVolumeClaim"):
            continue
        if operation == "uncordon" or (operation == "untaint" and what["key"] == system_taints.UNSCHEDULABLE):
            continue
        if operation == "delete" and what["kind"] == "PersistentVolumeClaim":
            claim = objects["PersistentVolumeClaim", f"{what['namespace']}/{what['name']}"]
            found += ["deletes a bound claim"] if claim["spec"].get("volumeName") else []
            continue
        if operation != "patch":
            found.append(f"{operation} {what}")
            continue
        key = f"{what.get('namespace') or 'default'}/{what['name']}"
        if what["kind"] == "Pod":
            found += _of_pod(one, objects["Pod", key], what["patch"])
        elif what["kind"] == "Node" and not shows:
            node = next(obj for obj in one.objects if obj["kind"] == "Node" and obj["metadata"]["name"] == what["name"])
            labels = what["patch"].get("metadata", {}).get("labels", {})
            same = what["patch"] == {"metadata": {"labels": labels}}
            found += [] if same and not labels.keys() & node["metadata"]["labels"].keys() else [f"patches {key}"]
        elif what["kind"] != "Node":
            found.append(f"patches {what['kind']} {key}")
    return found


def _of_pod(one: Suggestion, pod: Raw, patch: Raw) -> list[str]:
    found = []
    new = merge_patch(pod, patch)
    owners = {_owner(obj) for obj in one.objects if obj["kind"] == "Pod" and _key(obj) in one.pods}
    if _key(pod) not in one.pods and _owner(pod) not in owners:
        found.append(f"patches another pod, {_key(pod)}")
    if new["metadata"].get("labels") != pod["metadata"].get("labels"):
        found.append("changes labels")
    for field in ("volumes", "resourceClaims", "schedulerName", "priority"):
        if new["spec"].get(field) != pod["spec"].get(field):
            found.append(f"changes {field}")
    for before, after in zip(_containers(pod), _containers(new), strict=True):
        was, now = (c.get("resources", {}).get("requests", {}) for c in (before, after))
        gone = [name for name in was if milli_value(was[name]) and not milli_value(now.get(name, "0"))]
        if len(gone) > len(now.keys() - was.keys()):
            found.append(f"requests no {gone}")
    old = pod["spec"].get("tolerations", [])
    for toleration in new["spec"].get("tolerations", []):
        if toleration not in old and (toleration.get("key", "") in SYSTEM or not toleration.get("key")):
            found.append(f"tolerates {toleration}")
    if one.fix.command.startswith("kubectl patch pod"):
        fixed = {"tolerations", "schedulingGates"}
        other = [name for name in patch.get("spec", {}) if name not in fixed]
        lost = [t for t in old if t not in new["spec"].get("tolerations", [])]
        found += [f"changes {other} in place"] if other or lost else []
    return found


def _owner(pod: Raw) -> str:
    references = pod["metadata"].get("ownerReferences") or [{"kind": "Pod", "name": _key(pod)}]
    return f"{references[0]['kind']} {references[0]['name']}"


def _containers(pod: Raw) -> list[Raw]:
    return [*pod["spec"].get("containers", []), *pod["spec"].get("initContainers", [])]


def differences(one: Suggestion, after: list[Raw]) -> list[str]:
    """Return what the fix says of the simulated changes that is not so after the command."""
    simulated = _simulation(one.objects, one.pods)
    Edit(simulated).apply(read_changes(copy.deepcopy(one.fix.changes)))
    here = contents(simulated)
    places = placed(simulated, one.pods)
    if one.fix.command.startswith(SHOWS):
        return [] if (after, one.fix.places) == (one.objects, 0) else ["it changes something"]
    found = [f"says {text} {name}" for text, name in _requests_named(one) if not _requests(simulated, one, text, name)]
    found += [f"places {one.fix.places}, but {places} in a run"] if places != one.fix.places else []
    if one.fix.command:
        commanded = _simulation(settled(one.objects, after, one.pods, one.fix.remark), one.pods)
        there = contents(commanded)
        keys = sorted(key for key in here.keys() | there if here.get(key) != there.get(key))
        found += [f"{key}: {here.get(key)} {there.get(key)}" for key in keys]
        found += ["places another number after the command"] if places != placed(commanded, one.pods) else []
    return found


def _requests_named(one: Suggestion) -> list[tuple[str, str]]:
    """Return (quantity, resource) of the requests that a text proposes."""
    return _REQUEST.findall(one.fix.text) if one.fix.kind == "requests" else []


def _requests(simulation: Simulation, one: Suggestion, text: str, name: str) -> bool:
    """Return whether the pod requests just what the text says."""
    pods = [*simulation.pending, *simulation.cluster.pods.values()]
    requests = next(pod for pod in pods if pod.key == one.pods[0]).requests
    return amounts({name: text.replace(",", "")}) == {name: requests[name]}


def canonical(before: list[Raw], after: list[Raw], kubectl: Path) -> list[Raw]:
    """Return the objects that a command changed or created, as kubectl writes them."""
    changed = [{**obj, "status": {}} for obj in after if obj not in before]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": changed})
    command = [str(kubectl), "patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return sorted(documents(done.stdout), key=lambda obj: (obj["kind"], _key(obj)))


def check(found: Iterator[Suggestion], wanted: int, every: int = 0) -> Counter[str]:
    """Check so many suggestions: that they do no harm, and that the command does what was simulated.

    bash and a real kubectl also run each `every`-th command. Return the number by kind.
    """
    kinds: Counter[str] = Counter()
    commands = 0
    for one in islice(found, wanted):
        kinds[one.fix.kind] += 1
        where = f"{one.where}, {one.pods}: {one.fix.text}\n{one.fix.command}"
        assert not harm(one), where
        after = shell.applied(one.fix.command, one.objects) if one.fix.command else one.objects
        wrong = differences(one, after)
        assert not wrong, "\n".join([where, *wrong])
        if after != one.objects:
            commands += 1
            if every and commands % every == 0:
                # Resources of a whole pod are a field since 1.32, and kubectl patches no field that it does not know.
                of_pod = '"spec":{"resources"' in one.fix.command
                releases = kubernetes_tools.KUBECTL_RELEASES[of_pod:]
                kubectl = kubernetes_tools.kubectl(releases[commands // every % len(releases)])
                really = applied(one.objects, one.fix.command, kubectl)
                assert canonical(one.objects, after, kubectl) == canonical(one.objects, really, kubectl), where
    assert kinds.total() == wanted
    return kinds


def of_random_clusters() -> Iterator[Suggestion]:
    return (one for seed in count() for one in suggestions(seed))


def of_planted_causes() -> Iterator[Suggestion]:
    return (one for seed in count(300) for one in planted_suggestions(seed))


def test_fixes_do_what_they_say_and_do_no_harm() -> None:
    check(of_random_clusters(), 60, every=20)


@pytest.mark.long
def test_2000_fixes_do_what_they_say_and_do_no_harm() -> None:
    kinds = check(of_random_clusters(), 2000, every=25)
    assert kinds.keys() >= {"capacity", "gate", "node-selector", "requests", "toleration", "uncordon"}


@pytest.mark.long
def test_fixes_of_every_kind_do_what_they_say_and_do_no_harm() -> None:
    kinds = check(of_planted_causes(), 600, every=25)
    assert len(kinds) > 20
