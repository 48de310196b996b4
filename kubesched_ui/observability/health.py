"""Readiness (/readyz), for supervisors and load balancers of web processes. Liveness (/healthz) is in middleware.py.

Live: this process responds. No other service is checked, because a restart would not bring back the database. Ready: a
user can upload, start a run and watch it, because database, broker and a worker respond.
"""

import logging

import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse

from kubesched_ui.celery import app
from kubesched_ui.observability.bounded_probe import BoundedProbe
from kubesched_ui.runtime.outages import outage_of

logger = logging.getLogger(__name__)

WAIT_S = 3  # for each check; both run at the same time
KEPT_S = 1  # many clients may request this: load balancers, users, monitoring
PING_S = 1.5
NO_BROKER = "The broker is not reachable; new runs wait for it."
NO_WORKER = f"No worker answered within {PING_S} s; new runs wait for one."
UNKNOWN = "is unknown while the broker is not reachable"


def ask_database() -> str:
    """Return the problem of the database; "" if there is none."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return ""
    except Exception as error:  # every exception of the driver means not ready
        logger.info("The database does not answer: %s", error)
        outage = outage_of(error)
        return outage.message if outage else "The database does not answer; see the server log for details."
    finally:
        connection.close()


def ask_broker_and_worker() -> tuple[str, str]:
    """Return the problem of the broker, and that of the workers; "" if there is none."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as broker:
            broker.ping()
        with app.connection_for_write(connect_timeout=2) as channel:
            answers = app.control.ping(timeout=PING_S, limit=1, connection=channel)
    except Exception as error:  # exceptions of redis, kombu and the operating system
        logger.info("The broker does not answer: %s", error)
        return NO_BROKER, UNKNOWN
    return "", "" if answers else NO_WORKER


database = BoundedProbe(ask_database, WAIT_S, KEPT_S)
broker_and_worker = BoundedProbe(ask_broker_and_worker, WAIT_S + PING_S, KEPT_S)


def checks() -> dict[str, str]:
    """Return service -> its problem, "" if there is none. Takes at most about WAIT_S + PING_S seconds."""
    broker_and_worker.begin()
    found = {}
    try:
        found["database"] = database()
    except TimeoutError:
        found["database"] = f"The database did not answer within {WAIT_S} s."
    try:
        found["broker"], found["worker"] = broker_and_worker()
    except TimeoutError:
        found["broker"], found["worker"] = f"The broker did not answer within {WAIT_S + PING_S} s.", UNKNOWN
    return found


def readyz(request: HttpRequest) -> JsonResponse:
    """Return {"ready": true or false, "checks": {service: "ok" or a sentence}} with status 200 or 503."""
    found = checks()
    ready = not any(found.values())
    answer = JsonResponse(
        {"ready": ready, "checks": {part: problem or "ok" for part, problem in found.items()}},
        status=200 if ready else 503,
    )
    answer["Cache-Control"] = "no-store"
    if not ready:
        answer["Retry-After"] = "5"
        answer._has_been_logged = True  # type: ignore[attr-defined]  # an error a probe would fill the log
    return answer
