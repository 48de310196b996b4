"""Logs: JSON lines with request and run ids."""

import json
import logging
import sys
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.observability import task_correlation
from kubesched_ui.observability.logs import HEADER, REQUEST_ID, RUN_ID, JsonLines, Requests, request_id


@pytest.fixture(autouse=True)
def no_ids() -> None:
    REQUEST_ID.set("")
    RUN_ID.set(None)


def line(message: str, *args: Any, **more: Any) -> dict[str, Any]:
    record = logging.LogRecord("kubesched_ui.x", logging.INFO, "x.py", 1, message, args, more.pop("exc_info", None))
    vars(record).update(more)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_any_message_is_valid_json() -> None:
    found = line("two\nlines and %s", '"quotes" ☃', request=object(), status=404)
    assert found["message"] == 'two\nlines and "quotes" ☃'
    assert (found["level"], found["logger"], found["status"]) == ("INFO", "kubesched_ui.x", 404)
    assert found["time"].endswith("+00:00")
    assert "object object" in found["request"]
    assert not {"request_id", "run_id", "exception"} & set(found)
    assert len(line("x" * 100_000)["message"]) == 20_000


def test_a_line_has_request_run_and_exception() -> None:
    REQUEST_ID.set("abc")
    RUN_ID.set(7)
    try:
        raise KeyError("gone")
    except KeyError:
        found = line("broken", exc_info=sys.exc_info())
    assert (found["request_id"], found["run_id"]) == ("abc", 7)
    assert found["exception"].endswith("KeyError: 'gone'")


@pytest.mark.parametrize("given", ["", None, "a b", "a\nb", "x" * 65, "ä", '"'])
def test_an_invalid_id_is_replaced(given: str | None) -> None:
    made = request_id(given)
    assert made != given
    assert len(made) == 16
    assert made != request_id(given)


@pytest.mark.django_db
def test_the_response_has_the_id_of_its_log_lines(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append((REQUEST_ID.get(), RUN_ID.get(), record.getMessage()))  # type: ignore[method-assign]
    logger = logging.getLogger("kubesched_ui.requests")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        assert client.get("/runs/12/", headers={HEADER: "abc-1:2"})[HEADER] == "abc-1:2"
        made = client.get("/", headers={HEADER: "<script>"})[HEADER]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert len(made) == 16
    assert seen == [("abc-1:2", 12, "GET /runs/12/ 404"), (made, None, "GET / 200")]


class Task:
    """Task as Celery passes it to signals."""

    name = task_correlation.RUN_TASKS[0]

    def __init__(self, headers: dict[str, Any]) -> None:
        self.request = type("Request", (), headers)()


def test_a_task_has_the_id_of_the_request_that_sent_it() -> None:
    headers: dict[str, Any] = {}
    REQUEST_ID.set("abc")
    task_correlation.add_request_id(headers=headers)
    REQUEST_ID.set("")
    task_correlation.set_ids(task=Task(headers), args=[7])
    assert (REQUEST_ID.get(), RUN_ID.get()) == ("abc", 7)
    task_correlation.clear_ids()
    assert (REQUEST_ID.get(), RUN_ID.get()) == ("", None)
    task_correlation.set_ids(task=Task({}), args=[])  # a periodic task has none
    assert (REQUEST_ID.get(), RUN_ID.get()) == ("", None)


@pytest.mark.django_db
@pytest.mark.parametrize("begin", ["/shared/", "/account/invitation/", "/classes/"])
def test_secrets_in_urls_are_not_logged(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture, begin: str
) -> None:
    for name, lines in settings.LOGGING["filters"].items():
        assert (name, lines) == ("requests", {"()": "kubesched_ui.observability.logs.Requests"})
    assert settings.LOGGING["handlers"]["console"]["filters"] == ["requests"]
    with caplog.at_level(logging.INFO, "kubesched_ui.requests"):
        assert client.get(f"{begin}{'s3cret-' * 6}/").status_code in (404, 410)
    assert {record.name for record in caplog.records} == {"kubesched_ui.requests", "django.request"}
    assert all(Requests().filter(record) for record in caplog.records)
    lines = "".join(JsonLines().format(record) for record in caplog.records)
    assert "s3cret" not in lines
    assert lines.count(f"{begin}...") >= 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("&".join(f"f{n}=1" for n in range(20_000)), "application/x-www-form-urlencoded", 413),
        ("a=" + "x" * 20_000_000, "application/x-www-form-urlencoded", 413),
        ("--a\r\nbroken", "multipart/form-data; boundary=" + "a" * 300, 400),
        ("a=\0", "application/x-www-form-urlencoded", 400),
    ],
)
def test_a_refused_form_is_one_line_of_the_log(
    client: Client, caplog: pytest.LogCaptureFixture, body: str, kind: str, status: int
) -> None:
    assert client.post("/experiments/", body, content_type=kind).status_code == status
    assert all(Requests().filter(record) for record in caplog.records)
    lines = [logging.Formatter("%(message)s").format(record) for record in caplog.records]
    assert lines
    assert all(len(line.splitlines()) == 1 for line in lines)


@pytest.mark.parametrize(("status", "lines"), [(403, 1), (500, 2)])
def test_only_errors_of_the_server_have_a_traceback(status: int, lines: int) -> None:
    error = KeyError("gone")
    record = logging.LogRecord("django.request", logging.ERROR, "", 1, "a\nb", (), (KeyError, error, None))
    record.status_code = status
    assert Requests().filter(record)
    assert len(logging.Formatter("%(message)s").format(record).splitlines()) >= lines
    assert bool(record.exc_info) is (status == 500)
