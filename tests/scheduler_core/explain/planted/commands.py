"""Applies the command of a fix to the objects of a cluster, and makes the pods that the controllers would make then."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.scheduler_core.explain.planted.answers import explained

Raw = dict[str, Any]
ON_FILE = Path(__file__).with_name("kubectl_on_file.py")
ROLLED_OUT = ("Deployment", "StatefulSet", "DaemonSet", "Job")  # a Job is created again
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def placed_with(objects: list[Raw], pods: list[str], fix: Raw, kubectl: Path) -> list[str]:
    """Return which of the pods get a node in a new run after the fix's command, and what its remark says to do then.

    Raises AssertionError if the command fails.
    """
    command = fix["command"]
    after = applied(objects, command, kubectl)
    found = explained(settled(objects, after, pods, fix["remark"]))
    return [pod for pod in pods if pod in found and found[pod]["result"] == "scheduled"]


def applied(objects: list[Raw], command: str, kubectl: Path) -> list[Raw]:
    """Return the objects after the command, which bash runs with `kubectl_on_file.py` as kubectl."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "objects.json").write_text(json.dumps(objects))
        program = path / "kubectl"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {ON_FILE} "$@"\n')
        program.chmod(0o755)
        environment = os.environ | {"OBJECTS": str(path / "objects.json"), "KUBECTL": str(kubectl)}
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        script = f"set -euo pipefail\n{command}"
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
        changed: list[Raw] = json.loads((path / "objects.json").read_text())
        return changed


def settled(before: list[Raw], after: list[Raw], pods: Collection[str], remark: str) -> list[Raw]:
    """Return the objects after the controllers: pods follow their templates, nodes lose the taint of a cordon.

    `pods`: keys of pending pods, which are made anew. A rollout also replaces the running pods of its workload, as a
    person does if the remark of the fix says so. They stay on their nodes here.
    """
    old, new = ({_title(obj): obj for obj in objects} for objects in (before, after))
    found = []
    for obj in map(copy.deepcopy, after):
        if obj["kind"] == "Node" and not obj.get("spec", {}).get("unschedulable"):
            obj["spec"]["taints"] = [t for t in obj["spec"].get("taints", []) if t["key"] != _UNSCHEDULABLE]
        if obj["kind"] == "Pod":
            owner = _owner(old, obj)
            made_anew = _key(obj) in pods or owner[0] in ROLLED_OUT or "replaced as well" in remark
            if owner in old and owner in new and made_anew:
                was, now = (of[owner]["spec"].get("template", {}).get("spec", {}) for of in (old, new))
                for field in {*was, *now}:
                    if was.get(field) != now.get(field):
                        obj["spec"].pop(field, None)
                        obj["spec"].update({field: now[field]} if field in now else {})
        found.append(obj)
    return found


def _owner(objects: dict[tuple[str, str, str], Raw], obj: Raw) -> tuple[str, str, str]:
    """Return the last controller above an object that exists and has a template of pods."""
    for ref in obj["metadata"].get("ownerReferences", []):
        above = (ref["kind"], obj["metadata"].get("namespace", ""), ref["name"])
        if ref.get("controller") and ref["kind"] != "CronJob" and above in objects:
            return _owner(objects, objects[above])
    return _title(obj)


def _title(obj: Raw) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _key(pod: Raw) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
