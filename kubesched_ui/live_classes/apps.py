"""Django application of live classes."""

from django.apps import AppConfig


class Rooms(AppConfig):
    name = "kubesched_ui.live_classes"
    label = "rooms"
