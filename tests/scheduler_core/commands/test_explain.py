"""`python -m scheduler_core explain`: output, exit codes, and errors with file, object and field."""

import gzip
import json
import subprocess
import sys

import pytest

from scheduler_core.__main__ import main
from tests.clusters import CLUSTERS, cluster_id
from tests.examples import sample
from tests.scheduler_core.build import node, pod, static_pod
from tests.scheduler_core.commands.conftest import ROOT
from tests.scheduler_core.evidence.test_events import LIFE as LIFE_OF_EVENTS
from tests.scheduler_core.snapshot.test_described import NODE as DESCRIBED_NODE
from tests.scheduler_core.snapshot.test_described import POD as DESCRIBED_POD

pytestmark = pytest.mark.slow

YAML = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: v1
kind: PodList
items:
- metadata: {name: a}
  spec: {containers: [{name: c, resources: {requests: {cpu: 800m}}}], nodeName: n1}
- metadata: {name: b}
  spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
"""


def test_all_placed(cli):
    out = cli.out("explain", cli.snapshot(node("n1"), pod("a"), pod("b"), name="s.json.gz"))
    assert out.startswith("0 of 2 pods stay pending.\n")
    assert "default/a: Placed on n1, the only node." in out


def test_pods_pending_for_the_same_reasons_are_grouped(cli):
    pods = [pod(f"p{i}", requests={"cpu": "9"}) for i in range(5)]
    out = cli.out("explain", cli.snapshot(node("n1"), *pods, pod("small")), code=1)
    assert out.startswith("5 of 6 pods stay pending.\n")
    assert out.count("The pod requests 9 cpu; the only node has 4.") == 1
    assert "The same event for 4 other pods: default/p1, default/p2, default/p3, default/p4" in out
    assert "default/small: Placed on n1" in out


@pytest.mark.parametrize("release", ["1.16", "1.24", "1.31", "1.36"])
def test_a_pod_refused_because_of_one_placed_before_it(cli, release):
    path = cli.snapshot(node("n1"), *(pod(name, requests={"cpu": "3"}) for name in "abc"))
    out = cli.out("explain", path, "--release", release, code=1)
    assert out.startswith("2 of 3 pods stay pending.\n")
    assert "default/b: No node has 3 cpu free: the closest, n1, is short by 2 cpu" in out
    assert "The same event for 1 other pod: default/c" in out
    assert "default/a: Placed on n1, the only node." in out
    lines = cli.out("explain", path, "--release", release, "--json", code=1).splitlines()
    assert [json.loads(line)["pod"] for line in lines] == ["default/a", "default/b", "default/c"]


def test_every_replica_of_a_deployment_is_tried(cli):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("t", requests={"cpu": "3"})["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    out = cli.out("explain", cli.snapshot(node("n1"), web), code=1)
    assert out.startswith("2 of 3 pods stay pending.\n")
    assert "The same event for 1 other pod: default/web-" in out


def test_aliases_and_merge_keys_are_read(cli):
    text = YAML.replace("status: {allocatable:", "status: {capacity: &all {cpu: 8}, allocatable:")
    text = text.replace("{requests: {cpu: 500m}}", "{requests: &r {cpu: 500m}, limits: *r}")
    text += "- metadata: {name: z}\n  spec: {containers: [{name: c, resources: {requests: {<<: *r, memory: 8Gi}}}]}\n"
    out = cli.out("explain", cli.file("s.yaml", text), code=1)
    assert "b: No node has 0.5 cpu free: the closest, n1, is short by 0.3 cpu (requests 0.5, 0.2 of 1 free)." in out
    assert "default/z: The pod requests 8Gi memory; the only node has " in out


def test_a_job_with_generate_name_is_named(cli):
    template = {"spec": pod("t", requests={"cpu": "1"})["spec"]}
    spec = {"parallelism": 2, "completions": 2, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "sample-"}, "spec": spec}
    out, notes = cli.run("explain", cli.snapshot(node("n1"), job))
    assert out.startswith("0 of 2 pods stay pending.\n\ndefault/sample-")
    assert "name from generateName (1 workload)" in notes
    again = cli.snapshot(node("n1"), job, name="again.json")
    assert cli.out("explain", again) == out


def test_yaml_documents_and_typed_lists(cli):
    out = cli.out("explain", cli.file("s.yaml", YAML), code=1)
    assert (
        "default/b: No node has 0.5 cpu free: the closest, n1, is short by 0.3 cpu (requests 0.5, 0.2 of 1 free)."
        in out
    )


def test_a_bound_pod_is_explained_as_if_it_were_pending(cli):
    out = cli.out("explain", cli.file("s.yaml", YAML), "--pod", "a")
    assert out == "default/a: Placed on n1, the only node.\n"


def test_a_pod_has_the_same_answer_alone_and_among_all(cli):
    """Pods before it in the queue are placed first: `late` has a lower priority and is listed first."""
    late, early = pod("late", requests={"cpu": "3"}), pod("early", requests={"cpu": "3"}, priority=10)
    path = cli.snapshot(node("n1"), late, early, pod("bound", on="n1", requests={"cpu": "3"}))
    everything = cli.out("explain", path, code=1)
    alone = cli.out("explain", path, "--pod", "early", code=1)
    assert alone.startswith("default/early: No node has 3 cpu free. It fits on n1 by evicting 1 pod (default/bound).")
    assert alone.partition("  Suggested")[0] in everything
    path = cli.snapshot(node("n1"), late, early)
    alone = cli.out("explain", path, "--pod", "late", code=1)
    assert alone.startswith("default/late: No node has 3 cpu free: the closest, n1, is short by 2 cpu")
    assert cli.out("explain", path, "--pod", "early") == "default/early: Placed on n1, the only node.\n"


def test_a_bound_pod_is_tried_after_the_pods_before_it(cli):
    pods = [pod("first", requests={"cpu": "3"}), pod("bound", on="n1", requests={"cpu": "3"})]
    out = cli.out("explain", cli.snapshot(node("n1"), *pods), "--pod", "bound", code=1)
    assert out.startswith("default/bound: No node has 3 cpu free: the closest, n1, is short by 2 cpu")


def test_a_static_pod_stays(cli):
    path = cli.snapshot(node("n1"), node("n2"), static_pod("etcd", on="n1"))
    sentence = "default/etcd: Stays on n1, because the kubelet placed it and not a scheduler.\n"
    assert cli.out("explain", path, "--pod", "etcd") == sentence


def test_json_output(cli):
    path = cli.snapshot(node("n1"), pod("a"), pod("b", requests={"cpu": "9"}))
    answers = [json.loads(line) for line in cli.out("explain", path, "--json", code=1).splitlines()]
    assert [(a["pod"], a["result"]) for a in answers] == [("default/a", "scheduled"), ("default/b", "unschedulable")]


def test_a_scenario_is_read_as_its_objects(cli):
    sample = ROOT / "kubesched_ui" / "scenarios" / "samples" / "03-taints.yaml"
    assert "TaintToleration" in cli.out("explain", str(sample), "--pod", "plain")


def test_nothing_pending(cli):
    assert cli.out("explain", cli.snapshot(node("n1"))) == "No pod is pending.\n"


def test_release_and_configuration(cli):
    config = cli.file(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n",
    )
    path = cli.snapshot(node("n1"), pod("a", requests={"cpu": "9"}))
    assert cli.out("explain", path, "--release", "v1.27.3", code=1)
    assert cli.out("explain", path, "--config", config)


def test_equal_pods_that_wait_elsewhere_are_one_group_of_the_text(cli):
    snapshot = cli.snapshot(node("n1"), *(pod(f"p{number:02}", schedulerName="volcano") for number in range(12)))
    out, _ = cli.run("explain", snapshot)
    assert out.count("Scheduler volcano decides about it") == 1
    assert "default/p00 and 11 equal: Scheduler volcano decides about it" in out
    assert "default/p09 and 2 more" in out
    assert len(cli.run("explain", "--json", snapshot)[0].splitlines()) == 12


def test_pods_of_other_schedulers_are_named(cli):
    out, notes = cli.run("explain", cli.snapshot(node("n1"), pod("a", schedulerName="volcano")))
    assert "1 pod waits for another scheduler and is left to it: volcano (1: default/a)." in notes
    first, other = out.splitlines()
    assert first == "No pod waits for this scheduler."
    assert other.startswith("default/a: Scheduler volcano decides about it, not default-scheduler")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["metadata"].pop("name"), "Pod without a name: metadata.name: is missing"),
        (lambda p: p["spec"].update(containers=7), "Pod default/a: spec.containers: Expected `array`, got `int`"),
        (
            lambda p: p["spec"]["containers"][0].update(resources={"requests": {"cpu": "-1"}}),
            "Pod default/a: spec.containers[0].resources.requests['cpu']: must not be negative, got -1",
        ),
        (lambda p: p.pop("kind"), "object default/a: kind: is missing"),
    ],
)
def test_an_invalid_object_is_named_with_file_and_field(cli, change, message):
    broken = pod("a")
    change(broken)
    path = cli.snapshot(node("n1"), broken)
    assert cli.error("explain", path).endswith(f"\npython -m scheduler_core explain: {path}: {message}\n")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b'{"kind":', "is not valid JSON"),
        ("a.json", b"[1]", "items[0]: expected a Kubernetes object, got int"),
        ("a.yaml", b"kind: [", "is not valid YAML or JSON"),
        ("a.yaml", b"- *a\n", "the alias *a refers to no complete anchor before it"),
        ("a.yaml", b"", "holds neither nodes nor pods"),
        ("a.json", b'{"kind": "Event", "metadata": {"name": "e"}}', "contains only events"),
        ("a.json", b'{"kind": "PodList", "items": 5}', "items: must be a list"),
        ("a.gz", gzip.compress(b"x" * 100, mtime=0)[:20], "cannot be read"),
        ("a.bin", b"\xff\xfe\x00", "is not UTF-8 text"),
        ("a.json", b"[" * 100_000, "a.json: is n"),
        ("a.json", b'{"kind":"List","items":[' * 20 + b"]}" * 20, "nested lists"),
    ],
)
def test_an_unreadable_file_is_an_input_error(cli, name, data, message):
    assert message in cli.error("explain", cli.file(name, data))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--release", "1.2"], "Kubernetes release: '1.2' is not available"),
        (["--pod", "default/missing"], "Pod default/missing: is not in the snapshot"),
        (["--pod", "default/done"], "Pod default/done: status.phase: the pod has ended (Succeeded)"),
        (["--config", "/nonexistent"], "/nonexistent: cannot be read"),
        (["--plugins", "no_such_module:X"], "plugin: no_such_module:X: cannot be loaded"),
    ],
)
def test_invalid_options(cli, options, message):
    done = pod("done", on="n1", status={"phase": "Succeeded"})
    assert message in cli.error("explain", cli.snapshot(node("n1"), pod("a"), done), *options)


def test_a_missing_file(cli):
    problem = cli.error("explain", "/nonexistent.json")
    assert "/nonexistent.json: cannot be read: No such file or directory" in problem


@pytest.mark.parametrize("command", [[], ["replay"], ["bench"], ["explain"]])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert "usage: python -m scheduler_core" in capsys.readouterr().out


def test_standard_input():
    result = subprocess.run(
        [sys.executable, "-m", "scheduler_core", "explain", "-"],
        input=YAML,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 1
    assert "note: Filled in as an API server does: restartPolicy Always (2 pods); " in result.stderr
    assert "default/b: No node has 0.5 cpu free" in result.stdout


@pytest.mark.generated
@pytest.mark.parametrize("path", sample(CLUSTERS, 40), ids=cluster_id)
def test_real_clusters(path, capsys):
    """Every pod of a real cluster, made pending again, is explained, up to eight per cluster."""
    with gzip.open(path) as stream:
        items = json.load(stream)["items"]
    running = [o["metadata"] for o in items if o["kind"] == "Pod" and o.get("status", {}).get("phase") == "Running"]
    for metadata in running[:8]:
        key = f"{metadata['namespace']}/{metadata['name']}"
        assert main(["explain", str(path), "--pod", key]) in (0, 1)
        assert capsys.readouterr().out.startswith(f"{key}: ")


def test_an_error_of_the_configuration_names_its_file(cli):
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofilez: []\n"
    config = cli.file("mine.yaml", text)
    error = cli.error("explain", cli.snapshot(node("n1"), pod("a")), "--config", config)
    assert f"explain: {config}: " in error
    assert "profilez" in error


def test_events_without_a_cluster(cli):
    path = cli.snapshot(*LIFE_OF_EVENTS)
    found = cli.out("explain", path, code=1)
    assert found.startswith("By 5 events, 1 pod waits for a node, 1 was bound")
    assert "\n1 pod, 2 messages: shop/b\n  shop/b: None of 3 nodes takes the pod: 3 lack cpu.\n" in found
    assert cli.out("explain", path, "--pod", "shop/a") == "shop/a: bound to n1\n"
    assert "Pod shop/x: has no event about scheduling" in cli.error("explain", path, "--pod", "shop/x")


def test_descriptions(cli):
    found = cli.out("explain", cli.file("pod.txt", DESCRIBED_POD), code=1)
    assert "  shop/a: The only node does not take the pod: it lacks cpu." in found
    path = cli.file("both.txt", DESCRIBED_NODE + "\n" + DESCRIBED_POD.replace("n1/10.0.0.1", "<none>"))
    out, notes = cli.run("explain", path, "--absent-claims", "bound", code=1)
    assert "n1" in out
    assert "does not print affinity" in notes
