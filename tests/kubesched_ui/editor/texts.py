"""Texts as people type them into the composer."""

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
