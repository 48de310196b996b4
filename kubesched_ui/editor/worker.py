"""A process that reads texts for the web process, so that what a hostile one needs in memory and time is bounded:

    python -m kubesched_ui.editor.worker BYTES

It is asked and answers as `beside/worker.py`, of which it has the bounds too; a question is msgpack of {text} or of
{text, changes}. The body of an answer is JSON: what `reading` or `changed` tell, or with status 400 the sentence that
says what is wrong. Nothing of Django is set up here, so it starts within a second.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from kubesched_ui.beside.worker import bound, resident
from kubesched_ui.editor.analysis import reading
from kubesched_ui.editor.apply_edits import changed
from scheduler_core.errors import InputError

logger = logging.getLogger(__name__)


def told(question: dict[str, Any]) -> dict[str, Any]:
    """The reply to a question: {status, body}; 507 where the memory does not suffice, 500 for a fault of ours."""
    text = question["text"]
    try:
        found = changed(text, question["changes"]) if "changes" in question else reading(text)
        return {"status": 200, "body": msgspec.json.encode(found)}
    except InputError as error:
        return {"status": 400, "body": msgspec.json.encode(str(error))}
    except MemoryError:
        return {"status": 507, "body": b""}
    except Exception:
        logger.exception("A text could not be read")
        return {"status": 500, "body": b""}


def serve(asking: Connection, most: int) -> None:
    """Answers until nobody asks any more, or it has become too large to be kept."""
    last = False
    while not last:
        try:
            question = msgspec.msgpack.decode(asking.recv_bytes())
        except EOFError:
            return
        reply = told(question)
        last = reply["status"] == 507 or resident() >= most * 3 // 4
        asking.send_bytes(msgspec.msgpack.encode(reply | {"headers": [], "cookies": [], "more": False, "last": last}))


def main(most: int) -> None:
    asking = Connection(os.dup(sys.stdin.fileno()))
    bound(most)
    asking.recv_bytes()  # names of static files, which no text needs
    with suppress(BrokenPipeError, ConnectionResetError):  # who asked is gone
        serve(asking, most)


if __name__ == "__main__":
    main(int(sys.argv[1]))
