"""The replay of the openb trace: columns that are kept equal columns computed anew, and the published table."""

from __future__ import annotations

import json
import random
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from scheduler_core.__main__ import main
from scheduler_core.metrics.fragmentation import GPUShape
from scheduler_core.openb import replay as replay_module
from scheduler_core.openb.policies import POLICIES, PUBLISHED
from scheduler_core.openb.replay import ARRIVED, replay, workload
from scheduler_core.openb.trace import TraceNode, TracePod, read_nodes, read_pods
from tests.clusters import DATA

TRACE = DATA / "openb"
# GPU allocation in percent at 100 and 130 percent arrived, mean over 10 seeds: "Beware of Fragmentation", figure 9a
PUBLISHED_TABLE = {
    "Random": (86.30, 87.47),
    "DotProd": (90.62, 90.85),
    "Clustering": (91.65, 91.88),
    "Packing": (91.78, 92.00),
    "BestFit": (92.86, 93.08),
    "FGD": (95.23, 95.39),
}


def small_trace(seed: int) -> tuple[list[TraceNode], list[TracePod]]:
    generator = random.Random(seed)
    nodes = [
        TraceNode(
            f"n{i}", generator.choice([16_000, 96_000]), 64_000, generator.choice([1, 2, 8]), generator.choice("AB")
        )
        for i in range(8)
    ]
    pods = []
    for i in range(60):
        devices = generator.choice([0, 1, 1, 1, 2, 4])
        milli = generator.choice([250, 400, 1000]) if devices == 1 else 1000 if devices else 0
        models = generator.choice([(), (), ("A",)])
        pods.append(TracePod(f"p{i}", GPUShape(generator.choice([1000, 4000]), devices, milli, models), 1000))
    return nodes, pods


@pytest.mark.parametrize("name", POLICIES)
def test_kept_columns_equal_columns_computed_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, pods = small_trace(5)
    kept = replay(nodes, pods, POLICIES[name], 1)
    refresh = replay_module._refresh

    def anew(column: replay_module._ShapeColumn, *rest: object) -> None:
        column.seen = -1
        refresh(column, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(replay_module, "_refresh", anew)
    assert replay(nodes, pods, POLICIES[name], 1) == kept
    assert [measurement.arrived for measurement in kept] == list(ARRIVED)
    assert kept[-1].allocated > 50


def test_a_seed_gives_the_same_result_again_and_another_seed_another() -> None:
    nodes, pods = small_trace(6)
    assert replay(nodes, pods, POLICIES["FGD"], 1) == replay(nodes, pods, POLICIES["FGD"], 1)
    assert replay(nodes, pods, POLICIES["FGD"], 1) != replay(nodes, pods, POLICIES["FGD"], 2)


def test_the_workload_is_the_whole_trace_and_then_pods_drawn_from_it() -> None:
    _, pods = small_trace(7)
    requested = sum(pod.shape.gpu for pod in pods)
    arriving = workload(pods, requested, random.Random(1))
    assert sorted(arriving[: len(pods)]) == sorted(pods)
    assert 1.2 * requested < sum(pod.shape.gpu for pod in arriving) <= 1.3 * requested + 4000
    fewer = workload(pods, requested // 4, random.Random(1))
    assert sum(pod.shape.gpu for pod in fewer) <= 1.3 * requested / 4 + 4000
    assert set(fewer) <= set(pods)


@pytest.mark.long
@pytest.mark.skipif(not TRACE.is_dir(), reason="tests/data/openb is not there")
def test_the_published_table() -> None:
    nodes = read_nodes(TRACE / "openb_node_list_all_node.csv.gz")
    pods = read_pods(TRACE / "openb_pod_list_default.csv.gz")
    assert (len(nodes), sum(node.devices for node in nodes)) == (1213, 6212)
    found = {}
    for policy in PUBLISHED:
        runs = [replay(nodes, pods, policy, seed) for seed in range(42, 52)]
        found[policy.name] = [float(np.mean([run[at].allocated for run in runs])) for at in (4, 7)]
    assert list(found) == list(PUBLISHED_TABLE)
    for name, published in PUBLISHED_TABLE.items():
        assert found[name] == pytest.approx(published, abs=0.5), name
    final = [means[1] for means in found.values()]
    assert final == sorted(final)  # the order of the table


NODES = "sn,cpu_milli,memory_mib,gpu,model\nplain,32000,262144,0,\ngpu,96000,393216,8,G2\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,100,1,500,\nb,1000,100,2,1000,G2|T4\n"


def command(tmp_path: Path, nodes: str, pods: str, *arguments: str) -> int:
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "pods.csv").write_text(pods)
    return main(["openb", str(tmp_path / "nodes.csv"), str(tmp_path / "pods.csv"), *arguments])


def test_the_command_prints_each_run_and_the_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path, NODES, PODS, "--policies", "FGD", "Packing", "--seeds", "2") == 0
    lines = [json.loads(line) for line in StringIO(capsys.readouterr().out)]
    assert [(line["policy"], line["seed"]) for line in lines[:-1]] == [
        ("FGD", 42), ("FGD", 43), ("Packing", 42), ("Packing", 43),
    ]  # fmt: skip
    assert lines[-1]["gpus"] == 8
    assert [row["arrived"] for row in lines[-1]["policies"]["FGD"]] == list(ARRIVED)
    assert lines[-1]["policies"]["FGD"][-1]["allocated"] == pytest.approx(
        np.mean([line["measurements"][-1]["allocated"] for line in lines[:2]]), abs=0.001
    )


@pytest.mark.parametrize(
    ("nodes", "pods", "arguments", "message"),
    [
        (NODES, PODS, ("--policies", "Best"), "--policies: 'Best' is not one of Random"),
        (NODES, PODS, ("--seeds", "0"), "--seeds: must be in 1..1000"),
        (NODES.replace("8,G2", "9,G2"), PODS, (), "nodes.csv, row 2: gpu: must be a whole number up to 8"),
        (NODES.replace("8,G2", "0,"), PODS, (), "nodes.csv: gpu: no node has a GPU"),
        (NODES.replace("model", "kind"), PODS, (), "nodes.csv, row 1: model: the column is missing"),
        (NODES, PODS.replace("2,1000", "2,500"), (), "pods.csv, row 2: gpu_milli: 500 of each of 2 GPUs"),
        (NODES, PODS.replace("1000,100", "-1,100"), (), "pods.csv, row 1: cpu_milli: must be a whole number"),
        (NODES, PODS.splitlines()[0] + "\n", (), "pods.csv: gpu_milli: no pod requests a GPU"),
        (NODES, PODS + "c,1\n", (), "pods.csv: pods.csv, line 4: expected 6 columns"),
    ],
)
def test_invalid_tables_and_arguments_are_named(
    nodes: str, pods: str, arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, nodes, pods, *arguments) == 2
    assert message in capsys.readouterr().err
