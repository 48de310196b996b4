"""The run that starts by itself after an upload: all pending pods, with the cluster's own release and configuration."""

from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import estimate, suggested_comparisons


def has_work(scenario: Scenario) -> bool:
    """Return whether a run has pods to schedule: pending ones, or ones that workloads or steps create."""
    return bool(scenario.time) or estimate.waiting(scenario) > 0


def default_run(scenario: Scenario) -> Run | None:
    """Return the scenario's default run. Create it if there is none. Return None if there is nothing to schedule.
    Raises InputError, and ServiceUnavailable if disk space is low."""
    return suggested_comparisons.run_with(scenario, {"config": None}) if has_work(scenario) else None
