"""Converts a stored scenario to the editor's text: the Scenario document, then one document per object."""

from __future__ import annotations

from typing import Any

from kubesched_ui.editor.limits import MAX_BYTES
from kubesched_ui.ingest.formats import scenario_document
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import Scenario
from kubesched_ui.runs.services import own_release
from scheduler_core.errors import InputError

BETWEEN = "---\n"


def text_of(scenario: Scenario) -> str:
    """Return the text of a scenario. Raises InputError if it is larger than the editor accepts."""
    # a version without a release cannot be requested; the nodes still contain it
    version = scenario.kubernetes if own_release(scenario) else ""
    about = (scenario.description, version, scenario.config, scenario.time)
    document = scenario_document(scenario.name, (), *about)
    spec: dict[str, Any] = document["spec"]
    del spec["objects"]
    parts, size = [to_yaml(document)], 0
    for obj in scenario.objects_of():
        if obj.get("kind") == "Event":
            continue
        if obj.get("kind") == "CSINode":  # servers write null for an empty list, and nulls are not stored
            obj["spec"] = {"drivers": []} | (obj.get("spec") or {})
        parts.append(to_yaml(obj))
        size += len(parts[-1]) + len(BETWEEN)
        if size > MAX_BYTES:
            problem = f"is larger than {MAX_BYTES:,} bytes as text, the limit of the editor"
            raise InputError(f"“{scenario.name}”", "", problem)
    return BETWEEN.join(parts)
