"""Upload limits come from the settings and are enforced."""

import json
from dataclasses import replace

import pytest

from kubesched_ui.ingest import IngestError, Limits, ingest_files

SMALL = Limits(max_bytes=2000, max_text=2000, max_nodes=2, max_pods=3, max_objects=8)


def objects(kind: str, number: int) -> bytes:
    return json.dumps([{"kind": kind, "metadata": {"name": f"x{i}"}} for i in range(number)]).encode()


def test_settings_change_limits(settings) -> None:  # type: ignore[no-untyped-def]
    settings.INGEST_MAX_NODES = 7
    settings.INGEST_MAX_DEPTH = 9
    assert Limits.from_settings() == replace(Limits(), max_nodes=7, max_depth=9)


@pytest.mark.parametrize(
    ("kind", "number", "message"),
    [
        ("Node", 3, "more than 2 nodes"),
        ("Pod", 4, "more than 3 pods"),
        ("Ingress", 9, "more than 8 objects"),
        ("Service", 80, "larger than"),
    ],
)
def test_each_limit_is_enforced(kind: str, number: int, message: str) -> None:
    with pytest.raises(IngestError, match=message):
        ingest_files([("a.json", objects(kind, number))], SMALL)


def test_an_upload_at_the_limit_is_accepted() -> None:
    result = ingest_files([("n.json", objects("Node", 2)), ("p.json", objects("Pod", 3))], SMALL)
    assert result.counts == {"Node": 2, "Pod": 3}


def test_bytes_of_all_files_are_added() -> None:
    part = b" " * 900 + objects("Node", 1)
    with pytest.raises(IngestError, match=r"^c\.json: the upload is larger than 1\.953 kB"):
        ingest_files([("a.json", part), ("b.json", part), ("c.json", part)], SMALL)


def test_a_missing_file() -> None:
    from pathlib import Path

    with pytest.raises(IngestError, match=r"^x\.json: cannot be read: no such file"):
        ingest_files([("x.json", Path("/no/such/file"))])
