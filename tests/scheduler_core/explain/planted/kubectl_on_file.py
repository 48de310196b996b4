#!/usr/bin/env python3
"""A kubectl that changes the objects of a file instead of a cluster: `kubectl` of a command under test.

The file is named by OBJECTS, the real kubectl by KUBECTL. The real one computes patches and labels (`--local`), so that
their meaning and the flags are its own; this program only finds and stores objects. It refuses what it does not know.
"""

import json
import os
import subprocess
import sys
from typing import Any

import yaml

Raw = dict[str, Any]
PATH, REAL = os.environ["OBJECTS"], os.environ["KUBECTL"]
CLUSTER_WIDE = ("node", "persistentvolume", "storageclass")
SHORT = {"pvc": "persistentvolumeclaim", "pv": "persistentvolume", "pods": "pod", "nodes": "node", "sc": "storageclass"}


def main(arguments: list[str]) -> int:
    if "--local" in arguments:
        return subprocess.run([REAL, *arguments], check=False).returncode
    with open(PATH) as file:
        objects: list[Raw] = json.load(file)
    verb, *rest = arguments
    names, flags = _split(rest)
    namespace = flags.get("-n", "default")
    if verb in ("get", "describe"):
        found = _find(objects, names, namespace) if names != ["nodes"] else []
        if flags.get("-o") == "json":
            print(json.dumps(found[0] if len(found) == 1 else {"apiVersion": "v1", "kind": "List", "items": found}))
        return 0
    if verb == "patch":
        for obj in _find(objects, names, namespace):
            changed = _local(obj, "patch", f"--type={flags.get('--type', 'strategic')}", "-p", flags["-p"])
            assert _immutable(obj) == _immutable(changed), f"changes an immutable field of {_key(obj)}"
            _set(objects, changed)
    elif verb in ("label", "taint"):
        changes = [name for name in names if "=" in name or name.endswith("-") or ":" in name]
        for obj in _find(objects, [name for name in names if name not in changes], namespace):
            if verb == "label":
                _set(objects, _local(obj, "label", *changes, *(["--overwrite"] if "--overwrite" in flags else [])))
            else:
                _untaint(obj, changes)
    elif verb == "uncordon":
        for obj in _find(objects, ["node", *names], ""):
            obj["spec"].pop("unschedulable", None)
            _untaint(obj, ["node.kubernetes.io/unschedulable:NoSchedule-"])
    elif verb == "delete":
        for obj in _find(objects, names, namespace):
            objects.remove(obj)
    elif verb in ("create", "apply", "replace"):
        for document in _documents(sys.stdin.read()):
            same = [obj for obj in objects if _key(obj) == _key(document)]
            assert (verb != "create") or not same, f"{_key(document)} exists"
            assert verb != "replace" or same, f"{_key(document)} does not exist"
            for obj in same:
                objects.remove(obj)
            document.pop("status", None)
            document["metadata"].setdefault("uid", f"new-{document['metadata']['name']}")
            objects.append(document)
    else:
        raise AssertionError(f"unknown command: {arguments}")
    with open(PATH, "w") as file:
        json.dump(objects, file)
    return 0


def _immutable(obj: Raw) -> Any:
    """Return the fields that an API server lets no patch change, as far as a fix might."""
    spec = dict(obj.get("spec") or {})
    if obj["kind"] == "Job":
        return {field: spec.get(field) for field in ("template", "completions", "selector")}
    if obj["kind"] == "PersistentVolumeClaim":
        return {field: spec.get(field) for field in ("accessModes", "storageClassName", "volumeName", "selector")}
    if obj["kind"] == "PersistentVolume":
        return spec.get("nodeAffinity")
    if obj["kind"] == "StorageClass":
        return {key: value for key, value in obj.items() if key != "metadata"}
    if obj["kind"] == "StatefulSet":
        return {field: spec.get(field) for field in ("volumeClaimTemplates", "serviceName", "selector")}
    if obj["kind"] == "Pod":  # tolerations may be added, gates removed, and gated pods get a selector
        free = ("tolerations", "schedulingGates", "activeDeadlineSeconds")
        if spec.get("schedulingGates"):
            free += ("nodeSelector", "affinity")
        return {key: value for key, value in spec.items() if key not in free}
    return spec.get("selector")


def _split(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments that are no flags, and the flags with their values."""
    names: list[str] = []
    flags: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-n", "-p", "-f", "-o"):
            flags[argument] = next(rest)
        elif argument.startswith("-") and len(argument) > 1:
            name, _, value = argument.partition("=")
            flags[name] = value
        else:
            names.append(argument)
    return names, flags


def _find(objects: list[Raw], names: list[str], namespace: str) -> list[Raw]:
    """Return the objects of KIND NAME ... or KIND/NAME ...; fail for one that does not exist."""
    kind, wanted = ("", names) if "/" in names[0] else (names[0], names[1:])
    found = []
    for name in wanted:
        one_kind, _, one_name = name.rpartition("/") if not kind else (kind, "", name)
        one_kind = SHORT.get(one_kind.lower(), one_kind.lower())
        where = "" if one_kind in CLUSTER_WIDE else namespace
        same = [obj for obj in objects if _key(obj) == (one_kind, where, one_name)]
        assert same, f"{one_kind} {where}/{one_name} does not exist"
        found += same
    assert found, f"no name: {names}"
    return found


def _key(obj: Raw) -> tuple[str, str, str]:
    kind, metadata = obj["kind"].lower(), obj["metadata"]
    where = "" if kind in CLUSTER_WIDE else metadata.get("namespace", "default")
    return kind, where, metadata["name"]


def _set(objects: list[Raw], changed: Raw) -> None:
    (index,) = [i for i, obj in enumerate(objects) if _key(obj) == _key(changed)]
    objects[index] = changed


def _local(obj: Raw, *arguments: str) -> Raw:
    verb, *rest = arguments
    command = [REAL, verb, "--local", "-f", "-", "-o", "json", *rest]
    done = subprocess.run(command, input=json.dumps(obj), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    changed: Raw = json.loads(done.stdout)
    return changed


def _untaint(node: Raw, changes: list[str]) -> None:
    for change in changes:
        assert change.endswith("-"), f"adds a taint: {change}"
        key, _, effect = change[:-1].partition(":")
        taints = node["spec"].get("taints") or []
        node["spec"]["taints"] = [
            taint for taint in taints if taint["key"] != key.partition("=")[0] or effect not in ("", taint["effect"])
        ]


def _documents(text: str) -> list[Raw]:
    found: list[Raw] = []
    for document in yaml.safe_load_all(text):
        found += document["items"] if document.get("kind") == "List" else [document]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
