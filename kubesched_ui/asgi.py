"""The ASGI application that Daphne serves: pages and API over HTTP, runs over websockets."""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
http = get_asgi_application()

from kubesched_ui.recording.consumers import NoConsumer, RunConsumer  # noqa: E402  (needs the apps loaded)


class SameSite(OriginValidator):
    """Pages of other sites may not read runs; programs, which send no Origin, may."""

    def valid_origin(self, parsed_origin: Any) -> bool:
        return parsed_origin is None or bool(self.validate_origin(parsed_origin))


websocket = URLRouter(
    [re_path(r"^ws/runs/(?P<run_id>\d{1,18})$", RunConsumer.as_asgi()), re_path(r"", NoConsumer.as_asgi())]
)
application = ProtocolTypeRouter({"http": http, "websocket": SameSite(websocket, settings.ALLOWED_HOSTS)})
