"""The openb trace as a scenario, with a small table of the same columns."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_ui.ingest import IngestResult, ingest_files
from tests.clusters import DATA

NODES = "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0,32000,262144,0,\nopenb-node-1,96000,393216,8,G2\n"
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
late,6000,12288,1,460,,LS,Running,427061,12902960,427061
early,12000,16384,2,1000,V100M16|V100M32,BE,Pending,60,12537496,
plain,4000,8192,0,0,,LS,Failed,61,62,
"""
TRACE = DATA / "openb"


def convert(checkout: Path, *arguments: str) -> IngestResult:
    command = [sys.executable, "scripts/openb_to_scenario.py", *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, check=True)
    return ingest_files([("openb.json", done.stdout)])


def test_the_trace_becomes_a_scenario(tmp_path: Path, checkout: Path) -> None:
    nodes, pods = tmp_path / "nodes.csv.gz", tmp_path / "pods.csv"
    nodes.write_bytes(gzip.compress(NODES.encode()))
    pods.write_text(PODS)
    result = convert(checkout, str(nodes), str(pods))
    assert result.name == "openb"
    assert result.warnings == []
    plain_node, gpu_node, early, plain, late = result.objects
    assert plain_node["status"]["allocatable"] == {"cpu": "32000m", "memory": "262144Mi", "pods": "256"}
    assert gpu_node["status"]["allocatable"]["alibabacloud.com/gpu-milli"] == "8000"
    assert gpu_node["metadata"]["labels"]["alibabacloud.com/gpu-card-model"] == "G2"
    assert [p["metadata"]["name"] for p in (early, plain, late)] == ["early", "plain", "late"]
    (container,) = early["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "12000m", "memory": "16384Mi", "alibabacloud.com/gpu-milli": "2000"},
        "limits": {"alibabacloud.com/gpu-milli": "2000"},
    }
    affinity = early["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["V100M16", "V100M32"]
    assert early["metadata"]["creationTimestamp"] == "2024-01-01T00:01:00Z"
    assert "affinity" not in late["spec"]
    assert late["spec"]["containers"][0]["resources"]["requests"]["alibabacloud.com/gpu-milli"] == "460"
    assert plain["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "4000m", "memory": "8192Mi"}}
    assert len(convert(checkout, str(nodes), str(pods), "--limit", "1").objects) == 3


@pytest.mark.parametrize(
    ("text", "message"), [("a,b\n1,2\n", "is missing"), ("sn,cpu_milli,memory_mib,gpu,model\nn,1\n", "line 2")]
)
def test_an_invalid_table_is_rejected(text: str, message: str, tmp_path: Path, checkout: Path) -> None:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text(text)
    pods.write_text(PODS)
    command = [sys.executable, "scripts/openb_to_scenario.py", str(nodes), str(pods)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_the_whole_trace(checkout: Path) -> None:
    files = (str(TRACE / "openb_node_list_all_node.csv.gz"), str(TRACE / "openb_pod_list_default.csv.gz"))
    result = convert(checkout, *files)
    assert result.counts == {"Node": 1523, "Pod": 8152}
    assert result.warnings == []
