"""A process that searches recordings for whoever started it, so that it can be ended without harm:

    python -m scheduler_core.debugger.search_worker MEGABYTES

Its standard input is a socket, over which `multiprocessing.connection` carries messages of msgpack. An ask has `key`
(of a recording), `where`, `start`, `direction`, `limit` and `seconds`. If the process does not have that recording it
says `{"need": key}` and is sent `{"moves": [...], "facts": [...]}`, the blocks. Then it says `{"begun": true}`, and in
the end `{"answer": {...}}` or `{"wrong": problem, "line": 0, "column": 0}`. It ends when the socket is closed, or when
it has been at an expression for much longer than it should. It may be ended at any time.
"""

from __future__ import annotations

import resource
import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from scheduler_core.debugger.cycle_index import Facts
from scheduler_core.debugger.recording import Recording, facts_from
from scheduler_core.debugger.search import Search, WrongExpression
from scheduler_core.errors import InputError

KEPT = 2  # recordings
GRACE_SECONDS = 5  # beyond an ask's own: who asked may be gone
TOO_MUCH = "needs too much memory; make it simpler"
TOO_LARGE = "this run is too large to be searched"


def bound_memory(megabytes: int) -> None:
    """From here on the process may have no more than so much in addition."""
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (megabytes << 20), -1))


def serve(asking: Connection) -> None:
    """Answers until nobody asks any more."""
    known: dict[str, tuple[Recording, Facts]] = {}

    def say(**message: Any) -> None:
        asking.send_bytes(msgspec.msgpack.encode(message))

    while True:
        try:
            ask = msgspec.msgpack.decode(asking.recv_bytes())
            if ask["key"] not in known:
                say(need=ask["key"])
                blocks = msgspec.msgpack.decode(asking.recv_bytes())
                while len(known) >= KEPT:
                    del known[next(iter(known))]
                known[ask["key"]] = Recording(blocks["moves"]), facts_from(blocks["facts"])
            say(begun=True)
            say(**_answer(*known[ask["key"]], ask))
        except EOFError:
            return
        except InputError as problem:
            say(wrong=str(problem), line=0, column=0)
        except MemoryError:
            known.clear()
            say(wrong=TOO_LARGE, line=0, column=0)


def _answer(recording: Recording, facts: Facts, ask: dict[str, Any]) -> dict[str, Any]:
    end = time.monotonic() + ask["seconds"]
    signal.alarm(int(ask["seconds"]) + GRACE_SECONDS)
    try:
        search = Search(recording, facts, lambda: time.monotonic() > end)
        return {"answer": search.find(ask["where"], ask["start"], ask["direction"], ask["limit"])}
    except WrongExpression as wrong:
        return {"wrong": wrong.problem, "line": wrong.line, "column": wrong.column}
    except MemoryError:
        return {"wrong": TOO_MUCH, "line": 0, "column": 0}
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    from cel_expr_python import cel  # noqa: F401  (loaded before memory is bounded)

    bound_memory(int(sys.argv[1]))
    serve(Connection(sys.stdin.fileno()))
