"""What this process itself wants to know of the processes beside it, without a browser that asks."""

from __future__ import annotations

import msgspec
from django.conf import settings

from kubesched_ui.beside.pool import QUESTIONS, Broken, NoAnswer


def ask(path: str, run: str) -> str:
    """The body of what an address of ours answers there, asked by nobody. `run`: what it is about. Raises NoAnswer."""
    host = next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), "localhost")
    variables = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
    variables |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_HOST": host, "wsgi.url_scheme": "http"}
    process = QUESTIONS.take(run)
    try:
        told = process.send(msgspec.msgpack.encode(variables), settings.BESIDE_MAX_SECONDS)
        body = b"".join(process.pieces(settings.BESIDE_MAX_SECONDS)) if told["more"] else told["body"]
    except Broken as problem:
        raise NoAnswer(str(problem), 0) from None
    except NoAnswer:
        raise
    except BaseException:
        process.end()
        raise
    finally:
        QUESTIONS.give(process)
    if told["status"] != 200:
        raise NoAnswer("This could not be looked at.", 0)
    return str(body.decode())
