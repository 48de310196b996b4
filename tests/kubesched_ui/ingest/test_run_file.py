"""The scenario in a run file is, read again, the one that was stored: each object, its time, its configuration."""

from pathlib import Path

import pytest

from kubesched_ui.exports import run_file
from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.clusters import CLUSTERS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("path", [*sorted(FOLDER.glob("*.yaml")), *CLUSTERS], ids=lambda path: path.name)
def test_the_scenario_comes_back(path: Path) -> None:
    stored = store(ingest_files([(path.name, path)]), "its name", description="what for")
    data = b"".join(run_file.document(Run(pk=1, scenario=stored, name="a run"), b""))
    read = ingest_files([("run-1.run.json", data)])
    again = store(read)
    assert list(again.objects_of()) == list(stored.objects_of())
    for field in ("name", "description", "time", "config", "kubernetes", "counts"):
        assert getattr(again, field) == getattr(stored, field), field
    assert read.run
    assert read.run.name == "a run"
