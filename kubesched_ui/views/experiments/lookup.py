"""The experiment of a URL."""

from kubesched_ui.experiments.models import Experiment
from kubesched_ui.views.form_fields import named


def find(experiment_id: int) -> Experiment:
    """Return the experiment with its scenario. Raises Http404."""
    return named(Experiment.objects.select_related("scenario"), experiment_id)
