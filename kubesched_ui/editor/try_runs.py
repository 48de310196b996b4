"""Stores an edited text as a scenario and runs it.

Scenarios that are created only for a run are temporary: the latest few are kept, so that two can be compared
without filling the list.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction

from kubesched_ui.editor import service
from kubesched_ui.editor.limits import MAX_BYTES, MAX_THINGS
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest.formats import scenario_document
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import Run, Scenario, current_viewer
from kubesched_ui.runs.services import RunSettings, create_run, defaults, own_release
from kubesched_ui.scenarios import uploads
from scheduler_core.errors import InputError

TRIES = 5  # number of temporary scenarios kept
UNNAMED = "Composed cluster"


def store_text(text: str) -> Scenario:
    """Store the text as a scenario. Raises InputError if it has errors, and the errors of `service.read` and of
    uploads."""
    disk_space.check_space()
    quota.check_scenario()
    read = msgspec.json.decode(service.read(text))
    if read["errors"]:
        first = next(problem for problem in read["problems"] if problem["severity"] == "error")
        count = "1 error" if read["errors"] == 1 else f"{read['errors']} errors"
        raise InputError("", "", f"{count} to fix, the first in line {first['line'] + 1}: {first['message']}")
    return uploads.store_upload([(UNNAMED, text.encode())], origin=Scenario.Origin.COMPOSED).scenario


def run_text(text: str, before: Iterable[int] = ()) -> Run:
    """Run the text with default settings. `before`: earlier temporary scenarios; the oldest are deleted. Raises as
    `store_text`."""
    scenario = store_text(text)
    try:
        with transaction.atomic():
            run = create_run(scenario, RunSettings(**defaults(scenario)))
    except InputError:
        scenario.delete()
        raise
    delete_temporary(list(before)[: -(TRIES - 1)])
    return run


def delete_temporary(numbers: Iterable[int], origin: str = Scenario.Origin.COMPOSED) -> None:
    """Delete temporary scenarios of the current user with their runs. Scenarios that are pinned or shared, or that have
    pinned, shared or unfinished runs, are kept."""
    mine = Scenario.objects.filter(pk__in=list(numbers), origin=origin, pinned=False)
    for scenario in mine.filter(owner_id=current_viewer.owner_id()):
        runs = scenario.runs.all()
        kept = runs.filter(pinned=True).exists() or runs.filter(finished_at=None).exists()
        if not kept and not _shared(scenario):
            scenario.delete()


def _shared(scenario: Scenario) -> bool:
    """Whether another user can see the scenario or one of its runs."""
    if not settings.ACCOUNTS:
        return False
    shares: Any = scenario
    return shares.shares.exists() or scenario.runs.filter(shares__isnull=False).exists()


# ---- text of a stored scenario


BETWEEN = "---\n"


def text_of(scenario: Scenario) -> str:
    """Return the text of a scenario, with its events as far as the editor accepts them. Raises InputError if it is
    larger than the editor accepts."""
    # a version without a release cannot be requested; the nodes still contain it
    version = scenario.kubernetes if own_release(scenario) else ""
    about = (scenario.description, version, scenario.config, scenario.time)
    document = scenario_document(scenario.name, (), *about)
    spec: dict[str, Any] = document["spec"]
    del spec["objects"]
    parts, size, events = [to_yaml(document)], 0, []
    for obj in scenario.objects_of():
        if obj.get("kind") == "Event":
            events.append(obj)
            continue
        if obj.get("kind") == "CSINode":  # servers write null for an empty list, and nulls are not stored
            obj["spec"] = {"drivers": []} | (obj.get("spec") or {})
        parts.append(to_yaml(obj))
        size += len(parts[-1]) + len(BETWEEN)
        if size > MAX_BYTES:
            problem = f"is larger than {MAX_BYTES:,} bytes as text, the limit of the editor"
            raise InputError(f"“{scenario.name}”", "", problem)
    for event in events[: MAX_THINGS - len(parts)]:
        text = to_yaml(event)
        size += len(text) + len(BETWEEN)
        if size > MAX_BYTES:
            break
        parts.append(text)
    return BETWEEN.join(parts)
