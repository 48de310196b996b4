"""The ASGI application that Daphne serves."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
http = get_asgi_application()

application = ProtocolTypeRouter({"http": http})
