"""Suggested fixes on random clusters: none harms others, and each does what it says.

The checks are independent of `scheduler_core.debugger.suggestions`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.api.quantity import milli_value
from scheduler_core.cluster import system_taints
from scheduler_core.debugger.answers import answers_of
from scheduler_core.debugger.mutations import Edit, read_changes
from scheduler_core.explain.answer import Fix
from scheduler_core.simulation import Simulation
from tests import kubernetes_tools
from tests.api_server.patches import merge_patch
from tests.random_clusters import Chance, random_cluster
from tests.scheduler_core.debugger.applied_commands import applied, settled

Raw = dict[str, Any]
RELEASE = "1.34"
OWNERS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
SHOWS = ("kubectl describe ", "kubectl get nodes ")
SYSTEM = {system_taints.UNSCHEDULABLE, *system_taints.NOT_READY, *system_taints.NEVER}


@dataclass
class Suggestion:
    """A fix for pods (keys) of a cluster: `objects`, at rest."""

    objects: list[Raw]
    pods: list[str]
    fix: Fix


def suggestions(seed: int) -> Iterator[Suggestion]:
    """Yield all fixes for the pending pods of a random cluster, some of which have controllers."""
    chance = Chance(seed)
    case = random_cluster(seed)
    objects = copy.deepcopy(case["objects"])
    pending = [obj for obj in objects if obj["kind"] == "Pod" and _key(obj) in case["pods"]]
    for pod in pending:
        pod["metadata"].pop("ownerReferences", None)
        if chance.happens(0.6):
            objects.append(_owned(chance, pod))
    for node in [obj for obj in objects if obj["kind"] == "Node"]:
        if chance.happens(0.15):
            node["spec"]["unschedulable"] = True
    rest = _at_rest(objects)
    simulation = _simulation(rest, [])
    for group in answers_of(simulation, fixes=True):
        for fix in group.answer.fixes:
            yield Suggestion(rest, group.pods, fix)


def _simulation(objects: list[Raw], pods: list[str] | None) -> Simulation:
    return Simulation(copy.deepcopy(objects), release=RELEASE, preemption=False, pods=pods)


def _owned(chance: Chance, pod: Raw) -> Raw:
    """Give a pod a controller with its spec as template, and return it."""
    kind = chance.choice(list(OWNERS))
    name, namespace = f"of-{pod['metadata']['name']}", pod["metadata"]["namespace"]
    reference = {"apiVersion": OWNERS[kind], "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    pod["metadata"]["ownerReferences"] = [reference]
    template = {"metadata": {"labels": pod["metadata"].get("labels", {})}, "spec": copy.deepcopy(pod["spec"])}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    selector = {"matchLabels": pod["metadata"].get("labels", {})}
    return {
        "apiVersion": OWNERS[kind],
        "kind": kind,
        "metadata": metadata,
        "spec": {"selector": selector, "template": template},
    }


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


def placed(objects: list[Raw], pods: list[str], changes: list[Raw] = ()) -> int:  # type: ignore[assignment]
    """Return how many of the pods a new run places after the changes."""
    simulation = _simulation(objects, pods)
    Edit(simulation).apply(read_changes(copy.deepcopy(list(changes))))
    for _ in simulation.run():
        pass
    return sum(key in simulation.cluster.pods for key in pods)


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


def check(wanted: int, folder: Path, every: int) -> None:
    """Check so many suggestions, and run the command of each `every`-th one with kubectl."""
    kubectl = kubernetes_tools.kubectl("1.32")
    number = seed = run = 0
    while number < wanted:
        for one in suggestions(seed):
            number += 1
            where = f"seed {seed}, {one.pods}: {one.fix.text}"
            assert not harm(one), where
            places = placed(one.objects, one.pods, one.fix.changes)
            shows = one.fix.command.startswith(SHOWS)
            assert one.fix.places == (0 if shows else places), where
            if shows or not one.fix.command:
                continue
            run += 1
            if run % every == 0:
                after = settled(one.objects, applied(one.fix.command, one.objects, kubectl, folder))
                assert placed(after, one.pods) == places, f"{where}: {one.fix.command}"
        seed += 1


def test_fixes_do_what_they_say_and_do_no_harm(tmp_path: Path) -> None:
    check(60, tmp_path, every=8)


@pytest.mark.long
def test_2000_fixes_do_what_they_say_and_do_no_harm(tmp_path: Path) -> None:
    check(2000, tmp_path, every=8)
