"""The plugin of kubectl: answers, output, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.commands.kubectl import plugin, terminal
from scheduler_core.commands.kubectl.raw_requests import KubectlTransport
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.transport import TransportError
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from tests import kubernetes_tools
from tests.api_server.process import api_server
from tests.recordings import LIVE_A
from tests.scheduler_core.build import claim, mounts, node, pod, volume, workload
from tests.scheduler_core.commands.kubectl.fake_cluster import FakeTransport
from tests.scheduler_core.dra import objects as devices
from tests.scheduler_core.pending_pods.mirrors import rejected

Raw = dict[str, Any]
OWNER = [{"kind": "ReplicaSet", "name": "web", "controller": True}]


def owned(raw: Raw) -> Raw:
    raw["metadata"]["ownerReferences"] = OWNER
    return raw


class Ran:
    """A finished run of the plugin."""

    def __init__(self, code: int, text: str, transport: FakeTransport) -> None:
        self.code, self.text, self.transport = code, text, transport

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(arguments: str, objects: Iterable[Raw], out: io.StringIO | None = None, **more: Any) -> Ran:
        transport = FakeTransport(objects, **more)
        monkeypatch.setattr(plugin, "KubectlTransport", lambda flags: transport)
        stream = out or io.StringIO()
        return Ran(plugin.main(arguments.split(), stream), stream.getvalue(), transport)

    return run


BIG = rejected(pod("big", requests={"cpu": "8"}))
CROWDED = rejected(pod("crowded", requests={"cpu": "3"}))
GATED = rejected(pod("gated", schedulingGates=[{"name": "a/b"}]))
OTHER = pod("other", on="n1", requests={"cpu": "2"}, status={"phase": "Running"})
CLUSTER = [node("n1"), OTHER, BIG, CROWDED, GATED]


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("big", plugin.EXIT_NEVER, "Never: The pod requests 8 cpu; the only node has 4."),
        ("pod/crowded", plugin.EXIT_NOT_NOW, "Not now: No node has 3 cpu free: the closest, n1, is short by 1 cpu"),
        ("po crowded", plugin.EXIT_NOT_NOW, "Nodes:       1 node lacks cpu"),
        ("gated", plugin.EXIT_UNDECIDED, "Not asked: It waits until the scheduling gate a/b is removed"),
        ("other", plugin.PLACED, "Not pending: Its phase is Running on n1"),
    ],
)
def test_a_pod(run: Any, name: str, code: int, text: str) -> None:
    found = run(f"why {name} --no-fix", CLUSTER)
    assert (found.code, text in found.text) == (code, True), found.text
    assert "\x1b" not in found.text


@pytest.mark.parametrize("visible", [True, False])
def test_pods_that_preenqueue_holds(run: Any, visible: bool) -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    group["metadata"] = {"name": "g", "namespace": "default"}
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    pods = [
        pod("no-claim", resourceClaims=[{"name": "g", "resourceClaimName": "gpu"}]),
        pod("no-template", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpus"}]),
        *(pod(f"member-{i}", schedulingGroup={"podGroupName": "g"}) for i in range(3)),
        pod("no-group", schedulingGroup={"podGroupName": "nope"}),
    ]
    command = ["kube-scheduler", "--feature-gates=GenericWorkload=true,GangScheduling=true"]
    container = {"name": "kube-scheduler", "image": "registry.k8s.io/kube-scheduler:v1.36.2", "command": command}
    labels = {"component": "kube-scheduler", "tier": "control-plane"}
    scheduler = pod("kube-scheduler-n1", namespace="kube-system", on="n1", labels=labels, containers=[container])
    refused = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}}
    refused["involvedObject"] = {"kind": "Pod", "namespace": "default", "name": "no-template"}
    refused |= {"reason": "FailedResourceClaimCreation", "message": 'template "gpus" not found', "count": 18}
    refused |= {"source": {"component": "resource_claim"}, "reportingComponent": "resource_claim"}
    objects = [node("n1"), group, *pods, refused, *([scheduler] if visible else [])]
    answers = {one["key"].partition("/")[2]: one for one in run("why -A --no-fix -o json", objects).json["answers"]}
    words = {
        "no-claim": ("device-claim", "default/gpu"),
        "no-template": ("device-claim", "ResourceClaim not created yet"),
        **{f"member-{i}": ("pod-group", "Its group default/g needs 4 pods, and 3 exist") for i in range(3)},
        "no-group": ("pod-group", "Its group default/nope does not exist"),
    }
    for name, (cause, text) in words.items():
        assert answers[name]["cause"] == cause, answers[name]
        assert text.lower() in answers[name]["sentence"].lower()


def test_messages_of_other_components_name_them(run: Any) -> None:
    written = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": "FailedScheduling"}
    written |= {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "big"}, "message": "no instance type"}
    found = run("why big --no-fix", [*CLUSTER, written | {"source": {"component": "karpenter"}}])
    assert "0/2 nodes are available: 2 Insufficient cpu." in found.text
    assert "Reported: by karpenter, FailedScheduling: no instance type" in " ".join(found.text.split())


def test_bound_pods_that_have_not_started_are_one_group(run: Any) -> None:
    """As of a DaemonSet: each pod is bound to a node of its own at a time of its own."""
    daemons = [pod(f"agent-{i}", on=f"n{i}", status={"phase": "Pending"}) for i in range(12)]
    daemons[3]["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True"},
        {"type": "ContainersReady", "status": "False", "message": "containers with unready status: [agent-3]"},
    ]
    for second, one in enumerate(daemons[:3] + daemons[4:]):
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": f"2026-01-01T00:00:{second:02}Z"}
        one["status"]["conditions"] = [bound]
    found = run("why -A --no-fix", [*(node(f"n{i}") for i in range(12)), *daemons])
    text = " ".join(found.text.split())
    assert text.count("bound to") == 1
    assert "12 pods: default/agent-0, " in text
    assert "They were bound to n0, n1, n10 and 9 more; the kubelets have not started them." in text
    lone = run("why -A --no-fix", [node("n0"), daemons[0]])
    assert "It was bound to n0 at 2026-01-01 00:00:00 UTC; the kubelet of n0 has not started it." in lone.text


def test_answers_that_differ_in_times_are_one_group(run: Any) -> None:
    """Each was rejected at a time of its own."""
    waiting = [rejected(pod(f"web-{i}", requests={"cpu": "1"})) for i in range(3)]
    for second, one in enumerate(waiting):
        one["status"]["conditions"][0]["lastTransitionTime"] = f"2026-01-01T00:00:{second:02}Z"
    text = " ".join(run("why -A --no-fix", [node("n1"), *waiting]).text.split())
    assert text.count("n1 takes it now") == 1
    assert "default-scheduler last rejected it and tries it again within 5 minutes" in text


def test_all_pending_pods(run: Any) -> None:
    twins = [rejected(pod(f"big-{i}", requests={"cpu": "8"})) for i in range(30)]
    found = run("why -A --no-fix", [*CLUSTER, *twins])
    assert found.code == plugin.EXIT_NEVER
    assert found.text.startswith("33 pods of the cluster are pending.\n\n31 pods: default/big, default/big-0, ")
    found = run("why -n empty", CLUSTER)
    assert (found.code, found.text.splitlines()[0]) == (0, "No pod of namespace empty is pending.")


def test_a_fix_and_json(run: Any) -> None:
    found = run("why big -o json", CLUSTER)
    (answer,) = found.json["answers"]
    assert (answer["category"], answer["cause"], answer["key"]) == ("never", "request-exceeds-nodes", "default/big")
    assert answer["details"]["answer"]["fixes"][0]["places"] == 1
    assert (found.json["release"], found.json["refused"]) == ("1.36", [])


def test_a_workload(run: Any) -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "message": 'pods "x" is forbidden: exceeded quota: q'}
    metadata = {"name": "web-1", "namespace": "default"}
    deployment = {"kind": "Deployment", "metadata": {**metadata, "name": "web"}, "spec": {"replicas": 2}}
    owner = {"ownerReferences": [{"kind": "Deployment", "name": "web"}]}
    replicas = {"kind": "ReplicaSet", "metadata": metadata | owner, "spec": {"replicas": 2}}
    replicas["status"] = {"conditions": [refused]}
    mine = rejected(pod("web-1-a", requests={"cpu": "8"}))
    mine["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-1", "controller": True}]
    found = run("why deploy/web --no-fix", [node("n1"), deployment, replicas, mine])
    assert found.code == plugin.EXIT_NEVER
    assert "default/web-1-a\nNever" in found.text
    assert "ReplicaSet default/web-1\nNot asked: 1 of 2 pods does not exist" in found.text
    assert "exceeded quota: q" in found.text


@pytest.mark.parametrize("name", ["cronjob/report", "cj report", "cronjobs.batch/report"])
def test_a_cron_job(run: Any, name: str) -> None:
    cron_job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "report", "namespace": "default"}}
    cron_job["spec"] = {"schedule": "* * * * *", "jobTemplate": {"spec": {"parallelism": 2}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report-1", "namespace": "default"}}
    job["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "report", "controller": True}]
    job |= {"spec": {"parallelism": 2, "suspend": True}}
    started = run(f"why {name} --no-fix", [node("n1"), cron_job])
    assert (started.code, "waits" in started.text) == (0, False)
    found = run(f"why {name} --no-fix", [node("n1"), cron_job | {"spec": cron_job["spec"] | {"suspend": True}}, job])
    assert found.code == plugin.EXIT_UNDECIDED
    assert "CronJob default/report\nNot asked: It is suspended (spec.suspend), so no Job is created." in found.text
    assert "Job default/report-1\nNot asked: It is suspended (spec.suspend), so no pod is created." in found.text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("why missing", plugin.INPUT, "Pod default/missing: does not exist"),
        ("why big -n shop", plugin.INPUT, "Pod shop/big: does not exist; a pod of this name is in namespace default"),
        ("why cat/tom", plugin.INPUT, "type 'cat' is not one of"),
        ("why deploy/missing", plugin.INPUT, "Deployment default/missing: does not exist"),
        ("why cj/missing", plugin.INPUT, "CronJob default/missing: does not exist"),
        ("why -f missing.yaml", plugin.INPUT, "missing.yaml: cannot be read"),
        ("drain missing", plugin.INPUT, "Node missing: does not exist"),
        ("why big --release 9.9", plugin.INPUT, "9.9"),
    ],
)
def test_what_does_not_exist(run: Any, capsys: Any, arguments: str, code: int, message: str) -> None:
    assert run(arguments, CLUSTER).code == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", ["", "what", "why -A big", "why -f x -A", "drain", "why --token=x big"])
def test_wrong_usage(arguments: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        plugin.main([*arguments.split()] if "-A" not in arguments else arguments.split())
    assert ended.value.code == plugin.USAGE
    assert "usage: kubectl kubesched" in capsys.readouterr().err


# ---- files


def test_a_file_with_a_workload(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "web.json"
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    file.write_text(json.dumps(workload("Deployment", pod=spec, replicas=3)))
    found = run(f"why -f {file} --no-fix", [node("n1"), OTHER])
    assert found.code == plugin.EXIT_NOT_NOW
    assert found.text.startswith("2 of 3 pods would be placed; 1 would stay pending.")
    assert "Not now: No node has 1 cpu free" in found.text
    found = run(f"why -f {file} -n shop -o json", [node("n1")])
    assert found.code == 0
    assert {one["node"] for one in found.json["placements"]} == {"n1"}
    assert all(one["pod"].startswith("shop/web-") for one in found.json["placements"])


def test_a_pod_of_the_cluster_is_placed_again(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(CROWDED))
    found = run(f"why -f {file} -o json --no-fix", CLUSTER)
    assert [(one["pod"], one["answer"]["category"]) for one in found.json["placements"]] == [
        ("default/crowded", "not now")
    ]


CLASS = {
    "kind": "StorageClass",
    "metadata": {"name": "late"},
    "provisioner": "p",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def test_claims_of_a_file_and_of_the_cluster(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "pods.json"
    wanted = {"there": "bound", "new": "mine", "lost": "missing"}
    pods = [pod(name, requests={"cpu": "1"}, volumes=mounts(used)) for name, used in wanted.items()]
    file.write_text(json.dumps({"kind": "List", "items": [*pods, claim("mine", "late")]}))
    cluster = [node("n1"), CLASS, claim("bound", volume="pv"), volume("pv")]
    found = run(f"why -f {file} -o json --no-fix", cluster)
    placed = {one["pod"]: one.get("node", "") for one in found.json["placements"]}
    assert placed == {"default/there": "n1", "default/new": "n1", "default/lost": ""}
    (lost,) = [one["answer"] for one in found.json["placements"] if "answer" in one]
    assert "PersistentVolumeClaim default/missing does not exist" in lost["sentence"]
    assert found.code == plugin.EXIT_UNDECIDED


def test_a_node_of_a_file_is_added(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": [node("n9", cpu="64"), pod("big", requests={"cpu": "32"})]}))
    found = run(f"why -f {file} -o json", [node("n1")])
    assert [one["node"] for one in found.json["placements"]] == ["n9"]


def test_the_device_class_of_a_file_has_no_namespace(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    items = [devices.device_class(), devices.claim("one", devices.exactly()), devices.pod("train", "one")]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    cluster = [node("n1"), devices.resource_slice("s1", devices.device("gpu-0"), on="n1")]
    found = run(f"why -f {file} -n shop -o json --no-fix", cluster)
    assert [one.get("node") for one in found.json["placements"]] == ["n1"], found.text


@pytest.mark.parametrize(
    "text", ["", "a: [", "kind: Pod", "kind: Pod\nmetadata: 7", "kind: CronJob\nmetadata: {name: c}"]
)
def test_a_broken_file(run: Any, tmp_path: Path, capsys: Any, text: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    assert run(f"why -f {file}", CLUSTER).code == plugin.INPUT
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}")
    assert "Traceback" not in error


def test_an_error_of_the_program_is_one_line(run: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(plugin, "answers_for", lambda *arguments: 1 // 0)
    assert run("why big", CLUSTER).code == plugin.SOFTWARE
    assert capsys.readouterr().err.startswith("error: This is an error of KubeSched: ZeroDivisionError")
    monkeypatch.setenv("KUBESCHED_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("why big", CLUSTER)


def test_a_file_without_pods(run: Any, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "node.json"
    file.write_text(json.dumps(node("n9")))
    assert run(f"why -f {file}", CLUSTER).code == plugin.INPUT
    assert "has no pod that would be scheduled" in capsys.readouterr().err


# ---- drain


def test_a_drain(run: Any) -> None:
    pods = [owned(pod(f"w{i}", on="n1", requests={"cpu": "2"}, status={"phase": "Running"})) for i in range(2)]
    daemon = pod("agent", on="n1", status={"phase": "Running"})
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent", "controller": True}]
    bare = pod("bare", on="n1", status={"phase": "Running"})
    found = run("drain n1 --no-fix", [node("n1"), node("n2", cpu="3"), *pods, daemon, bare])
    assert "default/w1\nNot now: No node has 2 cpu free: the closest, n2" in found.text
    assert found.code == plugin.EXIT_NOT_NOW
    head, *rest = found.text.splitlines()
    assert head == "A drain of n1 evicts 3 pods: 1 would be placed again, 1 would stay pending."
    assert "No controller creates these pods again: default/bare." in rest
    assert "A drain skips pods of DaemonSets and static pods: default/agent." in rest
    assert "default/w0   n2" in rest
    found = run("drain n1 -o json --no-fix", [node("n1"), node("n2"), *pods])
    assert (found.code, [one["node"] for one in found.json["drain"]["placements"]]) == (0, ["n2", "n2"])


def test_a_budget_refuses_an_eviction(run: Any) -> None:
    web = owned(pod("web", on="n1", labels={"app": "web"}, status={"phase": "Running"}))
    metadata = {"name": "web", "namespace": "default"}
    budget = {"kind": "PodDisruptionBudget", "metadata": metadata, "status": {"disruptionsAllowed": 0}}
    budget["spec"] = {"selector": {"matchLabels": {"app": "web"}}}
    found = run("drain n1", [node("n1"), node("n2"), web, budget])
    assert "A PodDisruptionBudget refuses the eviction of default/web." in found.text


# ---- reading


def test_lists_are_paged_and_started_again(run: Any) -> None:
    pods = [pod(f"p{i}", on="n1", status={"phase": "Running"}) for i in range(1200)]
    found = run("why big", [*CLUSTER, *pods], expire=["Pod"])
    sizes = [query.get("limit") for path, query in found.transport.requests if path.startswith("/api/v1/pods")]
    assert sizes == ["500"] * 5
    assert found.code == plugin.EXIT_NEVER
    assert all("limit" in query for path, query in found.transport.requests if path.endswith("/nodes"))


def test_refused_kinds_cost_a_sentence(run: Any) -> None:
    found = run("why crowded", CLUSTER, refused=["Node", "CSIDriver", "AdmissionCheck"])
    assert found.code == plugin.EXIT_NOT_NOW
    assert "The scheduler reported: 0/2 nodes are available" in found.text
    assert "Note: nodes cannot be read: No placement can be explained" in found.text
    assert "Note: csidrivers cannot be read" in found.text
    assert "of Kueue" not in found.text  # nothing waits for it


def test_rights_in_one_namespace_alone(run: Any) -> None:
    found = run("why big -n default", CLUSTER, refused=["Node", "Pod"])
    assert "Note: Only the pods of namespace default can be read." in found.text
    assert found.code == plugin.EXIT_NOT_NOW


def test_an_object_that_cannot_be_read(run: Any) -> None:
    broken = pod("broken", on="n1")
    broken["spec"]["containers"] = 7
    found = run("why big --no-fix", [*CLUSTER, broken])
    assert found.code == plugin.EXIT_NEVER
    assert "Note: 1 object cannot be read and left out: Pod default/broken" in found.text


# ---- terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = run("why crowded --no-fix", CLUSTER, out=Screen()).text
    assert "\x1b[33;1mNot now:\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = run("why crowded --no-fix", CLUSTER, out=Screen()).text
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= width


def test_control_characters_of_the_cluster_are_not_written(run: Any) -> None:
    bad = rejected(pod("bad", requests={"cpu": "8"}), "0/1 nodes are available: 1 \x1b[31mred.")
    assert "\x1b" not in run("why bad --no-fix", [node("n1"), bad]).text
    out = io.StringIO()
    terminal.Terminal(out).line("a\x1b[31m\nb\u202e")
    assert out.getvalue() == "a\\x1b[31m\\x0ab\\u202e\n"
    plugin.print_json(out, {"a": "\x1b[31m\u202e\U000e0041"}, 0)
    assert out.getvalue().splitlines()[-2].strip() == r'"a": "\u001b[31m\u202e\udb40\udc41"'


# ---- kubectl


def test_flags_are_passed_on() -> None:
    args = plugin._parser().parse_args(["why", "x", "--context", "c", "--as-group", "a", "--as-group", "b"])
    assert plugin.kubectl_flags(args) == ["--context=c", "--as-group=a", "--as-group=b"]


def kubeconfig(folder: Path, url: str) -> str:
    """Write a kubeconfig with one context; return its path."""
    cluster = {"name": "c", "cluster": {"server": url}}
    context = {"name": "c", "context": {"cluster": "c", "namespace": "team-9"}}
    file = folder / "config"
    file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c"}))
    return str(file)


def test_no_kubectl(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("KUBESCHED_KUBECTL", raising=False)
    assert plugin.main(["why", "x"]) == plugin.UNREACHABLE
    assert "kubectl is not in the PATH" in capsys.readouterr().err
    with pytest.raises(TransportError):
        KubectlTransport()


def test_outcomes_of_bindings_and_of_messages_are_apart() -> None:
    judge = Judge(get_release("1.36"))
    judge.counts.update(same=5, earlier=1, unexplained=2)
    judge.message_counts.update(equal=3, earlier=2, differs=4)
    out = io.StringIO()
    plugin.write_summary(terminal.Terminal(out), judge.summary())
    assert out.getvalue().splitlines()[:8] == [
        "6 of 8 bindings explained:",
        *("  same: 5", "  earlier: 1", "  unexplained: 2"),
        "5 of 9 messages equal:",
        *("  equal: 3", "  earlier: 2", "  differs: 4"),
    ]
    empty = io.StringIO()
    plugin.write_summary(terminal.Terminal(empty), Judge(get_release("1.36")).summary())
    assert empty.getvalue().splitlines() == ["0 of 0 bindings explained.", "0 of 0 messages equal."]


@pytest.mark.long
def test_shadow_follows_a_cluster(tmp_path: Path) -> None:
    kubectl = kubernetes_tools.kubectl("1.32")
    with api_server("--recording", str(LIVE_A), "--speed", "4") as server:
        environment = {"KUBESCHED_KUBECTL": str(kubectl), "KUBECONFIG": kubeconfig(tmp_path, server.url)}
        command = [sys.executable, "-m", "scheduler_core.commands.kubectl.plugin", "shadow", "--seconds", "8"]
        done = subprocess.run([*command, "-ojson"], capture_output=True, text=True, env=environment, timeout=120)
    *judgements, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == plugin.PLACED, done.stderr
    assert summary["decisions"] == summary["explained"] == sum(one["kind"] == "decision" for one in judgements) > 0
    assert "Release 1.36. Following the cluster for 8 s." in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("release", kubernetes_tools.KUBECTL_RELEASES)
def test_real_kubectl(release: str, tmp_path: Path) -> None:
    kubectl = kubernetes_tools.kubectl(release)
    with api_server("--nodes", "600", "--pods", "1500", "--pending", "3") as server:
        command = [sys.executable, "-m", "scheduler_core.commands.kubectl.plugin", "why", "-A", "-o", "json"]
        environment = {"KUBESCHED_KUBECTL": str(kubectl), "KUBECONFIG": kubeconfig(tmp_path, server.url)}
        environment["HOME"] = str(tmp_path)

        def why() -> Any:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
            assert done.returncode == plugin.EXIT_NEVER, done.stderr
            return json.loads(done.stdout)

        found = why()
        assert [answer["category"] for answer in found["answers"]] == ["never"] * 3
        assert found["refused"] == []
        kinds = [kind for kind in KINDS.values() if kind.kind != "PersistentVolume"]
        verbs = ["get", "list", "watch"]
        rules = [{"apiGroups": [kind.group], "resources": [kind.resource], "verbs": verbs} for kind in kinds]
        server.control("set", rules=rules)
        assert why()["refused"] == ["PersistentVolume"]
    refused = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert refused.returncode == plugin.UNREACHABLE
    assert "kubectl cannot read the cluster" in refused.stderr
