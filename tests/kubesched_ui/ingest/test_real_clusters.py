"""Snapshots of real clusters are read whole and without warnings."""

from pathlib import Path

import pytest

from kubesched_ui.ingest import ingest_files
from tests.clusters import CLUSTERS


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_real_cluster(path: Path) -> None:
    result = ingest_files([(path.name, path)])
    assert result.counts["Node"] >= 1
    assert result.counts["Pod"] >= 1
    assert result.kubernetes.startswith(path.name.partition("__")[0])
    assert [w.message for w in result.warnings if w.code != "missing-node"] == []
    assert not result.unknown
