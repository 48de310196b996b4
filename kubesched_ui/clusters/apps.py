"""Django application of live clusters."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "kubesched_ui.clusters"
    label = "clusters"

    def ready(self) -> None:
        """Register the metrics."""
        from kubesched_ui.clusters import metrics  # noqa: F401
