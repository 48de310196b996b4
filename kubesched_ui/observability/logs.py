"""Logs: which request and which run a line is about, and lines as JSON (LOG_FORMAT=json).

The ids are context variables: what a request's thread or a worker's task logs, has them, whoever logs it.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime

from kubesched_ui.log_redaction import hidden

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
RUN_ID: ContextVar[int | None] = ContextVar("run_id", default=None)

HEADER = "X-Request-ID"
WELL_FORMED = re.compile(r"[A-Za-z0-9._:-]{1,64}")
LONGEST = 20_000  # characters of a message or a traceback: one line is not to fill a log

# What every record has; the rest came by `extra`.
USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def request_id(given: str | None) -> str:
    """The id that came with a request, if it is well-formed, else a new one."""
    return given if given and WELL_FORMED.fullmatch(given) else secrets.token_hex(8)


class Addresses(logging.Filter):
    """Hides them in what Django and Daphne say of requests, which is by their address."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith(("django", "daphne")):
            record.msg, record.args = hidden(record.getMessage()), ()
            if request := vars(record).get("request"):
                record.request = hidden(str(request))
        return True


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, process; request_id, run_id and exception where there is
    one; and what was logged by `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage()[:LONGEST],
            "process": record.process,
        }
        if request := REQUEST_ID.get():
            line["request_id"] = request
        if (run := RUN_ID.get()) is not None:
            line["run_id"] = run
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)[-LONGEST:]
        more = {name: value for name, value in vars(record).items() if name not in USUAL and name not in line}
        return json.dumps(line | {name: plain(value) for name, value in more.items()}, ensure_ascii=False)


def plain(value: object) -> object:
    """As JSON has it; what JSON does not have (Django logs whole requests), as text."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:1000]
