"""Passes IDs to tasks: log records of a worker contain the ID of the request that started the task, and the run ID."""

from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from kubesched_ui.observability.logs import REQUEST_ID, RUN_ID

HEADER = "kubesched_request_id"
RUN_TASKS = ("kubesched.take_short", "kubesched.take_long")


@before_task_publish.connect
def add_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Add the ID of the current request to the message of the task."""
    if headers is not None and (number := REQUEST_ID.get()):
        headers[HEADER] = number


@task_prerun.connect
def set_ids(task: Any, args: Any, **_: Any) -> None:
    """Set the IDs for the log records of the task."""
    REQUEST_ID.set(str(getattr(task.request, HEADER, "") or ""))
    # A task that continues with another run sets the ID itself.
    RUN_ID.set(args[0] if task.name in RUN_TASKS and args else None)


@task_postrun.connect
def clear_ids(**_: Any) -> None:
    REQUEST_ID.set("")
    RUN_ID.set(None)
