"""The ASGI application that Daphne serves: pages and API over HTTP, runs over websockets."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
http = get_asgi_application()

from kubesched_ui.origins import OwnPages  # noqa: E402
from kubesched_ui.recording.consumers import NoConsumer, RunConsumer  # noqa: E402  (needs the apps loaded)
from kubesched_ui.seeing.middleware import Identified  # noqa: E402

websocket = URLRouter(
    [re_path(r"^ws/runs/(?P<run_id>\d{1,18})$", RunConsumer.as_asgi()), re_path(r"", NoConsumer.as_asgi())]
)
application = ProtocolTypeRouter({"http": http, "websocket": Identified(OwnPages(websocket))})
