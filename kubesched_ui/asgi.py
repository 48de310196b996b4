"""The ASGI application that Daphne serves: pages and API over HTTP, runs over websockets."""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
http = get_asgi_application()

from kubesched_ui.origins import OwnPages  # noqa: E402
from kubesched_ui.recording.consumers import nothing_here, run_socket  # noqa: E402  (needs the apps loaded)
from kubesched_ui.seeing.middleware import Identified  # noqa: E402

sockets: dict[str, Any] = {r"^ws/runs/(?P<run_id>\d{1,18})$": run_socket, r"": nothing_here}
websocket = URLRouter([re_path(address, socket) for address, socket in sockets.items()])
application = ProtocolTypeRouter({"http": http, "websocket": Identified(OwnPages(websocket))})
