"""Progress of an upload."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.scenarios import progress
from tests.kubesched_ui.clusters import as_list, node

TOKEN = "0123456789abcdef" * 2


def test_progress_can_be_queried_until_the_end(client: Client) -> None:
    address = f"/upload/{TOKEN}/"
    assert client.get(address).json() == {}
    with progress.Progress(TOKEN, 1000) as progress_of:
        progress_of(10, 3)
        assert client.get(address).json() == {"done": 10, "size": 1000, "objects": 3}
        progress_of(20, 4)  # too soon for a write
        assert client.get(address).json()["done"] == 10
    assert client.get(address).json() == {}


@pytest.mark.parametrize("token", ["", "x", "../../etc/passwd", "0" * 31, "G" * 32, "0" * 33])
def test_only_valid_tokens_are_stored(token: str) -> None:
    with progress.Progress(token, 1) as progress_of:
        progress_of(1, 1)
        assert progress.progress_of(token) == {}


@pytest.mark.django_db
def test_an_upload_reports_progress_under_its_token(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    progress_of = progress.Progress.__call__

    def report(self: progress.Progress, done: int, objects: int) -> None:
        progress_of(self, done, objects)
        seen.append(progress.progress_of(TOKEN))

    monkeypatch.setattr(progress.Progress, "__call__", report)
    data = as_list(*(node(f"n{i}") for i in range(20)))
    form = {"file": SimpleUploadedFile("a.json", data), "progress": TOKEN}
    assert client.post("/upload/", form).status_code == 302
    assert seen[-1]["size"] == len(data)
    assert progress.progress_of(TOKEN) == {}
