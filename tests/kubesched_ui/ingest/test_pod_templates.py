"""Pods of one template are read once, with the same result as pods that are read alone."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from kubesched_ui.ingest import IngestResult, Limits, ingest_files
from kubesched_ui.ingest.pod_templates import PodTemplates, PodText

Pod = dict[str, Any]
Change = Callable[[Pod], object]


def pod(number: int, **metadata: Any) -> Pod:
    """A pod of a ReplicaSet as an API server returns it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "creationTimestamp": f"2026-01-02T03:04:{number:02}Z",
            "generateName": "web-6d8-",
            "labels": {"app": "web"},
            "name": f"web-6d8-{number:05}",
            "namespace": "shop",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d8", "uid": "1-2"}],
            "resourceVersion": f"{1000 + number}",
            "uid": f"0f8fad5b-{number}",
            **metadata,
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "env": [{"name": "PASSWORD", "value": "secret"}],
                    "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
                }
            ],
            "nodeName": f"node-{number}",
        },
        "status": {
            "conditions": [
                {"lastProbeTime": None, "lastTransitionTime": f"2026-01-02T03:05:{number:02}Z", "type": "Ready"}
            ],
            "containerStatuses": [{"containerID": f"containerd://{number:064x}", "name": "web"}],
            "phase": "Running",
            "podIP": f"10.0.0.{number}",
            "startTime": f"2026-01-02T03:04:{number:02}Z",
        },
    }


def written(number: int) -> Pod:
    """A pod as a user writes it."""
    made = pod(number)
    del made["status"], made["spec"]["nodeName"]
    made["metadata"] = {"name": f"mine-{number}", "namespace": "shop", "labels": {"app": "web"}}
    return made


def read(*pods: Pod | str) -> IngestResult:
    items = ",".join(one if isinstance(one, str) else json.dumps(one) for one in pods)
    return ingest_files([("pods.json", f'{{"kind": "List", "items": [{items}]}}'.encode())])


def stored(result: IngestResult) -> list[Any]:
    rows = [(*key, record.api_version, record.data, record.node) for key, record in result.records.items()]
    assert [row[:3] for row in rows] == [(r.kind, r.namespace, r.name) for r in result.records.values()]
    return rows


def found(result: IngestResult) -> Any:
    about = [(w.code, w.field, w.message.partition(": ")[2]) for w in result.warnings if w.code != "no-nodes"]
    return stored(result), result.dropped, result.filled.message, about


def change(path: str, value: Any) -> Change:
    *parents, last = path.split(".")

    def apply(one: Pod) -> None:
        for step in parents:
            one = one[int(step)] if step.isdigit() else one.setdefault(step, {})  # type: ignore[index]
        one[last] = value

    return apply


def mount(one: Pod, *volumes: str) -> None:
    """Add volumes, the first of which the container mounts."""
    one["spec"]["volumes"] = [{"name": name, "emptyDir": {}} for name in volumes]
    one["spec"]["containers"][0]["volumeMounts"] = mounts = [{"name": volumes[0], "mountPath": "/m"}]
    if "status" in one:
        one["status"]["containerStatuses"][0]["volumeMounts"] = mounts


def token(one: Pod) -> str:
    """Return the name of the volume with the pod's token."""
    return f"kube-api-access-{one['metadata']['name'][-5:].replace('-', 'x')}"


def select(one: Pod, *nodes: str, operator: str = "In") -> None:
    """Require nodes by name."""
    field = {"key": "metadata.name", "operator": operator, "values": nodes}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    one["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def daemon(one: Pod) -> None:
    """Require the pod's node, as the DaemonSet controller does."""
    select(one, one["spec"].get("nodeName", f"for-{one['metadata']['name']}"))


CHANGES: dict[str, Change] = {
    "nothing": lambda one: None,
    "no node": lambda one: one["spec"].pop("nodeName", None),
    "an empty node": change("spec.nodeName", ""),
    "no uid": lambda one: one["metadata"].pop("uid", None),
    "no status": lambda one: one.pop("status", None),
    "a label with the pod's name": lambda one: change("metadata.labels.name", one["metadata"]["name"])(one),
    "a label with a name": change("metadata.labels.name", "other"),
    "a field nodeName elsewhere": change("spec.nodeSelector", {"nodeName": "x"}),
    "a quantity named as a node": change("spec.containers.0.resources.requests.nodeName", "5"),
    "an unknown field": change("spec.nodeSelectorr", {"a": "b"}),
    "managed fields": change("metadata.managedFields", [{"manager": "kubectl", "time": "2026-01-02T03:04:05Z"}]),
    "another key": change("extra", {"name": "x"}),
    "a null": change("spec.tolerations", None),
    "a null element": change("spec.tolerations", [None]),
    "letters beyond ASCII": change("metadata.annotations", {"owner": "Zoë"}),
    "a NUL": change("metadata.annotations", {"owner": "\0"}),
    "an empty spec": change("spec", {}),
    "another container": change("spec.containers.0.name", "other"),
    "a container named like the pod": lambda one: change("spec.containers.0.name", one["metadata"]["name"])(one),
    "a label with a key of the spec": change("metadata.labels.nodeName", "x"),
    "a variable without a value": change("spec.containers.0.env", [{"name": "PASSWORD"}]),
    "a token": lambda one: mount(one, token(one)),
    "a token after a volume": lambda one: mount(one, "data", token(one)),
    "the same token": lambda one: mount(one, "kube-api-access-abcde"),
    "a container named like a token": change("spec.containers.0.name", "kube-api-access-abcde"),
    "the node in its affinity": daemon,
    "another node in its affinity": lambda one: select(one, "other"),
    "a node that it avoids": lambda one: select(one, "other", operator="NotIn"),
    "an affinity in an annotation": lambda one: (
        daemon(one),
        change("metadata.annotations", {"spec": json.dumps(one["spec"].pop("affinity"))})(one),
    ),
    "no namespace": lambda one: one["metadata"].pop("namespace"),
}


@pytest.mark.parametrize("make", [pod, written])
@pytest.mark.parametrize("name", CHANGES)
def test_pods_of_a_template_are_read_as_pods_alone(name: str, make: Callable[[int], Pod]) -> None:
    pods = [make(number) for number in range(1, 6)]
    for one in pods:
        CHANGES[name](one)
    together = read(*pods)
    alone = [read(one) for one in pods]
    assert stored(together) == [record for one in alone for record in stored(one)]
    assert together.dropped == sum((one.dropped for one in alone[1:]), alone[0].dropped)
    assert together.filled.counts == sum((one.filled.counts for one in alone[1:]), alone[0].filled.counts)
    assert {w.code for w in together.warnings} == {w.code for one in alone for w in one.warnings}


@pytest.mark.parametrize("make", [pod, written])
@pytest.mark.parametrize("name", CHANGES)
def test_a_pod_that_differs_is_not_of_the_template(name: str, make: Callable[[int], Pod]) -> None:
    pods = [make(number) for number in range(1, 4)]
    other = make(9)
    CHANGES[name](other)
    before, after, alone = read(*pods), read(*pods, other), read(other)
    assert stored(after) == [*stored(before), *stored(alone)]
    assert after.dropped == before.dropped + alone.dropped
    assert after.filled.counts == before.filled.counts + alone.filled.counts
    assert {w.code for w in after.warnings} == {w.code for one in (before, alone) for w in one.warnings}


TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
INVALID = {
    "a time": ("metadata.creationTimestamp", "2026-02-30T03:04:05Z"),
    "a name": ("metadata.name", "a%b"),
    "a node": ("spec.nodeName", 7),
    "a quantity": ("spec.containers.0.resources.requests.cpu", "much"),
    "a quantity named as a node": ("spec.containers.0.resources.requests.nodeName", "much"),
    "an address": ("status.podIP", {"a": 1}),
    "two nodes": (f"{TERMS}.0.matchFields.0.values", ["node-9", "node-1"]),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_pod_is_refused_after_others(name: str) -> None:
    path, value = INVALID[name]
    pods = [pod(number) for number in range(1, 4)]
    if name.endswith("as a node"):
        for one in pods:
            change(path, "5")(one)
    other = copy.deepcopy(pods[0]) | pod(9)
    if name == "two nodes":
        for one in (*pods, other):
            daemon(one)
    change(path, value)(other)
    alone = read(other, written(1))
    together = read(*pods, other, written(1))
    assert found(together)[3] == found(alone)[3]
    assert len(together.records) == len(pods) + len(alone.records)


def test_a_repeated_key_is_found_after_other_pods() -> None:
    text = json.dumps(pod(9))
    for broken in (
        text.replace('"spec": {', '"spec": {"nodeName": "x", ', 1),
        text.replace('"metadata": {', '"metadata": {"name": "x", ', 1),
        text[:-1] + ', "spec": {}}',
    ):
        result = read(*(pod(number) for number in range(1, 4)), broken)
        assert len(result.records) == 3
        assert "occurs twice" in str(found(result)[3])


def test_the_last_of_two_pods_with_a_name_counts() -> None:
    pods = [pod(number) for number in range(1, 4)]
    again = pod(2)
    again["spec"]["nodeName"] = "elsewhere"
    result = read(*pods, pods[0], again)
    assert [record.node for record in result.records.values()] == ["node-1", "node-3", "elsewhere"]
    assert sum(w.code == "duplicate" for w in result.warnings) == 1


def test_a_text_that_does_not_say_its_kind_is_of_the_list_around_it() -> None:
    def items(kind: str, *numbers: int) -> tuple[str, bytes]:
        pods = [{key: value for key, value in pod(number).items() if key != "kind"} for number in numbers]
        for one in pods:
            one["metadata"]["annotations"] = {"about": "Pod"}
        return f"{kind}.json", json.dumps({"apiVersion": "v1", "kind": f"{kind}List", "items": pods}).encode()

    result = ingest_files([items("Pod", 1, 2, 3, 4), items("Service", 5, 6)])
    assert [record.kind for record in result.records.values()] == ["Pod"] * 4 + ["Service"] * 2


def test_a_pod_of_a_template_may_be_too_large() -> None:
    texts = [json.dumps(written(number)) for number in (11, 12, 13, 140_000)]
    upload = f'{{"kind": "List", "items": [{",".join(texts)}]}}'.encode()
    result = ingest_files([("pods.json", upload)], Limits(max_object_bytes=len(texts[0])))
    assert len(result.records) == 3
    assert [w.code for w in result.warnings] == ["broken", "no-nodes"]
    assert "item 4 (Pod)" in result.warnings[0].message
    assert "is larger than" in result.warnings[0].message


def test_templates_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    get = PodTemplates.get

    def counted(self: PodTemplates, text: Any) -> Any:
        template = get(self, text)
        used.extend([template.model.namespace] if template else [])
        return template

    monkeypatch.setattr(PodTemplates, "get", counted)
    read(*(pod(number) for number in range(1, 6)), *(written(number) for number in range(5)))
    assert len(used) == 6  # the first two of each are read
    for own in (lambda one: mount(one, token(one), "data"), daemon):
        used.clear()
        pods = [pod(number) for number in range(1, 6)]
        for one in pods:
            own(one)
        read(*pods)
        assert len(used) == 3


def test_a_token_in_the_place_of_another_volume() -> None:
    """Both volumes have the same text but for their names."""
    pods = [pod(number) for number in range(1, 13)]
    for number, one in enumerate(pods):
        names = [(token(one), "data"), ("data", token(one)), ("data", "more"), ("more", "data")][number // 3]
        mount(one, *names)
    for some in (pods, pods[::-1], pods[::3] + pods[1::3] + pods[2::3]):
        assert stored(read(*some)) == [record for one in some for record in stored(read(one))]


def test_objects_about_pods_are_not_taken_for_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    split = PodTemplates._split
    texts: list[bytes] = []

    def noted(value: bytes) -> PodText:
        texts.append(bytes(value))
        return split(value)

    monkeypatch.setattr(PodTemplates, "_split", staticmethod(noted))
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    sorted_event = {"apiVersion": "v1", "involvedObject": about, "kind": "Event", "metadata": {"name": "f"}}
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"ownerReferences": [about]}}
    workload["spec"] = {"podSets": [{"template": {"spec": {"containers": [{"name": "c"}]}}}]}
    read(*(written(number) for number in range(3)))
    pods = len(texts)
    assert pods > 0
    texts.clear()
    read(*(written(number) for number in range(3)), event, sorted_event, workload)
    assert len(texts) == pods
    assert all(b'"Pod"' in text and b"podSets" not in text and b"involvedObject" not in text for text in texts)
