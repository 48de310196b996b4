"""Analysis of a text in the editor: objects with their lines, errors of kubectl, warnings."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.editor import limits, schema
from kubesched_ui.editor.analysis import analyze
from kubesched_ui.editor.apply_edits import apply_changes
from scheduler_core.errors import InputError
from tests.examples import examples
from tests.kubesched_ui.editor.sample_texts import LISTED, MIXED, OURS, problems
from tests.scheduler_core.virtual_time.test_scenario import LIST

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
    - name: c
      resources:
        requests: {cpu: 500m}
"""


def test_objects_have_their_lines() -> None:
    read = analyze(MIXED)
    assert [(thing["kind"], thing["name"], thing["lines"]) for thing in read["things"]] == [
        ("Node", "n1", (9, 12)),
        ("Deployment", "web", (15, 29)),
    ]
    assert read["scenario"]["value"]["metadata"] == {"name": "Three zones"}
    assert (read["problems"], read["errors"]) == ([], 0)
    assert [thing["lines"] for thing in analyze(LISTED)["things"]] == [(7, 10), (11, 11), (13, 19)]


def test_items_of_a_list_in_a_scenario_are_objects() -> None:
    read = analyze(LIST)
    assert [(thing["kind"], thing["name"]) for thing in read["things"]] == [("Node", "n1"), ("Pod", "p1")]
    assert read["errors"] == 0


def test_a_misspelt_field_is_a_warning_that_names_the_one_meant() -> None:
    text = POD + "  nodeSelectorr: {disk: ssd}\n"
    (found,) = analyze(text)["problems"]
    assert (found["severity"], found["line"], found["column"], found["end"]) == ("warning", 10, 2, 15)
    assert (found["fix"], found["thing"]) == ("nodeSelector", 0)
    assert "spec.nodeSelectorr: is not a field of PodSpec" in found["message"]
    assert "did you mean nodeSelector?" in found["message"]


@pytest.mark.parametrize(
    ("api_version", "kind", "given", "meant"),
    [
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", "spec: {minMembers: 2}", "minMember"),
        ("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "spec: {maxx: {cpu: 4}}", "max"),
        (
            "topology.node.k8s.io/v1alpha2",
            "NodeResourceTopology",
            "zones: [{name: node-0, type: Node, resource: []}]",
            "resources",
        ),
        (
            "appgroup.diktyo.x-k8s.io/v1alpha1",
            "AppGroup",
            "spec: {numMembers: 0, topologySortingAlgorithm: KahnSort, workloads: [], workload: []}",
            "workloads",
        ),
        ("networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology", "spec: {weights: [], weight: []}", "weights"),
        (
            "security-profiles-operator.x-k8s.io/v1beta1",
            "SeccompProfile",
            "spec: {defaultAction: SCMP_ACT_ERRNO, syscall: []}",
            "syscalls",
        ),
        ("metrics.k8s.io/v1beta1", "NodeMetrics", "usages: {cpu: 1}", "usage"),
        ("kubesched.dev/v1alpha1", "NodeLoad", "metric: []", "metrics"),
    ],
)
def test_kinds_of_plugins_have_a_schema(api_version: str, kind: str, given: str, meant: str) -> None:
    (found,) = analyze(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\n{given}\n")["problems"]
    assert (found["severity"], found["fix"]) == ("warning", meant)


CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {}}}\nvalue: {}\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (POD.replace("name: web", "name: Web"), 4, "cannot be a name"),
        (POD.replace("  name: web\n", ""), 3, "needs a name"),
        (POD.replace("apiVersion: v1", "apiVersion: apps/v1"), 1, 'no kind Pod in version "apps/v1"; it is in v1'),
        (POD.replace("kind: Pod", "kind: Podd"), 2, "did you mean Pod?"),
        (POD.replace("kind: Pod\n", ""), 1, "kind is missing"),
        (POD.replace("500m", "500x"), 10, "is not a quantity"),
        (POD.replace("500m", "-1"), 10, "must not be negative"),
        (POD.replace("app: web", "app: 7"), 5, 'put it in quotes: "7"'),
        (POD.replace("app: web", "app: true"), 5, 'put it in quotes: "true"'),
        (POD.replace("app: web", "'a b': c"), 5, "cannot be a key"),
        (POD[: POD.index("    - ")] + "    name: c\n", 7, "must be a list"),
        (POD + "  priority: high\n", 11, "must be a whole number"),
        (POD + "  hostNetwork: 'yes'\n", 11, "must be true or false"),
        (POD + "  tolerations: [{key: a, operator: Is}]\n", 11, "not one of Exists, Equal"),
        (POD + "  tolerations: [{operator: Exists, tolerationSeconds: 3}]\n", 11, "only with the effect NoExecute"),
        (POD + "  topologySpreadConstraints:\n    - maxSkew: 0\n      topologyKey: z\n      whenUnsatisfiable: Wait\n"
               "      labelSelector: {}\n", 12, "must be 1 or more"),
        (POD + "  topologySpreadConstraints:\n    - {maxSkew: 1, labelSelector: {}}\n", 12, "topologyKey is missing"),
        (POD + "  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
               "        nodeSelectorTerms:\n          - matchExpressions: [{key: a, operator: In}]\n", 15,
         "values must not be empty with In"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec:\n  taints:\n    - {key: a, effect: Never}\n", 6,
         "not one of NoSchedule"),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {a: b}}\n"
         "  template:\n    spec: {containers: [{name: c}]}\n", 5, "which the template's labels do not have"),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 2}\n", 4, "template is missing"),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n"
         "    spec: {containers: [{name: c}]}\n", 6, "must be OnFailure or Never"),
        ("- just\n- words\n", 1, "is not an object"),
        ("a: [1, 2\nb: 3\n", 2, "is not valid YAML: did not find expected ',' or ']'"),
        ("a: 1\na: 2\n", 2, "occurs twice"),
        (POD + "---\n" + POD, 15, "there is another Pod named web"),
        (OURS + "spec:\n  untill: 5m\n", 4, "untill: is not a known field; did you mean until?"),
        (OURS + "spec:\n  timeline:\n    - {at: 5, cordon: n1, drain: n1}\n", 5, "exactly one of"),
        ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: 3\n", 3, "profiles"),
        (CLASS.format("mine", 2_000_000_000), 4, "must be at most 1,000,000,000"),
        (CLASS.format("system-node-critical", 2_000_000_000), 4, "must be at most 1,000,000,000"),
    ],
)  # fmt: skip
def test_an_error_of_kubectl_is_at_its_line(text: str, line: int, message: str) -> None:
    found = problems(text)
    assert any(at == line and severity == "error" and message in text for at, severity, text in found), found


def test_fields_of_the_status_may_be_missing() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
    assert problems(node + "status: {nodeInfo: {kubeletVersion: v1.34.2}}\n") == []
    assert problems(node + "spec: {taints: [{effect: NoSchedule}]}\n")[0][2] == "spec.taints[0]: key is missing"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "ConfigMap is ignored"),
        ("apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c}\n", "custom resource"),
        (POD + "  nodeName: gone\n", "there is no node gone"),
        (POD + "  priorityClassName: high\n", "there is no PriorityClass high"),
        (POD + "  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n", "no PersistentVolumeClaim data"),
    ],
)
def test_ignored_and_absent_objects_give_a_warning(text: str, message: str) -> None:
    found = problems(text)
    assert [severity for _, severity, _ in found] == ["warning"]
    assert message in found[0][2]


def test_an_invalid_document_does_not_hide_the_others() -> None:
    read = analyze("a: [\n---\n" + POD + "---\nb: {\n")
    assert [thing["name"] for thing in read["things"]] == ["web"]
    assert [problem["line"] for problem in read["problems"]] == [1, 13] or read["errors"] == 2


def test_default_priority_classes_exist() -> None:
    assert problems(CLASS.format("system-node-critical", 2_000_001_000)) == []


def test_constraints_are_described_in_sentences() -> None:
    text = POD + (
        "  nodeSelector: {disk: ssd}\n"
        "  topologySpreadConstraints:\n"
        "    - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,\n"
        "       labelSelector: {matchLabels: {app: web}}}\n"
    )
    assert analyze(text)["things"][0]["says"] == [
        [["spec", "nodeSelector"], "It runs only on nodes with disk=ssd."],
        [
            ["spec", "topologySpreadConstraints", 0],
            "A zone may have at most 1 more pod with app=web than the zone with the fewest, else the pod waits.",
        ],
    ]


def test_the_preview_has_nodes_and_their_pods() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {zone: a}}\nstatus: {allocatable: {cpu: 4}}\n---\n"
    found = analyze(node + POD + "  nodeName: n1\n---\n" + POD.replace("name: web", "name: waits"))["picture"]
    assert found["nodes"]["name"] == ["n1"]
    assert found["nodes"]["amounts"] == [{"cpu": 4000}]
    assert found["nodes"]["labels"] == {"zone": {"values": ["a"], "of": [0]}}
    assert found["pods"]["node"] == [0, -1]
    assert found["pods"]["state"] == [3, 1]
    assert (found["replicas"], analyze(MIXED)["picture"]["replicas"]) == (0, 3)


def test_the_preview_has_all_labels() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {own%d: x, zone: a}}\n"
    found = analyze("---\n".join(node % (n, n) for n in range(9)))["picture"]["nodes"]["labels"]
    assert len(found) == 10
    assert found["zone"] == {"values": ["a"], "of": [0] * 9}
    assert found["own4"] == {"values": ["x"], "of": [0], "rows": [4]}, "of few nodes"


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 5000, "levels deep"),
        ("- " * 5000 + "x", "levels deep"),
        (bomb(), "aliases expand"),
        ("a: !!python/object:os.system x", "the tag"),
        ("a: &a [*a]", "refers to no complete anchor"),
        ("a\0b", "YAML"),
        ("\ud800", "Unicode"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [null]}", "is empty"),
    ],
)
def test_a_hostile_text_gives_an_error(text: str, message: str) -> None:
    found = problems(text)
    assert any(severity == "error" and message in text for _, severity, text in found), found


def test_too_large_texts_are_rejected() -> None:
    with pytest.raises(InputError, match="is larger than 1,000,000 bytes"):
        analyze("#" * (limits.MAX_BYTES + 1))
    with pytest.raises(InputError, match="documents"):
        analyze("---\na: 1\n" * (limits.MAX_THINGS + 1))
    many = "".join(f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{n}}}\n" for n in range(300))
    read = analyze(many.replace("name", "nam"))
    assert len(read["problems"]) == limits.MAX_PROBLEMS
    assert read["more"] > 0


@settings(max_examples=examples(150))
@given(st.sampled_from([MIXED, LISTED, POD]), st.integers(0, 900), st.integers(0, 40), st.text(max_size=12))
def test_damaged_texts_never_raise(text: str, at: int, cut: int, put: str) -> None:
    read = analyze(text[:at] + put + text[at + cut :])
    assert all(one["line"] >= 0 and one["message"] for one in read["problems"])
    first = next((number for number, one in enumerate(read["things"]) if one["kind"] == "Pod"), None)
    if first is not None:
        apply_changes(text[:at] + put + text[at + cut :], [{"thing": first, "remove": True}])


def test_unusual_shapes_never_raise() -> None:
    odd: list[Any] = ["null", "3", "text", "[]", "{}", "[[]]", "true", "{a: }"]
    for kind in (*schema.table()["kinds"], "Scenario", "List", "KubeSchedulerConfiguration", "Policy"):
        for value in odd:
            for field in ("metadata", "spec", "status", "items", "value", "apiVersion"):
                api = "kubesched.dev/v1alpha1" if kind == "Scenario" else (schema.versions_of(kind) or ["v1"])[0]
                analyze(
                    f"kind: {kind}\n"
                    + (f"apiVersion: {api}\n" if field != "apiVersion" else "")
                    + f"{field}: {value}\n"
                )
    for value in odd:
        for path in ("containers", "affinity", "tolerations", "topologySpreadConstraints", "nodeSelector", "volumes"):
            analyze(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{path}: {value}}}\n")
        analyze(f"apiVersion: kubesched.dev/v1alpha1\nkind: Scenario\nspec: {{objects: {value}, timeline: {value}}}\n")


@pytest.mark.long
def test_the_worker_process_does_not_import_django() -> None:
    """It has neither the settings nor the database, and little memory."""
    program = "import sys, kubesched_ui.editor.worker; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
