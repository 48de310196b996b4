"""What is composed becomes a scenario, and a run of it.

Of those that were made to be run, and not to be kept, the latest few stay: two tries can be compared, ten do not fill
the list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction

from kubesched_ui import current_viewer
from kubesched_ui.editor import service
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.services import RunSettings, create_run, defaults
from kubesched_ui.scenarios import uploads
from scheduler_core.errors import InputError

TRIES = 5  # that are kept
UNNAMED = "Composed cluster"


def stored(text: str) -> Scenario:
    """The text as a scenario. Raises InputError for one with errors, and what `service.read` and uploads raise."""
    read = msgspec.json.decode(service.read(text))
    if read["errors"]:
        first = next(problem for problem in read["problems"] if problem["severity"] == "error")
        count = "1 error is" if read["errors"] == 1 else f"{read['errors']} errors are"
        raise InputError("", "", f"{count} in the way, the first in line {first['line'] + 1}: {first['message']}")
    return uploads.make_scenario([(UNNAMED, text.encode())], origin=Scenario.Origin.COMPOSED)


def tried(text: str, before: Iterable[int] = ()) -> Run:
    """A run of the text with what suits it. `before`: earlier tries, of which too old ones go. Raises as `stored`."""
    scenario = stored(text)
    try:
        with transaction.atomic():
            run = create_run(scenario, RunSettings(**defaults(scenario)))
    except InputError:
        scenario.delete()
        raise
    forget(list(before)[: -(TRIES - 1)])
    return run


def forget(numbers: Iterable[int]) -> None:
    """Deletes tries of who asks, with their runs; pinned ones, and those with pinned or shared runs, stay."""
    mine = Scenario.objects.filter(pk__in=list(numbers), origin=Scenario.Origin.COMPOSED, pinned=False)
    for scenario in mine.filter(owner_id=current_viewer.owner_id()):
        runs = scenario.runs.all()
        kept = runs.filter(pinned=True).exists() or runs.filter(finished_at=None).exists()
        if not kept and not _shared(scenario):
            scenario.delete()


def _shared(scenario: Scenario) -> bool:
    """Whether somebody else sees it, or a run of it; nobody does where there are no accounts."""
    if not settings.ACCOUNTS:
        return False
    shares: Any = scenario
    return shares.shares.exists() or scenario.runs.filter(shares__isnull=False).exists()
