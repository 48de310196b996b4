"""Scenarios written by us, each teaching one thing, and how they get into the database."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction

from kubesched_ui.ingest import IngestResult, ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Scenario

FOLDER = Path(__file__).parent


def read_samples() -> list[IngestResult]:
    """All samples, in the order in which they are meant to be read (their files are numbered)."""
    return [ingest_files([(path.name, path)]) for path in sorted(FOLDER.glob("*.yaml"))]


def load_samples() -> tuple[int, int]:
    """Brings the database's samples up to date; (number of samples, of those newly stored).

    A sample that was changed replaces the stored one, unless there are runs of that: then both stay.
    """
    samples, stored = read_samples(), 0
    known: dict[str, list[Scenario]] = {}
    for scenario in Scenario.objects.filter(origin=Scenario.Origin.SAMPLE):
        known.setdefault(scenario.name, []).append(scenario)
    for sample in samples:
        old = known.get(sample.name, [])
        if any(_same(scenario, sample) for scenario in old):
            continue
        with transaction.atomic():
            Scenario.objects.filter(pk__in=[s.pk for s in old], runs=None).delete()
            store(sample, origin=Scenario.Origin.SAMPLE)
        stored += 1
    return len(samples), stored


def _same(scenario: Scenario, sample: IngestResult) -> bool:
    if (scenario.description, scenario.config, scenario.time) != (sample.description, sample.config, sample.time):
        return False
    return list(scenario.objects_of()) == sample.objects
