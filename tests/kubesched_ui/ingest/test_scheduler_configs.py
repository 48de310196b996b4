"""Scheduler configurations in uploads: one is selected, and nothing else of a ConfigMap is stored."""

import json
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, IngestResult, ingest_files
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.config.loader import load
from scheduler_core.releases import RELEASES
from tests.kubesched_ui.clusters import ingested
from tests.scheduler_core.evidence.logs import text as scheduler_log_text

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
GROUP = "kubescheduler.config.k8s.io"


def config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", **fields}


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-system"}
    data = {key.replace("__", "."): text for key, text in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def remarks(result: IngestResult) -> list[str]:
    return [warning.message for warning in result.warnings if warning.code == "config"]


POLICY = '{"kind": "Policy", "apiVersion": "v1", "extenders": []}'


@pytest.mark.parametrize("key", ["config__yaml", "scheduler-config__yaml", "kube-scheduler-config__yaml", "anything"])
def test_a_configuration_in_a_config_map_is_found_and_the_rest_dropped(key: str) -> None:
    text = "# ours\n" + to_yaml(config(percentageOfNodesToScore=7))
    result = ingested(NODE, config_map("sched", **{key: text, "password": "hunter2"}), config_map("other", x="hunter2"))
    assert result.config == text
    assert remarks(result) == [
        f"The scheduler configuration comes from ConfigMap 'kube-system/sched' key '{key.replace('__', '.')}'"
    ]
    assert result.dropped == {"ConfigMap": 2}
    assert "hunter2" not in json.dumps([*result.objects, result.config, *map(str, result.warnings)])


@pytest.mark.parametrize("key", ["policy__cfg", "policy__json"])
def test_a_policy_is_found(key: str) -> None:
    assert ingested(NODE, config_map("sched", **{key: POLICY})).config == POLICY


def test_configurations_in_lists_in_yaml_and_next_to_typed_lists() -> None:
    held = config_map("sched", config__yaml=to_yaml(config(parallelism=3)))
    bare = {key: value for key, value in held.items() if key not in ("apiVersion", "kind")}
    for document in (
        {"kind": "List", "items": [NODE, {"kind": "List", "items": [held]}]},
        [NODE, {"kind": "ConfigMapList", "apiVersion": "v1", "items": [bare]}],
    ):
        for name, data in (("a.json", json.dumps(document)), ("a.yaml", to_yaml(document))):
            assert "parallelism: 3" in ingest_files([(name, data.encode())]).config


def test_a_document_takes_precedence_and_the_others_are_named() -> None:
    first = config_map("a", config__yaml=to_yaml(config(parallelism=1)))
    last = config_map("b", config__yaml=to_yaml(config(parallelism=2)), policy__cfg=POLICY)
    assert "parallelism: 2" in ingested(NODE, first, last).config
    result = ingested(NODE, config(parallelism=9), first, last)
    assert "parallelism: 9" in result.config
    (remark,) = remarks(result)
    assert remark.startswith("of 4 configurations a KubeSchedulerConfiguration of its own counts; left out: ConfigMap")
    assert "'kube-system/b' key 'policy.cfg'" in remark


def test_other_policies_are_ignored() -> None:
    audit = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "metadata": {}, "rules": []}
    result = ingested(NODE, audit, config_map("audit", policy__yaml=to_yaml(audit)))
    assert result.config == ""
    assert remarks(result) == []


def test_an_unreadable_configuration_gives_a_warning() -> None:
    template = "apiVersion: x\nkind: KubeSchedulerConfiguration\nprofiles: {{ .Values.x }}\n"
    result = ingested(NODE, config_map("sched", config__yaml=template))
    assert result.config == ""
    (warning,) = result.warnings
    assert "ConfigMap 'kube-system/sched' key 'config.yaml'" in warning.message
    assert "`helm template`" in warning.message


@pytest.mark.parametrize("wrap", [False, True])
def test_private_keys_of_extenders_are_removed(wrap: bool) -> None:
    tls = {"insecure": True, "keyData": "aHVudGVyMg==", "certFile": "/x"}
    mine = config(extenders=[{"urlPrefix": "https://x", "tlsConfig": tls}, {"urlPrefix": "https://y"}])
    text = ingested(NODE, config_map("s", c=to_yaml(mine)) if wrap else mine).config
    assert "aHVudGVyMg" not in text
    assert "certFile: /x" in text


def test_a_configuration_without_objects_is_rejected() -> None:
    problem = "^[a-z.]+: contains a scheduler configuration but no cluster; upload both together"
    with pytest.raises(IngestError, match=problem):
        ingested(config())


def test_what_kube_scheduler_writes_or_shows_is_a_configuration() -> None:
    """--write-config-to, /configz of 1.36 and newer, and /configz of older releases with its internal names."""
    tls = {"insecure": True, "keyData": "aHVudGVyMg=="}
    plugins = {"multiPoint": {}, "placementGenerate": {}, "placementScore": {}}
    new = config(
        percentageOfNodesToScore=7,
        profiles=[{"schedulerName": "default-scheduler", "plugins": plugins}],
        extenders=[{"urlPrefix": "https://x", "tlsConfig": tls}],
    )
    old = {
        "apiVersion": f"{GROUP}/v1",
        "PodMaxBackoffSeconds": 10,
        "PercentageOfNodesToScore": 7,
        "Profiles": [{"SchedulerName": "default-scheduler", "Plugins": {"PreEnqueue": {"Enabled": None}}}],
        "Extenders": [{"URLPrefix": "https://x", "TLSConfig": {"KeyData": "aHVudGVyMg=="}}],
    }
    for document in (new, {"componentconfig": new}, {GROUP: new}, {"componentconfig": old}):
        result = ingested(NODE, document)
        assert not result.warnings
        assert "percentageOfNodesToScore: 7" in result.config
        assert "aHVudGVyMg" not in result.config
        assert load(result.config, RELEASES["1.36"]).percentage_of_nodes_to_score == 7


def test_the_configz_of_another_component_is_no_configuration() -> None:
    result = ingested(NODE, {"componentconfig": {"kind": "KubeletConfiguration"}})
    assert result.config == ""
    assert [warning.code for warning in result.warnings] == ["broken"]


def test_a_log_of_kube_scheduler_gives_its_configuration() -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\n\tkind: KubeSchedulerConfiguration"
    begin = 'I1231 23:59:59.000000   18787 configfile.go:94] "Using component config" config=<\n'
    log = f"{begin}\t{config}\n >\n{scheduler_log_text()}".encode()
    cluster = b"kind: Node\napiVersion: v1\nmetadata: {name: n1}\n"
    result = ingest_files([("scheduler.log", log), ("node.yaml", cluster)])
    assert result.config == "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    assert any("is a log of kube-scheduler" in warning.message for warning in result.warnings)
    with pytest.raises(IngestError, match="is a log of kube-scheduler"):
        ingest_files([("scheduler.log", log)])
