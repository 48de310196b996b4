"""The content address of a cell: equal addresses mean equal results."""

from __future__ import annotations

import hashlib

import msgspec

from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.scenario_input import ScenarioInput

RESULTS_VERSION = 2
"""Raise it if a cell's result changes: another decision of the scheduler, another metric or another key."""


def address_of(cell: Cell, scenario: ScenarioInput) -> str:
    """Return the SHA-256 of all that the result of a cell depends on, in hexadecimal. Labels are only shown, and the
    key of the scenario is replaced by its content."""
    content = msgspec.to_builtins(msgspec.structs.replace(cell, labels={}, scenario=scenario.digest))
    choices = [scenario.choices.other_schedulers, scenario.choices.absent_claims]
    plain = {"cell": content, "choices": choices, "results": RESULTS_VERSION}
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
