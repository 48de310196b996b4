"""The ASGI application that Daphne serves: pages and the API over HTTP, runs over websockets."""

import os
from contextvars import ContextVar
from functools import partial
from typing import Any

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
django.setup(set_prefix=False)

BODY = "kubesched.body"  # scope key under which kubesched_ui/web/server.py passes the request body
_body: ContextVar[Any] = ContextVar("body", default=None)


class Http(ASGIHandler):
    """Use the body file that the server has already written to disk. Django would read the body into memory and write
    it to disk again, in the one thread that all connections share."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        _body.set(scope.get(BODY))
        await super().handle(scope, receive, send)

    async def read_body(self, receive: Any) -> Any:
        if (body := _body.get()) is None:
            return await super().read_body(receive)
        await receive()
        return body


http = Http()

from kubesched_ui.accounts import body_access, invitations  # noqa: E402
from kubesched_ui.accounts.websocket_auth import SessionCookieMiddleware  # noqa: E402
from kubesched_ui.clusters.consumers import ClusterSubscription  # noqa: E402
from kubesched_ui.live_classes.consumers import LiveClassSubscription  # noqa: E402
from kubesched_ui.observability.middleware import Identified  # noqa: E402
from kubesched_ui.queries.consumers import DecisionSubscription  # noqa: E402
from kubesched_ui.runtime import startup_lock  # noqa: E402
from kubesched_ui.web.origin_check import OwnPages  # noqa: E402
from kubesched_ui.websockets.connection import Nowhere, serve  # noqa: E402
from kubesched_ui.websockets.run_sockets import LogSubscription, ProgressSubscription  # noqa: E402  (needs the apps loaded)


def sender_of(scope: dict[str, Any]) -> body_access.Sender:
    """Return the sender of a request body. kubesched_ui/web/server.py calls this in a thread."""
    close_old_connections()
    try:
        return body_access.sender_of(scope)
    finally:
        close_old_connections()


sockets: dict[str, Any] = {
    r"^ws/runs/(?P<number>\d{1,18})$": LogSubscription,
    r"^ws/runs/(?P<number>\d{1,18})/progress$": ProgressSubscription,
    r"^ws/runs/(?P<number>\d{1,18})/decisions$": DecisionSubscription,
    r"^ws/clusters/(?P<number>\d{1,18})$": ClusterSubscription,
    r"^ws/(?:classes|rooms)/(?P<code>[A-Z0-9]{8})$": LiveClassSubscription,
    r"^ws/(?:classes|rooms)/teach/(?P<key>[\w-]{43})$": LiveClassSubscription,
    r"^ws/(?:classes|rooms)/wall/(?P<wall>[A-Z0-9]{8})$": LiveClassSubscription,
    r"": Nowhere,
}
routes = [re_path(address, partial(serve, one)) for address, one in sockets.items()]  # type: ignore[arg-type]
websocket = URLRouter(routes)
application = ProtocolTypeRouter({"http": http, "websocket": Identified(OwnPages(SessionCookieMiddleware(websocket)))})
application.sender_of = sender_of
startup_lock.wait(settings.VAR_DIR)
invitations.log_first()
