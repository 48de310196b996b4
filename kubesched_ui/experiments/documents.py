"""Experiment documents of the application: their scenarios are stored ones that the user may see."""

from typing import Any

from django.conf import settings

from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import Scenario
from scheduler_core.errors import InputError
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.questions import load_experiment

WHERE = "experiment"
MAX_SCENARIOS = 100


def parse(document: str | bytes | dict[str, Any]) -> tuple[Experiment, str]:
    """Return the validated document and its text. Raises InputError."""
    source = to_yaml(document) if isinstance(document, dict) else document
    experiment, most = load_experiment(source, WHERE), settings.EXPERIMENT_MAX_CELLS
    if experiment.spec.size > most:
        raise InputError(WHERE, "spec", f"would have {experiment.spec.size:,} cells; at most {most:,} are allowed")
    return experiment, source if isinstance(source, str) else source.decode("utf-8-sig")


def scenarios_of(experiment: Experiment) -> list[Scenario]:
    """Return the scenarios of a document in its order, of which the current viewer may see each. Raises InputError."""
    wanted = experiment.spec.scenarios
    if len(wanted) > MAX_SCENARIOS:
        raise InputError(WHERE, "spec.scenarios", f"must name at most {MAX_SCENARIOS} scenarios, got {len(wanted):,}")
    for index, one in enumerate(wanted):
        if one.file is not None:
            problem = "only the command line reads files; give the id of a stored scenario"
            raise InputError(WHERE, f"spec.scenarios[{index}].file", problem)
    numbers = [one.id for one in wanted if one.id is not None]
    found = Scenario.objects.in_bulk(numbers)
    for index, number in enumerate(numbers):
        if number not in found:
            raise InputError(WHERE, f"spec.scenarios[{index}].id", f"there is no scenario {number}")
    return [found[number] for number in numbers]
