"""Django application of experiments."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "kubesched_ui.experiments"
    label = "experiments"

    def ready(self) -> None:
        """Register metrics, and the experiments where active work, stored bytes and retention are counted."""
        from kubesched_ui.experiments import metrics  # noqa: F401
        from kubesched_ui.experiments.models import Experiment, stored_bytes
        from kubesched_ui.housekeeping import quota, retention

        quota.COUNTED.append(Experiment)
        quota.SIZES.append(stored_bytes)
        retention.EXPIRING.append(Experiment)
