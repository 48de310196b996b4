"""Texts for tests of the editor."""

from typing import Any

from kubesched_ui.editor.analysis import analyze
from kubesched_ui.editor.apply_edits import apply_changes

OURS = "apiVersion: kubesched.dev/v1alpha1\nkind: Scenario\n"

MIXED = """\
# What the cluster is for.
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
metadata: {name: Three zones}   # shown on the page
spec:
  timeline:
    # the first thing that happens
    - {at: 30, taint: {node: n1, key: broken, effect: NoSchedule}}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
# The shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web   # the shop window
spec:
  replicas: 3   # one a zone
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: c
          image: nginx
          resources:
            requests: {cpu: 500m}
"""

LISTED = """\
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
metadata:
  name: listed
spec:
  objects:
    # the only node
    - apiVersion: v1
      kind: Node
      metadata: {name: n1}
      status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
    - {apiVersion: v1, kind: Pod, metadata: {name: p1}, spec: {containers: [{name: c}]}}
    # the last
    - apiVersion: v1
      kind: Pod
      metadata:
        name: p2
      spec:
        containers:
          - name: c
"""


def problems(text: str) -> list[tuple[int, str, str]]:
    """Return (line from 1, severity, message) of each diagnostic."""
    return [(one["line"] + 1, one["severity"], one["message"]) for one in analyze(text)["problems"]]


def edited(text: str, *changes: dict[str, Any]) -> str:
    """Return the text after the edits."""
    edit = apply_changes(text, list(changes))
    if edit is None:
        return text
    lines = text.split("\n")
    lines[edit["first"] : edit["last"] + 1] = edit["lines"]
    return "\n".join(lines)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield every path in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, one in inner for spot in paths(one, (*path, key)))]
