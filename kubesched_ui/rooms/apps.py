"""The application of rooms."""

from django.apps import AppConfig


class Rooms(AppConfig):
    name = "kubesched_ui.rooms"
    label = "rooms"

    def ready(self) -> None:
        from kubesched_ui.rooms import sweeping as sweeping  # tells the sweep what is over
