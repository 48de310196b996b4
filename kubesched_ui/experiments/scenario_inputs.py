"""The scenarios of cells, cached in each worker process: preparing a scenario may take longer than computing a cell."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import BinaryField, ExpressionWrapper, F

from kubesched_ui.models import ClusterObject, Scenario
from kubesched_ui.models.fields import unpack
from scheduler_core.errors import InputError
from scheduler_core.experiments.scenario_input import ScenarioInput

CACHED = 4  # scenarios
CACHED_OBJECTS = 50_000  # of all cached scenarios; the last used one stays in any case

_cache: OrderedDict[tuple[int, datetime, str], tuple[ScenarioInput, int]] = OrderedDict()


def scenario_input(key: str, number: int) -> ScenarioInput:
    """Return the scenario with this number, under the name that cells use. Its objects are loaded when they are first
    needed. Raises InputError if it was deleted."""
    scenario = Scenario.everything.filter(pk=number, storing_at=None).first()
    if scenario is None:
        raise InputError(f"Scenario {number}", "", "was deleted")
    # The key contains the time because a database may reuse the number of a deleted scenario.
    stored = (scenario.pk, scenario.created_at, key)
    if stored not in _cache:
        _cache[stored] = (_input(key, scenario), sum(scenario.counts.values()))
        while len(_cache) > 1 and (len(_cache) > CACHED or sum(size for _, size in _cache.values()) > CACHED_OBJECTS):
            _cache.popitem(last=False)
    _cache.move_to_end(stored)
    return _cache[stored][0]


def _input(key: str, scenario: Scenario) -> ScenarioInput:
    def objects() -> list[dict[str, Any]]:
        return list(scenario.objects_of())

    return ScenarioInput(
        key,
        digest(scenario),
        objects,
        scenario.time,
        max_pods=settings.RUN_MAX_PODS,
        max_records=settings.RUN_MAX_RECORDS,
    )


def digest(scenario: Scenario) -> str:
    """Return a hash of the content of a scenario: its objects in their order, and its fields of virtual time."""
    found = hashlib.sha256(msgspec.json.encode(scenario.time, order="deterministic"))
    for text in _texts(scenario):
        found.update(len(text).to_bytes(8, "big"))
        found.update(text)
    return found.hexdigest()


def _texts(scenario: Scenario) -> Iterable[bytes]:
    """Yield the objects as JSON text, without decoding them."""
    raw = ExpressionWrapper(F("data"), output_field=BinaryField())
    rows = ClusterObject.objects.filter(scenario=scenario).order_by("position")
    yield from map(unpack, rows.annotate(raw=raw).values_list("raw", flat=True).iterator(chunk_size=2000))
