"""Django application of live classes."""

from django.apps import AppConfig


class LiveClassesConfig(AppConfig):
    name = "kubesched_ui.live_classes"
    label = "live_classes"
