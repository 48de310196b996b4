"""The process that reads uploads: what happens there harms nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from kubesched_ui.ingest import IngestError
from kubesched_ui.models import Scenario
from kubesched_ui.scenarios import isolated, uploads
from tests.kubesched_ui import misbehaving
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def other_process(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reading in a process of its own, with this test's database and small bounds."""
    settings.INGEST_ISOLATED = True
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{connection.settings_dict['NAME']}")
    monkeypatch.setenv("INGEST_MAX_SECONDS", "2")
    monkeypatch.setenv("INGEST_MAX_MEMORY", str(2 * 1024**3))
    uploads.discard_reader()
    yield
    uploads.discard_reader()


def upload() -> Scenario:
    return uploads.make_scenario([("a.json", as_list(node("n"), pod("p")))], "name")


def test_an_upload_is_read_and_stored_by_the_other_process() -> None:
    scenario = upload()
    assert scenario.counts == {"Node": 1, "Pod": 1}
    assert [o["kind"] for o in scenario.objects_of()] == ["Node", "Pod"]


def test_a_refusal_comes_back_as_it_was_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"{")
    for content in (b"{", tmp_path / "file"):
        with pytest.raises(IngestError, match=r"^bad\.json"):
            uploads.make_scenario([("bad.json", content)])


@pytest.mark.parametrize("wrong", [misbehaving.crash, misbehaving.hang, misbehaving.hog])
def test_a_reader_that_dies_is_told_and_the_next_upload_has_a_new_one(
    wrong: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(isolated, "read", wrong)
        with pytest.raises(IngestError, match=r"could not be read within .* s and .* MB"):
            upload()
    assert upload().counts == {"Node": 1, "Pod": 1}


def test_the_reader_is_kept_for_small_uploads_and_replaced_after_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    upload()
    first = uploads.reader()
    upload()
    assert uploads.reader() is first
    monkeypatch.setattr(uploads, "LARGE", 10)
    upload()
    assert uploads.reader() is not first


def test_the_reader_ends_with_its_parent(checkout: Path) -> None:
    program = (
        "import os, django; django.setup(); from kubesched_ui.scenarios import uploads\n"
        "print(uploads.reader().submit(os.getpid).result(), flush=True); input()"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings"}
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout
    child = Path("/proc") / parent.stdout.readline().strip()
    assert child.exists()
    parent.kill()
    parent.wait()
    until(lambda: not child.exists(), "the end of the reader")
