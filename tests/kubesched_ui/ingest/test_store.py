"""Uploads are stored in the database by function and by command."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from kubesched_ui.exports import run_file
from kubesched_ui.exports.run_export import scenario as export_scenario
from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run, Scenario
from kubesched_ui.scenarios import edits
from kubesched_ui.scenarios.samples import FOLDER
from tests.clusters import CLUSTERS
from tests.examples import selection
from tests.kubesched_ui.clusters import ingested, node, pod
from tests.kubesched_ui.ingest.test_neighbours import WORKLOAD, about_pod

OBJECTS = [
    {"kind": "Node", "metadata": {"name": "n"}, "status": {"nodeInfo": {"kubeletVersion": "v1.30.0"}}},
    {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "x"}]}]},
    },
    {"kind": "Pod", "metadata": {}},
    {"apiVersion": "example.org/v1", "kind": "Foo", "metadata": {"name": "f"}},
]
TEXT = json.dumps(OBJECTS).encode()

pytestmark = pytest.mark.django_db


def test_all_objects_are_stored() -> None:
    result = ingest_files([("a.json", TEXT)])
    scenario = Scenario.objects.get(pk=store(result, "My cluster", description="Look here").pk)
    assert (scenario.name, scenario.description, scenario.origin) == ("My cluster", "Look here", "upload")
    assert (scenario.kubernetes, scenario.counts) == ("v1.30.0", {"Node": 1, "Pod": 1})
    assert list(scenario.objects_of()) == result.objects
    assert [pod["metadata"]["name"] for pod in scenario.objects_of(["Pod"])] == ["p"]
    assert [remark["code"] for remark in scenario.warnings] == ["broken", "filled", "dropped", "unknown"]
    assert scenario.warnings[2]["notes"] == ["1 value of an environment variable"]
    assert scenario.warnings[3]["counts"] == {"Foo.example.org": 1}


def test_objects_that_only_waits_read_stay_in_exports_and_edits() -> None:
    stored = store(ingested(node("n1"), pod("p"), WORKLOAD, about_pod("p", "Nominated")))
    assert stored.counts == {"Node": 1, "Pod": 1, "Workload.kueue.x-k8s.io": 1, "Event": 1}
    assert len(stored.packed_objects()) == 2
    again = store(ingest_files([("export.json", export_scenario(stored))]))
    assert list(again.objects_of()) == list(stored.objects_of())
    workload = stored.cluster_objects.get(kind="Workload.kueue.x-k8s.io")
    text = json.dumps(workload.data | {"spec": {"active": False}})
    version = edits.create_version(stored, workload, text)
    assert (version.counts, len(version.warnings)) == (stored.counts, len(stored.warnings))
    assert version.cluster_objects.get(kind="Workload.kueue.x-k8s.io").data["spec"] == {"active": False}
    removed = edits.create_version(stored, stored.cluster_objects.get(kind="Pod"), None)
    assert "Event" in removed.counts


def test_command(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    (folder / "default").mkdir(parents=True)
    (folder / "default" / "pods.json").write_bytes(TEXT)
    (folder / "default" / "logs.txt").write_text("not read")
    out, err = StringIO(), StringIO()
    call_command("ingest", str(folder), stdout=out, stderr=err)
    scenario = Scenario.objects.get()
    assert scenario.name == "dump"
    assert f"Scenario {scenario.pk}: dump" in out.getvalue()
    assert "dump/default/pods.json, document 1, item 3" in err.getvalue()


def test_the_command_names_an_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"kind":')
    with pytest.raises(CommandError, match=r"^bad\.json, document 1: is not complete JSON"):
        call_command("ingest", str(bad))
    with pytest.raises(CommandError, match="no such file"):
        call_command("ingest", str(tmp_path / "none.json"))
    assert not Scenario.objects.exists()


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(TEXT)
    out = StringIO()
    call_command("ingest", str(file), "--dry-run", stdout=out, stderr=StringIO())
    assert "1 Node" in out.getvalue()
    assert not Scenario.objects.exists()


def test_an_exported_scenario_reads_back_unchanged() -> None:
    odd = {"kind": "Pod", "metadata": {"name": "q", "labels": {"a": "yes", "b": "0o10", "c": "line\nline"}}}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    first = ingest_files([("a.json", json.dumps([*OBJECTS[:2], odd, config]).encode())])
    out = StringIO()
    call_command("export_scenario", store(first, "My cluster", description="Look here").pk, stdout=out)
    again = ingest_files([("scenario.yaml", out.getvalue().encode())])
    assert again.objects == first.objects
    assert (again.name, again.description) == ("My cluster", "Look here")
    assert (again.config, again.kubernetes) == (first.config, first.kubernetes)


@pytest.mark.slow
@pytest.mark.parametrize("path", selection([*sorted(FOLDER.glob("*.yaml")), *CLUSTERS], 4), ids=lambda path: path.name)
def test_a_run_file_contains_the_stored_scenario(path: Path) -> None:
    stored = store(ingest_files([(path.name, path)]), "its name", description="what for")
    data = b"".join(run_file.document(Run(pk=1, scenario=stored, name="a run"), b""))
    read = ingest_files([("run-1.run.json", data)])
    again = store(read)
    assert list(again.objects_of()) == list(stored.objects_of())
    for field in ("name", "description", "time", "config", "kubernetes", "counts"):
        assert getattr(again, field) == getattr(stored, field), field
    assert read.run
    assert read.run.name == "a run"
