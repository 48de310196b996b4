"""How far the reading of an upload is."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.scenarios import progress
from tests.kubesched_ui.clusters import as_list, node

TOKEN = "0123456789abcdef" * 2


def test_what_is_told_can_be_asked_until_it_is_over(client: Client) -> None:
    address = f"/upload/{TOKEN}/"
    assert client.get(address).json() == {}
    with progress.Progress(TOKEN, 1000) as told:
        told(10, 3)
        assert client.get(address).json() == {"done": 10, "size": 1000, "objects": 3}
        told(20, 4)  # too soon to be worth a write
        assert client.get(address).json()["done"] == 10
    assert client.get(address).json() == {}


@pytest.mark.parametrize("token", ["", "x", "../../etc/passwd", "0" * 31, "G" * 32, "0" * 33])
def test_only_tokens_are_kept(token: str) -> None:
    with progress.Progress(token, 1) as told:
        told(1, 1)
        assert progress.progress_of(token) == {}


@pytest.mark.django_db
def test_an_upload_tells_under_the_pages_token(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    told = progress.Progress.__call__

    def telling(self: progress.Progress, done: int, objects: int) -> None:
        told(self, done, objects)
        seen.append(progress.progress_of(TOKEN))

    monkeypatch.setattr(progress.Progress, "__call__", telling)
    data = as_list(*(node(f"n{i}") for i in range(20)))
    form = {"file": SimpleUploadedFile("a.json", data), "progress": TOKEN}
    assert client.post("/upload/", form).status_code == 302
    assert seen[-1]["size"] == len(data)
    assert progress.progress_of(TOKEN) == {}
