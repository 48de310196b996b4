"""`manage.py simulate`: its table and exit codes. (`run` is in test_processes.py, `ingest` in ingest/.)"""

import io
import re
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, load_command_class

from kubesched_ui.__main__ import APPLICATION
from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_bytes(as_list(node("n1"), node("n2"), pod("a"), pod("b", "4")))
    return path


def test_one_line_per_pod_and_nothing_is_stored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("simulate", str(file), "--release", "1.27")
    header, first, second, _, totals = capsys.readouterr().out.splitlines()
    assert header.split() == ["pod", "result", "node", "score", "margin", "message"]
    assert first.split()[:2] == ["default/a", "scheduled"]
    assert second.split()[:2] == ["default/b", "scheduled"]
    assert totals.startswith("2 placed, 0 unschedulable, 0 gated, 0 errors; 2 cycles")
    assert not Scenario.objects.exists()


def test_a_pending_pod_gives_exit_code_1_and_keep_stores_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_bytes(every_outcome())
    with pytest.raises(SystemExit) as stop:
        call_command("simulate", str(tmp_path / "c.json"), "--keep")
    assert stop.value.code == 1
    out = capsys.readouterr().out
    assert "2 placed, 2 unschedulable, 1 gated, 0 errors; 1 of the unschedulable nominated, 1 evicted" in out
    assert re.search(r"^default/important +nominated +n3 ", out, re.M)
    assert Run.objects.get().state == "done"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_list(node("n"), pod("a")))))
    call_command("simulate", "-")
    assert "default/a  scheduled  n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.json"], "missing.json"),
        (["BAD"], "bad.json"),
        (["FILE", "--release", "0.1"], "0.1"),
        (["FILE", "--config", "missing.yaml"], "missing.yaml"),
        (["FILE", "--config", "WRONG"], "profiles"),
        (["FILE", "--percentage", "200"], "percentage"),
        (["FILE", "--pods", "default/x"], "default/x"),
    ],
)
def test_invalid_input_gives_exit_code_2_and_a_sentence(
    file: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "wrong.yaml").write_text(CONFIG + "profiles: 3\n")
    names = {"FILE": str(file), "BAD": str(tmp_path / "bad.json"), "WRONG": str(tmp_path / "wrong.yaml")}
    with pytest.raises(CommandError, match=says) as refused:
        call_command("simulate", *(names.get(word, word) for word in arguments))
    assert refused.value.returncode == 2
    assert not Scenario.objects.exists()


def test_each_workload_has_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("t", "9")["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    (tmp_path / "c.json").write_bytes(as_list(node("n1"), pod("big", "8"), web))
    with pytest.raises(SystemExit):
        call_command("simulate", str(tmp_path / "c.json"))
    lines = capsys.readouterr().out.splitlines()
    assert "default/big: The pod requests 8 cpu; the only node has 4." in lines
    assert "default/web (3 pods): The pod requests 9 cpu; the only node has 4." in lines


def test_the_release_and_its_reason_are_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("simulate", str(file))
    assert "The release is " in capsys.readouterr().err
    call_command("simulate", str(file), "--release", "1.27")
    assert "The release is " not in capsys.readouterr().err


@pytest.mark.parametrize("command", APPLICATION)
def test_the_help_shows_only_own_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_command_class("kubesched_ui", command)
    loaded.print_help("kubesched", command)
    printed = capsys.readouterr().out
    for option in ("--settings", "--pythonpath", "--traceback", "--no-color", "--skip-checks", "--verbosity"):
        assert option not in printed
