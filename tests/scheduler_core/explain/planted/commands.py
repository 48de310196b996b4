"""Applies the command of a fix to the objects of a cluster, and makes the pods that the controllers would make then."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.scheduler_core.explain.planted.answers import explained

Raw = dict[str, Any]
ON_FILE = Path(__file__).with_name("kubectl_on_file.py")
BETWEEN = {"Deployment": "ReplicaSet", "CronJob": "Job"}  # kind -> kind of what it makes
ROLLED_OUT = ("Deployment", "StatefulSet", "DaemonSet")


def placed_with(objects: list[Raw], pods: list[str], fix: Raw, kubectl: Path) -> list[str]:
    """Return which of the pods get a node in a new run after the fix's command, and what its remark says to do then.

    Raises AssertionError if the command fails.
    """
    command = fix["command"]
    after = applied(objects, command, kubectl)
    _remake(objects, after, pods, all_pods="replaced as well" in fix["remark"])
    found = explained(after)
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


def _remake(before: list[Raw], after: list[Raw], pods: list[str], all_pods: bool) -> None:
    """Make the pending pods of each changed workload anew from its template, as its controller does.

    A rollout also replaces its running pods, as a person does with `all_pods`. They stay on their nodes here.
    """
    old = {_title(obj): obj for obj in before}
    made = {}
    for obj in after:
        template = _template(obj)
        if template is not None and _title(obj) in old and template != _template(old[_title(obj)]):
            made[_title(obj)] = template
    owners = {(kind, namespace, name): key for key in made for kind, namespace, name in _makers(after, key)}
    for pod in [obj for obj in after if obj["kind"] == "Pod"]:
        references = pod["metadata"].get("ownerReferences") or [{}]
        maker = (references[0].get("kind", ""), pod["metadata"]["namespace"], references[0].get("name", ""))
        if maker in owners and (_key(pod) in pods or all_pods or owners[maker][0] in ROLLED_OUT):
            template = copy.deepcopy(made[owners[maker]])
            on = {"nodeName": pod["spec"]["nodeName"]} if pod["spec"].get("nodeName") else {}
            pod["spec"] = {"schedulerName": "default-scheduler", "priority": 0, **template["spec"], **on}
            pod["metadata"]["labels"] = template["metadata"]["labels"]


def _makers(objects: list[Raw], key: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    """Return the direct owners of the pods of a workload: itself, or its ReplicaSets or Jobs."""
    kind, namespace, name = key
    found = [key]
    for obj in objects:
        references = obj["metadata"].get("ownerReferences") or [{}]
        if obj["kind"] == BETWEEN.get(kind) and references[0].get("name") == name:
            found.append((obj["kind"], namespace, obj["metadata"]["name"]))
    return found


def _template(obj: Raw) -> Raw | None:
    spec = obj.get("spec") or {}
    template: Raw | None = spec.get("template") or ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template")
    return template if obj["kind"] != "Pod" else None


def _title(obj: Raw) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _key(pod: Raw) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
