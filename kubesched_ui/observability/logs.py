"""Logs: the IDs of request and run in log records, and JSON lines (LOG_FORMAT=json).

The IDs are context variables, so all records of the thread of a request or of a task contain them.
"""

import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime

from kubesched_ui.web.log_redaction import hidden

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
RUN_ID: ContextVar[int | None] = ContextVar("run_id", default=None)

HEADER = "X-Request-ID"
WELL_FORMED = re.compile(r"[A-Za-z0-9._:-]{1,64}")
LONGEST = 20_000  # characters of a message or a traceback, so that one record does not fill the log

# Attributes of every record; all others come from `extra`.
USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def request_id(given: str | None) -> str:
    """Return the ID of the request header if it is valid, otherwise a new one."""
    return given if given and WELL_FORMED.fullmatch(given) else secrets.token_hex(8)


class Requests(logging.Filter):
    """Redacts secrets of URLs in records of Django and Daphne. A refused request (status 4xx) is one line: Django adds
    the traceback of the exception by which a view refuses it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith(("django", "daphne")):
            record.msg, record.args = hidden(record.getMessage()), ()
            if vars(record).get("status_code", 500) < 500:
                record.msg, record.exc_info, record.exc_text = " ".join(record.msg.split()), None, None
            if request := vars(record).get("request"):
                record.request = hidden(str(request))
        return True


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message, process; request_id, run_id and exception if
    there are any; and the fields of `extra`."""

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
    """Return JSON types unchanged, and everything else (Django logs whole requests) as text."""
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:1000]
