"""Snapshots of real clusters, which lie beside the checkout where there are any."""

from pathlib import Path

import pytest

from kubesched_ui.ingest import ingest_files

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "real" / "clusters"
FILES = sorted(FOLDER.glob("*.json.gz"))


@pytest.mark.skipif(not FILES, reason="../shared/real/clusters is not there")
@pytest.mark.parametrize("path", FILES or [None], ids=lambda path: path.name if path else "none")
def test_real_cluster(path: Path) -> None:
    result = ingest_files([(path.name, path)])
    assert result.counts["Node"] >= 1
    assert result.counts["Pod"] >= 1
    assert result.kubernetes.startswith(path.name.partition("__")[0])
    assert [w.message for w in result.warnings if w.code != "missing-node"] == []
    assert not result.unknown
