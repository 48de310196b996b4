"""Ids that go along with a task: the worker's lines have those of the request that asked for it, and of its run."""

from __future__ import annotations

from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from kubesched_ui.observability.logs import REQUEST_ID, RUN_ID

HEADER = "kubesched_request_id"
TAKES = ("kubesched.take_short", "kubesched.take_long")


@before_task_publish.connect
def send_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Writes the id of the request that sends the task into the message."""
    if headers is not None and (number := REQUEST_ID.get()):
        headers[HEADER] = number


@task_prerun.connect
def take_up(task: Any, args: Any, **_: Any) -> None:
    """Its lines from here on have the ids."""
    REQUEST_ID.set(str(getattr(task.request, HEADER, "") or ""))
    RUN_ID.set(args[0] if task.name in TAKES and args else None)  # who takes up another one says so


@task_postrun.connect
def put_down(**_: Any) -> None:
    REQUEST_ID.set("")
    RUN_ID.set(None)
