#!/usr/bin/env python3
"""A kubectl that changes objects in memory, or those of a file: `kubectl` of a command under test.

As a program, the file is named by OBJECTS, the real kubectl by KUBECTL. The real one computes patches and labels
(`--local`), so that their meaning and the flags are its own; this program only finds and stores objects. It refuses
what it does not know.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import yaml

Raw = dict[str, Any]
Local = Callable[[list[Raw], list[str]], list[Raw]]
"""(objects, arguments of a patch or label) -> the changed objects."""
CLUSTER_WIDE = ("node", "persistentvolume", "storageclass")
SHORT = {"pvc": "persistentvolumeclaim", "pv": "persistentvolume", "pods": "pod", "nodes": "node", "sc": "storageclass"}


def main(arguments: list[str]) -> int:
    path = os.environ["OBJECTS"]
    stdin = sys.stdin.read() if "-" in arguments else ""
    with open(path) as file:
        objects: list[Raw] = json.load(file)
    print(run(arguments, objects, stdin, _real), end="")
    with open(path, "w") if "--local" not in arguments and arguments[0] != "get" else open(os.devnull, "w") as file:
        json.dump(objects, file)
    return 0


def run(arguments: list[str], objects: list[Raw], stdin: str, local: Local) -> str:
    """Change the objects as kubectl does with these arguments; return what it prints of them."""
    verb, *rest = arguments
    names, flags = split(rest)
    namespace = flags.get("-n", "default")
    if verb == "patch" and "--local" in flags:
        return _printed(local(documents(stdin), ["patch", f"--type={flags['--type']}", "-p", flags["-p"]]))
    if verb in ("get", "describe"):
        found = _find(objects, names, namespace) if names != ["nodes"] else []
        return _printed(found) if flags.get("-o") == "json" else ""
    if verb == "patch":
        for obj in _find(objects, names, namespace):
            (changed,) = local([obj], ["patch", f"--type={flags.get('--type', 'strategic')}", "-p", flags["-p"]])
            gated = bool(obj["spec"].get("schedulingGates"))
            assert _immutable(obj, gated) == _immutable(changed, gated), f"changes an immutable field of {_key(obj)}"
            _set(objects, changed)
    elif verb == "label":
        changes = [name for name in names if "=" in name or name.endswith("-")]
        for obj in _find(objects, [name for name in names if name not in changes], namespace):
            for changed in local([obj], ["label", *changes, *(["--overwrite"] if "--overwrite" in flags else [])]):
                _set(objects, changed)
    elif verb == "uncordon":
        for obj in _find(objects, ["node", *names], ""):
            obj["spec"].pop("unschedulable", None)
            taints = obj["spec"].get("taints") or []
            obj["spec"]["taints"] = [one for one in taints if one["key"] != "node.kubernetes.io/unschedulable"]
    elif verb == "delete":
        for obj in _find(objects, names, namespace):
            objects.remove(obj)
    elif verb in ("create", "replace"):
        assert verb == "create" or "--force" in flags, f"replaces in place: {arguments}"
        for document in documents(stdin):
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
    return ""


def _immutable(obj: Raw, gated: bool) -> Any:
    """Return the fields that an API server lets no patch change, as far as a fix might. `gated`: before the patch."""
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
        free = {"tolerations", "schedulingGates", "activeDeadlineSeconds"}
        if gated:
            free |= {"nodeSelector", "affinity"}
        return {key: value for key, value in spec.items() if key not in free}
    return spec.get("selector")


def split(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
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


def _real(objects: list[Raw], arguments: list[str]) -> list[Raw]:
    verb, *rest = arguments
    command = [os.environ["KUBECTL"], verb, "--local", "-f", "-", "-o", "json", *rest]
    done = subprocess.run(command, input=_printed(objects), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def _printed(objects: list[Raw]) -> str:
    return json.dumps(objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects})


def documents(text: str) -> list[Raw]:
    """Return the objects of a text in JSON, also of several one after another, or in YAML."""
    found: list[Raw] = []
    rest = text.strip()
    while rest.startswith("{"):
        document, end = json.JSONDecoder().raw_decode(rest)
        found, rest = [*found, document], rest[end:].lstrip()
    return [one for document in (found or yaml.safe_load_all(text)) for one in document.get("items", [document])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
