"""Files that people give instead of a snapshot, with a part of the message that says what they are."""

import json

META = b"\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"  # the header of a bbolt page
KLOG = 'I1128 16:17:20.335754   16289 schedule_one.go:107] "About to try and schedule pod" pod="prod/app"\n'
BODY = 'I1128 16:17:19.690623   16289 type.go:165] "Response Body" body=<\n\t{"token":"s3cr3t"}\n >\n'
AUDIT = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "verb": "create"}
AUDIT_SECRET = {**AUDIT, "requestObject": {"kind": "Secret", "data": {"a": "czNjcjN0"}}}
USER = {"name": "u", "user": {"token": "s3cr3t"}}
CONTEXT = {"clusters": [{"name": "c", "cluster": {"server": "https://c"}}], "users": [USER], "contexts": []}
EVENT = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
    "reason": "FailedScheduling",
}
FLAGZ = {"apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kube-scheduler"}}
STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "nodes is forbidden"}
MESSAGE = "0/3 nodes are available: 3 Insufficient cpu.\n"
DESCRIBED = "Name:             giant\nNamespace:        prod\nPriority:         0\n"

TEXTS: dict[str, tuple[str, str]] = {
    "scheduler.log": (KLOG + BODY, "is a log of kube-scheduler"),
    "one-line.log": (KLOG, "is a log of kube-scheduler"),
    "kubelet.log": (KLOG.replace("schedule_one", "kubelet"), "is a log of a component of Kubernetes"),
    "prefixed.log": (f"[pod/kube-scheduler-n1/kube-scheduler] {KLOG}", "is a log of kube-scheduler"),
    "runtime.log": (f"2026-11-28T16:17:20.335754Z stderr F {KLOG}", "is a log of kube-scheduler"),
    "journal.log": (f"Nov 28 16:17:20 n1 kube-scheduler[12]: {KLOG}", "is a log of kube-scheduler"),
    "json.log": (
        '{"ts":1764346640335.7,"caller":"scheduler/schedule_one.go:107","msg":"About to try","v":3}\n' * 2,
        "is a log of kube-scheduler",
    ),
    "karpenter.log": ('{"level":"INFO","time":"2026-11-28T16:17:20Z","message":"found pod"}\n' * 2, "is a log"),
    "docker.log": (json.dumps({"log": KLOG, "stream": "stderr", "time": "2026-11-28T16:17:20Z"}) + "\n", "is a log"),
    "logfmt.log": ('time="2026-11-28T16:17:20Z" level=info msg="started"\n', "is a log"),
    "audit.log": ("".join(json.dumps(one) + "\n" for one in (AUDIT_SECRET, AUDIT)), "is an audit log"),
    "audit.json": (json.dumps({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": [AUDIT]}), "audit log"),
    "config": (
        "apiVersion: v1\nkind: Config\nclusters: []\nusers:\n- name: u\n  user: {token: s3cr3t}\ncurrent-context: c\n",
        "is a kubeconfig",
    ),
    "admin.conf": (
        "clusters:\n- name: c\n  cluster: {certificate-authority-data: YQ==}\nusers:\n- name: u\n",
        "is a kubeconfig",
    ),
    "config.json": (json.dumps({"kind": "Config", "apiVersion": "v1", **CONTEXT}), "is a kubeconfig"),
    "sorted.json": (json.dumps({"apiVersion": "v1", **CONTEXT, "kind": "Config"}), "is a kubeconfig"),
    "key.pem": ("-----BEGIN RSA PRIVATE KEY-----\nYQ==\n", "do not upload it"),
    "events.json": (json.dumps({"kind": "List", "apiVersion": "v1", "items": [EVENT]}), "contains only events"),
    "events-list.json": (
        json.dumps({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": [EVENT | {"reason": "Pulled"}]}),
        "contains only events",
    ),
    "metrics": (
        "# HELP scheduler_pending_pods [STABLE] Number of pending pods\n# TYPE scheduler_pending_pods gauge\n"
        'scheduler_pending_pods{queue="gated"} 3\n',
        "is a page of metrics",
    ),
    "grepped.txt": ('scheduler_pending_pods{queue="gated"} 3\ngoroutines{work="b"} 0\n', "is a page of metrics"),
    "flagz": ("\nkube-scheduler flagz\nWarning: not for machines\nv: 10\n", "is the page /flagz of kube-scheduler"),
    "statusz": ("\nkube-scheduler statusz\nWarning: not for machines\n\nUp  0 hr\n", "is the page /statusz"),
    "flagz.json": (json.dumps({"kind": "Flagz", **FLAGZ, "flags": {}}), "is the page /flagz"),
    "statusz.json": (json.dumps({"kind": "Statusz", **FLAGZ, "paths": []}), "is the page /statusz"),
    "status.json": (json.dumps(STATUS), "is an error message of the API server"),
    "pod.txt": (DESCRIBED, "is the output of `kubectl describe`"),
    "pending.txt": (f"{DESCRIBED}Events:\n  Warning  FailedScheduling  5s  scheduler  {MESSAGE}", "why-message"),
    "events.txt": (f"LAST SEEN   TYPE   REASON\n5s   Warning   FailedScheduling   pod/web   {MESSAGE}", "why-message"),
    "message.txt": (MESSAGE, "is a message of FailedScheduling, not a cluster"),
    "info.txt": ("\x1b[32mKubernetes control plane\x1b[0m is running at https://c\n", "cluster-info dump"),
    "keys.txt": ("/registry/minions/n1\n/registry/pods/default/web\n", "is a list of keys of etcd"),
    "values.yaml": ("replicaCount: 1\nimage: {repository: web}\n", "is a part of a Helm chart"),
    "Chart.yaml": ("apiVersion: v2\nname: web\nversion: 0.1.0\n", "is a part of a Helm chart"),
    "kustomization.yaml": ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "`kubectl kustomize"),
    "compose.yaml": ("services:\n  web:\n    image: nginx\n", "is a file of Compose"),
    "pods.csv": ("name,cpu,memory\nweb,1,2\n", "separated by commas"),
    "script.sh": ("#!/bin/sh\nkubectl get pods\n", "is a script"),
}  # fmt: skip
BINARIES: dict[str, tuple[bytes, str]] = {
    "etcd.db": (META + b"\xed\xda\x0c\xed\2\0\0\0\0\x10\0\0" + b"\0" * 4096, "is a damaged database of etcd"),
    "etcd-big-endian.db": (META + b"\xed\x0c\xda\xed" + b"\0" * 4096, "big-endian machine"),
    "state.db": (b"SQLite format 3\0\x10\0", "is a database of SQLite"),
    "object": (b"k8s\0\n\x0f\n\2v1\x12\3Pod", "protobuf"),
    "object.cbor": (b"\xd9\xd9\xf7\xa2dkindcPod", "CBOR"),
    "a.pcap": (b"\xd4\xc3\xb2\xa1\2\0\4\0" + b"\0" * 16, "is a capture of network packets"),
    "a.pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF document"),
    "runs.parquet": (b"PAR1\x15\4\x15\0", "is a Parquet file"),
    "a.zst": (b"\x28\xb5\x2f\xfd\0\0", "is a zstd archive"),
}
INPUTS: dict[str, tuple[bytes, str]] = {name: (text.encode(), says) for name, (text, says) in TEXTS.items()} | BINARIES

LIKE_SNAPSHOTS = {
    "a message before an object": KLOG + '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}}\n',
    "a kubeconfig in a ConfigMap": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-proxy, namespace: kube-system}\ndata:\n"
        "  kubeconfig.conf: |\n    apiVersion: v1\n    kind: Config\n    clusters: []\n    users: []\n"
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
    ),
    "kyaml": '---\n{\n  apiVersion: "v1",\n  kind: "Node",\n  metadata: {\n    name: "n1",\n  },\n}\n',
    "a comment on metrics": "# TYPE of the nodes\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n",
    "a node called log": '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "labels": {"msg": "x"}}}',
}
"""Readable snapshots with one node that look like something else."""
