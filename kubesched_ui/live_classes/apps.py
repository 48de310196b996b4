"""The application of rooms."""

from django.apps import AppConfig


class Rooms(AppConfig):
    name = "kubesched_ui.live_classes"
    label = "rooms"
