"""Runs through the HTTP API: upload, start, fork, export, import."""

import json
from typing import Any

from asgiref.sync import async_to_sync
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.runs.tasks import execute_run


def body(answer: Any) -> bytes:
    """Return the body of a response, streamed or not."""
    if not answer.streaming:
        return answer.content
    if not answer.is_async:
        return b"".join(answer.streaming_content)

    async def read() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return async_to_sync(read)()


def get(client: Client, address: str, status: int = 200, **query: Any) -> Any:
    """Return the JSON response of an address."""
    answer = client.get(address, query)
    assert answer.status_code == status, answer.content
    return answer.json()


def page_text(client: Client, address: str, status: int = 200, **query: Any) -> str:
    """Return a page with single spaces between words."""
    answer = client.get(address, query)
    assert answer.status_code == status, answer.content
    return " ".join(answer.content.decode().split())


def post(client: Client, address: str, content: Any, status: int = 202) -> Any:
    """Return the JSON response to a file (bytes) or to JSON."""
    file = isinstance(content, bytes)
    data, kind = (content, "octet-stream") if file else (json.dumps(content), "json")
    answer = client.post(address, data, content_type=f"application/{kind}")
    assert answer.status_code == status, answer.content
    return answer.json()


def upload(client: Client, data: bytes, name: str = "") -> int:
    number: int = post(client, f"/api/scenarios?name={name}", data, 201)["id"]
    return number


def start(client: Client, scenario: int, **settings: Any) -> Run:
    return Run.objects.get(pk=post(client, f"/api/scenarios/{scenario}/runs", settings)["id"])


def executed(number: int) -> Run:
    execute_run(number)
    return Run.objects.select_related("scenario").get(pk=number)


def run_of(client: Client, scenario: int, **settings: Any) -> Run:
    """Return a finished run of a scenario."""
    run = executed(start(client, scenario, **settings).pk)
    assert run.state == "done", run.error
    return run


def ran(client: Client, data: bytes, **settings: Any) -> Run:
    """Return a finished run of an uploaded file."""
    return run_of(client, upload(client, data), **settings)


def forked(client: Client, run: Run, **wanted: Any) -> Run:
    """Return a finished fork."""
    fork = executed(post(client, f"{run.url}/fork", wanted)["id"])
    assert fork.state == "done", fork.error
    return fork


def exported(client: Client, run: Run, form: str = "run") -> bytes:
    answer = client.get(f"{run.url}/export", {"format": form})
    assert answer.status_code == 200
    return body(answer)


def imported(client: Client, data: bytes) -> Run:
    """Return the run that a worker recreated from a run file."""
    (number,) = post(client, "/api/scenarios", data, 201)["runs"]
    return executed(number)
