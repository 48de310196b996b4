"""Django application of live clusters."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "kubesched_ui.clusters"
    label = "clusters"
